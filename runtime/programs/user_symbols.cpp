// SPDX-License-Identifier: MIT
#include "programs/user_symbols.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/printable.hpp"
#include "base/regular_file.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {
namespace {

constexpr size_t most_ended = 4096;              // processes whose maps are kept after their end
constexpr size_t most_maps = 8;                  // of a process: programs that it has run
constexpr size_t most_programs = 256;            // that are open
constexpr size_t most_files = 1 << 16;           // that were looked for
constexpr size_t most_names = 64 << 20;          // bytes
constexpr size_t most_symbol_bytes = 512 << 20;  // of the programs that are open
constexpr size_t most_unknown = 1 << 16;         // processes that are counted
constexpr size_t most_kept = 256 << 20;          // bytes of maps, and as much of JITs' names
constexpr size_t longest_name = 2048, longest_mangled = 4096;
constexpr size_t most_made = 64 << 20, longest_pack = 256;
constexpr int most_ancestors = 8;
// Looks at JITs' files take so much at first, then such a part of the time: half of what all looks may take.
constexpr auto jit_burst = std::chrono::milliseconds(2500);
constexpr int jit_rest = 40;
constexpr auto missing_age = std::chrono::seconds(1);

constexpr uint64_t pid_mask = (uint64_t{1} << KPL_SPACE_PID_BITS) - 1;

uint32_t pid_of(uint64_t space) { return static_cast<uint32_t>(space & pid_mask); }
uint64_t of_process(uint64_t space, uint32_t pid) { return (space & ~pid_mask) | pid; }
uint64_t page_of(uint64_t space) { return space >> KPL_SPACE_PID_BITS & ((uint64_t{1} << KPL_SPACE_CODE_BITS) - 1); }

std::string file_name(const std::string& path) { return plain(path.substr(path.rfind('/') + 1)); }

}  // namespace

// A short name can stand for more text than there is memory: each mention of a part that came before may double it,
// and expanded packs multiply.
static bool is_demangled(const std::string& name) {
    unsigned again = 0;
    for (size_t at = name.find_first_of("ST"); at < name.size(); at = name.find_first_of("ST", at + 1)) {
        const char next = at + 1 < name.size() ? name[at + 1] : 0;
        again += next == '_' || (next >= '0' && next <= '9') || (name[at] == 'S' && next >= 'A' && next <= 'Z');
    }
    const bool packs = name.find("Dp") != name.npos || name.find("sp") != name.npos;
    return name.starts_with("_Z") && name.size() <= (packs ? longest_pack : longest_mangled) && again < 32 &&
           name.size() << again <= most_made;
}

std::string plain(const std::string& name) {
    int status = -1;
    char* text = is_demangled(name) ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status) : nullptr;
    std::string made = status == 0 && text ? text : name;
    std::free(text);
    if (made.size() > longest_name) made.resize(longest_name);
    return printable(std::move(made));
}

// ---- processes
void UserSymbols::look() {
    for (const MapEvent& event : stream_.take()) {
        apply(event);
        if (more_bytes_ > most_kept / 2) make_room();
    }
    for (; ended_.size() > most_ended; ended_.pop_front()) drop(ended_.front());
}

void UserSymbols::drop(uint32_t pid) {
    const auto process = processes_.find(pid);
    if (process == processes_.end()) return;
    jit_bytes_ -= process->second.jit.bytes();
    processes_.erase(process);
}

size_t UserSymbols::map_bytes() const {
    size_t sum = 0;
    for (const auto& [pid, process] : processes_)
        for (const MemoryMap& map : process.maps) sum += map.bytes();
    return sum;
}

// What runs still can be read again.
void UserSymbols::make_room() {
    size_t bytes = map_bytes();
    while (bytes > most_kept / 2 && !ended_.empty()) {
        for (size_t i = ended_.size() / 2 + 1; i; i--, ended_.pop_front()) drop(ended_.front());
        bytes = map_bytes();
    }
    if (bytes > most_kept / 2) processes_.clear(), jit_bytes_ = bytes = 0;
    more_bytes_ = 0;
}

