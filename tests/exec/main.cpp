// SPDX-License-Identifier: MIT
// kprobe-lua-exec: runs eBPF programs as handlers, on any of the engines. CONTRIBUTING.md shows it at work.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>

#include "engines.hpp"
#include "foreign.hpp"
#include "guest/guest.hpp"
#include "random.hpp"

using namespace kpl;
using namespace kpl::exec;

namespace {

constexpr const char* about = R"(Runs an eBPF program and prints r0 in hex.

The program is read from standard input: 8 bytes for each instruction, as pairs of hex digits. MEMORY, in hex, too, and
with 0x before it or not, is what r1 points to; r2 is its length. Without it, both are 0. What the module's profile
lacks is put in its words where that is possible. Programs that the profile does not take all the same are refused with
the reason and the instruction: exit status 1, with --batch, too, if any line is an error.)";

struct Options {
    std::string memory, context, kernel, release;
    bool batch = false, show_memory = false, reference = false;
    bool as_is = false;
    bool inside = false;  // of the VM
    uint32_t repeat = 0, random = 0;
    uint64_t seed = 1;
};

std::filesystem::path self() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::string hex(const std::vector<uint8_t>& bytes) {
    std::string text;
    for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

Result<std::unique_ptr<Engine>> engine_for(const Options& options) {
    if (options.inside) return kernel(options.kernel != "interp");
    return options.reference ? reference() : simulator();
}

Result<std::vector<uint64_t>> regs_from(std::string_view text) {
    const std::vector<uint8_t> bytes = TRY(bytes_from_hex(text));
    std::vector<uint64_t> words(bytes.size() / 8);
    if (bytes.size() % 8 || words.size() > 21)
        return Error{Errc::usage,
                     fmt::format("a context of {} bytes; 8 for each register, of which there are 21", bytes.size())};
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(words.data()));
    return words;
}

Result<Handler> handler_of(const Options& options, std::string_view program, size_t memory) {
    const std::vector<uint8_t> bytes = TRY(bytes_from_hex(program));
    Handler handler = TRY(handler_from(bytes, {memory, !options.context.empty(), options.as_is}));
    handler.regs = TRY(regs_from(options.context));
    return handler;
}

Result<std::string> result_of(Engine& engine, const Options& options, std::string_view program,
                              std::string_view memory) {
    std::vector<uint8_t> data = TRY(bytes_from_hex(memory));
    const Handler handler = TRY(handler_of(options, program, data.size()));
    const Ran ran = TRY(engine.run(handler, data, options.repeat ? options.repeat : 1));
    std::string text = fmt::format("{:x}", ran.r0);
    if (options.show_memory) text += " " + (data.empty() ? "-" : hex(data));
    if (options.repeat)
        text += fmt::format(" {:.1f} ns", ran.ns);
    else if (options.inside && !options.batch)  // standard output has r0 alone
        fmt::print(stderr, "{:.1f} ns\n", ran.ns);
    return text;
}

int failed(const Error& error) {
    fmt::print(stderr, "kprobe-lua-exec: {}\n", error.message());
    return 1;
}

int run_here(const Options& options, const std::string& input) {
    const auto engine = engine_for(options);
    if (!engine) return failed(engine.error());
    if (!options.batch) {
        const auto result = result_of(**engine, options, input, options.memory);
        if (!result) return failed(result.error());
        fmt::print("{}\n", *result);
        return 0;
    }
    bool all = true;
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
        const size_t colon = std::min(line.find(':'), line.size());
        const std::string memory = colon < line.size() ? line.substr(colon + 1) : options.memory;
        const auto result = result_of(**engine, options, line.substr(0, colon), memory);
        fmt::print("{}\n", result ? *result : "error " + result.error().message());
        all = all && result;
    }
    return all ? 0 : 1;
}

// What is wrong without a kernel is said before one boots.
Result<void> check(const Options& options, const std::string& input) {
    const std::vector<uint8_t> memory = TRY(bytes_from_hex(options.memory));
    TRY(regs_from(options.context));
    if (!options.batch) TRY(handler_of(options, input, memory.size()));
    return {};
}

