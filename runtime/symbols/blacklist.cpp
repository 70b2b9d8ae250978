// SPDX-License-Identifier: MIT
#include "symbols/blacklist.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include "symbols/kernel_memory.hpp"

namespace kpl {
namespace {

// "0xffffffff81001030-0xffffffff81001050\tasm_exc_divide_error"
bool parse(const std::string& line, BlacklistRange& range) {
    const char *at = line.data(), *end = at + line.size();
    const auto number = [&](uint64_t& value) {
        if (end - at < 3 || at[0] != '0' || at[1] != 'x') return false;
        const auto [next, error] = std::from_chars(at + 2, end, value, 16);
        at = next;
        return error == std::errc();
    };
    if (!number(range.begin) || at == end || *at++ != '-' || !number(range.end) || at == end || *at++ != '\t')
        return false;
    range.name.assign(at, end);
    return range.begin < range.end;
}

constexpr size_t most_entries = 1 << 16;
constexpr uint64_t page_size = 4096, kernel_half = uint64_t{1} << 63;

// struct kprobe_blacklist_entry (include/linux/kprobes.h), the same since 3.14.
struct Entry {
    struct {
        uint64_t next, previous;
    } links;
    uint64_t begin, end;
};

// Entries lie near to each other: read by the page.
class Memory {
  public:
    explicit Memory(const Blacklist::ReadMemory& read) : read_(read) {}

    template <class T>
    bool get(uint64_t addr, T& into) {
        const uint64_t page = addr & ~(page_size - 1), at = addr - page;
        if (addr < kernel_half || at + sizeof(T) > page_size) return false;
        auto found = pages_.find(page);
        if (found == pages_.end()) {
            found = pages_.emplace(page, std::vector<uint8_t>(page_size)).first;
            if (!read_(page, found->second)) return false;
        }
        std::memcpy(&into, found->second.data() + at, sizeof(T));
        return true;
    }

  private:
    const Blacklist::ReadMemory& read_;
    std::unordered_map<uint64_t, std::vector<uint8_t>> pages_;
};

}  // namespace

Result<Blacklist> Blacklist::read(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return Error{Errc::system, path + ": " + std::strerror(errno) +
                                       ": as root, mount it with 'mount -t debugfs debugfs /sys/kernel/debug'"};
    Blacklist list;
    for (std::string line; std::getline(file, line);) {
        BlacklistRange range;
        if (!parse(line, range)) return Error{Errc::system, path + ": '" + line + "' is not a range of addresses"};
        list.ranges_.push_back(std::move(range));
    }
    list.sort();
    return list;
}

std::optional<Blacklist> Blacklist::walk(uint64_t head, const ReadMemory& read) {
    Memory memory(read);
    Blacklist list;
    Entry entry{};
    uint64_t before = head;
    if (!head || !memory.get(head, entry.links)) return std::nullopt;
    const uint64_t last = entry.links.previous;
    for (uint64_t at = entry.links.next; at != head; before = at, at = entry.links.next) {
        if (list.ranges_.size() == most_entries || !memory.get(at, entry)) return std::nullopt;
        if (entry.links.previous != before || entry.begin >= entry.end || entry.begin < kernel_half)
            return std::nullopt;
        list.ranges_.push_back({entry.begin, entry.end, {}});
    }
    if (list.ranges_.empty() || before != last) return std::nullopt;
    list.sort();
    return list;
}

std::optional<Blacklist> Blacklist::of_kernel(Kallsyms& symbols) {
    const uint64_t head = symbols.quick_address(Blacklist::head);
    if (!head) return std::nullopt;
    const auto memory = KernelMemory::open();
    if (!memory) return std::nullopt;
    return walk(head, [&](uint64_t addr, std::span<uint8_t> into) { return memory->read(addr, into); });
}

void Blacklist::sort() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const BlacklistRange& a, const BlacklistRange& b) { return a.begin < b.begin; });
    uint64_t reach = 0;
    for (const BlacklistRange& range : ranges_) reach_.push_back(reach = std::max(reach, range.end));
}

bool Blacklist::covers(uint64_t address) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), address,
                         [](uint64_t value, const BlacklistRange& range) { return value < range.begin; });
    return after != ranges_.begin() && reach_[static_cast<size_t>(after - ranges_.begin()) - 1] > address;
}

const Blacklist* BlacklistOnDemand::get() const {
    if (!tried_) {
        tried_ = true;
        if (quick_) list_ = quick_();
        if (list_) return &*list_;
        if (auto list = Blacklist::read(path_)) list_ = std::move(list).value();
    }
    return list_ ? &*list_ : nullptr;
}

}  // namespace kpl