void UserSymbols::apply(const MapEvent& event) {
    using What = MapEvent::What;
    if (event.what == What::Exit) {
        if (processes_.contains(event.pid)) ended_.push_back(event.pid);
        return;
    }
    if (event.what == What::Map) {
        const auto process = processes_.find(event.pid);
        if (process == processes_.end() || process->second.maps.empty()) return;  // of what runs already: /proc
        MemoryMap& map = process->second.maps.back();
        const size_t before = map.bytes();
        if (map.add(event.mapping)) forget_names();
        if (map.bytes() > before) more_bytes_ += map.bytes() - before;
        if (!map.page && !map.mappings.empty()) map.page = map.mappings.front().start >> 12;
        if (!process->second.owner) see_owner(event.pid, process->second);
        keep_file(event.pid, event.mapping);
        return;
    }
    Process& process = processes_[event.pid];
    std::erase(ended_, event.pid);
    if (process.maps.size() == most_maps) process.maps.pop_front();
    process.lacking = {};
    if (event.what == What::Exec) {
        process.maps.emplace_back();
        return;
    }
    process.parent = event.parent;
    process.owner.reset();
    const auto parent = processes_.find(event.parent);
    if (parent == processes_.end() || parent->second.maps.empty()) return;
    MemoryMap map = parent->second.maps.back();
    if (map.space) map.space = of_process(map.space, event.pid);
    more_bytes_ += map.bytes();
    processes_[event.pid].maps.push_back(std::move(map));
}

// Where a process ran several programs whose code begins in the same place, such as those of fixed addresses, the first
// space that is asked for is taken for the last of them; of another one nothing is known.
MemoryMap* UserSymbols::known(uint64_t space) {
    const auto process = processes_.find(pid_of(space));
    if (process == processes_.end()) return nullptr;
    MemoryMap* found = nullptr;
    bool taken = false, several = false;
    for (MemoryMap& map : process->second.maps) {
        if (map.space == space) return &map;
        if (!map.page || map.page != page_of(space)) continue;
        taken |= map.space != 0;
        several |= found && found->mappings.front().inode != map.mappings.front().inode;
        if (!map.space) found = &map;
    }
    if (!found || (taken && several)) return nullptr;
    found->space = space;
    return found;
}

// Nothing: it has ended, or runs another program; or, where that isn't sure, it was not looked at.
std::optional<MemoryMap> UserSymbols::read_map(uint64_t space) {
    if (::access(fmt::format("/proc/{}", pid_of(space)).c_str(), F_OK) != 0) return std::nullopt;
    MapLook look = map_of(*files_, pid_of(space));
    sure_ &= ForeignFiles::is_answer(look.what);
    if (look.map && look.map->space != space) look.map.reset();
    return std::move(look.map);
}

// The child of a process that is known has its memory, until it runs another program.
MemoryMap* UserSymbols::find(uint64_t space, int ancestors) {
    if (MemoryMap* map = known(space)) return map;
    const uint32_t pid = pid_of(space);
    std::optional<MemoryMap> map = read_map(space);
    const bool runs = map.has_value();
    if (!sure_) return nullptr;  // another program may be there than the parent's
    if (!map && ancestors) {
        const auto process = processes_.find(pid);
        if (process != processes_.end() && process->second.parent)
            if (const MemoryMap* same = find(of_process(space, process->second.parent), ancestors - 1)) map = *same;
        if (map) map->space = space;
    }
    if (!map) return nullptr;
    more_bytes_ += map->bytes();
    Process& process = processes_[pid];
    if (runs) process.lacking = Lacking(Clock::now());
    if (process.maps.size() == most_maps) process.maps.pop_front();
    // Of what it does not run any more, before what it runs.
    const auto place = runs || process.maps.empty() ? process.maps.end() : std::prev(process.maps.end());
    return &*process.maps.insert(place, std::move(*map));
}