int run_in_vm(const Options& options, const std::string& input) {
    if (const auto good = check(options, input); !good) return failed(good.error());
    GuestSpec spec;
    spec.kernel = options.release;
    spec.program = self();
    spec.argv = {"--inside", "--kernel=" + options.kernel};
    if (options.batch) spec.argv.push_back("--batch");
    if (options.show_memory) spec.argv.push_back("--show-memory");
    if (options.as_is) spec.argv.push_back("--as-is");
    if (options.repeat) spec.argv.push_back(fmt::format("--repeat={}", options.repeat));
    if (!options.context.empty()) spec.argv.push_back("--context=" + options.context);
    if (!options.memory.empty()) spec.argv.push_back(options.memory);
    spec.input = input;
    spec.cwd = "/";
    spec.module_dir = self().parent_path() / "kmod";
    const auto status = run_guest(spec);
    return status ? *status : failed(status.error());
}

// CLI11 takes what strtoull() makes of any number.
std::string fits_64_bits(const std::string& text) {
    errno = 0;
    std::strtoull(text.c_str(), nullptr, 0);
    const bool fits = errno != ERANGE && text.find('-') == text.npos;
    return fits ? "" : fmt::format("{} is not in 0 to 2^64 - 1", text);
}

// The next file that is opened would get a closed stream's number. Writing to one stays an error.
void fill_standard_streams() {
    for (int fd = 0; fd <= 2; fd++)
        if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDONLY);
}

int run(int argc, char** argv) {
    Options options;
    CLI::App app(about, "kprobe-lua-exec");
    app.add_option("memory", options.memory, "what r1 points to, in hex")->option_text("MEMORY");
    app.add_option(
           "--context", options.context,
           "struct pt_regs, in hex, 8 bytes for each register: r1 points to it, MEMORY and its length are in r2 and r3")
        ->option_text("HEX");
    app.add_flag("--as-is", options.as_is,
                 "load the program unchanged: r1 points to a struct kpl_hit (docs/bytecode.md), whose data is MEMORY");
    // A flag takes a value only with '=': what follows may be the memory. One without a value says "true".
    CLI::Option* in_kernel =
        app.add_flag("--kernel", options.kernel, "in a VM, by the module: jit, interp; jit if nothing is said")
            ->transform(CLI::Transformer({{"true", "jit"}}))
            ->check(CLI::IsMember({"jit", "interp"}))
            ->option_text("[=jit|interp]");
    app.add_option("--release", options.release, "the VM's kernel: the beginning of its release")->needs(in_kernel);
    app.add_flag("--reference", options.reference, "by an interpreter that shares nothing with the module's")
        ->excludes(in_kernel);
    app.add_option("--repeat", options.repeat,
                   "so many runs on the same memory; prints what one took, too; one run in a VM: on stderr")
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--show-memory", options.show_memory, "print the memory after the run, too, in hex");
    app.add_flag("--batch", options.batch, "a program on each line, PROGRAM or PROGRAM:MEMORY; a line for each");
    CLI::Option* random =
        app.add_option("--random", options.random, "print so many random programs that are accepted, for --batch");
    app.add_option("--seed", options.seed, "of the first of them (1)")->check(fits_64_bits);
    app.add_flag("--inside", options.inside)->group("");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) ? 2 : 0;
    }
    for (uint32_t i = 0; i < options.random; i++) fmt::print("{}\n", random_line(options.seed + i));
    if (*random) return 0;
    std::string input;
    char bytes[1 << 16];
    ssize_t n;
    while ((n = ::read(STDIN_FILENO, bytes, sizeof bytes)) > 0) input.append(bytes, static_cast<size_t>(n));
    if (n < 0) {
        fmt::print(stderr, "kprobe-lua-exec: standard input: {}\n", std::strerror(errno));
        return 1;
    }
    return *in_kernel && !options.inside ? run_in_vm(options, input) : run_here(options, input);
}

}  // namespace

int main(int argc, char** argv) {
    fill_standard_streams();
    try {
        const int status = run(argc, argv);
        if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
    } catch (const std::bad_alloc&) {
        std::fputs("kprobe-lua-exec: there is not enough memory for so many programs\n", stderr);
        return 1;
    } catch (const std::system_error&) {  // a stream, says fmt
    }
    std::fputs("kprobe-lua-exec: the output can't be written\n", stderr);
    return 1;
}
