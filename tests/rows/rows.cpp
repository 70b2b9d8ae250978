// SPDX-License-Identifier: MIT
#include "rows/rows.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace kpl::rows {
namespace {

using Stream = std::istringstream;

struct Named {
    std::string_view name;
    uint32_t value;
};

constexpr Named kinds[] = {
    {"pre", KPL_PROG_PRE},     {"post", KPL_PROG_POST}, {"fault", KPL_PROG_FAULT},
    {"entry", KPL_PROG_ENTRY}, {"ret", KPL_PROG_RET},   {"tracepoint", KPL_PROG_TRACEPOINT},
    {"watch", KPL_PROG_WATCH},
};

constexpr Named map_kinds[] = {
#define AGG(id, name, ...) {#name, KPL_MAP_##id},
#include "uapi/aggs.def"
#undef AGG
    {"hash", KPL_MAP_HASH},
};

constexpr Named rejects[] = {
#define REJECT(name, text) {#name, KPL_REJECT_##name},
#include "uapi/rejects.def"
#undef REJECT
};

constexpr Named stops[] = {
#define STOP(name, class, text) {#name, KPL_STOP_##name},
#include "uapi/stops.def"
#undef STOP
};

struct HitNumber {
    std::string_view name;
    __u64 kpl_hit::*field;
};

constexpr HitNumber hit_numbers[] = {
    {"func", &kpl_hit::func},         {"addr", &kpl_hit::addr},         {"ret", &kpl_hit::ret},
    {"ret_addr", &kpl_hit::ret_addr}, {"bad_addr", &kpl_hit::bad_addr},
};

template <size_t N>
std::optional<uint32_t> value_of(const Named (&names)[N], std::string_view name) {
    for (const Named& named : names)
        if (named.name == name) return named.value;
    return {};
}

std::optional<uint64_t> number(const std::string& text) {
    try {
        size_t used = 0;
        uint64_t value =
            text.starts_with('-') ? static_cast<uint64_t>(std::stoll(text, &used, 0)) : std::stoull(text, &used, 0);
        if (used == text.size()) return value;
    } catch (const std::exception&) {
    }
    return {};
}

// `word` is KEY=NUMBER.
std::optional<std::pair<std::string, uint64_t>> assignment(const std::string& word) {
    size_t equals = word.find('=');
    if (equals == word.npos) return {};
    auto value = number(word.substr(equals + 1));
    if (!value) return {};
    return std::pair{word.substr(0, equals), *value};
}

bool read_words(Stream& in, Words& words) {
    std::string word;
    while (in >> word) {
        auto pair = assignment(word);
        auto index = pair ? number(pair->first) : std::nullopt;
        if (!index) return false;
        words[static_cast<unsigned>(*index)] = pair->second;
    }
    return true;
}

bool read_hit(Stream& in, kpl_hit& hit) {
    std::string word;
    while (in >> word) {
        auto pair = assignment(word);
        auto found = std::find_if(std::begin(hit_numbers), std::end(hit_numbers),
                                  [&](const HitNumber& field) { return pair && field.name == pair->first; });
        if (found == std::end(hit_numbers)) return false;
        hit.*found->field = pair->second;
    }
    return true;
}

bool read_map(Stream& in, std::vector<SimMap>& maps) {
    std::string kind;
    uint32_t key = 0, value = 0;
    in >> kind >> key >> value;
    auto id = value_of(map_kinds, kind);
    if (!id) return false;
    kpl_map_create request{};
    request.kind = *id;
    request.key_size = key;
    request.value_size = value;
    maps.push_back(SimMap::create(request));
    return true;
}

bool read_option(Stream& in, Row& row) {
    std::string key, word;
    in >> key;
    if (key == "@regs") return read_words(in, row.regs);
    if (key == "@words") return read_words(in, row.words);
    if (key == "@hit") return read_hit(in, row.hit);
    if (key == "@map") return read_map(in, row.maps);
    do {
        if (!(in >> word)) return false;
        std::optional<uint64_t> value = number(word);
        if (key == "@kind") value = value_of(kinds, word);
        if (!value) return false;
        uint32_t* field = key == "@kind"      ? &row.kind
                          : key == "@data"    ? &row.data_size
                          : key == "@scratch" ? &row.scratch_size
                          : key == "@budget"  ? &row.budget
                          : key == "@ring"    ? &row.max_record
                          : key == "@rights"  ? &row.rights
                                              : nullptr;
        if (!field) return false;
        *field = static_cast<uint32_t>(*value);
    } while (in >> key);
    return true;
}

bool read_accept(Stream& in, Row& row) {
    std::string word;
    while (in >> word) {
        auto pair = assignment(word);
        if (!pair || (pair->first != "cost" && pair->first != "depth")) return false;
        (pair->first == "cost" ? row.cost : row.depth) = static_cast<uint32_t>(pair->second);
    }
    return true;
}

bool read_end(Stream& in, Row& row) {
    std::string verb, word;
    in >> word >> verb;
    if (verb == "accept") return read_accept(in, row);
    if (verb == "alike") return row.alike = true;
    in >> word;
    if (verb == "reject") {
        auto reason = value_of(rejects, word);
        row.reject = reason.value_or(KPL_REJECT_NONE);
        return reason && in >> row.reject_pc;
    }
    row.runs = true;
    if (verb == "stop") {
        auto reason = value_of(stops, word);
        uint32_t pc = 0;
        if (!reason || !(in >> pc)) return false;
        row.r0 = KPL_RET_STOP(*reason, pc);
        return true;
    }
    auto value = number(word);
    if (verb != "r0" || !value) return false;
    row.r0 = *value;
    return !(in >> word) || (word == "words" && read_words(in, row.words_after));
}

// `insn | a b | expected`
std::optional<Row> read_one_liner(const std::string& text, std::string& code) {
    const std::string bar = " | ";  // not the one in `r1 |= r2`
    size_t first = text.find(bar), second = text.find(bar, first + 1);
    if (first == text.npos || second == text.npos) return {};
    std::string insn = text.substr(0, first), inputs = text.substr(first + bar.size(), second - first - bar.size());
    std::string expected = text.substr(second + bar.size()), a, b = "0";
    Stream(inputs) >> a >> b;
    Stream(expected) >> expected;
    auto x = number(a), y = number(b), result = number(expected);
    if (!x || !y || !result) return {};
    Row row;
    row.name = text;
    row.runs = true;
    row.r0 = *result;
    // The values come in as data: rows of one instruction are one program.
    row.kind = KPL_PROG_RET;
    row.data_size = 16;
    row.words = {{0, *x}, {1, *y}};
    code = "r3 = *(u64 *)(r1 + 8)\nr1 = *(u64 *)(r3 + 0)\nr2 = *(u64 *)(r3 + 8)\n";
    if (insn.starts_with("if "))
        code += "r0 = 1\n" + insn + " goto out\nr0 = 0\nout: exit\n";
    else
        code += insn + "\nr0 = r1\nexit\n";
    return row;
}

class Reader {
  public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    Result<std::vector<Row>> run(const std::string& text) {
        Stream in(text);
        std::string line;
        while (std::getline(in, line)) {
            number_++;
            TRY(take(line));
        }
        if (open_) return error("the last case has no end");
        return std::move(rows_);
    }

