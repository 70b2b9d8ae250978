// SPDX-License-Identifier: MIT
// Runs one program in a throwaway VM: a distribution kernel, our module, the host's files at their own paths.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "guest/console.hpp"

namespace kpl {

// All in seconds; 0 is no limit.
struct GuestLimits {
    int boot = 900;    // from the start to a running init; a busy machine without KVM takes its time
    int silence = 60;  // a kernel that does not even answer when asked
    int run = 0;       // the whole run
    int quiet = 0;     // no output of the program
};

struct GuestSpec {
    std::string kernel;             // as kernel_matches() takes it; "" is the newest that has a module
    std::string program;            // host path of what to run inside
    std::vector<std::string> argv;  // its arguments, argv[0] excluded
    std::vector<std::string> env = guest_environment();
    std::string cwd;                     // where it runs; "" is the host's current directory
    std::vector<std::string> files;      // host files and directories that it needs, kept at the same absolute path
    std::vector<std::string> add;        // --vm-add: the same, or a program's name looked up in PATH
    std::vector<std::string> lua_trees;  // directories whose Lua files come along
    std::vector<std::pair<std::string, std::string>> bytes;  // path in the VM and contents, for what is in no file
    std::optional<std::string> input;                        // its stdin; /dev/null without
    bool keyboard = false;           // instead: our terminal, byte by byte, which is the program's
    std::string module_dir;          // holds <release>/kprobe_lua.ko, loaded before the program; "" is no module
    std::vector<std::string> fetch;  // files that it writes and the host wants, at the same path (`-o FILE`)
    // Takes such a file, whose bytes the guest chose; false: it is written.
    std::function<bool(const std::string& path, const std::string& bytes)> take_file;

    int cpus = 2;
    int memory_mib = 1024;
    bool icount = false;  // guest time counts executed instructions; one CPU
    // Without KVM: a host thread for each CPU. One thread for all is as fast where the host is busy, and faithful: with
    // several, a CPU may hit a breakpoint that another one has just taken away, or seem to be stuck.
    bool parallel = false;
    GuestLimits limits;

    int out_fd = 1, err_fd = 2;  // where the program's streams go, byte for byte, while it runs
    // Instead of these, when set: called with 1 or 2 and the bytes.
    std::function<void(int stream, std::string_view bytes)> on_output;
    std::vector<std::string> let_through;  // text of lines of its console whose call trace is no trouble
    std::vector<std::string> let_races;    // functions of its kernel in which a race is no trouble
    bool verbose = false;                  // steps, and the kernel's console once it is up, on `err_fd`

    // KPROBE_LUA_*, TERM, NO_COLOR, PATH, the locale, the time zone and Lua's paths of this process, as
    // NAME=VALUE.
    static std::vector<std::string> guest_environment();
};

// How a VM's run went.
struct GuestReport {
    std::string release;            // of its kernel
    bool finished = false;          // the final marker came
    int status = 0;                 // the program's exit status, 128 + n for signal n
    std::string failure;            // why the VM ended early or was ended; empty otherwise
    std::vector<std::string> left;  // what stayed behind in the kernel
    Console console;

    bool good() const { return finished && failure.empty() && left.empty() && console.clean(); }
};

// An error when there is nothing to run: no kernel, no module, no QEMU, a file that is missing. Forwards
// SIGINT, SIGTERM and SIGUSR1 of this process to the program; a second SIGINT or SIGTERM ends the VM.
Result<GuestReport> run_guest_report(const GuestSpec& spec);

// The exit status of the program; an error with the console's excerpt when the VM failed, something stayed
// behind in the kernel or the kernel reported trouble, even if the program ended well.
Result<int> run_guest(const GuestSpec& spec);

}  // namespace kpl
