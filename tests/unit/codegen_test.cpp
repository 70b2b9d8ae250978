// SPDX-License-Identifier: MIT
// The code that probe scripts spend their time in, instruction by instruction; limits, places and dumps.
#include "codegen_listing.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

std::string failure(const ir::Function& function) {
    auto program = generate(function);
    REQUIRE(!program.ok());
    CHECK(program.error().code == Errc::script);
    return program.error().message();
}

}  // namespace

TEST_CASE("count at entry: the hit stays in r1") {
    IrBuilder b;
    b.agg_add(0, 0, {}, b.constant(1));
    b.ret();
    check_listing(b.function, R"(
        r2 = map 0
        r3 = 0
        r4 = 1
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_COUNT, 0)});
}

TEST_CASE("count by comm: the helper asks for the name") {
    IrBuilder b;
    StrRef comm = b.comm();
    b.agg_add(0, 24, {{0, comm, 15}}, b.constant(1));
    b.ret();
    check_listing(b.function, R"(
        r2 = map 0
        r3 = 1
        call agg_add_comm
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_COUNT, 24)});
}

TEST_CASE("count by the beginning of comm: comm() writes the key") {
    IrBuilder b;
    StrRef comm = b.comm(12);
    b.agg_add(0, 24, {{0, comm, 12}}, b.constant(1));
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 16)
        r2 = 12
        call comm
        r2 = map 0
        r3 = *(u64 *)(r6 + 16)
        r4 = 1
        r1 = r6
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_COUNT, 24)});
}

TEST_CASE("two counts by one comm: comm() writes the key of both") {
    IrBuilder b;
    StrRef comm = b.comm();
    for (uint32_t map : {0u, 1u}) b.agg_add(map, 24, {{0, comm, 15}}, b.constant(1));
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 16)
        r2 = 15
        call comm
        r2 = map 0
        r3 = *(u64 *)(r6 + 16)
        r4 = 1
        r1 = r6
        call agg_add
        r2 = map 1
        r3 = *(u64 *)(r6 + 16)
        r4 = 1
        r1 = r6
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_COUNT, 24), make_map(KPL_MAP_COUNT, 24)});
}

TEST_CASE("count by comm and function: comm() writes into the key") {
    IrBuilder b;
    StrRef comm = b.comm();
    ValueId func = b.hit_field(offsetof(kpl_hit, func));
    b.agg_add(0, 32, {{0, comm, 15}, {24, func, 0}}, b.constant(1));
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 16)
        r2 = 15
        call comm
        r1 = *(u64 *)(r6 + 16)
        r5 = *(u64 *)(r6 + 24)
        *(u64 *)(r1 + 24) = r5
        r2 = map 0
        r3 = *(u64 *)(r6 + 16)
        r4 = 1
        r1 = r6
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_COUNT, 32)});
}

TEST_CASE("a key is built apart when more than comm() writes its string") {
    IrBuilder b;
    StrRef text = IrBuilder::in_slot(b.string_slot(15), 15);
    for (bool comm : {false, true}) {
        if (comm)
            b.call(KPL_H_comm, {ir::StrOperand{text}, ir::ConstOperand{15}});
        else
            b.string(KPL_H_str, text, b.constant(0x1000));
        b.agg_add(0, 24, {{0, text, 15}}, b.constant(1));
    }
    b.ret();
    HandlerProgram program = compile(b.function);
    Simulator simulator;
    simulator.maps = {make_map(KPL_MAP_COUNT, 24)};
    simulator.kernel.add_string(0x1000, "ab");
    simulator.task.comm = "cd";
    simulator.scratch.assign(4096, 0xa5);
    simulator.run(load(simulator, program));
    auto key = [](char a, char b) {
        ByteVector bytes(24);
        bytes[0] = 2, bytes[8] = a, bytes[9] = b;
        return bytes;
    };
    CHECK(simulator.maps[0].cells.size() == 2);
    CHECK(simulator.maps[0].cells.count(key('a', 'b')) == 1);
    CHECK(simulator.maps[0].cells.count(key('c', 'd')) == 1);
}

TEST_CASE("arguments are read again after a call") {
    IrBuilder b;
    ValueId arg = b.reg(14);
    b.agg_add(0, 0, {}, arg);
    b.agg_add(0, 0, {}, arg);
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 0)
        r4 = *(u64 *)(r1 + 112)
        r2 = map 0
        r3 = 0
        r1 = r6
        call agg_add
        r1 = *(u64 *)(r6 + 0)
        r4 = *(u64 *)(r1 + 112)
        r2 = map 0
        r3 = 0
        r1 = r6
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_SUM, 0)});
}

