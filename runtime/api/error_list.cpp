// SPDX-License-Identifier: MIT
#include "api/error_list.hpp"

#include <algorithm>
#include <cctype>

#include "kprobe-lua.h"

namespace kpl::api {
namespace {

// "file:line: what" of a script, else the text alone.
ErrorList::Line split(const std::string& text) {
    for (size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
        size_t end = colon + 1;
        while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) end++;
        const size_t digits = end - colon - 1;
        if (colon == 0 || digits == 0 || digits > 9 || text.compare(end, 2, ": ") != 0) continue;
        return {text.substr(0, colon), std::stoi(text.substr(colon + 1, digits)), text.substr(end + 2)};
    }
    return {"", 0, text};
}

int number_of(Errc code) {
    switch (code) {
        case Errc::script: return KLUA_ERR_SCRIPT;
        case Errc::usage: return KLUA_ERR_USAGE;
        case Errc::system: return KLUA_ERR_SYSTEM;
    }
    return KLUA_ERR_SYSTEM;
}

}  // namespace

thread_local int ErrorList::textless_ = 0;

int ErrorList::set(const Error& error) { return set(number_of(error.code), error.message()); }

int ErrorList::set(int number, std::string text) {
    number_ = number;
    textless_ = 0;
    out_of_memory_ = false;
    text_ = std::move(text);
    lines_.clear();
    for (size_t at = 0; at < text_.size();) {
        const size_t end = std::min(text_.find('\n', at), text_.size());
        if (end > at) lines_.push_back(split(text_.substr(at, end - at)));
        at = end + 1;
    }
    return number;
}

int ErrorList::set_memory() noexcept {
    number_ = KLUA_ERR_MEMORY;
    textless_ = 0;
    out_of_memory_ = true;
    lines_.clear();
    return number_;
}

}  // namespace kpl::api