const CodeMapping* UserSymbols::mapping_at(uint64_t space, MemoryMap& map, uint64_t address) {
    if (const CodeMapping* mapping = map.at(address)) return mapping;
    Lacking& lacking = processes_[pid_of(space)].lacking;
    if (!lacking.wants_look(address, Clock::now())) return nullptr;
    auto fresh = read_map(space);
    if (!sure_) return nullptr;
    if (fresh) {
        map = std::move(*fresh);
        more_bytes_ += map.bytes();
    }
    lacking.looked(address, map, Clock::now());
    return map.at(address);
}

// ---- files

// What cannot be had by its path here is opened as long as somebody runs whose root has it.
void UserSymbols::keep_file(uint32_t pid, const CodeMapping& mapping) {
    const File file{mapping.device, mapping.inode};
    if (reachable_.size() > most_files) reachable_.clear();
    if (!mapping.inode || programs_.contains(file) || !reachable_.insert(file).second) return;
    const auto found = files_->find({{.path = mapping.path, .device = mapping.device, .inode = mapping.inode}},
                                    ForeignFiles::Wants::Presence);
    if (!found && ForeignFiles::is_answer(found.what)) (void)program(pid, mapping);
    if (!found && !programs_.contains(file) && !nameless_.contains(file)) reachable_.erase(file);
}

std::shared_ptr<Program> UserSymbols::program(uint32_t pid, const CodeMapping& mapping) {
    const File file{mapping.device, mapping.inode};
    if (const auto it = programs_.find(file); it != programs_.end()) return it->second;
    constexpr auto for_good = Clock::time_point::max();
    const auto now = Clock::now();
    if (const auto it = nameless_.find(file); it != nameless_.end() && now < it->second) {
        sure_ &= it->second == for_good;
        return nullptr;
    }
    std::vector<std::string> roots;
    std::vector<ForeignFiles::Door> doors;
    const auto add = [&](std::string root, std::string path) {
        roots.push_back(std::move(root));
        doors.push_back({.path = std::move(path), .device = mapping.device, .inode = mapping.inode});
    };
    add(fmt::format("/proc/{}/root", pid),
        fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end));
    for (int i = 0; pid && i < most_ancestors; i++) {
        const std::string root = fmt::format("/proc/{}/root", pid);
        add(root, root + mapping.path);
        const auto process = processes_.find(pid);
        pid = process == processes_.end() ? 0 : process->second.parent;
    }
    add("", mapping.path);
    auto found = files_->find(doors, ForeignFiles::Wants::Elf);
    const bool nothing = found.what == ForeignFiles::What::Nothing;
    if (nothing || !ForeignFiles::is_answer(found.what)) sure_ = false;
    if (!ForeignFiles::is_answer(found.what)) return nullptr;
    std::shared_ptr<Program> program;
    if (const size_t door = found.door; found)
        if (auto opened = Program::open(*files_, std::move(found), mapping.path, roots[door]))
            program = std::move(*opened);
    if (!program) {
        if (nameless_.size() >= most_files) nameless_.clear();
        nameless_[file] = nothing ? now + missing_age : for_good;
        return nullptr;
    }
    nameless_.erase(file);
    if (programs_.size() >= most_programs || symbol_bytes() > most_symbol_bytes) programs_.clear();
    return programs_[file] = std::move(program);
}

// All processes have the same one: the size is that of its sections' table, which is its last part.
std::shared_ptr<Program> UserSymbols::vdso() {
    if (vdso_) return vdso_;
    for (const CodeMapping& mapping : parse_maps(read_file("/proc/self/maps", 1 << 20))) {
        if (mapping.path != "[vdso]") continue;
        UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
        const auto size = static_cast<size_t>(mapping.end - mapping.start);
        if (!fd || ::write(fd.get(), reinterpret_cast<const void*>(mapping.start), size) != static_cast<ssize_t>(size))
            break;
        if (auto program = Program::open(*files_, {0, std::move(fd)}, "[vdso]", "")) vdso_ = std::move(*program);
    }
    return vdso_;
}

