// SPDX-License-Identifier: MIT
// What a machine lacks for probing its kernel, each with the command that fixes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kpl {

// The machine that is looked at; in tests a directory that looks like one.
struct Machine {
    std::string root;                         // before every path
    std::string release;                      // as `uname -r` prints it
    uint64_t capabilities = 0;                // effective, as in /proc/self/status
    std::string modules;                      // the directory with a module for each kernel
    std::optional<std::string> device_error;  // why the module's device does not open, or its ABI does not fit

    static Machine here();
    std::string read(const std::string& path) const;  // without the last newline; empty if it can't be read
    bool exists(const std::string& path) const;
    bool is_root() const;
    std::string module_file() const;
};

enum class Health {
    good,
    poor,     // works, but less well than it could
    bad,      // nothing works before it is mended
    unknown,  // can't be seen without more rights
};

struct Finding {
    std::string what;  // "module is loaded", or what is wrong in its place
    Health health = Health::good;
    std::string mend{};  // a command, or what else to do; only where something is to mend
};

// This kernel, in the order in which things are to be mended.
std::vector<Finding> diagnose(const Machine& machine);
// Throwaway VMs.
std::vector<Finding> diagnose_vm(const Machine& machine);

// "none", "integrity", "confidentiality"; "" where the kernel does not say.
std::string lockdown(const Machine& machine);
std::optional<bool> secure_boot(const Machine& machine);

}  // namespace kpl
