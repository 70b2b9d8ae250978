// SPDX-License-Identifier: MIT
#include "base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kpl {
namespace {

Error failed(const std::string& program, int error) { return {Errc::system, program + ": " + std::strerror(error)}; }

// A read that signals don't end early.
ssize_t read_on(const UniqueFd& from, void* into, size_t size) {
    ssize_t n;
    while ((n = ::read(from.get(), into, size)) < 0 && errno == EINTR) continue;
    return n;
}

}  // namespace

Result<Process> Process::start(const std::vector<std::string>& argv, const std::function<void()>& prepare) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    int ends[2];  // it closes when the program runs, or says why it does not
    if (::pipe2(ends, O_CLOEXEC) < 0) return failed(argv[0], errno);
    const UniqueFd why(ends[0]);
    UniqueFd says_why(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return failed(argv[0], errno);
    if (pid == 0) {
        prepare();
        ::execvp(words[0], words.data());
        const int error = errno;
        (void)!::write(says_why.get(), &error, sizeof error);
        ::_exit(127);
    }
    says_why.reset();
    Process process(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
    if (process.fd() < 0) return failed("pidfd_open", errno);
    int error = 0;
    if (read_on(why, &error, sizeof error) == sizeof error) return failed(argv[0], error);
    return process;
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

std::optional<int> Process::poll() {
    int status = 0;
    if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = -1;
    return status;
}

int Process::wait() {
    int status = -1;
    while (pid_ >= 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
    return status;
}

void Process::end(int signal, int patience_ms) {
    if (pid_ < 0) return;
    pollfd ended{fd(), POLLIN, 0};
    if (signal) ::kill(pid_, signal);
    if (!signal || ::poll(&ended, 1, patience_ms) != 1) ::kill(pid_, SIGKILL);
    wait();
}

Result<ProgramOutput> program_output(const std::vector<std::string>& argv) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return failed("pipe", errno);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    Process process = TRY(Process::start(argv, [&] {
        const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        ::dup2(null, 0);
        ::dup2(writer.get(), 1);
        ::dup2(null, 2);
    }));
    writer.reset();
    ProgramOutput output;
    char bytes[4096];
    for (ssize_t n; (n = read_on(reader, bytes, sizeof bytes)) > 0;) output.text.append(bytes, static_cast<size_t>(n));
    const int status = process.wait();
    output.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return output;
}

}  // namespace kpl
