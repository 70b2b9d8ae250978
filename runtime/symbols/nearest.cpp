// SPDX-License-Identifier: MIT
#include "symbols/nearest.hpp"

#include <algorithm>
#include <bit>

namespace kpl {
namespace {

size_t most_edits(size_t length) { return length < 3 ? 1 : length < 9 ? 2 : 3; }

uint64_t letters_of(std::string_view text) {
    uint64_t set = 0;
    for (unsigned char c : text) set |= uint64_t{1} << (c % 64);
    return set;
}

}  // namespace

Nearest::Nearest(std::string wanted, size_t keep)
    : wanted_(std::move(wanted)), keep_(keep), limit_(most_edits(wanted_.size())), letters_(letters_of(wanted_)) {
    for (auto& row : rows_) row.resize(wanted_.size() + 1);
}

void Nearest::offer(std::string_view candidate) {
    if (hopeless(candidate) || candidate == wanted_) return;
    const size_t edits = distance(candidate);
    if (edits > limit_) return;
    for (const auto& entry : best_)
        if (entry.second == candidate) return;
    auto at = std::upper_bound(best_.begin(), best_.end(), edits,
                               [](size_t value, const auto& entry) { return value < entry.first; });
    best_.insert(at, {edits, std::string(candidate)});
    if (best_.size() > keep_) best_.pop_back();
    if (best_.size() == keep_) limit_ = best_.back().first - 1;  // only something better changes a full list
}

// A cheap bound first: a kernel has a hundred thousand names. Each letter that one name lacks costs an edit.
bool Nearest::hopeless(std::string_view candidate) const {
    const size_t a = candidate.size(), b = wanted_.size();
    if ((a > b ? a - b : b - a) > limit_) return true;
    const uint64_t letters = letters_of(candidate);
    const int missing = std::max(std::popcount(letters & ~letters_), std::popcount(letters_ & ~letters));
    return static_cast<size_t>(missing) > limit_;
}

// Edits between the names, swaps of neighbours included; above the limit, any number above it.
size_t Nearest::distance(std::string_view candidate) {
    std::vector<size_t>*before = &rows_[0], *last = &rows_[1], *row = &rows_[2];
    for (size_t j = 0; j <= wanted_.size(); j++) (*row)[j] = j;
    size_t last_least = 0;
    for (size_t i = 1; i <= candidate.size(); i++) {
        std::swap(before, last);
        std::swap(last, row);
        size_t least = (*row)[0] = i;
        for (size_t j = 1; j <= wanted_.size(); j++) {
            const size_t replaced = (*last)[j - 1] + (candidate[i - 1] == wanted_[j - 1] ? 0 : 1);
            size_t edits = std::min({(*last)[j] + 1, (*row)[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && candidate[i - 1] == wanted_[j - 2] && candidate[i - 2] == wanted_[j - 1])
                edits = std::min(edits, (*before)[j - 2] + 1);
            (*row)[j] = edits;
            least = std::min(least, edits);
        }
        // A swap builds on the row before the last, so both have to be beyond the limit.
        if (std::min(least, last_least) > limit_) return least;
        last_least = least;
    }
    return (*row)[wanted_.size()];
}

std::vector<std::string> Nearest::names() const {
    std::vector<std::string> out;
    for (const auto& entry : best_) out.push_back(entry.second);
    return out;
}

std::string did_you_mean(const std::vector<std::string>& names) {
    if (names.empty()) return "";
    std::string out = " (did you mean ";
    for (size_t i = 0; i < names.size(); i++) {
        if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
        out += names[i];
    }
    return out + "?)";
}

}  // namespace kpl
