// SPDX-License-Identifier: MIT
#include "arch/capstone.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "arch/disasm.hpp"

namespace kpl {

const char* disassembler_library() { return KPL_CAPSTONE_PATH; }

Result<const Capstone*> Capstone::load() {
    static Capstone capstone;
    if (capstone.cs_open) return &capstone;
    void* library = ::dlopen(KPL_CAPSTONE_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return Error{Errc::system, fmt::format("no disassembler: {} (apt-get install libcapstone4)", ::dlerror())};
    bool complete = true;
#define X(name) complete &= (capstone.name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name))) != nullptr;
    KPL_CAPSTONE_FUNCTIONS(X)
#undef X
    if (complete) return &capstone;
    capstone = {};
    return Error{Errc::system, std::string(KPL_CAPSTONE_NAME) + " is of a version that is not known here"};
}

}  // namespace kpl
