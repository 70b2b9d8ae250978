// SPDX-License-Identifier: MIT
// KernelView: what a session knows of the running kernel, read when it is first asked for.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "inspect/tracepoints.hpp"
#include "output/datum.hpp"
#include "programs/program.hpp"
#include "programs/user_symbols.hpp"
#include "symbols/kallsyms.hpp"
#include "symbols/types.hpp"

namespace kpl {

struct KernelView {
    explicit KernelView(const std::string& btf_dir) : types(btf_dir) {}
    KernelView(const KernelView&) = delete;
    KernelView& operator=(const KernelView&) = delete;

    Types types;
    Kallsyms symbols;
    Tracepoints tracepoints;
    std::map<std::string, std::shared_ptr<Program>> programs;  // by path
    UserSymbols users;
    Decoder decoder{symbols, &users};
};

}  // namespace kpl
