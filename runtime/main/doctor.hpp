// SPDX-License-Identifier: MIT
// doctor: what this machine lacks for probing its own kernel or a VM's, and the command that mends it.
#pragma once

namespace kpl {

// Prints one line for each check. 0 when this kernel can be probed, else 1.
int doctor();

// --info: prints kernel, module and ABI. Always 0.
int info();

}  // namespace kpl
