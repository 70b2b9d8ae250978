// SPDX-License-Identifier: MIT
#include "symbols/blacklist.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

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

}  // namespace

Result<Blacklist> Blacklist::read(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return Error{Errc::system, path + ": " + std::strerror(errno) +
                                       ": as root, mount it with 'mount -t debugfs debugfs /sys/kernel/debug'"};
    Blacklist list;
    for (std::string line; std::getline(file, line);) {
        BlacklistRange range;
        if (!parse(line, range)) return Error{Errc::system, path + ": '" + line + "' is no range of addresses"};
        list.ranges_.push_back(std::move(range));
    }
    std::sort(list.ranges_.begin(), list.ranges_.end(),
              [](const BlacklistRange& a, const BlacklistRange& b) { return a.begin < b.begin; });
    uint64_t reach = 0;
    for (const BlacklistRange& range : list.ranges_) list.reach_.push_back(reach = std::max(reach, range.end));
    return list;
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
        if (auto list = Blacklist::read(path_)) list_ = std::move(list).value();
    }
    return list_ ? &*list_ : nullptr;
}

}  // namespace kpl
