// SPDX-License-Identifier: MIT
// The reader of LuaJIT's dump format, version 2.
//
//   dump   = ESC 'L' 'J' versionB flagsU [namelenU nameB*] proto+ 0U
//   proto  = lengthU pdata                      children stand before the function that holds them
//   pdata  = flagsB numparamsB framesizeB numuvB numkgcU numknU numbcU [debuglenU [firstlineU numlineU]]
//            bcinsW* uvdataH* kgc* knum* [debug]
//   kgc    = 0U (child) | 1U ktab | 2U loU hiU (int64_t) | 3U loU hiU (uint64_t)
//          | 4U rloU rhiU iloU ihiU (complex) | (5 + length)U strB*          stored last constant first
//   knum   = 33-bit U: bit 0 clear: int32_t in the other 32 | set: low word there, then hiU
//   ktab   = narrayU nhashU ktabk* (ktabk ktabk)*
//   ktabk  = 0U nil | 1U false | 2U true | 3U int32U | 4U loU hiU (double) | (5 + length)U strB*
//   debug  = line{B,H,W}* (less the first line; by numline: < 256, < 65536) uvname0* var* 0B
//   var    = (1..6 B: an internal name | name0) startU (less the previous start) lengthU
//
// B = 8 bit, H = 16 bit, W = 32 bit, little endian; U = ULEB128 of 32 bits; name0 ends in a NUL.
// [name] and [debuglen...] are there unless stripped.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bytecode/byte_reader.hpp"
#include "bytecode/check_code.hpp"
#include "bytecode/proto.hpp"

namespace kpl {
namespace {

enum DumpFlag : uint32_t {
    big_endian = 0x01,
    stripped = 0x02,
    uses_ffi = 0x04,
    two_slot_frames = 0x08,
    uses_bit_ops = 0x10
};
constexpr uint32_t known_flags = big_endian | stripped | uses_ffi | two_slot_frames | uses_bit_ops;

enum ProtoFlag : uint8_t { has_children = 0x01, is_vararg = 0x02, proto_ffi = 0x04, proto_bit_ops = 0x80 };
constexpr uint8_t known_proto_flags = has_children | is_vararg | proto_ffi | proto_bit_ops;

enum UpvalueBit : uint16_t { upvalue_local = 0x8000, upvalue_immutable = 0x4000 };

enum class Kgc : uint32_t { Child, Table, Int64, Uint64, Complex, String };
enum class Ktab : uint32_t { Nil, False, True, Int, Num, String };

constexpr std::string_view internal_names[] = {
    "", "(for index)", "(for limit)", "(for step)", "(for generator)", "(for state)", "(for control)"};

// LuaJIT's parser nests no deeper (LJ_MAX_XLEVEL); what walks nested functions may recurse.
constexpr int max_depth = 200;

Error bad(std::string_view what) { return {Errc::system, fmt::format("LuaJIT's bytecode can't be read: {}", what)}; }

struct Child {
    std::shared_ptr<Proto> proto;
    int depth;  // of nested functions, itself included
};

class DumpReader {
  public:
    DumpReader(std::span<const uint8_t> dump, const OpcodeMap& ops) : in_(dump), ops_(ops) {}

    Result<std::shared_ptr<const Proto>> read() {
        TRY(read_header());
        while (uint32_t length = in_.uleb32()) {
            ByteReader body(in_.take(length));
            if (!in_.ok()) break;
            TRY(read_proto(body));
        }
        if (!in_.ok()) return bad("it is cut off");
        if (!in_.at_end()) return bad("bytes follow its end");
        if (unclaimed_.size() != 1) return bad("it holds not one main function");
        mark_upvalues(*unclaimed_[0].proto, nullptr);
        find_assignments(*unclaimed_[0].proto);
        return std::shared_ptr<const Proto>(unclaimed_[0].proto);
    }

  private:
    Result<void> read_header() {
        if (in_.u8() != 0x1b || in_.u8() != 'L' || in_.u8() != 'J') return bad("it is no dump");
        if (uint8_t version = in_.u8(); version != 2) return bad(fmt::format("version {} is unknown", version));
        flags_ = in_.uleb32();
        if (flags_ & ~known_flags) return bad(fmt::format("flags {:#x} are unknown", flags_ & ~known_flags));
        if (flags_ & big_endian) return bad("it is big-endian");
        if (!(flags_ & two_slot_frames)) return bad("it has one-slot frames (a LuaJIT built without GC64)");
        if (!(flags_ & stripped)) chunk_ = in_.string(in_.count());
        if (!in_.ok()) return bad("it is cut off");
        return {};
    }

