// SPDX-License-Identifier: MIT
#include "rows/edges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

namespace kpl::rows {
namespace {

// The setting of all rows.
constexpr int64_t scratch = 8192, data = 64, fixed = 64, limit = 16, block = 64, farthest = 1 << 20;
constexpr int64_t key_size[] = {8, 16}, value_size = 24;  // map 0: an aggregation, map 1: a hash
constexpr int64_t name_size = KPL_STR_SIZE(KPL_COMM);     // map 2: an aggregation by name

constexpr int64_t numbers[] = {
    INT_MIN,  INT_MIN + 7,  INT_MIN + 8, -farthest,   -8,          -1,     0,     1,     7,
    8,        55,           56,          57,          63,          64,     65,    4095,  4096,
    8184,     8192,         8193,        16320,       16321,       16328,  65535, 65536, 65537,
    farthest, INT_MAX - 15, INT_MAX - 8, INT_MAX - 7, INT_MAX - 1, INT_MAX};

// An object that a pointer may lead to: [low, high) from `reg`.
struct Object {
    const char* name;
    const char* reg;
    int64_t low, high;
};
constexpr Object objects[] = {{"scratch", "r7", 0, scratch}, {"data", "r8", 0, data}, {"stack", "r10", -512, 0}};
constexpr int64_t stack_written = -16;

// What one argument is made of, and the verdict.
struct Edge {
    std::string what, code;  // `code` has $ for the argument's register
    uint32_t reject = KPL_REJECT_NONE;
    uint32_t before_call = 0;  // slots from the refused one to the call
};

bool is_string(unsigned kind) { return kind == KPL_A_STR || kind == KPL_A_WSTR || kind == KPL_A_LIST; }
bool is_block(unsigned kind) { return kind == KPL_A_RMEM || kind == KPL_A_WMEM; }
bool is_written(unsigned kind) {
    return kind == KPL_A_WMEM || kind == KPL_A_WSTR || kind == KPL_A_LIST || kind == KPL_A_OUT;
}

class Calls {
  public:
    explicit Calls(int id) : id_(id), desc_(kpl_helper_descs[id]) {}

    Result<std::vector<Row>> rows() {
        for (unsigned nr = 0; nr < 5; nr++)
            for (const Edge& edge : edges(nr))
                // The module knows whether an instruction begins there: a case of tests/data/verifier_change.txt.
                if (id_ != KPL_H_go_to || edge.reject) TRY(add(nr, edge));
        return std::move(rows_);
    }

  private:
    bool takes(unsigned kind) const { return std::find(desc_.arg, desc_.arg + 5, kind) != desc_.arg + 5; }

    bool is_record_string() const { return id_ == KPL_H_rec_str || id_ == KPL_H_rec_read_str; }
    bool has_hash() const { return takes(KPL_A_HASH); }

    int64_t memory_size(unsigned kind) const {
        if (is_string(kind)) return KPL_STR_SIZE(limit);
        if (is_block(kind)) return block;
        return kind == KPL_A_KEY ? key_size[has_hash()] : value_size;
    }

    // What the row that is accepted has.
    std::string plain(unsigned nr) const {
        switch (desc_.arg[nr]) {
            case KPL_A_HIT: return "$ = r6\n";
            case KPL_A_AGG: return "$ = map 0\n";
            case KPL_A_NAMES: return "$ = map 2\n";
            case KPL_A_HASH: return "$ = map 1\n";
            case KPL_A_REC: return "$ = r8\n";
            case KPL_A_NUM: return "$ = 1\n";
            case KPL_A_CONST:
                if (id_ == KPL_H_rec_begin) return "$ = 64\n";
                if (is_record_string() && nr == 2) return "$ = 8\n";
                return fmt::format("$ = {}\n", is_string(desc_.arg[nr - 1]) ? limit : block);
        }
        return "$ = r7\n";
    }

