// SPDX-License-Identifier: MIT
// Places in programs and libraries: "bash:readline", "libc:malloc+4", "/path:0x401136", "libc:str*".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session/kernel_view.hpp"
#include "session/targets.hpp"

namespace kpl {

// Each file once, unless its name has another one by now.
Result<std::shared_ptr<Program>> open_program(const std::string& name, KernelView& kernel);

Result<Resolved> resolve_programs(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand& blacklist,
                                  bool addresses);

// A place that several targets name is probed once.
void drop_repeated_places(Resolved& resolved);

// "/usr/bin/bash 0x4d1a0": the file and where in it. No program says which parameters its functions have.
std::string program_place_text(const KernelPlace& place);

// What a target that begins with `word` may be: programs and libraries, or behind "bash:" its functions.
std::vector<std::string> program_targets(const std::string& word, KernelView& kernel);

// The file that an armed place is in has another name by now, or none, and others may run in its place.
bool is_replaced(const KernelPlace& place);

}  // namespace kpl
