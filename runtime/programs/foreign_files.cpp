// SPDX-License-Identifier: MIT
#include "programs/foreign_files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/regular_file.hpp"

namespace kpl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(3);
constexpr auto end_patience = std::chrono::milliseconds(100);
constexpr size_t most_left = 4;
constexpr off_t most_copied = 256 << 20;  // bytes

// One descriptor goes with it.
struct Answer {
    uint32_t door, is_copy;
};

struct Message {
    Answer answer{};
    iovec data{&answer, sizeof answer};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))]{};
    msghdr head{};

    Message() {
        head.msg_iov = &data, head.msg_iovlen = 1;
        head.msg_control = space, head.msg_controllen = sizeof space;
    }
};

// ---- The other process: a copy of one that may have threads, whose locks nobody gives back. System calls only.

// File systems on disks and in memory, which only who may do anything mounts, or which nobody else serves.
bool always_answers(int fd) {
    struct statfs of {};
    static constexpr long those[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                     TMPFS_MAGIC,      RAMFS_MAGIC,     SQUASHFS_MAGIC,    EROFS_SUPER_MAGIC_V1};
    return ::fstatfs(fd, &of) == 0 && std::find(std::begin(those), std::end(those), of.f_type) != std::end(those);
}

UniqueFd copy_of(const UniqueFd& file) {
    struct stat about {};
    if (::fstat(file.get(), &about) != 0 || about.st_size > most_copied) return {};
    UniqueFd copy(::memfd_create("copy", MFD_CLOEXEC));
    for (off_t left = about.st_size; copy && left > 0;) {
        const ssize_t n = ::sendfile(copy.get(), file.get(), nullptr, static_cast<size_t>(left));
        if (n <= 0) break;
        left -= n;
    }
    return copy;
}

void send(int to, Answer answer, const UniqueFd& file) {
    Message message;
    message.answer = answer;
    cmsghdr* const with = CMSG_FIRSTHDR(&message.head);
    with->cmsg_level = SOL_SOCKET, with->cmsg_type = SCM_RIGHTS, with->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = file.get();
    std::memcpy(CMSG_DATA(with), &fd, sizeof fd);
    (void)::sendmsg(to, &message.head, MSG_NOSIGNAL);
}

[[noreturn]] void look(const std::vector<ForeignFiles::Door>& doors, int to) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto own = static_cast<unsigned>(to);
    if (own) ::syscall(SYS_close_range, 0u, own - 1, 0u);
    ::syscall(SYS_close_range, own + 1, ~0u, 0u);
    for (size_t i = 0; i < doors.size(); i++) {
        const ForeignFiles::Door& door = doors[i];
        UniqueFd file = open_regular(door.path, door.flags, door.wanted);
        const bool copies = file && !door.only_whether && !always_answers(file.get());
        if (copies) file = copy_of(file);
        if (!file) continue;
        send(to, {static_cast<uint32_t>(i), copies}, file);
        break;
    }
    ::_exit(0);
}

// ---- This one

// Its end sends no signal, and who waits for any child does not get it.
UniqueFd start(const std::vector<ForeignFiles::Door>& doors, int to) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int pidfd = -1;
    if (::syscall(SYS_clone, static_cast<unsigned long>(CLONE_PIDFD), nullptr, &pidfd, nullptr, nullptr) == 0)
        look(doors, to);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return UniqueFd(pidfd);
}

bool is_ready(int fd, Clock::time_point until) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd one{fd, POLLIN, 0};
        const int n = ::poll(&one, 1, static_cast<int>(std::max<int64_t>(left, 0)));
        if (n >= 0 || errno != EINTR) return n > 0;
    }
}

bool has_ended(int pidfd) {
    siginfo_t how{};
    return ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &how, WEXITED | WNOHANG | __WALL) != 0 ||
           how.si_pid != 0;
}

// Nothing: it ended without.
std::optional<ForeignFiles::Found> take_answer(int from) {
    Message message;
    if (::recvmsg(from, &message.head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof(Answer)) return std::nullopt;
    const cmsghdr* const with = CMSG_FIRSTHDR(&message.head);
    int fd = -1;
    if (with && with->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
    return ForeignFiles::Found{message.answer.door, UniqueFd(fd), message.answer.is_copy != 0};
}

}  // namespace

void ForeignFiles::reap() {
    std::erase_if(left_, [](const UniqueFd& process) { return has_ended(process.get()); });
}

ForeignFiles::~ForeignFiles() { reap(); }

std::optional<ForeignFiles::Found> ForeignFiles::find(const std::vector<Door>& doors) {
    reap();
    int ends[2];
    if (left_.size() >= most_left || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return std::nullopt;
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    UniqueFd process = start(doors, to.get());
    to.reset();
    if (!process) return std::nullopt;
    std::optional<Found> found;
    if (is_ready(from.get(), Clock::now() + patience))
        found = take_answer(from.get());
    else
        silent_++;
    // Files that it has open may hold it up even now.
    if (!is_ready(process.get(), Clock::now() + end_patience))
        ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
    left_.push_back(std::move(process));
    reap();
    return found;
}

}  // namespace kpl