    // Whether a known number may stand there, and whether the memory before it is then too small.
    uint32_t number_verdict(unsigned nr, int64_t n) const {
        bool whole = n >= 0 && n % 8 == 0;
        if (id_ == KPL_H_rec_begin) {
            if (nr == 1) return KPL_REJECT_NONE;
            bool fits = n >= 0 && n <= KPL_MAX_RECORD - 64;
            return fits && (nr == 3 || whole) ? KPL_REJECT_NONE : KPL_REJECT_CONSTANT;
        }
        if (id_ == KPL_H_rec_read_str && nr == 3)
            return n >= 0 && n <= KPL_MAX_STR ? KPL_REJECT_NONE : KPL_REJECT_CONSTANT;
        if (is_record_string() && nr == 2) return whole && n + 8 <= fixed ? KPL_REJECT_NONE : KPL_REJECT_CONSTANT;
        const unsigned before = desc_.arg[nr - 1];
        bool string = is_string(before);
        if (!string && !is_block(before)) return KPL_REJECT_NONE;  // the size of nothing: any
        if (n < (string ? 0 : 1) || n > (string ? KPL_MAX_STR : KPL_MAX_SCRATCH)) return KPL_REJECT_CONSTANT;
        int64_t size = string ? 8 + (n + 7) / 8 * 8 : n;
        return size <= scratch ? KPL_REJECT_NONE : KPL_REJECT_SIZE;
    }

    void memory_edges(unsigned kind, std::vector<Edge>& all) const {
        int64_t size = memory_size(kind);
        for (const Object& object : objects) {
            if (takes(KPL_A_REC) && object.reg == std::string("r8")) continue;  // it holds the record
            int64_t low = object.low, high = object.high;
            for (int64_t off : {int64_t{INT_MIN}, -farthest - 1, -farthest, low - 8, low - 1, low, low + 4,
                                high - size - 8, high - size, high - size + 1, high - size + 8, high, farthest,
                                farthest + 1, int64_t{INT_MAX} - 7, int64_t{INT_MAX}}) {
                Edge edge{fmt::format("{}{:+}", object.name, off), fmt::format("$ = {}\n$ += {}\n", object.reg, off)};
                bool stack = object.low < 0;
                if (off < -farthest || off > farthest) {
                    edge.reject = KPL_REJECT_RANGE;
                    edge.before_call = 1;
                } else if (is_string(kind) && stack) {
                    edge.reject = KPL_REJECT_ARGUMENT;
                } else if (off < low || off + size > high) {
                    edge.reject = KPL_REJECT_SIZE;
                } else if (off % 8) {
                    edge.reject = KPL_REJECT_ALIGN;
                } else if (stack && !is_written(kind) && off < stack_written) {
                    edge.reject = KPL_REJECT_SIZE;
                }
                all.push_back(edge);
            }
        }
    }

    std::vector<Edge> edges(unsigned nr) const {
        const unsigned kind = desc_.arg[nr];
        std::vector<Edge> all;
        if (kind == KPL_A_UNUSED) return all;
        const uint32_t wrong = KPL_REJECT_ARGUMENT;
        for (int64_t n : numbers) {
            uint32_t reject = kind == KPL_A_NUM     ? uint32_t{KPL_REJECT_NONE}
                              : kind == KPL_A_CONST ? number_verdict(nr, n)
                                                    : wrong;
            all.push_back({fmt::format("{}", n), fmt::format("$ = {}\n", n), reject});
        }
        const bool number = kind == KPL_A_NUM, constant = kind == KPL_A_CONST;
        const uint32_t unknown = number ? uint32_t{KPL_REJECT_NONE} : constant ? uint32_t{KPL_REJECT_CONSTANT} : wrong;
        all.push_back({"2^32 + 8", "$ = 0x100000008 ll\n", unknown});
        all.push_back({"2^64 - 8", "$ = 0xfffffffffffffff8 ll\n", unknown});
        all.push_back({"-8 in 32 bits", "@ = -8\n", unknown});
        all.push_back({"computed", "$ = 8\n$ += 0\n", unknown});
        if (kind != KPL_A_HIT) all.push_back({"the hit", "$ = r6\n", wrong});
        if (kind != KPL_A_AGG && kind != KPL_A_NAMES && kind != KPL_A_HASH)
            all.push_back({"a map", "$ = map 0\n", wrong});
        all.push_back({"registers", "$ = *(u64 *)(r6 + 0)\n", wrong});
        switch (kind) {
            case KPL_A_NUM:
            case KPL_A_CONST:
            case KPL_A_HIT:
                all.push_back({"the stack", "$ = r10\n", wrong});
                all.push_back({"scratch", "$ = r7\n", wrong});
                return all;
            case KPL_A_AGG:
            case KPL_A_NAMES:
            case KPL_A_HASH:
                if (kind == KPL_A_NAMES) all.push_back({"keys of another size", "$ = map 0\n", KPL_REJECT_MAP});
                all.push_back({"the other map", kind == KPL_A_HASH ? "$ = map 0\n" : "$ = map 1\n", KPL_REJECT_MAP});
                for (int64_t id : {int64_t{3}, int64_t{-1}, int64_t{INT_MIN}, int64_t{INT_MAX}})
                    all.push_back({fmt::format("map {}", id),
                                   fmt::format(".insn 0x18 $# 1 0 {}\n.insn 0 0 0 0 0\n", id), KPL_REJECT_MAP, 2});
                return all;
            case KPL_A_REC:
                for (int64_t off : {int64_t{-8}, int64_t{8}, fixed, farthest})
                    all.push_back({fmt::format("record{:+}", off), fmt::format("$ = r8\n$ += {}\n", off), wrong});
                return all;
        }
        memory_edges(kind, all);
        return all;
    }

