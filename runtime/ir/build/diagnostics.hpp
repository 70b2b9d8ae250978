// SPDX-License-Identifier: MIT
// Every refusal of the compiler, from one table (errors.def), and where they are collected.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "ir/unit.hpp"

namespace kpl::builder {

enum class Err : uint8_t {
#define KPL_ERROR(id, text, advice) id,
#define KPL_WARNING(id, text, advice)
#include "ir/build/errors.def"
#undef KPL_ERROR
#undef KPL_WARNING
    count_
};

enum class Warn : uint8_t {
#define KPL_ERROR(id, text, advice)
#define KPL_WARNING(id, text, advice) id,
#include "ir/build/errors.def"
#undef KPL_ERROR
#undef KPL_WARNING
    count_
};

struct MessageRow {
    std::string_view id, text, advice;
};
const MessageRow& row(Err);
const MessageRow& row(Warn);

class Diagnostics {
  public:
    // One error for each line: what follows from the first is no news.
    template <class... Args>
    void error(const SourceLoc& at, Err id, const Args&... args) {
        add_error(at, fmt::format(fmt::runtime(template_of(row(id))), args...));
    }
    template <class... Args>
    void warn(const SourceLoc& at, Warn id, const Args&... args) {
        add_warning(at, fmt::format(fmt::runtime(template_of(row(id))), args...));
    }
    // What every error ends in from now on.
    void about(std::string text) { about_ = std::move(text); }
    // An error that came from below (BTF, the Lua state): its text as it is.
    void add_error(const SourceLoc& at, std::string text);

    bool has_errors() const { return !errors_.empty(); }
    Error error() const;  // all of them, in order of line
    std::vector<Warning> warnings() const;
    void clear();

  private:
    using Line = std::pair<std::string, int>;
    void add_warning(const SourceLoc& at, std::string text);
    static std::string template_of(const MessageRow& row);

    std::string about_;
    std::map<Line, std::string> errors_;
    std::map<Line, std::string> warnings_;
};

}  // namespace kpl::builder
