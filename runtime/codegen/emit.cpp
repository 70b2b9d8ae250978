// SPDX-License-Identifier: MIT
#include "codegen/emit.hpp"

#include <linux/bpf.h>

#include <algorithm>

#include "codegen/encode.hpp"

namespace kpl {

using mir::BlockId;
using mir::Inst;
using mir::Kind;
using mir::Reg;
using mir::Test;

namespace {

constexpr Reg result_reg = 0;

class Emitter {
  public:
    Emitter(const mir::Function& function, HandlerProgram& program)
        : function_(function),
          program_(program),
          position_(function.blocks.size()),
          start_(function.blocks.size()),
          label_of_(function.blocks.size(), no_label),
          site_pc_(function.sites) {
        for (size_t i = 0; i < function.layout.size(); i++) position_[function.layout[i]] = i;
    }

    void run() {
        for (size_t i = 0; i < function_.layout.size(); i++) {
            current_ = i;
            BlockId id = function_.layout[i];
            start_[id] = pc();
            for (const Inst& inst : function_.blocks[id].insts) {
                note(inst.note);
                emit(inst);
            }
        }
        for (const Tail& tail : tails_) emit_tail(tail);
        for (auto [at, to] : jumps_) program_.insns[at].off = static_cast<__s16>(start_[to] - at - 1);
        std::sort(program_.labels.begin(), program_.labels.end(),
                  [](const kpl_label& a, const kpl_label& b) { return a.pc < b.pc; });
    }

  private:
    static constexpr uint32_t no_label = ~0u;

    // Where a handler goes when a helper failed.
    struct Tail {
        uint32_t jump;  // pc of the test
        uint32_t site;
        Reg status;
        uint32_t note;
    };

    uint32_t pc() const { return static_cast<uint32_t>(program_.insns.size()); }
    void put(bpf_insn insn) { program_.insns.push_back(insn); }

    void note(uint32_t index) {
        if (!program_.notes.empty() && last_note_ == index) return;
        last_note_ = index;
        const mir::Note& note = function_.notes[index];
        if (!program_.notes.empty() && program_.notes.back().pc == pc()) program_.notes.pop_back();
        if (!program_.notes.empty() && program_.notes.back().at == note.at && program_.notes.back().what == note.what)
            return;
        program_.notes.push_back({pc(), note.at, note.what});
    }

    int16_t frame_offset(int32_t slot) const {
        return static_cast<int16_t>(-static_cast<int32_t>(function_.areas) - 8 * (slot + 1));
    }

    void emit(const Inst& inst) {
        switch (inst.kind) {
            case Kind::MovImm: return put_number(inst.dst, inst.imm);
            case Kind::Mov: return put(encode::alu(BPF_MOV, false, inst.dst, inst.a));
            case Kind::Alu: return put_alu(inst);
            case Kind::Zext32: return put(encode::alu(BPF_MOV, true, inst.dst, inst.a));
            case Kind::Load: return put(encode::load(inst.size, inst.dst, inst.a, inst.off));
            case Kind::Store:
                if (inst.b == mir::no_reg) return put(encode::store_imm(inst.size, inst.a, inst.off, inst.imm));
                return put(encode::store(inst.size, inst.a, inst.off, inst.b));
            case Kind::LoadMap: return put_wide(inst.dst, 1, static_cast<uint32_t>(inst.imm));
            case Kind::Call: site_pc_[inst.site] = pc(); return put(encode::call(static_cast<int32_t>(inst.imm)));
            case Kind::CondMov: return put_choice(inst);
            case Kind::Trap:
                tails_.push_back({pc(), inst.site, inst.a, inst.note});
                return put(encode::jump_if_imm(Test::Ne, false, inst.a, 0, 0));
            case Kind::Reload: return put(encode::load(8, inst.dst, mir::frame, frame_offset(inst.off)));
            case Kind::Spill:
                if (inst.b == mir::no_reg)
                    return put(encode::store_imm(8, mir::frame, frame_offset(inst.off), inst.imm));
                return put(encode::store(8, mir::frame, frame_offset(inst.off), inst.b));
            case Kind::Jump: return jump(inst.yes);
            case Kind::Branch: return branch(inst);
            case Kind::Ret: put_number(result_reg, inst.imm); return put(encode::exit());
            case Kind::Stop: put_number(result_reg, KPL_RET_STOP(inst.imm, pc())); return put(encode::exit());
        }
    }

    void put_wide(Reg dst, uint8_t source, uint64_t value) {
        put(encode::wide(dst, source, value));
        put(encode::wide_second(value));
    }

