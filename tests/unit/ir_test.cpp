// SPDX-License-Identifier: MIT
// check(), the passes and the order of blocks, on functions made by hand.
#include "ir/ir.hpp"

#include <catch2/catch.hpp>
#include <functional>

using namespace kpl::ir;

namespace {

// Appends instructions; edges are added as pairs of terminator and predecessors.
struct Maker {
    Function f;

    BlockId block() {
        f.blocks.emplace_back();
        return static_cast<BlockId>(f.blocks.size() - 1);
    }
    ValueId add(BlockId b, Inst inst) {
        inst.block = b;
        f.insts.push_back(std::move(inst));
        const ValueId id = static_cast<ValueId>(f.insts.size() - 1);
        f.blocks[b].insts.push_back(id);
        return id;
    }
    ValueId constant(BlockId b, int64_t n) { return add(b, {.op = Opcode::Const, .imm = n}); }
    ValueId arg(BlockId b) { return add(b, {.op = Opcode::Reg, .imm = 112}); }
    ValueId op(BlockId b, Opcode code, ValueId x, ValueId y) { return add(b, {.op = code, .args = {x, y}}); }
    ValueId read(BlockId b, ValueId address) {
        return add(b, {.op = Opcode::Read, .stops = true, .imm = 8, .args = {address}});
    }
    void keep(BlockId b, ValueId v) { add(b, {.op = Opcode::StoreData, .imm = 0, .args = {v}}); }
    void jump(BlockId from, BlockId to) {
        f.blocks[from].end = Jump{to};
        f.blocks[to].preds.push_back(from);
    }
    void branch(BlockId from, Cmp cmp, ValueId a, ValueId b, BlockId yes, BlockId no) {
        f.blocks[from].end = Branch{cmp, a, b, yes, no};
        f.blocks[yes].preds.push_back(from);
        f.blocks[no].preds.push_back(from);
    }
    Maker() { f.data_size = 64; }
};

size_t count(const Function& f, Opcode op) {
    size_t n = 0;
    for (const Block& b : f.blocks)
        for (ValueId id : b.insts) n += f.insts[id].op == op;
    return n;
}

// b0: n = arg; b1: loop i = phi(0, i + 1) until i == n; b3: keep i
struct Loop : Maker {
    BlockId b0 = block(), b1 = block(), b2 = block(), b3 = block();
    ValueId n = arg(b0), zero = constant(b0, 0), i, next;
    Loop() {
        jump(b0, b1);
        i = add(b1, {.op = Opcode::Phi, .args = {zero, no_value}});
        branch(b1, Cmp::Eq, i, n, b3, b2);
        next = op(b2, Opcode::Add, i, constant(b2, 1));
        jump(b2, b1);
        f.insts[i].args[1] = next;
        keep(b3, i);
        f.blocks[b1].loop_head = true;
    }
};

}  // namespace

TEST_CASE("check accepts a sound function and finds each broken invariant") {
    CHECK(check(Loop().f) == "");
    const std::pair<const char*, std::function<void(Loop&)>> rows[] = {
        {"goes to b9, which does not exist", [](Loop& l) { l.f.blocks[l.b0].end = Jump{9}; }},
        {"predecessors are not those", [](Loop& l) { l.f.blocks[l.b3].preds.push_back(l.b0); }},
        {"loop_head is wrong", [](Loop& l) { l.f.blocks[l.b1].loop_head = false; }},
        {"has 1 values for 2 predecessors", [](Loop& l) { l.f.insts[l.i].args.pop_back(); }},
        {"before it is computed", [](Loop& l) { std::get<Branch>(l.f.blocks[l.b1].end).b = l.next; }},
        {"is nowhere", [](Loop& l) { l.f.blocks[l.b0].insts.clear(); }},
        {"is listed twice", [](Loop& l) { l.f.blocks[l.b3].insts.push_back(l.n); }},
        {"is a phi after other",
         [](Loop& l) { l.f.blocks[l.b1].insts.insert(l.f.blocks[l.b1].insts.begin(), l.constant(l.b3, 1)); }},
        {"is outside of data", [](Loop& l) { l.f.data_size = 0; }},
        {"names s3, which does not exist", [](Loop& l) { l.add(l.b3, {.op = Opcode::LoadSlot, .slot = 3}); }},
        {"has 1 operands", [](Loop& l) { l.add(l.b3, {.op = Opcode::Add, .args = {l.n}}); }},
        {"critical edge",
         [](Loop& l) {
             std::get<Branch>(l.f.blocks[l.b1].end).no = l.b3;
             l.f.blocks[l.b3].preds.push_back(l.b1);
         }},
        {"can't be reached", [](Loop& l) { l.block(); }},
    };
    for (const auto& [expected, damage] : rows) {
        DYNAMIC_SECTION(expected) {
            Loop l;
            damage(l);
            INFO(check(l.f));
            CHECK(check(l.f).find(expected) != std::string::npos);
        }
    }
}