    Result<void> read_proto(ByteReader& in) {
        auto f = std::make_shared<Proto>();
        f->chunk = chunk_;
        const uint8_t flags = in.u8();
        if (flags & ~known_proto_flags) return bad(fmt::format("function flags {:#x} are unknown", flags));
        f->vararg = flags & is_vararg;
        f->num_params = in.u8();
        f->frame_size = in.u8();
        const uint8_t num_upvalues = in.u8();
        const uint32_t num_gc = in.count(), num_numbers = in.count(), num_insns = in.count(4);
        uint32_t debug_size = 0;
        if (!(flags_ & stripped) && (debug_size = in.count())) {
            f->first_line = in.uleb32();
            f->num_lines = in.uleb32();
        }
        TRY(read_code(in, *f, num_insns));
        for (uint32_t i = 0; i < num_upvalues; i++) f->upvalues.push_back(read_upvalue(in));
        int depth = 1;
        TRY(read_gc(in, *f, num_gc, depth));
        for (uint32_t i = 0; i < num_numbers && in.ok(); i++) f->num.push_back(read_number(in));
        if (debug_size) {
            ByteReader debug(in.take(debug_size));
            read_debug(debug, *f, num_insns);
            if (!debug.ok() || !debug.at_end()) return bad("a function's debug information is damaged");
        }
        if (!in.ok() || !in.at_end()) return bad("a function's length is not what it says");
        if (std::string wrong = check_code(*f); !wrong.empty()) return bad(wrong);
        unclaimed_.push_back({std::move(f), depth});
        return {};
    }

    Result<void> read_code(ByteReader& in, Proto& f, uint32_t count) {
        f.code.reserve(count + 1);
        f.code.push_back({f.vararg ? Op::FUNCV : Op::FUNCF, f.frame_size, 0, 0});
        for (uint32_t i = 0; i < count && in.ok(); i++) {
            const uint32_t word = in.u32();
            Insn insn{ops_.at(word & 0xff), static_cast<uint8_t>(word >> 8), 0, static_cast<uint16_t>(word >> 16)};
            if (insn.op == Op::count_) return bad(fmt::format("opcode {} is unknown", word & 0xff));
            if (!op_modes(insn.op).has_d()) {
                insn.b = static_cast<uint8_t>(word >> 24);
                insn.c &= 0xff;
            }
            f.code.push_back(insn);
        }
        return {};
    }

    static UpvalueDesc read_upvalue(ByteReader& in) {
        const uint16_t bits = in.u16();
        UpvalueDesc upvalue;
        upvalue.local = bits & upvalue_local;
        upvalue.immutable = upvalue.local && (bits & upvalue_immutable);
        upvalue.slot = bits & (upvalue_immutable - 1);
        return upvalue;
    }

    Result<void> read_gc(ByteReader& in, Proto& f, uint32_t count, int& depth) {
        for (uint32_t i = 0; i < count && in.ok(); i++) {
            const uint32_t type = in.uleb32();
            switch (static_cast<Kgc>(std::min(type, static_cast<uint32_t>(Kgc::String)))) {
                case Kgc::Child: {
                    if (unclaimed_.empty()) return bad("a nested function is missing");
                    depth = std::max(depth, unclaimed_.back().depth + 1);
                    if (depth > max_depth) return bad("functions are nested too deeply");
                    f.gc.emplace_back(std::shared_ptr<const Proto>(std::move(unclaimed_.back().proto)));
                    unclaimed_.pop_back();
                    break;
                }
                case Kgc::Table: f.gc.emplace_back(read_table(in)); break;
                case Kgc::Int64: f.gc.emplace_back(static_cast<int64_t>(read_u64(in))); break;
                case Kgc::Uint64: f.gc.emplace_back(read_u64(in)); break;
                case Kgc::Complex: {
                    double re = read_double(in);
                    f.gc.emplace_back(Complex{re, read_double(in)});
                    break;
                }
                case Kgc::String: f.gc.emplace_back(in.string(type - static_cast<uint32_t>(Kgc::String))); break;
            }
        }
        std::reverse(f.gc.begin(), f.gc.end());
        return {};
    }

