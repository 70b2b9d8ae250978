// SPDX-License-Identifier: MIT
// Functions of the running kernel, instruction by instruction.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arch/arch.hpp"
#include "arch/points.hpp"
#include "inspect/debugfs.hpp"
#include "inspect/kernel_tables.hpp"
#include "inspect/kprobe_table.hpp"
#include "symbols/blacklist.hpp"
#include "symbols/kallsyms.hpp"
#include "symbols/kernel_memory.hpp"
#include "symbols/types.hpp"

namespace kpl {

struct FunctionView {
    Symbol symbol;
    uint64_t size = 0;
    uint64_t wanted = 0;        // the address that was asked for
    std::vector<uint8_t> code;  // without the marks of probes
    std::vector<ProbePoint> points;
    KernelRules rules;
};

class Inspector {
  public:
    // Both must outlive the inspector. The error says what can't be read, and what to do.
    static Result<Inspector> open(Kallsyms& symbols, Types& types);

    // "symbol", "module:symbol", either with "+offset", or an address.
    Result<FunctionView> function(const std::string& target);
    Result<FunctionView> function(const Symbol& symbol);
    // Reads again which probes there are.
    Result<void> refresh();

  private:
    Inspector(Kallsyms& symbols, Types& types, KernelMemory memory)
        : symbols_(&symbols), types_(&types), memory_(std::move(memory)) {}
    Result<Symbol> find(const std::string& target, uint64_t& wanted);
    Result<uint64_t> size_of(const Symbol& symbol);
    Result<std::vector<uint8_t>> code_of(const Symbol& symbol, uint64_t size) const;
    bool is_unmapped(uint64_t addr) const;
    void restore(uint64_t addr, std::span<uint8_t> code) const;
    Result<bool> traceable(const Symbol& symbol);
    Result<std::vector<uint64_t>> part_jumps(const FunctionView& view, const std::vector<KeyJump>& keys);

    Kallsyms* symbols_;
    Types* types_;
    KernelMemory memory_;
    KernelRules rules_;
    SpecialInsns vmlinux_;
    AddressRange init_, entry_;
    Blacklist blacklist_;
    std::vector<ListedProbe> probes_;
    std::vector<KernelPatch> patches_;
    std::set<std::string> traced_;
    FtraceSites sites_;
};

}  // namespace kpl