TEST_CASE("count by a number: the key lies on the stack") {
    IrBuilder b;
    ValueId tid = b.call(KPL_H_tid);
    b.agg_add(0, 8, {{0, tid, 0}}, b.constant(1));
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        call tid
        *(u64 *)(r10 - 8) = r0
        r2 = map 0
        r3 = r10
        r3 += -8
        r4 = 1
        r1 = r6
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_COUNT, 8)});
}

TEST_CASE("latency from entry to return") {
    IrBuilder entry(KPL_PROG_ENTRY);
    entry.function.data_size = 8;
    entry.store_data(0, entry.call(KPL_H_now));
    entry.ret();
    check_listing(entry.function, R"(
        r6 = r1
        call now
        r1 = *(u64 *)(r6 + 8)
        *(u64 *)(r1 + 0) = r0
        r0 = 0
        exit
    )");
    IrBuilder ret(KPL_PROG_RET);
    ret.function.data_size = 8;
    ValueId now = ret.call(KPL_H_now);
    ret.agg_add(0, 0, {}, ret.op(Opcode::Sub, now, ret.load_data(0)));
    ret.ret();
    check_listing(ret.function, R"(
        r6 = r1
        call now
        r4 = r0
        r1 = *(u64 *)(r6 + 8)
        r1 = *(u64 *)(r1 + 0)
        r4 -= r1
        r2 = map 0
        r3 = 0
        r1 = r6
        call agg_add
        r0 = 0
        exit
    )",
                  {make_map(KPL_MAP_HIST, 0)});
}

TEST_CASE("a field chain: each read is tested, stops stand at the end") {
    IrBuilder b;
    ValueId parent = b.unary(Opcode::Read, b.op(Opcode::Add, b.reg(14), b.constant(24)), 8);
    ValueId flags = b.unary(Opcode::Read, b.op(Opcode::Add, parent, b.constant(8)), 4);
    b.agg_add(0, 0, {}, flags);
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 0)
        r2 = *(u64 *)(r1 + 112)
        r2 += 24
        r1 = r6
        call read64
        if r0 != 0 goto read
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto first
      read:
        r2 = r0
        r2 += 8
        r1 = r6
        call read32
        r4 = r0
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto second
        r2 = map 0
        r3 = 0
        r1 = r6
        call agg_add
        r0 = 0
        exit
      first:
        r0 = r1
        r0 |= 1280
        exit
      second:
        r0 = r1
        r0 |= 3072
        exit
    )",
                  {make_map(KPL_MAP_SUM, 0)});
}

// t = task(); while t.pid > 1 do t = t.real_parent; n = n + 1 end
TEST_CASE("a loop: one jump back, values keep their registers") {
    IrBuilder b;
    ValueId zero = b.constant(0), task = b.call(KPL_H_task);
    BlockId entry = b.current, head = b.block();
    b.jump_from(entry, head);
    ValueId n = b.phi({zero}), t = b.phi({task});
    ValueId one = b.constant(1);
    ValueId pid = b.unary(Opcode::SExt, b.unary(Opcode::Read, b.op(Opcode::Add, t, b.constant(1000)), 4), 32);
    BlockId body = b.block();
    ValueId parent = b.unary(Opcode::Read, b.op(Opcode::Add, t, b.constant(1016)), 8);
    ValueId more = b.op(Opcode::Add, n, one);
    b.jump_from(body, head);
    b.function.insts[n].args.push_back(more);
    b.function.insts[t].args.push_back(parent);
    BlockId out = b.block();
    b.agg_add(0, 0, {}, n);
    b.ret();
    b.branch_from(head, Cmp::SGt, pid, one, body, out);
    check_listing(b.function, R"(
        r6 = r1
        call task
        r7 = r0
        r8 = 0
      loop: {r6=hit r7=num r8=num}
        r2 = r7
        r2 += 1000
        r1 = r6
        call read32
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto bad_pid
        if w0 s<= 1 goto out
        r2 = r7
        r2 += 1016
        r1 = r6
        call read64
        if r0 != 0 goto next
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto bad_parent
      next:
        r8 += 1
        r7 = r0
        goto loop
      out:
        r4 = r8
        r2 = map 0
        r3 = 0
        r1 = r6
        call agg_add
        r0 = 0
        exit
      bad_pid:
        r0 = r1
        r0 |= 1792
        exit
      bad_parent:
        r0 = r1
        r0 |= 3584
        exit
    )",
                  {make_map(KPL_MAP_LHIST, 0)});
}

