// SPDX-License-Identifier: MIT
// libFuzzer: dumps of functions against their reader, and what reads on in what it has read.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bytecode/flow.hpp"
#include "bytecode/proto.hpp"

using namespace kpl;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// Of KPL_BCNAMES, a file: what jit.vmdef of the LuaJIT that made the dumps has.
const OpcodeMap& opcodes() {
    static const OpcodeMap map = [] {
        const char* path = std::getenv("KPL_BCNAMES");
        std::stringstream text;
        text << std::ifstream(path ? path : "").rdbuf();
        auto made = OpcodeMap::from_vmdef(text.str());
        if (!made) {
            std::fputs(
                "KPL_BCNAMES names no file of opcodes: luajit -e 'io.write(require(\"jit.vmdef\").bcnames)' > FILE\n",
                stderr);
            std::_Exit(2);
        }
        return *made;
    }();
    return map;
}

void walk(const Proto& proto) {
    if (print(proto).empty()) std::abort();
    for (uint32_t pc = 0; pc < proto.code.size(); pc++)
        for (const uint32_t next : successors(proto, pc))
            if (next >= proto.code.size()) std::abort();
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (const auto proto = read_dump({data, size}, opcodes())) walk(**proto);
    return 0;
}