    void put_number(Reg dst, int64_t value) {
        if (mir::fits_s32(value)) return put(encode::alu_imm(BPF_MOV, false, dst, value));
        if (value > 0 && value <= UINT32_MAX) return put(encode::alu_imm(BPF_MOV, true, dst, value));
        put_wide(dst, 0, static_cast<uint64_t>(value));
    }

    void put_alu(const Inst& inst) {
        if (inst.op == BPF_NEG) return put(encode::negate(inst.dst));
        if (inst.b == mir::no_reg) return put(encode::alu_imm(inst.op, false, inst.dst, inst.imm));
        put(encode::alu(inst.op, false, inst.dst, inst.b));
    }

    bpf_insn test(const Inst& inst, Test test, int16_t off) const {
        if (inst.b == mir::no_reg) return encode::jump_if_imm(test, inst.narrow, inst.a, inst.imm, off);
        return encode::jump_if(test, inst.narrow, inst.a, inst.b, off);
    }

    // Passes over the move when the test holds.
    void put_choice(const Inst& inst) {
        put(test(inst, inst.cmp, 1));
        if (inst.c == mir::no_reg)
            put(encode::alu_imm(BPF_MOV, false, inst.dst, inst.imm2));
        else
            put(encode::alu(BPF_MOV, false, inst.dst, inst.c));
    }

    bool is_next(BlockId to) const { return position_[to] == current_ + 1; }
    bool is_backward(BlockId to) const { return position_[to] <= current_; }

    void jump(BlockId to) {
        if (!is_next(to)) put_jump(to);
    }

    void put_jump(BlockId to) {
        if (is_backward(to)) declare(to);
        jumps_.push_back({pc(), to});
        put(encode::jump());
    }

    void jump_if(const Inst& inst, Test cmp, BlockId to) {
        jumps_.push_back({pc(), to});
        put(test(inst, cmp, 0));
    }

    // A test never jumps backward itself: it passes over a jump that does.
    void branch(const Inst& inst) {
        const bool invertible = inst.cmp != Test::Bits;
        if (is_next(inst.yes)) {
            if (invertible && !is_backward(inst.no)) return jump_if(inst, mir::inverse(inst.cmp), inst.no);
            put(test(inst, inst.cmp, 1));
            return jump(inst.no);
        }
        if (!is_backward(inst.yes)) {
            jump_if(inst, inst.cmp, inst.yes);
            return jump(inst.no);
        }
        if (invertible && is_next(inst.no)) {
            put(test(inst, mir::inverse(inst.cmp), 1));
        } else if (invertible && !is_backward(inst.no)) {
            jump_if(inst, mir::inverse(inst.cmp), inst.no);
        } else {
            put(test(inst, inst.cmp, 1));
            put_jump(inst.no);
        }
        jump(inst.yes);
    }

    void declare(BlockId head) {
        if (label_of_[head] != no_label) return;
        label_of_[head] = start_[head];
        const mir::Block& block = function_.blocks[head];
        kpl_label label{};
        label.pc = start_[head];
        for (size_t reg = 0; reg < block.entry.size(); reg++) {
            if (block.entry[reg] == mir::Holds::Number) label.type[reg] = KPL_T_NUM;
            if (block.entry[reg] == mir::Holds::Hit) label.type[reg] = KPL_T_HIT;
            assert(block.entry[reg] != mir::Holds::Pointer);
        }
        label.stack = block.entry_slots << (function_.areas / 8);
        program_.labels.push_back(label);
    }

    // The handler's result is the status with the call's place.
    void emit_tail(const Tail& tail) {
        program_.insns[tail.jump].off = static_cast<__s16>(pc() - tail.jump - 1);
        note(tail.note);
        if (tail.status != result_reg) put(encode::alu(BPF_MOV, false, result_reg, tail.status));
        put(encode::alu_imm(BPF_OR, false, result_reg, KPL_RET_STOP(0, site_pc_[tail.site])));
        put(encode::exit());
    }

    const mir::Function& function_;
    HandlerProgram& program_;
    std::vector<size_t> position_;    // by block: in the layout
    std::vector<uint32_t> start_;     // by block: pc
    std::vector<uint32_t> label_of_;  // by block
    std::vector<uint32_t> site_pc_;
    std::vector<std::pair<uint32_t, BlockId>> jumps_;  // pc of the jump, where it goes
    std::vector<Tail> tails_;
    size_t current_ = 0;
    uint32_t last_note_ = 0;
};

}  // namespace

void emit(const mir::Function& function, HandlerProgram& program) { Emitter(function, program).run(); }

}  // namespace kpl
