// SPDX-License-Identifier: MIT
// What a hit costs: instructions that each job in jobs/ adds to one read(2), counted by a VM whose clock is the number
// of executed instructions.
//
//   hits --kernel 6.1 --script hits.sh --program kprobe-lua --reads reads --modules DIR [--floor MODULE] JOB…
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "guest/guest.hpp"

namespace fs = std::filesystem;
using namespace kpl;

int main(int argc, char** argv) {
    std::map<std::string, std::string> given;
    std::vector<std::string> jobs, files;
    for (int i = 1; i < argc; i++) {
        const std::string arg = argv[i];
        if (arg == "--file" && i + 1 < argc)
            files.push_back(argv[++i]);
        else if (arg.starts_with("--") && i + 1 < argc)
            given[arg.substr(2)] = argv[++i];
        else
            jobs.push_back(fs::absolute(arg));
    }
    GuestSpec spec;
    spec.kernel = given["kernel"];
    spec.program = "/bin/sh";
    spec.module_dir = given["modules"];
    spec.icount = true;
    spec.limits.boot = 300;
    const std::string script = fs::absolute(given["script"]), program = fs::absolute(given["program"]),
                      reads = fs::absolute(given["reads"]);
    spec.argv = {script, fs::absolute(given["script"]).parent_path(), program, reads, given.count("floor") ? given["floor"] : "-"};
    spec.argv.insert(spec.argv.end(), jobs.begin(), jobs.end());
    spec.files = {script, program, reads};
    spec.files.insert(spec.files.end(), jobs.begin(), jobs.end());
    spec.files.insert(spec.files.end(), files.begin(), files.end());
    if (given.count("floor")) spec.files.push_back(given["floor"]);
    spec.add = {"sleep", "awk", "grep", "insmod", "rmmod", "basename", "cat", "kill"};
    if (std::getenv("VERBOSE")) spec.env.push_back("VERBOSE=1");
    const auto report = run_guest_report(spec);
    if (!report) {
        fmt::print(stderr, "{}\n", report.error().message());
        return 1;
    }
    if (!report->good()) fmt::print(stderr, "the VM failed: {}\n", report->failure);
    return report->good() ? report->status : 1;
}
