// SPDX-License-Identifier: MIT
// One letter for each opcode says what follows it:
//   .  nothing             m  ModRM               M  ModRM and imm8       Z  ModRM and imm16/32
//   b  imm8                w  imm16               z  imm16/32             v  imm16/32/64
//   e  imm16 and imm8      o  an address          j  rel8                 J  rel32
//   3  ModRM, and imm8 if it is TEST              4  ModRM, and imm16/32 if it is TEST
//   p  a prefix            x  no instruction in 64-bit mode
#include "arch/x86_insn.hpp"

#include <algorithm>
#include <string_view>

namespace kpl {
namespace {

constexpr std::string_view one_byte =
    "mmmmbzxxmmmmbzx."   // 00; 0f leads to the next table
    "mmmmbzxxmmmmbzxx"   // 10
    "mmmmbzpxmmmmbzpx"   // 20
    "mmmmbzpxmmmmbzpx"   // 30
    "pppppppppppppppp"   // 40: REX
    "................"   // 50
    "xx.mppppzZbM...."   // 60; 62 is EVEX
    "jjjjjjjjjjjjjjjj"   // 70
    "MZxMmmmmmmmmmmmm"   // 80
    "..........x....."   // 90
    "oooo....bz......"   // a0
    "bbbbbbbbvvvvvvvv"   // b0
    "MMw...MZe.w..bx."   // c0; c4 and c5 are VEX
    "mmmmxxx.mmmmmmmm"   // d0
    "jjjjbbbbJJxj...."   // e0
    "p.pp..34......mm";  // f0

constexpr std::string_view two_byte =
    "mmmmx.....x.xm.M"   // 00
    "mmmmmmmmmmmmmmmm"   // 10
    "mmmmxxxxmmmmmmmm"   // 20
    "......x..x.xxxxx"   // 30; 38 and 3a lead to the third byte
    "mmmmmmmmmmmmmmmm"   // 40
    "mmmmmmmmmmmmmmmm"   // 50
    "mmmmmmmmmmmmmmmm"   // 60
    "MMMMmmm.mmxxmmmm"   // 70
    "JJJJJJJJJJJJJJJJ"   // 80
    "mmmmmmmmmmmmmmmm"   // 90
    "...mMmmm...mMmmm"   // a0
    "mmmmmmmmmmMmmmmm"   // b0
    "mmMmMMMm........"   // c0
    "mmmmmmmmmmmmmmmm"   // d0
    "mmmmmmmmmmmmmmmm"   // e0
    "mmmmmmmmmmmmmmm.";  // f0

static_assert(one_byte.size() == 256 && two_byte.size() == 256);

constexpr size_t longest = 15;

class Decoder {
  public:
    explicit Decoder(std::span<const uint8_t> code) : code_(code.first(std::min(code.size(), longest))) {}

    std::optional<X86Insn> decode() {
        prefixes();
        const char form = opcode();
        operands(form);
        if (!good_) return std::nullopt;
        insn_.length = static_cast<uint8_t>(at_);
        return insn_;
    }

  private:
    uint8_t next() {
        if (at_ < code_.size()) return code_[at_++];
        good_ = false;
        return 0;
    }
    uint8_t peek() const { return at_ < code_.size() ? code_[at_] : 0; }

    void prefixes() {
        for (; one_byte[peek()] == 'p' && (peek() & 0xf0) != 0x40 && at_ < code_.size(); at_++) {
            insn_.address_prefix |= code_[at_] == 0x67;
            insn_.cs_prefix |= code_[at_] == 0x2e;
            operand_16_ |= code_[at_] == 0x66;
        }
        // One REX, and only right before the opcode.
        if ((peek() & 0xf0) == 0x40) operand_64_ = next() & 8;
    }

    char opcode() {
        const uint8_t first = next();
        if (first == 0xc5 || first == 0xc4 || first == 0x62) return vex(first);
        insn_.opcode[0] = first;
        insn_.opcode_bytes = 1;
        if (first != 0x0f) return one_byte[first];
        const uint8_t second = next();
        insn_.opcode[insn_.opcode_bytes++] = second;
        if (second != 0x38 && second != 0x3a) return two_byte[second];
        insn_.opcode[insn_.opcode_bytes++] = next();
        return second == 0x38 ? 'm' : 'M';
    }

    char vex(uint8_t first) {
        unsigned map = 1;
        if (first != 0xc5) map = next() & (first == 0xc4 ? 0x1f : 7);
        next();
        if (first == 0x62) next();
        insn_.opcode[0] = next();
        insn_.opcode_bytes = 1;
        switch (map) {
            case 1: return insn_.opcode[0] == 0x77 ? '.' : two_byte[insn_.opcode[0]] == 'M' ? 'M' : 'm';
            case 2:
            case 5:
            case 6: return 'm';
            case 3: return 'M';
            default: return 'x';
        }
    }

    void operands(char form) {
        switch (form) {
            case '.': return;
            case 'm': return modrm();
            case 'M': modrm(); return skip(1);
            case 'Z': modrm(); return skip(word());
            case 'b': return skip(1);
            case 'w': return skip(2);
            case 'z': return skip(word());
            case 'v': return skip(operand_64_ ? 8 : word());
            case 'e': return skip(3);
            case 'o': return skip(insn_.address_prefix ? 4 : 8);
            case 'j': return relative(1);
            case 'J': return relative(4);
            case '3': modrm(); return skip(insn_.reg() <= 1 ? 1 : 0);
            case '4': modrm(); return skip(insn_.reg() <= 1 ? word() : 0);
            default: good_ = false;
        }
    }

    void modrm() {
        insn_.has_modrm = true;
        insn_.modrm = next();
        const unsigned mod = insn_.mod(), rm = insn_.modrm & 7;
        if (mod == 3) return;
        unsigned base = rm;
        if (rm == 4) base = next() & 7;  // SIB
        insn_.rip_relative = mod == 0 && rm == 5;
        if (mod == 1) skip(1);
        if (mod == 2 || (mod == 0 && base == 5)) skip(4);
    }

    void relative(size_t bytes) {
        uint32_t value = 0;
        for (size_t i = 0; i < bytes; i++) value |= static_cast<uint32_t>(next()) << (8 * i);
        insn_.immediate = bytes == 1 ? static_cast<int8_t>(value) : static_cast<int32_t>(value);
    }

    size_t word() const { return operand_16_ && !operand_64_ ? 2 : 4; }
    void skip(size_t bytes) {
        if (code_.size() - at_ < bytes)
            good_ = false;
        else
            at_ += bytes;
    }

    std::span<const uint8_t> code_;
    size_t at_ = 0;
    bool good_ = true, operand_16_ = false, operand_64_ = false;
    X86Insn insn_;
};

}  // namespace

std::optional<X86Insn> decode_x86(std::span<const uint8_t> code) { return Decoder(code).decode(); }

}  // namespace kpl
