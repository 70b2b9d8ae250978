// SPDX-License-Identifier: MIT
#include "guest/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.hpp"

namespace kpl {

Error system_error(const std::string& what, int error) {
    return {Errc::system, fmt::format("{}: {}", what, std::strerror(error))};
}

Result<ProgramOutput> program_output(const std::vector<std::string>& argv) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return system_error("pipe", errno);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::vector<char*> args;
    for (const auto& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
    args.push_back(nullptr);
    pid_t pid;
    const int error = posix_spawnp(&pid, args[0], &actions, nullptr, args.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return system_error(argv[0], error);
    writer.reset();
    ProgramOutput output;
    char bytes[4096];
    for (ssize_t n; (n = read(reader.get(), bytes, sizeof(bytes))) != 0;) {
        if (n > 0)
            output.text.append(bytes, static_cast<std::size_t>(n));
        else if (errno != EINTR)
            break;
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    output.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return output;
}

}  // namespace kpl
