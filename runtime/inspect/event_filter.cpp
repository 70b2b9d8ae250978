// SPDX-License-Identifier: MIT
#include "inspect/event_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace kpl {
namespace {

// What every event has.
const FilterField common_fields[] = {
    {"common_pid", "tid()", false}, {"comm", "comm()", true}, {"COMM", "comm()", true},
    {"cpu", "cpu()", false},        {"CPU", "cpu()", false},
};

struct Operator {
    const char *kernel, *lua;  // no Lua: it is made of calls
};
constexpr Operator operators[] = {{"==", "=="}, {"!=", "~="}, {"<=", "<="},   {">=", ">="},
                                  {"<", "<"},   {">", ">"},   {"~", nullptr}, {"&", nullptr}};

// or: and { "||" and }; and: one { "&&" one }; one: "!" one | "(" or ")" | FIELD OPERATOR VALUE
class FilterParser {
  public:
    FilterParser(std::string_view text, const FilterFields& fields) : text_(text), fields_(fields) {}

    std::optional<std::string> run() {
        auto all = chain("||", " or ", 0);
        blank();
        return text_.empty() ? all : std::nullopt;
    }

  private:
    void blank() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t"), text_.size())); }
    bool take(std::string_view token) {
        blank();
        if (!text_.starts_with(token)) return false;
        text_.remove_prefix(token.size());
        return true;
    }
    std::string word() {
        blank();
        size_t end = 0;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_' ||
                                      text_[end] == '.' || (end == 0 && text_[end] == '-')))
            end++;
        const std::string found(text_.substr(0, end));
        text_.remove_prefix(end);
        return found;
    }

    std::optional<std::string> chain(const char* token, const char* lua, int depth) {
        const bool is_or = token[0] == '|';
        std::string all;
        do {
            const auto next = is_or ? chain("&&", " and ", depth) : one(depth);
            if (!next) return std::nullopt;
            all += (all.empty() ? "" : lua) + *next;
        } while (take(token));
        return all;
    }

    std::optional<std::string> one(int depth) {
        if (depth > 32) return std::nullopt;
        blank();
        if (!text_.starts_with("!=") && take("!")) {
            const auto of = one(depth + 1);
            return of ? std::optional(fmt::format("not ({})", *of)) : std::nullopt;
        }
        if (take("(")) {
            const auto of = chain("||", " or ", depth + 1);
            return of && take(")") ? std::optional(fmt::format("({})", *of)) : std::nullopt;
        }
        return comparison();
    }

    const FilterField* find(const std::string& name) const {
        const auto has = [&](const FilterField& field) { return field.name == name; };
        const auto own = std::find_if(fields_.begin(), fields_.end(), has);
        if (own != fields_.end()) return &*own;
        const auto* common = std::find_if(std::begin(common_fields), std::end(common_fields), has);
        return common == std::end(common_fields) ? nullptr : common;
    }

    std::optional<std::string> comparison() {
        const FilterField* const field = find(word());
        const auto* op = std::find_if(std::begin(operators), std::end(operators),
                                      [&](const Operator& one) { return take(one.kernel); });
        if (!field || op == std::end(operators)) return std::nullopt;
        return field->is_string ? text_test(*field, *op) : number_test(*field, *op);
    }

    std::optional<std::string> number_test(const FilterField& field, const Operator& op) {
        std::string value = word();
        const size_t first = value.starts_with('-') ? 1 : 0;
        const bool hex = value.compare(first, 2, "0x") == 0;
        const bool digits = value.size() > first &&
                            std::all_of(value.begin() + static_cast<long>(first + (hex ? 2 : 0)), value.end(),
                                        [hex](unsigned char c) { return hex ? std::isxdigit(c) : std::isdigit(c); });
        if (!digits) return std::nullopt;
        if (!hex && value[first] == '0' && value.size() > first + 1) {  // octal
            uint64_t number = 0;
            const auto [end, error] = std::from_chars(value.data() + first, value.data() + value.size(), number, 8);
            if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
            value.replace(first, value.npos, std::to_string(number));
        }
        if (value.size() > first + 15) value += first ? "LL" : "ULL";  // beyond what a double holds
        if (op.lua) return fmt::format("{} {} {}", field.lua, op.lua, value);
        if (op.kernel[0] == '&') return fmt::format("bit.band({}, {}) ~= 0", field.lua, value);
        return std::nullopt;
    }

    // "text", 'text' or a bare word; with ~ a pattern.
    std::optional<std::string> text_test(const FilterField& field, const Operator& op) {
        blank();
        std::string value;
        if (text_.starts_with('"') || text_.starts_with('\'')) {
            const size_t end = text_.find(text_[0], 1);
            if (end == text_.npos) return std::nullopt;
            value = text_.substr(1, end - 1);
            text_.remove_prefix(end + 1);
        } else {
            value = word();
        }
        if (value.find_first_of("\\\"\n") != value.npos) return std::nullopt;
        const std::string_view name = op.kernel;
        if (name == "==" || name == "!=") return fmt::format("{} {} \"{}\"", field.lua, op.lua, value);
        if (name != "~") return std::nullopt;
        const size_t wild = value.find_first_of("*?[");
        if (wild == value.npos) return fmt::format("{} == \"{}\"", field.lua, value);
        if (value[wild] != '*' || wild + 1 != value.size() || wild == 0) return std::nullopt;
        return fmt::format("starts({}, \"{}\")", field.lua, value.substr(0, wild));
    }

    std::string_view text_;
    const FilterFields& fields_;
};

}  // namespace

std::optional<std::string> filter_as_lua(std::string_view filter, const FilterFields& fields) {
    return FilterParser(filter, fields).run();
}

}  // namespace kpl