    static uint64_t read_u64(ByteReader& in) {
        uint64_t low = in.uleb32();
        return low | static_cast<uint64_t>(in.uleb32()) << 32;
    }
    static double read_double(ByteReader& in) { return std::bit_cast<double>(read_u64(in)); }

    static double read_number(ByteReader& in) {
        const uint64_t tagged = in.uleb128(33);
        const uint32_t low = static_cast<uint32_t>(tagged >> 1);
        if (!(tagged & 1)) return static_cast<int32_t>(low);
        return std::bit_cast<double>(low | static_cast<uint64_t>(in.uleb32()) << 32);
    }

    static TableTemplate read_table(ByteReader& in) {
        TableTemplate table;
        const uint32_t num_array = in.count(), num_hash = in.count(2);
        for (uint32_t i = 0; i < num_array && in.ok(); i++) table.array.push_back(read_template_value(in));
        for (uint32_t i = 0; i < num_hash && in.ok(); i++) {
            TemplateValue key = read_template_value(in);
            table.hash.emplace_back(std::move(key), read_template_value(in));
        }
        return table;
    }

    static TemplateValue read_template_value(ByteReader& in) {
        const uint32_t type = in.uleb32();
        switch (static_cast<Ktab>(std::min(type, static_cast<uint32_t>(Ktab::String)))) {
            case Ktab::Nil: return Nil{};
            case Ktab::False: return false;
            case Ktab::True: return true;
            case Ktab::Int: return static_cast<int32_t>(in.uleb32());
            case Ktab::Num: return read_double(in);
            case Ktab::String: return in.string(type - static_cast<uint32_t>(Ktab::String));
        }
        return Nil{};
    }

    static void read_debug(ByteReader& in, Proto& f, uint32_t num_insns) {
        f.lines.push_back(f.first_line);  // the header's
        for (uint32_t i = 0; i < num_insns && in.ok(); i++) {
            uint32_t delta = f.num_lines < 256 ? in.u8() : f.num_lines < 65536 ? in.u16() : in.u32();
            f.lines.push_back(f.first_line + delta);
        }
        for (UpvalueDesc& upvalue : f.upvalues) upvalue.name = in.c_string();
        read_locals(in, f);
    }

    // LuaJIT keeps no slots: a variable's is the number of variables before it that live where it begins.
    static void read_locals(ByteReader& in, Proto& f) {
        std::vector<uint32_t> ends;  // of the live ones; scopes nest, so its size is the next free slot
        uint32_t start = 0;
        while (uint8_t first = in.u8()) {
            LocalVar var;
            if (first < std::size(internal_names))
                var.name = internal_names[first];
            else
                var.name = static_cast<char>(first) + in.c_string();
            start += in.uleb32();
            var.start_pc = start;
            var.end_pc = start + in.uleb32();
            std::erase_if(ends, [&](uint32_t end) { return end <= start; });
            var.slot = static_cast<uint32_t>(ends.size());
            ends.push_back(var.end_pc);
            f.locals.push_back(std::move(var));
        }
    }

    // The immutable bit stands with the function next to the declaring one: hand it down from there.
    static void mark_upvalues(Proto& f, const Proto* parent) {
        for (UpvalueDesc& upvalue : f.upvalues) {
            if (upvalue.local) {
                upvalue.unknown = !parent && !upvalue.immutable;
                continue;
            }
            const bool known = parent && upvalue.slot < parent->upvalues.size();
            upvalue.unknown = !known || parent->upvalues[upvalue.slot].unknown;
            upvalue.immutable = known && parent->upvalues[upvalue.slot].immutable;
        }
        for (GcConst& constant : f.gc)
            if (auto child = std::get_if<std::shared_ptr<const Proto>>(&constant))
                mark_upvalues(const_cast<Proto&>(**child), &f);  // made here, not yet handed out
    }

    ByteReader in_;
    const OpcodeMap& ops_;
    uint32_t flags_ = 0;
    std::string chunk_;
    std::vector<Child> unclaimed_;  // read, and not yet held by a parent
};

}  // namespace

Result<std::shared_ptr<const Proto>> read_dump(std::span<const uint8_t> dump, const OpcodeMap& ops) {
    return DumpReader(dump, ops).read();
}

}  // namespace kpl
