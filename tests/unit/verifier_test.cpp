// SPDX-License-Identifier: MIT
// The verifier against the rows of tests/data/verifier_*.txt, and that these cover each table that it works
// by.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "core/core.h"
#include "rows/each.hpp"
#include "rows/edges.hpp"
#include "rows/rows.hpp"

using namespace kpl;

namespace {

std::vector<rows::Row> all_rows() {
    std::vector<rows::Row> all;
    for (const char* file : {"verifier_base.txt", "verifier_memory.txt", "verifier_calls.txt", "verifier_edges.txt",
                             "verifier_change.txt", "engine_programs.txt"}) {
        auto rows = rows::read_rows(file);
        if (!rows) FAIL(rows.error().message());
        all.insert(all.end(), rows->begin(), rows->end());
    }
    return all;
}

std::string verdict(const rows::Row& row) {
    Simulator sim;
    sim.maps = row.maps;
    sim.max_record = row.max_record;
    sim.rights = row.rights;
    SimReject reject;
    auto program = sim.load(row.to_load(), reject);
    if (!program) return reject.text();
    std::string text = "accepted";
    if (row.cost) text += fmt::format(", cost {}", program->cost);
    if (row.depth) text += fmt::format(", depth {}", program->stack_depth);
    return text;
}

std::string expected(const rows::Row& row) {
    if (row.reject) return SimReject{row.reject, row.reject_pc}.text();
    std::string text = "accepted";
    if (row.cost) text += fmt::format(", cost {}", *row.cost);
    if (row.depth) text += fmt::format(", depth {}", *row.depth);
    return text;
}

const bpf_insn* refused_insn(const rows::Row& row) {
    if (!row.reject || row.reject_pc >= row.code.insns.size()) return nullptr;
    return &row.code.insns[row.reject_pc];
}

bool calls(const bpf_insn& insn, int helper) { return insn.code == (BPF_JMP | BPF_CALL) && insn.imm == helper; }

bool loads(const bpf_insn& insn, const kpl_hit_desc& field, bool whole) {
    static const std::map<int, unsigned> sizes = {{BPF_B, 1}, {BPF_H, 2}, {BPF_W, 4}, {BPF_DW, 8}};
    return BPF_CLASS(insn.code) == BPF_LDX && insn.src_reg == 1 && insn.off == field.off &&
           (!whole || sizes.at(BPF_SIZE(insn.code)) == field.size);
}

}  // namespace

TEST_CASE("each program is accepted or refused as its row says") {
    size_t accepted = 0, refused = 0;
    for (const rows::Row& row : all_rows()) {
        INFO(row.name << ", line " << row.line << "\n" << disassemble(row.code.insns, row.code.labels));
        CHECK(verdict(row) == expected(row));
        (row.reject ? refused : accepted)++;
    }
    fmt::print("verifier rows: {} accepted, {} refused\n", accepted, refused);
}

static void check_made(const char* what, const Result<std::vector<rows::Row>>& rows) {
    if (!rows) FAIL(rows.error().message());
    std::map<bool, size_t> refused;
    for (const rows::Row& row : *rows) {
        INFO(row.name << "\n" << disassemble(row.code.insns, row.code.labels));
        CHECK(verdict(row) == expected(row));
        refused[row.reject != 0]++;
    }
    fmt::print("{}: {} accepted, {} refused\n", what, refused[false], refused[true]);
}

TEST_CASE("each argument of each helper is judged at its edges as plain arithmetic does") {
    check_made("edges of arguments", rows::edge_rows());
}

TEST_CASE("each register, slot of the stack, operation and access is judged as the tables say") {
    check_made("each register, slot, operation and access", rows::each_rows());
}

