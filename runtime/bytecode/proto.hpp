// SPDX-License-Identifier: MIT
// LuaJIT functions as data: what `string.dump(f)` holds, decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace kpl {

// Opcodes by name; opcodes.def lists every opcode of LuaJIT 2.1 with its operand modes.
enum class Op : uint8_t {
#define LJ_OP(name, a, b, cd) name,
#include "bytecode/opcodes.def"
#undef LJ_OP
    count_
};

std::string_view op_name(Op);

// What an operand means, as LuaJIT's table of modes says.
enum class Mode : uint8_t {
    None,
    Dst,
    Base,
    Var,
    Rbase,  // slots; Base and Rbase begin a range
    Uv,     // index in Proto::upvalues
    Lit,
    Lits,  // literal, signed literal
    Pri,   // 0 nil, 1 false, 2 true
    Num,   // index in Proto::num
    Str,
    Tab,
    Func,
    Cdata,  // index in Proto::gc, which holds that kind (checked by read_dump)
    Jump,
};
struct OpModes {
    Mode a, b, cd;
    bool has_d() const { return b == Mode::None; }  // format AD; else ABC
};
const OpModes& op_modes(Op);

// Opcode numbers move between LuaJIT releases, so a number means what the running LuaJIT's own table says.
class OpcodeMap {
  public:
    // `bcnames` is jit.vmdef.bcnames: six characters for each opcode. An unknown name maps to nothing; a
    // function that uses it is refused.
    static Result<OpcodeMap> from_vmdef(std::string_view bcnames);
    // nullopt-like: Op::count_ for a number without a known name.
    Op at(uint8_t number) const { return ops_[number]; }

  private:
    Op ops_[256];
};

struct Insn {
    Op op;
    uint8_t a;
    uint8_t b;                                                 // format ABC
    uint16_t c;                                                // format ABC: C; format AD: D, unsigned 16 bits
    int16_t sd() const { return static_cast<int16_t>(c); }     // D as a signed literal
    int jump() const { return static_cast<int>(c) - 0x8000; }  // D as a jump, relative to the next pc
    bool operator==(const Insn&) const = default;
};

struct Nil {
    bool operator==(const Nil&) const = default;
};

// A key or value of a constant table template (TDUP).
using TemplateValue = std::variant<Nil, bool, int32_t, double, std::string>;
struct TableTemplate {
    std::vector<TemplateValue> array;  // [0] is index 0
    std::vector<std::pair<TemplateValue, TemplateValue>> hash;
};

// An imaginary literal such as 2i.
struct Complex {
    double re = 0, im = 0;
    bool operator==(const Complex&) const = default;
};

struct Proto;
// An element of the constants that hold references. Constants are indexed as the operands name them.
using GcConst = std::variant<std::string, std::shared_ptr<const Proto>, TableTemplate, int64_t, uint64_t, Complex>;

struct UpvalueDesc {
    std::string name;
    uint16_t slot = 0;       // local slot of the parent function, or index of its upvalue
    bool local = false;      // refers to a local of the parent
    bool immutable = false;  // never assigned after initialisation
    // The line of an assignment that can run once the function exists; 0: there is none.
    uint32_t assigned = 0;
    // What the declaring function does with it is not in the dump: neither of the two can be told from here
    // (same_code finds the function in a dump of its chunk).
    bool unknown = false;
};

struct LocalVar {
    std::string name;                   // "(for index)" and the like for internal ones
    uint32_t start_pc = 0, end_pc = 0;  // live in [start, end)
    uint32_t slot = 0;
};

struct Proto {
    std::string chunk;  // chunk name as given, e.g. "@script.lua"
    uint32_t first_line = 0, num_lines = 0;
    uint8_t num_params = 0, frame_size = 0;
    bool vararg = false;
    std::vector<Insn> code;       // code[0] is the function header (FUNCF, FUNCV…), as in LuaJIT's own numbering
    std::vector<uint32_t> lines;  // of each instruction, absolute; empty if stripped
    std::vector<GcConst> gc;      // gc[i]: what operand i names (already reversed as LuaJIT stores them)
    std::vector<double> num;      // numbers (integers are exact doubles)
    std::vector<UpvalueDesc> upvalues;
    std::vector<LocalVar> locals;

    SourceLoc loc(uint32_t pc) const;  // file as the user named it (leading '@' removed)
    const LocalVar* local_at(uint32_t slot, uint32_t pc) const;
};

// The function in `root`, itself or one nested in it, that is `f` as another dump of the same source holds it;
// nullptr if there is none.
const Proto* same_code(const Proto& root, const Proto& f);

// Fills in UpvalueDesc::assigned of all functions nested in `root`.
void find_assignments(const Proto& root);

// Decodes a dump (string.dump without strip). The whole length must be consumed. Unknown versions, flags,
// opcodes and truncated input are errors; nothing is read beyond `dump`. Operands are checked: slots are within
// the frame, constants exist and are of the operand's kind, jumps land on an instruction, a test is followed by its
// JMP, and the last instruction ends the function.
Result<std::shared_ptr<const Proto>> read_dump(std::span<const uint8_t> dump, const OpcodeMap& ops);

// One line for each instruction, with constants, names and lines: stage `bc` of -d.
std::string print(const Proto&);

}  // namespace kpl