TEST_CASE("both ways of a branch to one block") {
    IrBuilder b;
    ValueId one = b.constant(1), two = b.constant(2), reg = b.reg(3);
    BlockId entry = b.current, join = b.block();
    b.branch_from(entry, Cmp::SGt, reg, two, join, join);
    b.agg_add(0, 0, {}, b.phi({one, two}));
    b.ret();
    HandlerProgram program = compile(b.function);
    Simulator simulator;
    simulator.maps = {make_map(KPL_MAP_SUM, 0)};
    SimProgram loaded = load(simulator, program);
    for (uint64_t value : {3, 0, 0}) {
        simulator.regs[3] = value;
        simulator.run(loaded);
    }
    CHECK(simulator.maps[0].cells.begin()->second[0] == 1 + 2 + 2);
}

TEST_CASE("stops tell their place") {
    IrBuilder b;
    b.function.insts.reserve(8);
    ValueId bad = b.unary(Opcode::Read, b.constant(0), 8);
    b.function.insts[bad].at = {"script.lua", 7};
    b.function.insts[bad].what = "reading dentry->d_name";
    b.agg_add(0, 0, {}, bad);
    b.ret();
    HandlerProgram program = compile(b.function);
    Simulator simulator;
    simulator.maps = {make_map(KPL_MAP_SUM, 0)};
    SimOutcome outcome = simulator.run(load(simulator, program));
    CHECK(outcome.reason == KPL_STOP_READ);
    const PcNote* note = program.note_at(outcome.pc);
    REQUIRE(note);
    CHECK(note->at == SourceLoc{"script.lua", 7});
    CHECK(note->what == "reading dentry->d_name");
    CHECK(print(program).find("script.lua:7: reading dentry->d_name") != std::string::npos);
    CHECK(print(program).find("call read64") != std::string::npos);
}

TEST_CASE("a handler that needs too much is refused by name") {
    SECTION("scratch") {
        IrBuilder b;
        for (int i = 0; i < 17; i++) b.comm(4000);
        b.ret();
        CHECK(failure(b.function).find("test handler: handler is too large") == 0);
        CHECK(failure(b.function).find("the limit is 65536") != std::string::npos);
    }
    SECTION("stack") {
        IrBuilder b;
        std::vector<ValueId> values;
        for (int i = 0; i < 80; i++) values.push_back(b.call(KPL_H_now));
        std::vector<FieldStore> fields;
        for (int i = 0; i < 80; i++) fields.push_back({static_cast<uint32_t>(8 * i), values[i], 0});
        b.emit(0, 640, fields);
        b.ret();
        CHECK(failure(b.function).find("bytes of stack, the limit is 512") != std::string::npos);
    }
    SECTION("length") {
        IrBuilder b;
        for (int i = 0; i < 2000; i++) b.agg_add(0, 0, {}, b.constant(i));
        b.ret();
        CHECK(failure(b.function).find("instructions, the limit is 4096") != std::string::npos);
    }
    SECTION("loops") {
        IrBuilder b;
        ValueId zero = b.constant(0), one = b.constant(1);
        for (int i = 0; i < 257; i++) {
            BlockId before = b.current, head = b.block();
            b.jump_from(before, head);
            ValueId count = b.phi({zero});
            BlockId body = b.block();
            b.function.insts[count].args.push_back(b.op(Opcode::Add, count, one));
            b.jump_from(body, head);
            BlockId after = b.block();
            b.branch_from(head, Cmp::SLt, count, one, body, after);
        }
        b.ret();
        CHECK(failure(b.function).find("257 loops, the limit is 256") != std::string::npos);
    }
}

TEST_CASE("slots beyond the reach of an offset") {
    IrBuilder b;
    std::vector<SlotId> slots;
    for (int i = 0; i < 15; i++) slots.push_back(b.slot(4096));
    ValueId value = b.reg(3);
    for (SlotId slot : slots) b.add({.op = Opcode::StoreSlot, .imm = 4088, .slot = slot, .args = {value}});
    for (SlotId slot : slots)
        value = b.op(Opcode::Add, value, b.add({.op = Opcode::LoadSlot, .imm = 4088, .slot = slot}));
    b.agg_add(0, 0, {}, value);
    b.ret();
    HandlerProgram program = compile(b.function);
    Simulator simulator;
    simulator.maps = {make_map(KPL_MAP_SUM, 0)};
    simulator.regs[3] = 5;
    simulator.run(load(simulator, program));
    REQUIRE(simulator.maps[0].cells.size() == 1);
    CHECK(simulator.maps[0].cells.begin()->second[0] == 80);
}
