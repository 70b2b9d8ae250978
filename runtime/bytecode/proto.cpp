// SPDX-License-Identifier: MIT
#include "bytecode/proto.hpp"

#include <algorithm>
#include <array>

namespace kpl {
namespace {

struct OpRow {
    std::string_view name;
    OpModes modes;
};
constexpr OpRow op_rows[] = {
#define LJ_OP(name, a, b, cd) {#name, {Mode::a, Mode::b, Mode::cd}},
#include "bytecode/opcodes.def"
#undef LJ_OP
};
static_assert(std::size(op_rows) == static_cast<size_t>(Op::count_));

constexpr size_t name_width = 6;  // jit.vmdef pads each name to this

}  // namespace

std::string_view op_name(Op op) { return op < Op::count_ ? op_rows[static_cast<size_t>(op)].name : "?"; }

const OpModes& op_modes(Op op) {
    static constexpr OpModes unknown{Mode::None, Mode::None, Mode::None};
    return op < Op::count_ ? op_rows[static_cast<size_t>(op)].modes : unknown;
}

Result<OpcodeMap> OpcodeMap::from_vmdef(std::string_view bcnames) {
    const size_t count = bcnames.size() / name_width;
    if (bcnames.size() % name_width != 0 || count == 0 || count > 256)
        return Error{Errc::system, "jit.vmdef.bcnames has an unknown form"};
    OpcodeMap map;
    std::fill(std::begin(map.ops_), std::end(map.ops_), Op::count_);
    for (size_t number = 0; number < count; number++) {
        auto name = bcnames.substr(number * name_width, name_width);
        name = name.substr(0, name.find(' '));
        auto row = std::find_if(std::begin(op_rows), std::end(op_rows), [&](const OpRow& r) { return r.name == name; });
        if (row != std::end(op_rows)) map.ops_[number] = static_cast<Op>(row - std::begin(op_rows));
    }
    return map;
}

SourceLoc Proto::loc(uint32_t pc) const {
    // '@' marks a file and '=' a name that is to be shown as it is.
    bool marked = !chunk.empty() && (chunk[0] == '@' || chunk[0] == '=');
    uint32_t line = pc < lines.size() ? lines[pc] : first_line;
    return {chunk.substr(marked ? 1 : 0), static_cast<int>(line)};
}

const LocalVar* Proto::local_at(uint32_t slot, uint32_t pc) const {
    for (const LocalVar& var : locals)
        if (var.slot == slot && var.start_pc <= pc && pc < var.end_pc) return &var;
    return nullptr;
}

const Proto* same_code(const Proto& root, const Proto& f) {
    if (root.chunk == f.chunk && root.first_line == f.first_line && root.num_lines == f.num_lines &&
        root.code == f.code && root.lines == f.lines)
        return &root;
    for (const GcConst& constant : root.gc)
        if (auto child = std::get_if<std::shared_ptr<const Proto>>(&constant))
            if (const Proto* found = same_code(**child, f)) return found;
    return nullptr;
}

}  // namespace kpl
