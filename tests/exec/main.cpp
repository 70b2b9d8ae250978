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
#include "wire.hpp"

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
    bool inside = false, jobs = false;  // of the VM; jobs come in
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
    const std::vector<uint8_t> bytes = TRY(bytes_from_hex("the context", text));
    std::vector<uint64_t> words(bytes.size() / 8);
    if (bytes.size() % 8 || words.size() > 21)
        return Error{Errc::usage,
                     fmt::format("a context of {} bytes; 8 for each register, of which there are 21", bytes.size())};
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(words.data()));
    return words;
}

Result<Handler> handler_of(const Options& options, std::string_view program, size_t memory) {
    const std::vector<uint8_t> bytes = TRY(bytes_from_hex("the program", program));
    Handler handler = TRY(handler_from(bytes, {memory, !options.context.empty(), options.as_is}));
    handler.regs = TRY(regs_from(options.context));
    return handler;
}

Result<Job> job_of(const Options& options, std::string_view program, std::string_view memory) {
    Job job;
    job.memory = TRY(bytes_from_hex("the memory", memory));
    job.handler = TRY(handler_of(options, program, job.memory.size()));
    return job;
}

Outcome outcome_of(Engine& engine, const Options& options, Job job) {
    const auto ran = engine.run(job.handler, job.memory, options.repeat ? options.repeat : 1);
    if (!ran) return {{}, {}, ran.error().message()};
    return {*ran, std::move(job.memory), ""};
}

int failed(const Error& error) {
    fmt::print(stderr, "kprobe-lua-exec: {}\n", error.message());
    return 1;
}

// What became of the programs, in their order.
class Printer {
  public:
    explicit Printer(const Options& options) : options_(options) {}

    void print(const Outcome& outcome) {
        bad_ = bad_ || !outcome.error.empty();
        if (options_.batch)
            fmt::print("{}\n", outcome.error.empty() ? text(outcome) : "error " + outcome.error);
        else if (outcome.error.empty())
            fmt::print("{}\n", text(outcome));
        else
            fmt::print(stderr, "kprobe-lua-exec: {}\n", outcome.error);
    }
    int status() const { return bad_ ? 1 : 0; }

  private:
    std::string text(const Outcome& outcome) const {
        std::string text = fmt::format("{:x}", outcome.ran.r0);
        if (options_.show_memory) text += " " + (outcome.memory.empty() ? "-" : hex(outcome.memory));
        if (options_.repeat)
            text += fmt::format(" {:.1f} ns", outcome.ran.ns);
        else if (!options_.kernel.empty() && !options_.batch)  // standard output has r0 alone
            fmt::print(stderr, "{:.1f} ns\n", outcome.ran.ns);
        return text;
    }

    const Options& options_;
    bool bad_ = false;
};

// fn(job, or why there is none) for each program.
template <class Fn>
void for_jobs(const Options& options, const std::string& input, const Fn& fn) {
    if (!options.batch) return fn(job_of(options, input, options.memory));
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
        const size_t colon = std::min(line.find(':'), line.size());
        const std::string memory = colon < line.size() ? line.substr(colon + 1) : options.memory;
        fn(job_of(options, line.substr(0, colon), memory));
    }
}

int run_here(const Options& options, const std::string& input) {
    const auto engine = engine_for(options);
    if (!engine) return failed(engine.error());
    Printer printer(options);
    for_jobs(options, input, [&](Result<Job> job) {
        printer.print(job ? outcome_of(**engine, options, std::move(*job)) : Outcome{{}, {}, job.error().message()});
    });
    return printer.status();
}

// Inside a VM: jobs come in, outcomes go out.
int run_jobs(const Options& options, const std::string& input) {
    const auto engine = engine_for(options);
    if (!engine) return failed(engine.error());
    ByteReader jobs(std::span(reinterpret_cast<const uint8_t*>(input.data()), input.size()));
    std::string bytes;
    while (auto job = next_job(jobs)) {
        put(bytes, outcome_of(**engine, options, *std::move(job)));
        if (bytes.size() < 1 << 16 && !jobs.at_end()) continue;
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        bytes.clear();
    }
    return jobs.ok() ? 0 : 1;
}

// Programs of one boot. What is no handler is known before, and does not go there.
class Boot {
  public:
    Boot(const Options& options, Printer& printer) : options_(options), printer_(printer) {}

    bool is_full() const { return jobs_.size() >= most; }

    void add(const Result<Job>& job) {
        if (job) put(jobs_, *job);
        errors_.push_back(job ? "" : job.error().message());
    }

    Result<void> run() {
        std::string results;
        if (!jobs_.empty()) results = TRY(results_of_vm());
        ByteReader outcomes(std::span(reinterpret_cast<const uint8_t*>(results.data()), results.size()));
        for (const std::string& error : errors_) {
            const auto outcome = error.empty() ? next_outcome(outcomes) : Outcome{{}, {}, error};
            if (!outcome) return Error{Errc::system, "the VM ended before the programs did"};
            printer_.print(*outcome);
        }
        jobs_.clear();
        errors_.clear();
        return {};
    }

  private:
    static constexpr size_t most = 32 << 20;  // bytes; the VM's memory holds them several times

    Result<std::string> results_of_vm() const {
        GuestSpec spec;
        spec.kernel = options_.release;
        spec.program = self();
        spec.argv = {"--inside", "--jobs", "--kernel=" + options_.kernel};
        if (options_.repeat) spec.argv.push_back(fmt::format("--repeat={}", options_.repeat));
        spec.input = jobs_;
        spec.cpus = 1;  // one program after another
        spec.cwd = "/";
        spec.module_dir = self().parent_path() / "kmod";
        std::string results;
        spec.on_output = [&results](int stream, std::string_view bytes) {
            if (stream == 1)
                results += bytes;
            else
                fmt::print(stderr, "{}", bytes);
        };
        const int status = TRY(run_guest(spec));
        if (status) return Error{Errc::system, fmt::format("in the VM, the exit status is {}", status)};
        return results;
    }

    const Options& options_;
    Printer& printer_;
    std::string jobs_;
    std::vector<std::string> errors_;  // of each program: ""
};

int run_in_vm(const Options& options, const std::string& input) {
    Printer printer(options);
    Boot boot(options, printer);
    Result<void> good;
    for_jobs(options, input, [&](const Result<Job>& job) {
        if (!good) return;
        boot.add(job);
        if (boot.is_full()) good = boot.run();
    });
    if (good) good = boot.run();
    return good ? printer.status() : failed(good.error());
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
    app.add_flag("--jobs", options.jobs)->group("");
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
    if (options.jobs) return run_jobs(options, input);
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
