// SPDX-License-Identifier: MIT
// The tables of docs/bytecode.md against the .def files.
#include "core/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

std::vector<std::string> document() {
    std::ifstream in(KPL_DOCS "/bytecode.md");
    REQUIRE(in);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// Checks that the table under a heading has these rows, as they begin, and no more.
void check_rows(const std::string& heading, const std::vector<std::string>& rows) {
    auto lines = document();
    lines.emplace_back();  // a table ends at an empty line, or with the document
    auto at = std::find(lines.begin(), lines.end(), heading);
    INFO(heading);
    REQUIRE(at != lines.end());
    at += 2;  // the heading and the line below it
    for (const std::string& row : rows) {
        INFO("expected: " << row << "\nfound:    " << *at);
        REQUIRE(at->starts_with(row));
        ++at;
    }
    INFO("one row too many: " << *at);
    CHECK(at->empty());
}

const char* type_name(unsigned type) {
    switch (type) {
        case KPL_T_NUM: return "NUM";
        case KPL_T_REGS: return "REGS";
        case KPL_T_DATA: return "DATA";
        case KPL_T_SCRATCH: return "SCRATCH";
    }
    return "?";
}

std::string arguments(const kpl_helper_desc& helper) {
    static constexpr const char* names[] = {"",    "NUM", "CONST", "HIT",  "AGG", "NAMES", "HASH", "KEY",
                                            "VAL", "OUT", "RMEM",  "WMEM", "STR", "WSTR",  "LIST", "REC"};
    static_assert(std::size(names) == KPL_A_END_);
    std::string text;
    for (unsigned arg : helper.arg)
        if (arg != KPL_A_UNUSED) text += (text.empty() ? "" : ", ") + std::string(names[arg]);
    return text;
}

std::string result(const kpl_helper_desc& helper) {
    switch (helper.result) {
        case KPL_R_NUM: return "NUM";
        case KPL_R_REC_OR_NULL: return "REC_OR_NULL";
        case KPL_R_VOID: return "VOID";
        case KPL_R_DONE: return "DONE";
    }
    return "?";
}

std::string kinds(unsigned mask) {
    static constexpr const char* names[] = {"pre", "post", "fault", "entry", "ret", "tracepoint", "watch"};
    if (mask == (1 << KPL_PROG_KINDS) - 1) return "all";
    std::string text;
    for (unsigned i = 0; i < KPL_PROG_KINDS; i++)
        if (mask >> i & 1) text += (text.empty() ? "" : ", ") + std::string(names[i]);
    return text;
}

}  // namespace

TEST_CASE("the document lists all helpers as helpers.def does") {
    std::vector<std::string> rows;
    auto row = [&](unsigned id) {
        const kpl_helper_desc& helper = kpl_helper_descs[id];
        rows.push_back(fmt::format("| {} | {} | {} | {} | {} | {} | ", id, helper.name, arguments(helper),
                                   result(helper), helper.cost, helper.word));
    };
#define HELPER(id, ...) row(id);
#include "uapi/helpers.def"
#undef HELPER
#ifdef KPL_TEST_ROWS
    rows.pop_back();  // not for the document
#endif
    check_rows("| id | name | arguments | result | cost | word | |", rows);
}

TEST_CASE("the document lists the hit's fields as hit.def does") {
    std::vector<std::string> rows;
    for (unsigned i = 0; i < kpl_nr_hit_descs; i++) {
        const kpl_hit_desc& field = kpl_hit_descs[i];
        rows.push_back(fmt::format("| {} | {} | {} | {} | {} |", field.off, field.name, field.size,
                                   type_name(field.type), kinds(field.kinds)));
    }
    check_rows("| offset | field | bytes | gives | kinds |", rows);
}

TEST_CASE("the document lists reasons to stop and to refuse") {
    std::vector<std::string> stops, rejects;
#define STOP(name, class, text) stops.push_back("| " #name " | " #class " | " text " |");
#include "uapi/stops.def"
#undef STOP
#define REJECT(name, text) rejects.push_back("| " #name " | " text " |");
#include "uapi/rejects.def"
#undef REJECT
    check_rows("| reason | counted as | |", stops);
    check_rows("| reason | |", rejects);
}

TEST_CASE("tables of the core") {
    std::set<std::string> names;
    for (const kpl_helper_desc& helper : kpl_helper_descs)
        if (helper.name) CHECK(names.insert(helper.name).second);
    const kpl_helper_desc& get = kpl_helper_descs[KPL_H_map_get];
    CHECK(get.name == std::string("map_get"));
    CHECK(get.arg[0] == KPL_A_HIT);
    CHECK(get.arg[1] == KPL_A_HASH);
    CHECK(get.arg[2] == KPL_A_KEY);
    CHECK(get.arg[3] == KPL_A_OUT);
    CHECK(get.arg[4] == KPL_A_UNUSED);
    CHECK(get.cost == 100);
    CHECK(get.word == 10);
    CHECK(kpl_helper_descs[KPL_H_rec_begin].result == KPL_R_REC_OR_NULL);
    CHECK(kpl_helper_descs[0].name == nullptr);
}
