// SPDX-License-Identifier: MIT
#include "ir/build/diagnostics.hpp"

namespace kpl::builder {
namespace {

constexpr MessageRow error_rows[] = {
#define KPL_ERROR(id, text, advice) {#id, text, advice},
#define KPL_WARNING(id, text, advice)
#include "ir/build/errors.def"
#undef KPL_ERROR
#undef KPL_WARNING
};

constexpr MessageRow warning_rows[] = {
#define KPL_ERROR(id, text, advice)
#define KPL_WARNING(id, text, advice) {#id, text, advice},
#include "ir/build/errors.def"
#undef KPL_ERROR
#undef KPL_WARNING
};

}  // namespace

const MessageRow& row(Err id) { return error_rows[static_cast<size_t>(id)]; }
const MessageRow& row(Warn id) { return warning_rows[static_cast<size_t>(id)]; }

std::string Diagnostics::template_of(const MessageRow& row) {
    std::string text(row.text);
    if (!row.advice.empty()) text.append(": ").append(row.advice);
    return text;
}

void Diagnostics::add_error(const SourceLoc& at, std::string text) {
    errors_.emplace(Line{at.file, at.line}, std::move(text) + about_);
}

void Diagnostics::add_warning(const SourceLoc& at, std::string text) {
    warnings_.emplace(Line{at.file, at.line}, std::move(text));
}

Error Diagnostics::error() const {
    ErrorRound round;
    for (const auto& [line, text] : errors_) round.add({Errc::script, text, {line.first, line.second}});
    return round.error();
}

std::vector<Warning> Diagnostics::warnings() const {
    std::vector<Warning> all;
    for (const auto& [line, text] : warnings_) all.push_back({{line.first, line.second}, text});
    return all;
}

void Diagnostics::clear() {
    errors_.clear();
    warnings_.clear();
}

}  // namespace kpl::builder