// ---- names

// What has ended keeps what it was.
void UserSymbols::see_owner(uint32_t pid, Process& process) {
    struct stat now {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &now) == 0) process.owner = now.st_uid;
}

std::string UserSymbols::jit_name(uint32_t pid, uint64_t address) {
    Process& process = processes_[pid];
    JitMap& jit = process.jit;
    see_owner(pid, process);
    jit_bytes_ -= jit.bytes();
    const auto now = Clock::now();
    if (jit_time_ < jit_burst + (now - from_) / jit_rest && jit.look(*files_, pid, process.owner))
        jit_time_ += Clock::now() - now;
    jit_bytes_ += jit.bytes();
    std::string name = jit.at(address);
    if (jit_bytes_ > most_kept) {
        for (auto& [number, process] : processes_) process.jit.forget();
        jit_bytes_ = 0;
    }
    return name;
}

size_t UserSymbols::symbol_bytes() const {
    size_t sum = 0;
    for (const auto& [file, program] : programs_) sum += program->bytes();
    return sum;
}

std::string UserSymbols::text_in(uint32_t pid, const CodeMapping& mapping, uint64_t address) {
    const bool is_vdso = mapping.path == "[vdso]";
    if (!is_vdso && (!mapping.inode || mapping.path.starts_with("/memfd:"))) {
        const std::string name = jit_name(pid, address);
        return name.empty() ? fmt::format("{:#x}", address) : plain(name) + " [jit]";
    }
    const std::string file = is_vdso ? "vdso" : file_name(mapping.path);
    const std::shared_ptr<Program> of = is_vdso ? vdso() : program(pid, mapping);
    const auto place = of ? of->address_of(address - mapping.start + mapping.offset) : std::nullopt;
    if (!place) return fmt::format("{:#x} [{}]", address, file);
    const auto symbol = of->covering(*place);
    sure_ &= !of->wants_debug_file();
    if (symbol_bytes() > most_symbol_bytes) programs_.clear();
    if (!symbol || !*symbol) return fmt::format("{:#x} [{}]", *place, file);
    std::string text = plain((*symbol)->name);
    if (const uint64_t offset = *place - (*symbol)->address) text += fmt::format("+{:#x}", offset);
    return text + " [" + file + "]";
}

std::string UserSymbols::text(uint64_t space, uint64_t address) {
    look();
    sure_ = true;
    MemoryMap* const map = space ? find(space, most_ancestors) : nullptr;
    if (!map && space && sure_ && unknown_.size() < most_unknown) unknown_.insert(space);
    const CodeMapping* const mapping = map ? mapping_at(space, *map, address) : nullptr;
    return mapping ? text_in(pid_of(space), *mapping, address) : fmt::format("{:#x}", address);
}

// What has no name now may have one later: code that a JIT makes, a library that is loaded. And what a JIT has made may
// be other code by then.
std::string UserSymbols::name(uint64_t space, uint64_t address) {
    std::string key(16, '\0');
    std::copy_n(reinterpret_cast<const char*>(&space), 8, key.begin());
    std::copy_n(reinterpret_cast<const char*>(&address), 8, key.begin() + 8);
    if (const auto it = names_.find(key); it != names_.end()) return it->second;
    std::string made = text(space, address);
    if (made.ends_with(']') && !made.ends_with("[jit]") && sure_) {
        if (name_bytes_ > most_names) forget_names();
        name_bytes_ += sizeof key + sizeof made + made.size();
        names_[key] = made;
    }
    return made;
}

void UserSymbols::forget_names() {
    names_.clear();
    name_bytes_ = 0;
}

}  // namespace kpl