TEST_CASE("each reason to refuse has a row") {
    std::set<uint32_t> seen;
    for (const rows::Row& row : all_rows()) seen.insert(row.reject);
    size_t reasons = 0;
#define REJECT(name, text)                                                                     \
    reasons++;                                                                                 \
    /* One has a test of its own below, one is the module's alone. */                          \
    if (KPL_REJECT_##name != KPL_REJECT_EXPANSION && KPL_REJECT_##name != KPL_REJECT_TARGET) { \
        INFO(#name);                                                                           \
        CHECK(seen.contains(KPL_REJECT_##name));                                               \
    }
#include "uapi/rejects.def"
#undef REJECT
    fmt::print("reasons to refuse: {}\n", reasons);
}

TEST_CASE("each helper has a row that is accepted and one that is refused at its call") {
    auto rows = all_rows();
    size_t helpers = 0;
    for (int id = 0; id < KPL_H_END_; id++) {
        if (!kpl_helper_descs[id].name) continue;
        helpers++;
        bool accepted = false, refused = false;
        for (const rows::Row& row : rows) {
            if (const bpf_insn* insn = refused_insn(row)) refused |= calls(*insn, id);
            if (row.reject) continue;
            for (const bpf_insn& insn : row.code.insns) accepted |= calls(insn, id);
        }
        INFO(kpl_helper_descs[id].name);
        CHECK(accepted);
        CHECK(refused);
    }
    fmt::print("helpers: {}\n", helpers);
}

TEST_CASE("each field of the hit has a row that may load it and one that may not") {
    auto rows = all_rows();
    for (uint32_t i = 0; i < kpl_nr_hit_descs; i++) {
        bool accepted = false, refused = false;
        for (const rows::Row& row : rows) {
            if (const bpf_insn* insn = refused_insn(row))
                refused |= row.reject == KPL_REJECT_HIT_FIELD && loads(*insn, kpl_hit_descs[i], false);
            if (row.reject) continue;
            for (const bpf_insn& insn : row.code.insns) accepted |= loads(insn, kpl_hit_descs[i], true);
        }
        INFO(kpl_hit_descs[i].name);
        CHECK(accepted);
        CHECK(refused);
    }
    fmt::print("fields of the hit: {}\n", kpl_nr_hit_descs);
}

TEST_CASE("each field of the hit is refused to the kinds that hit.def leaves out") {
    for (uint32_t i = 0; i < kpl_nr_hit_descs; i++) {
        const kpl_hit_desc& field = kpl_hit_descs[i];
        auto code =
            assemble(fmt::format("r0 = *({} *)(r1 + {})\nr0 = 0\nexit\n", field.size == 8 ? "u64" : "u32", field.off));
        REQUIRE(code.ok());
        for (uint32_t kind = 0; kind < KPL_PROG_KINDS; kind++) {
            SimReject reject;
            bool accepted = Simulator().load({code->insns, {}, kind}, reject).has_value();
            INFO(field.name << " in kind " << kind);
            CHECK(accepted == ((field.kinds >> kind & 1) != 0));
            CHECK(reject.reason == (accepted ? KPL_REJECT_NONE : KPL_REJECT_HIT_FIELD));
        }
    }
}

TEST_CASE("each opcode outside of the map is refused") {
    size_t refused = 0;
    for (unsigned code = 0; code < 256; code++) {
        if (kpl_insn_forms[code] != KPL_F_BAD) continue;
        bpf_insn insns[] = {{}, {}, {}};
        insns[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
        insns[1].code = static_cast<uint8_t>(code);
        insns[2].code = BPF_JMP | BPF_EXIT;
        SimReject reject;
        INFO("opcode " << code);
        CHECK_FALSE(Simulator().load({insns, {}}, reject));
        CHECK(reject.reason == KPL_REJECT_OPCODE);
        CHECK(reject.pc == 1);
        refused++;
    }
    // 12 ALU and 11 JMP operations in 4 variants each, 4 widths in 3 classes, and 8 others.
    CHECK(refused == 256 - (12 + 11) * 4 - 4 * 3 - 8);
}

TEST_CASE("programs of up to 4096 slots are accepted") {
    bpf_insn nop{}, end{};
    nop.code = BPF_ALU64 | BPF_MOV | BPF_K;
    end.code = BPF_JMP | BPF_EXIT;
    std::vector<bpf_insn> insns(KPL_MAX_INSNS - 1, nop);
    insns.push_back(end);
    SimReject reject;
    CHECK(Simulator().load({insns, {}}, reject));
    insns.insert(insns.begin(), nop);
    CHECK_FALSE(Simulator().load({insns, {}}, reject));
    CHECK(reject.reason == KPL_REJECT_LENGTH);
}

TEST_CASE("labels: ascending, no more than 256, reserved fields zero") {
    std::vector<bpf_insn> insns(KPL_MAX_LABELS + 2);
    for (bpf_insn& insn : insns) insn.code = BPF_ALU64 | BPF_MOV | BPF_K;
    insns.back().code = BPF_JMP | BPF_EXIT;
    std::vector<kpl_label> labels(KPL_MAX_LABELS);
    for (uint32_t i = 0; i < labels.size(); i++) {
        labels[i].pc = i + 1;
        if (i == labels.size() - 1) labels[i].type[0] = KPL_T_NUM;
    }
    SimReject reject;
    auto refused_at = [&](const std::vector<kpl_label>& changed) -> int {
        reject = {};
        if (Simulator().load({insns, changed}, reject)) return -1;
        return reject.reason == KPL_REJECT_LABEL ? static_cast<int>(reject.pc) : -2;
    };
    CHECK(refused_at(labels) == -1);

    auto changed = labels;
    changed.push_back(labels.back());
    changed.back().pc = 257;
    CHECK(refused_at(changed) == 0);
    changed = labels;
    changed[5].pc = 5;
    CHECK(refused_at(changed) == 5);
    changed = labels;
    std::swap(changed[5], changed[6]);
    CHECK(refused_at(changed) == 6);
    changed = labels;
    changed.back().pc = static_cast<uint32_t>(insns.size());
    CHECK(refused_at(changed) == static_cast<int>(insns.size()));
    changed = labels;
    changed[7].reserved = 1;
    CHECK(refused_at(changed) == 8);
    changed = labels;
    changed[7].rec_pending = 2;
    CHECK(refused_at(changed) == 8);
    changed = labels;
    changed[7].rec_size = 8;  // none is pending
    CHECK(refused_at(changed) == 8);
    changed = labels;
    changed[7].type[3] = KPL_T_END_;
    CHECK(refused_at(changed) == 8);
    changed = labels;
    changed[7].off[3] = 8;  // of nothing
    CHECK(refused_at(changed) == 8);
}

TEST_CASE("a kind of program that does not exist is refused") {
    auto code = assemble("r0 = 0\nexit\n");
    SimReject reject;
    CHECK_FALSE(Simulator().load({code->insns, {}, KPL_PROG_KINDS}, reject));
    CHECK(reject.reason == KPL_REJECT_LIMIT);
}

TEST_CASE("a rewritten program that does not fit is refused") {
    auto code = assemble("r0 = 1\nr0 /= r0\nloop: {r0=num}\ngoto loop\n");
    REQUIRE(code.ok());
    std::vector<uint64_t> ws(kpl_verify_ws_size(3) / 8 + 1);
    struct kpl_verify v {};
    v.insns = code->insns.data();
    v.labels = code->labels.data();
    v.nr_insns = 3;
    v.nr_labels = 1;
    v.ws = reinterpret_cast<kpl_verify_ws*>(ws.data());
    REQUIRE(kpl_verify(&v) == 0);
    bpf_insn out[10];
    u32 slots = 0, out_pc[3];
    CHECK(kpl_rewrite(&v, out, 9, &slots, out_pc) == -EACCES);
    CHECK(v.reject == KPL_REJECT_EXPANSION);
    CHECK(kpl_rewrite(&v, out, 10, &slots, nullptr) == 0);
    REQUIRE(kpl_rewrite(&v, out, 10, &slots, out_pc) == 0);
    CHECK(slots == 10);
    CHECK(std::vector<u32>(out_pc, out_pc + 3) == std::vector<u32>{1, 2, 6});
}

TEST_CASE("texts of all reasons") {
    CHECK(kpl_reject_text(KPL_REJECT_UNINIT) == std::string("register is read before it is written"));
    CHECK(kpl_reject_text(KPL_REJECT_END_) == std::string("unknown reason"));
    CHECK(kpl_stop_text(KPL_STOP_READ) == std::string("bad address"));
    CHECK(kpl_stop_text(0) == std::string("unknown reason"));
    CHECK(kpl_stop_text(KPL_STOP_END_) == std::string("unknown reason"));
}