    static std::string with_register(std::string code, unsigned nr) {
        std::string out;
        for (size_t i = 0; i < code.size(); i++) {
            if (code[i] == '@')
                out += fmt::format("w{}", nr);
            else if (code[i] != '$')
                out += code[i];
            else if (code[i + 1] == '#')
                out += fmt::format("{}", nr), i++;
            else
                out += fmt::format("r{}", nr);
        }
        return out;
    }

    Result<void> add(unsigned nr, const Edge& edge) {
        // What changes something is for handlers without data.
        const bool changes = id_ == KPL_H_override || id_ == KPL_H_go_to;
        std::string code = fmt::format("r6 = r1\nr7 = *(u64 *)(r6 + 16)\nr8 = *(u64 *)(r6 + {})\n", changes ? 16 : 8) +
                           "*(u64 *)(r10 - 8) = 0\n*(u64 *)(r10 - 16) = 0\n";
        if (takes(KPL_A_REC))
            code += "r2 = 3\nr3 = 64\nr4 = 64\ncall rec_begin\nif r0 != 0 goto have\nr0 = 0\nexit\nhave: r8 = r0\n";
        for (unsigned i = 0; i < 5; i++)
            if (i != nr && desc_.arg[i] != KPL_A_UNUSED) code += with_register(plain(i), i + 1);
        code += with_register(edge.code, nr + 1);
        const size_t call = TRY(assemble(code)).insns.size();
        code += fmt::format("call {}\n", desc_.name);
        if (desc_.result == KPL_R_REC_OR_NULL)
            code += "if r0 == 0 goto out\nr1 = r6\nr2 = r0\ncall rec_drop\nout: ";
        else if (takes(KPL_A_REC) && desc_.result != KPL_R_DONE)
            code += "r1 = r6\nr2 = r8\ncall rec_drop\n";
        code += "r0 = 0\nexit\n";

        Row row;
        row.name = fmt::format("{}, argument {}: {}", desc_.name, nr + 1, edge.what);
        row.code = TRY(assemble(code));
        row.kind = changes ? KPL_PROG_PRE : KPL_PROG_RET;
        row.rights = changes ? KPL_RIGHT_CHANGE : 0;
        row.data_size = changes ? 0 : data;
        row.scratch_size = scratch;
        row.budget = KPL_MAX_BUDGET;
        row.reject = edge.reject;
        row.reject_pc = edge.reject ? static_cast<uint32_t>(call - edge.before_call) : 0;
        row.maps.push_back(map(KPL_MAP_COUNT, key_size[0], 0));
        row.maps.push_back(map(KPL_MAP_HASH, key_size[1], value_size));
        row.maps.push_back(map(KPL_MAP_COUNT, name_size, 0));
        rows_.push_back(std::move(row));
        return {};
    }

    static SimMap map(uint32_t kind, int64_t key_bytes, int64_t value_bytes) {
        kpl_map_create request{};
        request.kind = kind;
        request.key_size = static_cast<uint32_t>(key_bytes);
        request.value_size = static_cast<uint32_t>(value_bytes);
        return SimMap::create(request);
    }

    int id_;
    const kpl_helper_desc& desc_;
    std::vector<Row> rows_;
};

}  // namespace

Result<std::vector<Row>> edge_rows() {
    std::vector<Row> all;
    for (int id = 0; id < KPL_H_END_; id++) {
        if (!kpl_helper_descs[id].name) continue;
        std::vector<Row> rows = TRY(Calls(id).rows());
        all.insert(all.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    }
    return all;
}

}  // namespace kpl::rows