TEST_CASE("constants are folded as 64-bit numbers wrap") {
    struct Row {
        Opcode op;
        int64_t a, b, result;
    };
    const int64_t lowest = INT64_MIN;
    const Row rows[] = {
        {Opcode::Add, INT64_MAX, 1, lowest},
        {Opcode::Sub, lowest, 1, INT64_MAX},
        {Opcode::Mul, lowest, 3, lowest},
        {Opcode::UDiv, -1, 2, INT64_MAX},
        {Opcode::UMod, -1, 10, 5},
        {Opcode::SDiv, -7, 2, -3},
        {Opcode::SMod, -7, 2, -1},
        {Opcode::SDiv, lowest, -1, lowest},
        {Opcode::SMod, lowest, -1, 0},
        {Opcode::And, 6, 3, 2},
        {Opcode::Or, 6, 3, 7},
        {Opcode::Xor, 6, 3, 5},
        {Opcode::Shl, 1, 65, 2},
        {Opcode::Shr, -1, 63, 1},
        {Opcode::Sar, -8, 1, -4},
    };
    for (const Row& row : rows) {
        Maker m;
        const BlockId b = m.block();
        const ValueId v = m.op(b, row.op, m.constant(b, row.a), m.constant(b, row.b));
        m.keep(b, v);
        fold_constants(m.f);
        CHECK(check(m.f) == "");
        CHECK(m.f.insts[v].op == Opcode::Const);
        CHECK(m.f.insts[v].imm == row.result);
    }
}

TEST_CASE("division by the constant 0 is left alone") {
    Maker m;
    const BlockId b = m.block();
    const ValueId v = m.op(b, Opcode::SDiv, m.constant(b, 1), m.constant(b, 0));
    m.keep(b, v);
    fold_constants(m.f);
    CHECK(m.f.insts[v].op == Opcode::SDiv);
}

TEST_CASE("a comparison that is only branched on moves into the branch") {
    Maker m;
    const BlockId b0 = m.block(), b1 = m.block(), b2 = m.block();
    const ValueId a = m.arg(b0);
    const ValueId less = m.add(b0, {.op = Opcode::Compare, .cmp = Cmp::SLt, .args = {a, m.constant(b0, 5)}});
    m.branch(b0, Cmp::Eq, less, m.constant(b0, 0), b1, b2);
    optimize(m.f);
    CHECK(check(m.f) == "");
    const auto& branch = std::get<Branch>(m.f.blocks[0].end);
    CHECK(branch.cmp == Cmp::SLt);
    CHECK(branch.a == a);
    CHECK(branch.yes == b2);  // not less was b1
    CHECK(count(m.f, Opcode::Compare) == 0);
}

TEST_CASE("a phi of one value is that value, even round a loop") {
    Loop l;
    const ValueId same = l.add(l.b1, {.op = Opcode::Phi, .args = {l.n, no_value}});
    l.f.insts[same].args[1] = same;
    std::swap(l.f.blocks[l.b1].insts[0], l.f.blocks[l.b1].insts[1]);
    l.keep(l.b3, same);
    optimize(l.f);
    CHECK(check(l.f) == "");
    CHECK(count(l.f, Opcode::Phi) == 1);
}

