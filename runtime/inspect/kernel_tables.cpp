// SPDX-License-Identifier: MIT
#include "inspect/kernel_tables.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

namespace kpl {
namespace {

// Every entry begins with the distance from itself to the instruction, as 32 bits.
struct Table {
    std::vector<uint64_t> SpecialInsns::*into;
    size_t entry_size;
    size_t flags_at;          // 0: none; else where to find the bit that says "init code, gone"
    const char *begin, *end;  // of vmlinux
    const char* section;      // of modules
};
constexpr uint32_t init_flag = 2;
constexpr Table tables[] = {
    {&SpecialInsns::fixups, 12, 0, "__start___ex_table", "__stop___ex_table", "__ex_table"},
    {&SpecialInsns::jump_labels, 16, 8, "__start___jump_table", "__stop___jump_table", "__jump_table"},
    {&SpecialInsns::static_calls, 8, 4, "__start_static_call_sites", "__stop_static_call_sites", ".static_call_sites"},
    {&SpecialInsns::bugs, 12, 0, "__start___bug_table", "__stop___bug_table", "__bug_table"},
};

int32_t word(const uint8_t* at) {
    int32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// `text`: entries must point into it; the first that does not ends the table.
void parse(const Table& table, uint64_t addr, std::span<const uint8_t> bytes, const AddressRange* text,
           SpecialInsns& out) {
    for (size_t at = 0; at + table.entry_size <= bytes.size(); at += table.entry_size) {
        const uint64_t insn = addr + at + static_cast<uint64_t>(int64_t{word(&bytes[at])});
        if (text && !text->has(insn)) break;
        if (table.flags_at && static_cast<uint32_t>(word(&bytes[at + table.flags_at])) & init_flag) continue;
        (out.*table.into).push_back(insn);
        if (table.into == &SpecialInsns::jump_labels)
            out.key_jumps.push_back({addr + at + 4 + static_cast<uint64_t>(int64_t{word(&bytes[at + 4])}), insn});
    }
}

void sort_all(SpecialInsns& insns) {
    for (const Table& table : tables) std::sort((insns.*table.into).begin(), (insns.*table.into).end());
    std::sort(insns.key_jumps.begin(), insns.key_jumps.end());
}

// Sections by their address.
std::map<uint64_t, std::string> sections_of(const std::string& module, const std::string& sysfs) {
    std::map<uint64_t, std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(sysfs + "/" + module + "/sections", error)) {
        std::string text;
        std::getline(std::ifstream(entry.path()) >> std::ws, text);
        uint64_t addr = 0;
        if (text.starts_with("0x") &&
            std::from_chars(text.data() + 2, text.data() + text.size(), addr, 16).ec == std::errc() && addr)
            found.emplace(addr, entry.path().filename());
    }
    return found;
}

}  // namespace

SpecialInsns SpecialInsns::within(uint64_t begin, uint64_t end) const {
    SpecialInsns out;
    for (const Table& table : tables) {
        const auto& all = this->*table.into;
        (out.*table.into)
            .assign(std::lower_bound(all.begin(), all.end(), begin), std::lower_bound(all.begin(), all.end(), end));
    }
    const AddressRange range{begin, end};
    std::copy_if(key_jumps.begin(), key_jumps.end(), std::back_inserter(out.key_jumps),
                 [range](const KeyJump& key) { return range.has(key.target) || range.has(key.label); });
    return out;
}

Result<SpecialInsns> read_vmlinux_tables(const KernelMemory& memory, Kallsyms& symbols) {
    SpecialInsns out;
    for (const Table& table : tables) {
        const uint64_t begin = TRY(symbols.address(table.begin)), end = TRY(symbols.address(table.end));
        if (!begin || end <= begin) continue;  // a kernel without such a table
        std::vector<uint8_t> bytes(end - begin);
        if (!memory.read(begin, bytes))
            return Error{Errc::system, std::string("cannot read the kernel's ") + table.section};
        parse(table, begin, bytes, nullptr, out);
    }
    sort_all(out);
    return out;
}

SpecialInsns read_module_tables(const KernelMemory& memory, const std::string& module, AddressRange text,
                                const std::string& sysfs) {
    constexpr uint64_t longest = 1 << 20;
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    SpecialInsns out;
    const auto sections = sections_of(module, sysfs);
    for (auto section = sections.begin(); section != sections.end(); ++section) {
        const auto table = std::find_if(std::begin(tables), std::end(tables),
                                        [&](const Table& t) { return section->second == t.section; });
        if (table == std::end(tables)) continue;
        const auto next = std::next(section);
        const uint64_t begin = section->first, last = (begin | (page - 1)) + 1;
        // The last section of an area ends somewhere in its page; sections of other areas lie far away.
        const uint64_t end = next != sections.end() && next->first - begin < longest ? next->first : last;
        std::vector<uint8_t> bytes(end - begin);
        if (memory.read(begin, bytes)) parse(*table, begin, bytes, &text, out);
    }
    sort_all(out);
    return out;
}

uint64_t module_text_end(const std::string& module, uint64_t addr, const std::function<bool(uint64_t page)>& used,
                         const std::string& sysfs) {
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    uint64_t end = (addr | (page - 1)) + 1;
    // What has other rights than text begins a page of its own, and may follow directly. Otherwise the area
    // is the text's alone, and a page without memory follows it.
    uint64_t limit = UINT64_MAX;
    for (const auto& [begin, name] : sections_of(module, sysfs))
        if (begin >= end && begin % page == 0) limit = std::min(limit, begin);
    while (end < limit && limit != UINT64_MAX && used(end)) end += page;
    return end;
}

}  // namespace kpl
