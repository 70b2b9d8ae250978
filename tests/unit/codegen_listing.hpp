// SPDX-License-Identifier: MIT
// IR functions against the code that they become, instruction by instruction.
#pragma once

#include "codegen_ir.hpp"

namespace kpl::test {

inline SimMap make_map(kpl_map_kind kind, uint32_t key_size, uint32_t value_size = 0) {
    kpl_map_create request{};
    request.kind = kind;
    request.key_size = key_size;
    request.value_size = value_size;
    return SimMap::create(request);
}

// The program is accepted, and is this one.
inline void check_listing(const ir::Function& function, const std::string& expected, std::vector<SimMap> maps = {}) {
    HandlerProgram program = compile(function);
    Simulator simulator;
    simulator.maps = std::move(maps);
    load(simulator, program);
    auto text = assemble(expected);
    INFO((text.ok() ? "" : text.error().message()));
    REQUIRE(text.ok());
    CHECK(listing(program) == disassemble(text->insns, text->labels));
}

}  // namespace kpl::test
