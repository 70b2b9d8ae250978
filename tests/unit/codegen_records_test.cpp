// SPDX-License-Identifier: MIT
// Strings and the records that take them: what is made in its place, what is read there.
#include "codegen_listing.hpp"

using namespace kpl;
using namespace kpl::test;

TEST_CASE("a string is made where it is kept") {
    IrBuilder b(KPL_PROG_ENTRY);
    b.function.data_size = KPL_STR_SIZE(255);
    StrRef made = IrBuilder::in_slot(b.string_slot(255), 255);
    b.string(KPL_H_ustr, made, b.reg(13));
    b.call(KPL_H_str_copy,
           {ir::HitOperand{}, ir::StrOperand{b.in_data(0, 255)}, ir::ConstOperand{255}, ir::StrOperand{made},
            ir::ConstOperand{255}},
           true);
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 0)
        r4 = *(u64 *)(r1 + 104)
        r2 = *(u64 *)(r6 + 8)
        r3 = 255
        r1 = r6
        call ustr
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto bad
        r0 = 0
        exit
      bad:
        r0 = r1
        r0 |= 1536
        exit
    )");
}

TEST_CASE("event with pid, comm, path and error, of failed calls only") {
    IrBuilder b(KPL_PROG_RET);
    b.function.data_size = KPL_STR_SIZE(255);
    ValueId ret = b.unary(Opcode::SExt, b.hit_field(offsetof(kpl_hit, ret)), 32);
    ValueId zero = b.constant(0);
    BlockId first = b.current, failed = b.block();
    ValueId pid = b.call(KPL_H_pid);
    StrRef comm = b.comm();
    b.emit(3, 32, {{0, pid, 0}, {8, comm, 15}, {16, b.in_data(0, 255), 255}, {24, b.unary(Opcode::Neg, ret), 0}});
    BlockId done = b.block();
    b.ret();
    b.branch_from(first, Cmp::SLt, ret, zero, failed, done);
    b.jump_from(failed, done);
    check_listing(b.function, R"(
        r6 = r1
        r1 = *(u64 *)(r6 + 40)
        if w1 s>= 0 goto done
        call pid
        *(u64 *)(r10 - 8) = r0
        r1 = *(u64 *)(r6 + 16)
        r2 = 15
        call comm
        r2 = 3
        r3 = 32
        r4 = 272
        r1 = r6
        call rec_begin
        r7 = r0
        if r7 == 0 goto done
        r1 = *(u64 *)(r10 - 8)
        *(u64 *)(r7 + 0) = r1
        r1 = *(u64 *)(r6 + 40)
        r1 <<= 32
        r1 s>>= 32
        r1 = -r1
        *(u64 *)(r7 + 24) = r1
        r2 = r7
        r3 = 8
        r4 = *(u64 *)(r6 + 16)
        r5 = 15
        r1 = r6
        call rec_str
        r2 = r7
        r3 = 16
        r4 = *(u64 *)(r6 + 8)
        r5 = 255
        r1 = r6
        call rec_str
        r2 = r7
        r1 = r6
        call rec_end
      done:
        r0 = 0
        exit
    )");
}

TEST_CASE(
    "an event with what str() reads: the record reads it; where that fails, or none is to be had, the handler stops") {
    IrBuilder b;
    StrRef name = IrBuilder::in_slot(b.string_slot(255), 255);
    b.string(KPL_H_str, name, b.reg(14));
    b.emit(3, 16, {{0, b.call(KPL_H_pid), 0}, {8, name, 255}});
    b.ret();
    check_listing(b.function, R"(
        r6 = r1
        call pid
        *(u64 *)(r10 - 8) = r0
        r2 = 3
        r3 = 16
        r4 = 256
        r1 = r6
        call rec_begin
        r7 = r0
        if r7 != 0 goto filled
        r1 = *(u64 *)(r6 + 0)
        r2 = *(u64 *)(r1 + 112)
        r1 = r6
        call read8
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto lost
        goto done
      filled:
        r1 = *(u64 *)(r10 - 8)
        *(u64 *)(r7 + 0) = r1
        r1 = *(u64 *)(r6 + 0)
        r5 = *(u64 *)(r1 + 112)
        r2 = r7
        r3 = 8
        r4 = 255
        r1 = r6
        call rec_read_str
        if r0 != 0 goto read
        r2 = r7
        r1 = r6
        call rec_drop
        r1 = *(u32 *)(r6 + 64)
        if r1 != 0 goto stop
        goto done
      read:
        r2 = r7
        r1 = r6
        call rec_end
      done:
        r0 = 0
        exit
      lost:
        r0 = r1
        r0 |= 3328
        exit
      stop:
        r0 = r1
        r0 |= 6400
        exit
    )");
}

