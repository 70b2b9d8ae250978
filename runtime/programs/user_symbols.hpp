// SPDX-License-Identifier: MIT
// UserSymbols: addresses of processes as text, also of processes that have ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "programs/foreign_files.hpp"
#include "programs/jit_map.hpp"
#include "programs/map_stream.hpp"
#include "programs/memory_map.hpp"
#include "programs/program.hpp"

namespace kpl {

// A symbol's name for people: demangled, without control characters, of a sane length.
std::string plain(const std::string& name);

class UserSymbols {
  public:
    explicit UserSymbols(std::unique_ptr<ForeignFiles> files = std::make_unique<ForeignFiles>())
        : files_(std::move(files)) {}
    // From now on, maps of processes are kept as they come about, and stay when the processes end.
    void follow() { stream_.open(); }
    // Takes what has come about; from time to time, before there is too much of it.
    void look();
    // "malloc [libc.so.6]", "main+0x1c [server]"; where there is no name, "0x4d1a0 [server]" with the file's address;
    // where there is no file, or nothing is known of the process, "0x7f…". `space`: kpl_space().
    std::string name(uint64_t space, uint64_t address);
    // How many processes had ended before anything was known of them; no more than 65536 are counted.
    size_t unknown() const { return unknown_.size(); }
    // How many files did not answer; how often one was not looked at, for want of time, processes or memory, or was too
    // large.
    uint64_t silent() const { return files_->silent(); }
    uint64_t unasked() const { return files_->unasked(); }
    uint64_t too_large() const { return files_->too_large(); }
    // How much of what was mapped went by unseen: names may be missing, or those of what was there before.
    uint64_t lost() const { return stream_.lost(); }

    // What came about. For tests.
    void apply(const MapEvent& event);

  private:
    struct Process {
        uint32_t parent = 0;
        std::deque<MemoryMap> maps;    // of the programs that it has run, the last one last
        Lacking lacking{};             // of the last one
        std::optional<uid_t> owner{};  // as long as it was seen to run
        JitMap jit{};
    };
    using File = std::pair<uint64_t, uint64_t>;  // device, inode

    using Clock = std::chrono::steady_clock;

    void see_owner(uint32_t pid, Process& process);
    void drop(uint32_t pid);
    size_t map_bytes() const;
    void make_room();
    void forget_names();
    size_t symbol_bytes() const;
    std::string jit_name(uint32_t pid, uint64_t address);
    void keep_file(uint32_t pid, const CodeMapping& mapping);
    std::optional<MemoryMap> read_map(uint64_t space);
    MemoryMap* known(uint64_t space);
    MemoryMap* find(uint64_t space, int ancestors);
    const CodeMapping* mapping_at(uint64_t space, MemoryMap& map, uint64_t address);
    std::string text(uint64_t space, uint64_t address);
    std::string text_in(uint32_t pid, const CodeMapping& mapping, uint64_t address);
    std::shared_ptr<Program> program(uint32_t pid, const CodeMapping& mapping);
    std::shared_ptr<Program> vdso();

    std::unique_ptr<ForeignFiles> files_;
    MapStream stream_;
    std::unordered_map<uint32_t, Process> processes_;
    std::deque<uint32_t> ended_;
    size_t more_bytes_ = 0;  // of maps, since there was a look at how many there are
    size_t jit_bytes_ = 0;   // of all processes
    Clock::time_point from_ = Clock::now();
    Clock::duration jit_time_{};  // that was spent on JITs' files since
    std::map<File, std::shared_ptr<Program>> programs_;
    std::set<File> reachable_;                    // that were looked for by their paths
    std::map<File, Clock::time_point> nameless_;  // no programs, until then; max(): for good
    bool sure_ = true;                            // the name that is being made is not for want of a look
    std::shared_ptr<Program> vdso_;
    std::unordered_map<std::string, std::string> names_;  // by both words
    size_t name_bytes_ = 0;
    std::unordered_set<uint64_t> unknown_;
};

}  // namespace kpl
