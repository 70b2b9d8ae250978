// SPDX-License-Identifier: MIT
// The kernel's functions that implement system calls, and the names that people know them by.
#pragma once

#include <string>
#include <vector>

#include "arch/arch.hpp"
#include "base/result.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

struct Syscall {
    std::string name;   // as the kernel's source defines it: "newfstat"
    std::string shown;  // as programs call it: "fstat"
    Symbol function;    // address 0: hidden
    const SyscallWay* way = nullptr;
};

// "openat", "newfstat", "fstat", "open*": each way into each that matches. Those that this kernel was built
// without are not there.
Result<std::vector<Syscall>> find_syscalls(const std::string& pattern, Kallsyms& symbols);
// Names near to one that is not there, best first, at most three.
Result<std::vector<std::string>> near_syscalls(const std::string& name, Kallsyms& symbols);

}  // namespace kpl
