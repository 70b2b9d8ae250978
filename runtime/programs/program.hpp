// SPDX-License-Identifier: MIT
// Program: an ELF file that processes run or map: its functions, and where they lie in the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "programs/foreign_files.hpp"
#include "programs/marks.hpp"

namespace kpl {

// Addresses are those of the file, as nm and objdump print them.
struct ProgramSymbol {
    std::string name;
    uint64_t address = 0, size = 0;
    bool is_function = true;  // else a label
    bool indirect = false;    // gives the address of the function that is called in its place (IFUNC)
};

// The libraries' files, which are loaded when a program is first looked into: who runs this elsewhere takes them along.
std::vector<const char*> elf_libraries();

class Program {
  public:
    // The errors say what is wrong with the file. Machines other than `machine` (EM_X86_64…) are refused.
    static Result<std::shared_ptr<Program>> open(const std::string& path, uint16_t machine);
    // A file of any machine that a process led to, for its names; `path` is what `root` has it as (empty: ours).
    // `files` lives as long, and finds its debug file.
    static Result<std::shared_ptr<Program>> open(ForeignFiles& files, ForeignFiles::Found found,
                                                 const std::string& path, const std::string& root);

    const std::string& path() const { return path_; }
    int fd() const { return fd_.get(); }
    uint64_t device() const { return device_; }
    uint64_t inode() const { return inode_; }
    // Its path leads to another file now, or to none.
    bool is_replaced() const;

    // Of .symtab, also that of the separate debug file (by build id or .gnu_debuglink), and .dynsym; ascending by
    // address, none twice. Where nobody was asked for the debug file, somebody is after a second at the earliest.
    Result<const std::vector<ProgramSymbol>*> symbols();
    bool wants_debug_file() const { return !debug_doors_.empty(); }
    size_t bytes() const { return bytes_ + copy_bytes_; }  // that they take, and a copy of the file
    bool stripped() const { return stripped_; }  // known after symbols(): it has names for what it exports alone

    // All of that name.
    Result<std::vector<ProgramSymbol>> find(std::string_view name);
    // The function that covers the address, by its symbol.
    Result<std::optional<ProgramSymbol>> covering(uint64_t address);
    // The same, or else by what unwinders are told; then it has no name.
    Result<std::optional<ProgramSymbol>> at(uint64_t address);
    // Those of the file itself, by name, then ascending. A note that names no code, or a semaphore that is no data of
    // the file, counts for nothing.
    Result<const std::vector<ProgramMark>*> marks();
    // Nothing: no code of the file is there.
    std::optional<uint64_t> file_offset(uint64_t address) const;
    // The other way: nothing: none of the file's memory is from there.
    std::optional<uint64_t> address_of(uint64_t file_offset) const;
    // As many as lie there.
    std::vector<uint8_t> code(uint64_t address, size_t size) const;
    // "4fcb712aa6…"; empty: it has none.
    std::string build_id() const;

  private:
    struct Segment {
        uint64_t address, offset, size;
        bool code, data;
    };
    Program() = default;
    Result<void> read_head(std::optional<uint16_t> machine);
    Result<void> read_file(std::optional<uint16_t> machine);
    Result<void> add_symbols(int fd, bool only_full);
    void add_debug_file();
    UniqueFd debug_file();
    std::vector<std::string> debug_file_names(const std::string& id) const;
    void tidy();
    std::optional<uint64_t> offset_in(bool Segment::*kind, uint64_t address) const;
    bool belongs(int debug_fd) const;

    std::string path_, root_;
    UniqueFd fd_;
    uint64_t device_ = 0, inode_ = 0;
    std::vector<Segment> segments_;
    std::optional<std::vector<ProgramSymbol>> symbols_;
    std::vector<ForeignFiles::Door> debug_doors_;  // that nobody has looked behind yet
    std::string debug_id_;                         // what the file behind them is to be
    std::chrono::steady_clock::time_point next_debug_look_;
    size_t bytes_ = 0, copy_bytes_ = 0;
    std::optional<std::vector<ProgramMark>> marks_;
    bool stripped_ = true;
    ForeignFiles* files_ = nullptr;  // of one that a process led to
};

}  // namespace kpl
