// SPDX-License-Identifier: MIT
#include "symbols/glob.hpp"

#include <optional>

namespace kpl {
namespace {

struct SetMatch {
    bool matches;
    size_t length;  // of the set in the pattern, brackets included
};

// `pattern` begins with '['. nullopt: it has no end.
std::optional<SetMatch> match_set(std::string_view pattern, char c) {
    size_t i = 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated) i++;
    bool found = false;
    for (const size_t first = i; i < pattern.size(); i++) {
        if (pattern[i] == ']' && i > first) return SetMatch{found != negated, i + 1};
        const char low = pattern[i];
        char high = low;
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') high = pattern[i += 2];
        if (low <= c && c <= high) found = true;
    }
    return std::nullopt;
}

// How much of the pattern one character of text takes; 0 when it does not match.
size_t match_one(std::string_view pattern, char c) {
    if (pattern.empty()) return 0;
    if (pattern[0] == '?') return 1;
    if (pattern[0] == '[')
        if (auto set = match_set(pattern, c)) return set->matches ? set->length : 0;
    if (pattern[0] == '\\' && pattern.size() > 1) return pattern[1] == c ? 2 : 0;
    return pattern[0] == c ? 1 : 0;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
    // On a mismatch, the last star takes one character more: linear but for that, and no recursion.
    size_t p = 0, t = 0, after_star = std::string_view::npos, star_text = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            after_star = ++p;
            star_text = t;
        } else if (const size_t taken = match_one(pattern.substr(p), text[t])) {
            p += taken;
            t++;
        } else if (after_star != std::string_view::npos) {
            p = after_star;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') p++;
    return p == pattern.size();
}

}  // namespace kpl