namespace {

// A handler of str() with what `between` adds, and an event of the fields that it gives.
template <class Between>
HandlerProgram event_of_string(Between between) {
    IrBuilder b;
    StrRef name = IrBuilder::in_slot(b.string_slot(15), 15);
    b.string(KPL_H_str, name, b.reg(14));
    std::vector<FieldStore> fields = between(b, name);
    const auto size = static_cast<uint32_t>(fields.size() * 8);
    b.emit(3, size, std::move(fields));
    b.ret();
    return compile(b.function);
}

template <class Between>
bool record_reads(Between between) {
    return listing(event_of_string(between)).find("call rec_read_str") != std::string::npos;
}

}  // namespace

TEST_CASE("an event with what str() reads, and what stands between") {
    const auto alone = [](StrRef name) { return std::vector<FieldStore>{{0, name, 15}}; };
    CHECK(record_reads([&](IrBuilder&, StrRef name) { return alone(name); }));
    CHECK(record_reads([&](IrBuilder& b, StrRef name) {
        b.comm();
        return alone(name);
    }));
    SECTION("others see it") {
        CHECK_FALSE(record_reads([&](IrBuilder& b, StrRef name) {
            b.agg_add(0, 0, {}, b.constant(1));
            return alone(name);
        }));
        CHECK_FALSE(record_reads([&](IrBuilder& b, StrRef name) {
            b.emit(4, 8, {});
            return alone(name);
        }));
        CHECK_FALSE(record_reads([&](IrBuilder& b, StrRef name) {
            b.call(KPL_H_exit, {ir::HitOperand{}, b.constant(1)});
            return alone(name);
        }));
    }
    SECTION("the string is used elsewhere") {
        CHECK_FALSE(record_reads([&](IrBuilder& b, StrRef name) {
            b.agg_add(1, 24, {{0, name, 15}}, b.constant(1));
            return alone(name);
        }));
        CHECK_FALSE(record_reads([&](IrBuilder&, StrRef name) {
            return std::vector<FieldStore>{{0, name, 15}, {8, name, 15}};
        }));
    }
    SECTION("it may stop the handler first") {
        CHECK_FALSE(record_reads([&](IrBuilder& b, StrRef name) {
            ValueId n = b.unary(Opcode::Read, b.reg(13), 8);
            return std::vector<FieldStore>{{0, name, 15}, {8, n, 0}};
        }));
        CHECK_FALSE(record_reads([&](IrBuilder& b, StrRef name) {
            StrRef other = IrBuilder::in_slot(b.string_slot(15), 15);
            b.string(KPL_H_ustr, other, b.reg(13));
            return std::vector<FieldStore>{{0, name, 15}, {8, other, 15}};
        }));
    }
    SECTION("another string that the record reads") {
        const auto second = [](bool in_order) {
            return listing(event_of_string([in_order](IrBuilder& b, StrRef name) {
                StrRef other = IrBuilder::in_slot(b.string_slot(15), 15);
                b.string(KPL_H_str, other, b.reg(13));
                if (in_order) return std::vector<FieldStore>{{0, name, 15}, {8, other, 15}};
                return std::vector<FieldStore>{{0, other, 15}, {8, name, 15}};
            }));
        };
        const auto calls = [](const std::string& text, const std::string& wanted) {
            size_t n = 0;
            for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) n++;
            return n;
        };
        CHECK(calls(second(true), "call rec_read_str") == 2);
        CHECK(calls(second(false), "call rec_read_str") == 1);
        CHECK(calls(second(false), "call rec_str") == 1);
    }
}

TEST_CASE("an empty literal twice in an event: nothing has read it") {
    IrBuilder b;
    StrRef nothing = IrBuilder::in_slot(b.literal(""), 0);
    b.emit(3, 16, {{0, nothing, 0}, {8, nothing, 0}});
    b.ret();
    CHECK(listing(compile(b.function)).find("call rec_str") != std::string::npos);
}

TEST_CASE("a record that is lost: what str() can't read stops the handler all the same") {
    IrBuilder b;
    StrRef name = IrBuilder::in_slot(b.string_slot(15), 15);
    b.string(KPL_H_str, name, b.constant(8));
    b.emit(3, 8, {{0, name, 15}});
    b.call(KPL_H_exit, {ir::HitOperand{}, b.constant(7)});
    b.ret();
    for (size_t room : {0u, 1u}) {
        Simulator simulator;
        simulator.ring_room = room;
        const SimOutcome outcome = simulator.run(load(simulator, compile(b.function)));
        CHECK(outcome.reason == KPL_STOP_READ);
        CHECK_FALSE(simulator.exit_code);
        CHECK(simulator.records.empty());
    }
}
