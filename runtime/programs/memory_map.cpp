// SPDX-License-Identifier: MIT
#include "programs/memory_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/unique_fd.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {
namespace {

constexpr size_t most_lacking = 256;  // addresses of a process
constexpr auto first_rest = std::chrono::seconds(1), longest_rest = std::chrono::seconds(60);
constexpr size_t most_mappings = 16384, most_map_bytes = 4 << 20;

// "55d0c0a28000-55d0c0a2a000 r-xp 00002000 fd:00 1234    /usr/bin/cat"
std::optional<CodeMapping> parse_line(const std::string& line) {
    CodeMapping m;
    char rights[5] = "";
    unsigned major = 0, minor = 0;
    unsigned long long start = 0, end = 0, offset = 0, inode = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, rights, &offset, &major, &minor,
                    &inode, &path) < 7 ||
        rights[2] != 'x')
        return std::nullopt;
    m.start = start, m.end = end, m.offset = offset, m.inode = inode;
    m.device = makedev(major, minor);
    m.path = line.substr(static_cast<size_t>(path));
    return m;
}

size_t bytes_of(const CodeMapping& mapping) { return sizeof mapping + mapping.path.size(); }

}  // namespace

const CodeMapping* MemoryMap::at(uint64_t address) const {
    auto after = std::upper_bound(mappings.begin(), mappings.end(), address,
                                  [](uint64_t value, const CodeMapping& m) { return value < m.start; });
    if (after == mappings.begin() || address >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
}

bool MemoryMap::has_room(const CodeMapping& mapping) const {
    return mappings.size() < most_mappings && bytes_ + bytes_of(mapping) <= most_map_bytes;
}

bool MemoryMap::add(CodeMapping mapping) {
    const auto starts_before = [](const CodeMapping& m, uint64_t value) { return m.start < value; };
    if (mapping.start >= mapping.end) return false;
    bool replaces = false;
    auto first = std::lower_bound(mappings.begin(), mappings.end(), mapping.start, starts_before);
    if (first != mappings.begin() && std::prev(first)->end > mapping.start) {
        CodeMapping& below = *std::prev(first);
        const uint64_t end = std::exchange(below.end, mapping.start);
        replaces = true;
        if (end > mapping.end && has_room(below)) {  // what is left of it above
            CodeMapping rest = below;
            rest.offset += mapping.end - rest.start;
            rest.start = mapping.end, rest.end = end;
            bytes_ += bytes_of(rest);
            first = mappings.insert(first, std::move(rest));
        }
    }
    auto last = std::lower_bound(first, mappings.end(), mapping.end, starts_before);
    if (last != first && std::prev(last)->end > mapping.end) {
        --last;
        last->offset += mapping.end - last->start;
        last->start = mapping.end;
        replaces = true;
    }
    replaces |= first != last;
    for (auto gone = first; gone != last; ++gone) bytes_ -= bytes_of(*gone);
    first = mappings.erase(first, last);
    if (!has_room(mapping)) return replaces;
    bytes_ += bytes_of(mapping);
    mappings.insert(first, std::move(mapping));
    return replaces;
}

std::vector<CodeMapping> parse_maps(std::string_view text) {
    std::vector<CodeMapping> found;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        if (auto mapping = parse_line(std::string(text.substr(at, end - at)))) found.push_back(std::move(*mapping));
        at = end + 1;
    }
    return found;
}

std::string read_file(const std::string& path, size_t limit) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    char bytes[16384];
    for (ssize_t n; fd && text.size() < limit && (n = ::read(fd.get(), bytes, sizeof bytes)) > 0;)
        text.append(bytes, static_cast<size_t>(n));
    return text;
}

// Of what /proc/PID/stat says. Fields are counted from behind the name, which may hold anything.
static std::optional<uint64_t> space_in(uint32_t pid, const std::string& text) {
    constexpr int state = 3, start_code = 26, start_stack = 28;
    size_t at = text.rfind(')');
    uint64_t code = 0, stack = 0;
    for (int field = state; at != text.npos && field <= start_stack; field++) {
        at = text.find(' ', at + 1);
        if (at == text.npos) return std::nullopt;
        if (field == start_code) code = std::strtoull(text.c_str() + at, nullptr, 10);
        if (field == start_stack) stack = std::strtoull(text.c_str() + at, nullptr, 10);
    }
    if (at == text.npos || !code) return std::nullopt;
    return kpl_space(pid, code, stack);
}

// A process that calls exec between the two looks shows nothing. Whoever makes its memory's map wait, or ends when the
// kernel holds on to that memory for who looks, holds up that one.
MapLook map_of(ForeignFiles& files, uint32_t pid) {
    const std::string stat = fmt::format("/proc/{}/stat", pid);
    const auto texts = files.read({stat, fmt::format("/proc/{}/maps", pid), stat});
    MapLook look{texts.what};
    const auto space = space_in(pid, texts.of[0]);
    if (!space || space_in(pid, texts.of[2]) != space) return look;
    MemoryMap map;
    for (CodeMapping& mapping : parse_maps(texts.of[1])) map.add(std::move(mapping));
    if (map.mappings.empty()) return look;
    map.space = *space;
    map.page = *space >> KPL_SPACE_PID_BITS & ((uint64_t{1} << KPL_SPACE_CODE_BITS) - 1);
    look.map = std::move(map);
    return look;
}

bool Lacking::wants_look(uint64_t address, Clock::time_point now) const {
    if (!looked_at_) return true;
    const auto it = in_vain_.find(address);
    const unsigned times = it == in_vain_.end() ? 0 : it->second;
    return now - *looked_at_ >= std::min<Clock::duration>(first_rest * (1u << times), longest_rest);
}

void Lacking::looked(uint64_t address, const MemoryMap& map, Clock::time_point now) {
    looked_at_ = now;
    if (in_vain_.size() >= most_lacking) in_vain_.clear();
    in_vain_.emplace(address, 0);
    std::erase_if(in_vain_, [&](const auto& lacking) { return map.at(lacking.first) != nullptr; });
    for (auto& [lacking, times] : in_vain_) times += times < 6;
}

}  // namespace kpl
