// SPDX-License-Identifier: MIT
// Runs a script in a VM with one CPU whose clock is the number of instructions that it has executed: a nanosecond there
// is an instruction, whatever else the host does.
//
//   bench_counted --kernel 6.1 --modules DIR [--file PATH]… [--add PROGRAM]… SCRIPT [ARG]…
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "guest/guest.hpp"

namespace fs = std::filesystem;
using namespace kpl;

int main(int argc, char** argv) {
    GuestSpec spec;
    spec.program = "/bin/sh";
    spec.icount = true;
    spec.limits.boot = 300;
    spec.add = {"awk", "basename", "cat", "grep", "insmod", "kill", "rmmod", "sleep", "date"};
    for (int i = 1; i < argc; i++) {
        const std::string option = argv[i];
        if (!spec.argv.empty() || !option.starts_with("--") || i + 1 == argc) {
            spec.argv.push_back(spec.argv.empty() ? fs::absolute(option).string() : option);
            continue;
        }
        const std::string value = argv[++i];
        if (option == "--kernel") spec.kernel = value;
        if (option == "--modules") spec.module_dir = fs::absolute(value);
        if (option == "--file") spec.files.push_back(fs::absolute(value));
        if (option == "--add") spec.add.push_back(value);
    }
    if (spec.argv.empty()) {
        fmt::print(stderr, "bench_counted: no script\n");
        return 2;
    }
    spec.files.push_back(spec.argv[0]);
    const auto status = run_guest(spec);
    if (status) return *status;
    fmt::print(stderr, "{}\n", status.error().message());
    return 1;
}