  private:
    Error error(const std::string& text) const { return {Errc::script, text, {file_, number_}}; }

    Result<void> take(const std::string& line) {
        size_t start = line.find_first_not_of(" \t");
        if (start == line.npos || line[start] == '#') return {};
        std::string rest = line.substr(start);
        Stream in(rest.substr(0, rest.find(" ; ")));
        if (rest[0] == '[') return begin(rest);
        if (!open_ && rest.find(" | ") != rest.npos) return one_liner(rest);
        if (!open_) return error("expected [name of a case]");
        if (rest[0] == '@') return read_option(in, row_) ? Result<void>{} : error("bad option");
        if (rest.starts_with("=>")) {
            if (!read_end(in, row_)) return error("bad end of the case");
            return finish();
        }
        code_ += line + '\n';
        return {};
    }

    Result<void> begin(const std::string& rest) {
        if (open_) return error("the case before has no end");
        row_ = {};
        row_.name = rest.substr(1, rest.find(']') - 1);
        row_.line = number_;
        code_.clear();
        open_ = true;
        return {};
    }

    Result<void> one_liner(const std::string& rest) {
        auto row = read_one_liner(rest, code_);
        if (!row) return error("bad one-line case");
        row_ = *std::move(row);
        row_.line = number_;
        return finish();
    }

    Result<void> finish() {
        auto code = assemble(code_);
        if (!code) return error(row_.name + ": " + code.error().message());
        row_.code = *std::move(code);
        rows_.push_back(std::move(row_));
        open_ = false;
        return {};
    }

    std::string file_, code_;
    int number_ = 0;
    bool open_ = false;
    Row row_;
    std::vector<Row> rows_;
};

}  // namespace

SimLoad Row::to_load() const { return {code.insns, code.labels, kind, data_size, scratch_size, budget}; }

Result<std::vector<Row>> parse_rows(const std::string& text, const std::string& file) { return Reader(file).run(text); }

Result<std::vector<Row>> read_rows(const std::string& file) {
    std::ifstream in(file);
    if (!in) in.open(std::string(KPL_TEST_DATA) + "/" + file);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) return Error{Errc::system, "can't read", {file, 0}};
    return parse_rows(text.str(), file);
}

}  // namespace kpl::rows