TEST_CASE("equal computations are done once where one comes before the other on every path") {
    Maker m;
    const BlockId b0 = m.block(), b1 = m.block(), b2 = m.block();
    const ValueId a = m.arg(b0);
    m.keep(b0, m.op(b0, Opcode::Mul, a, a));
    m.branch(b0, Cmp::Eq, a, m.constant(b0, 1), b1, b2);
    m.keep(b1, m.op(b1, Opcode::Mul, a, m.arg(b1)));
    m.keep(b1, m.op(b1, Opcode::Add, a, a));
    m.keep(b2, m.op(b2, Opcode::Add, a, a));  // not on every path before b1's
    optimize(m.f);
    CHECK(check(m.f) == "");
    CHECK(count(m.f, Opcode::Mul) == 1);
    CHECK(count(m.f, Opcode::Add) == 2);
    CHECK(count(m.f, Opcode::Reg) == 1);
}

TEST_CASE("two reads of one address are one, unless something happens between them") {
    for (const bool call : {false, true}) {
        Maker m;
        const BlockId b = m.block();
        const ValueId a = m.arg(b);
        m.keep(b, m.op(b, Opcode::Add, m.read(b, a), m.read(b, a)));
        CHECK(count(m.f, Opcode::Read) == 2);
        if (call) m.add(b, {.op = Opcode::Call, .helper = KPL_H_now});
        m.keep(b, m.read(b, a));
        optimize(m.f);
        CHECK(check(m.f) == "");
        // The stores to data keep no memory either: the third read is done again.
        CHECK(count(m.f, Opcode::Read) == 2);
    }
}

TEST_CASE("a loop reads memory in every turn") {
    Loop l;
    const ValueId before = l.read(l.b0, l.n);
    l.keep(l.b0, before);
    l.keep(l.b2, l.read(l.b2, l.n));
    optimize(l.f);
    CHECK(check(l.f) == "");
    CHECK(count(l.f, Opcode::Read) == 2);
}

TEST_CASE("what nothing uses is removed; what may stop or leaves the handler is not") {
    Maker m;
    const BlockId b = m.block();
    const ValueId a = m.arg(b);
    m.op(b, Opcode::Add, a, a);
    m.add(b, {.op = Opcode::Call, .helper = KPL_H_pid});
    m.read(b, a);
    m.add(b, {.op = Opcode::AggAdd, .args = {a}});
    optimize(m.f);
    CHECK(check(m.f) == "");
    CHECK(count(m.f, Opcode::Add) == 0);
    CHECK(count(m.f, Opcode::Call) == 0);
    CHECK(count(m.f, Opcode::Read) == 1);
    CHECK(count(m.f, Opcode::AggAdd) == 1);
}

TEST_CASE("blocks that leave a loop come after it") {
    Maker m;
    // b1 is a loop's head; b2 leaves it and comes first; b4 is not reached.
    const BlockId b0 = m.block(), b1 = m.block(), b2 = m.block(), b3 = m.block(), b4 = m.block();
    const ValueId a = m.arg(b0);
    m.jump(b0, b1);
    m.branch(b1, Cmp::Eq, a, a, b2, b3);
    m.jump(b3, b1);
    m.jump(b4, b2);
    order_blocks(m.f);
    CHECK(check(m.f) == "");
    REQUIRE(m.f.blocks.size() == 4);
    CHECK(m.f.blocks[1].loop_head);
    CHECK(std::holds_alternative<Jump>(m.f.blocks[2].end));
    CHECK(std::holds_alternative<Return>(m.f.blocks[3].end));
}

TEST_CASE("the printed form names everything") {
    Loop l;
    l.f.name = "t.lua:1 pre of x";
    const std::string text = print(l.f);
    CHECK(text.find("t.lua:1 pre of x\nb0:\n") == 0);
    CHECK(text.find("b1: loop  from b0, b2\n  v2 = phi v1, v4\n  if v2 == v0 then b3 else b2\n") != std::string::npos);
    CHECK(text.find("storedata 0 v2\n  return\n") != std::string::npos);
}
