// SPDX-License-Identifier: MIT
#include "programs/foreign_files.hpp"

#include <elf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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
using Wants = ForeignFiles::Wants;

constexpr auto patience = std::chrono::seconds(3);
constexpr auto burst = std::chrono::seconds(5);  // of looks; then such a part of the time:
constexpr int part_of_time = 20;
constexpr timeval idle{10, 0};  // then who looks ends, and holds nothing of this process's memory any more
constexpr size_t most_left = 4;
constexpr size_t longest_request = 128 << 10;
constexpr uint64_t most_copied = 256 << 20;  // bytes, of one file
constexpr uint64_t small_section = 4096;     // such as .gnu_debuglink

// A request is Wants, then the doors; behind each is its path, with its end.
struct Head {
    uint64_t device, inode;
    uid_t owner;
    bool follows, owned, has_owner;
};

// One descriptor goes with it, unless there is no file.
struct Answer {
    enum What : uint32_t { Nothing, There, File, Copy, TooLarge } what = Nothing;
    uint32_t door = 0;
};

struct Message {
    Answer answer;
    iovec data{&answer, sizeof answer};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))]{};
    msghdr head{};

    Message() { head.msg_iov = &data, head.msg_iovlen = 1; }
};

// ---- The other process: a copy of one that may have threads, whose locks nobody gives back. It allocates nothing.

char request[longest_request];

// File systems on disks and in memory, which only who may do anything mounts, or which nobody else serves.
bool always_answers(int fd) {
    struct statfs of {};
    static constexpr long those[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                     TMPFS_MAGIC,      RAMFS_MAGIC,     SQUASHFS_MAGIC,    EROFS_SUPER_MAGIC_V1};
    return ::fstatfs(fd, &of) == 0 && std::find(std::begin(those), std::end(those), of.f_type) != std::end(those);
}

class Copy {
  public:
    explicit Copy(int from) : from_(from), to_(::memfd_create("copy", MFD_CLOEXEC)) {
        struct stat about {};
        if (::fstat(from, &about) == 0) size_ = static_cast<uint64_t>(about.st_size);
        failed_ = !to_ || ::ftruncate(to_.get(), static_cast<off_t>(size_)) != 0;
    }

    void all() { part(0, size_); }

    // Headers, tables of symbols and of strings, notes, and what is small. The rest are holes.
    void elf() {
        unsigned char ident[EI_NIDENT] = {};
        (void)!::pread(from_, ident, sizeof ident, 0);
        for (const bool measures : {true, false}) {
            measures_ = measures, left_ = most_copied;
            part(0, std::min<uint64_t>(size_, sizeof(Elf64_Ehdr)));
            if (ident[EI_CLASS] == ELFCLASS64)
                sections<Elf64_Ehdr, Elf64_Shdr>();
            else if (ident[EI_CLASS] == ELFCLASS32)
                sections<Elf32_Ehdr, Elf32_Shdr>();
        }
    }

    bool too_large() const { return too_large_; }
    UniqueFd take() { return failed_ || too_large_ ? UniqueFd() : std::move(to_); }

  private:
    template <class Ehdr, class Shdr>
    void sections() {
        Ehdr head{};
        Shdr section{};
        if (::pread(from_, &head, sizeof head, 0) != sizeof head) return;
        part(head.e_phoff, uint64_t{head.e_phnum} * head.e_phentsize);
        if (head.e_shentsize != sizeof section) return;
        const auto at = [&](uint64_t i) { return static_cast<off_t>(head.e_shoff + i * sizeof section); };
        uint64_t count = head.e_shnum;
        if (!count && ::pread(from_, &section, sizeof section, at(0)) == sizeof section) count = section.sh_size;
        count = std::min<uint64_t>(count, 1 << 16);
        part(head.e_shoff, count * sizeof section);
        for (uint64_t i = 0; i < count && ::pread(from_, &section, sizeof section, at(i)) == sizeof section; i++) {
            const bool names = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM ||
                               section.sh_type == SHT_STRTAB || section.sh_type == SHT_NOTE;
            if (section.sh_type != SHT_NOBITS && (names || section.sh_size <= small_section))
                part(section.sh_offset, section.sh_size);
        }
    }

    void part(uint64_t offset, uint64_t size) {
        if (offset >= size_) return;
        size = std::min(size, size_ - offset);
        too_large_ |= size > left_;
        if (failed_ || too_large_) return;
        left_ -= size;
        if (measures_) return;
        auto at = static_cast<off_t>(offset);
        failed_ |= ::lseek(to_.get(), at, SEEK_SET) < 0;
        while (!failed_ && size) {
            const ssize_t n = ::sendfile(to_.get(), from_, &at, size);
            if (n == 0) break;  // it was cut meanwhile
            failed_ = n < 0;
            size -= n > 0 ? static_cast<size_t>(n) : 0;
        }
    }

    int from_;
    UniqueFd to_;
    uint64_t size_ = 0, left_ = most_copied;
    bool measures_ = false, failed_ = false, too_large_ = false;
};

void send(int line, Answer answer, int fd) {
    Message message;
    message.answer = answer;
    if (fd >= 0) {
        message.head.msg_control = message.space, message.head.msg_controllen = sizeof message.space;
        cmsghdr* const with = CMSG_FIRSTHDR(&message.head);
        with->cmsg_level = SOL_SOCKET, with->cmsg_type = SCM_RIGHTS, with->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(with), &fd, sizeof fd);
    }
    if (::sendmsg(line, &message.head, MSG_NOSIGNAL) < 0) ::_exit(1);
}

// File systems without a device of their own, and overlays, tell different numbers at different doors.
bool is_wanted(const Head& head, const struct stat& file) {
    if (head.owned && file.st_uid != 0 && !(head.has_owner && file.st_uid == head.owner)) return false;
    if (!head.inode) return true;
    return file.st_ino == head.inode &&
           (file.st_dev == head.device || major(file.st_dev) == 0 || major(head.device) == 0);
}

bool is_there(const char* path, const Head& head) {
    struct stat file {};
    return ::fstatat(AT_FDCWD, path, &file, head.follows ? 0 : AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
           is_wanted(head, file);
}

void look_behind(int line, Wants wants, const char* at, const char* end) {
    Answer answer;
    for (; at < end; answer.door++) {
        Head head;
        std::memcpy(&head, at, sizeof head);
        const char* const path = at + sizeof head;
        at = path + std::strlen(path) + 1;
        // Who serves it may fall silent at each of these, and at the close: before the answer, where no file goes with
        // it.
        if (wants == Wants::Presence) {
            if (!is_there(path, head)) continue;
            answer.what = Answer::There;
            return send(line, answer, -1);
        }
        UniqueFd file = open_regular(path, head.follows ? 0 : O_NOFOLLOW,
                                     [&head](const struct stat& there) { return is_wanted(head, there); });
        if (!file) continue;
        answer.what = Answer::File;
        if (!always_answers(file.get())) {
            Copy copy(file.get());
            if (wants == Wants::Elf)
                copy.elf();
            else
                copy.all();
            answer.what = copy.too_large() ? Answer::TooLarge : Answer::Copy;
            file = copy.take();
            if (!file && answer.what == Answer::Copy) continue;
        }
        return send(line, answer, file ? file.get() : -1);
    }
    send(line, {}, -1);
}

// Until who asks has gone, or asks no more.
[[noreturn]] void look(int line) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto own = static_cast<unsigned>(line);
    if (own) ::syscall(SYS_close_range, 0u, own - 1, 0u);
    ::syscall(SYS_close_range, own + 1, ~0u, 0u);
    ::setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
    for (ssize_t n; (n = ::recv(line, request, sizeof request, 0)) > 0;)
        look_behind(line, static_cast<Wants>(request[0]), request + 1, request + n);
    ::_exit(0);
}

// ---- This one

std::string request_of(const std::vector<ForeignFiles::Door>& doors, Wants wants) {
    std::string text(1, static_cast<char>(wants));
    for (const ForeignFiles::Door& door : doors) {
        const Head head{door.device,  door.inode, door.owner.value_or(0),
                        door.follows, door.owned, door.owner.has_value()};
        text.append(reinterpret_cast<const char*>(&head), sizeof head);
        text.append(door.path.c_str(), door.path.size() + 1);
    }
    return text;
}

// Whether an answer is there before the process ends, or it takes too long.
bool is_answered(int line, int process, Clock::time_point until) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd both[2]{{line, POLLIN, 0}, {process, POLLIN, 0}};
        const int n = ::poll(both, 2, static_cast<int>(std::max<int64_t>(left, 0)));
        if (n >= 0 || errno != EINTR) return n > 0 && both[0].revents & POLLIN;
    }
}

bool has_ended(int pidfd) {
    siginfo_t how{};
    return ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &how, WEXITED | WNOHANG | __WALL) != 0 ||
           how.si_pid != 0;
}

}  // namespace

// Its end sends no signal, and who waits for any child does not get it.
bool ForeignFiles::start() {
    int ends[2];
    if (left_.size() >= most_left || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    line_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int pidfd = -1;
    if (::syscall(SYS_clone, static_cast<unsigned long>(CLONE_PIDFD), nullptr, &pidfd, nullptr, nullptr) == 0)
        look(theirs.get());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    process_ = UniqueFd(pidfd);
    return pidfd >= 0;
}

void ForeignFiles::leave() {
    if (!process_) return;
    ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    left_.push_back(std::move(process_));
    line_.reset();
}

void ForeignFiles::reap() {
    std::erase_if(left_, [](const UniqueFd& process) { return has_ended(process.get()); });
}

ForeignFiles::~ForeignFiles() {
    leave();
    for (const UniqueFd& process : left_) {
        pollfd end{process.get(), POLLIN, 0};
        (void)::poll(&end, 1, 1000);  // one that is stuck does not end
    }
    reap();
}

ForeignFiles::Asked ForeignFiles::ask(const std::string& request) {
    if (::send(line_.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return Asked::Ended;
    const bool heard = is_answered(line_.get(), process_.get(), Clock::now() + patience);
    char first;  // or it was its end that was heard
    if (heard) return ::recv(line_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0 ? Asked::Answered : Asked::Ended;
    return has_ended(process_.get()) ? Asked::Ended : Asked::Silent;
}

std::optional<ForeignFiles::Found> ForeignFiles::answer() {
    Message message;
    message.head.msg_control = message.space, message.head.msg_controllen = sizeof message.space;
    const bool whole = ::recvmsg(line_.get(), &message.head, MSG_CMSG_CLOEXEC) == sizeof(Answer);
    const cmsghdr* const with = CMSG_FIRSTHDR(&message.head);
    UniqueFd file;
    if (with && with->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
        file.reset(fd);
    }
    const Answer& answer = message.answer;
    if (whole && answer.what == Answer::Nothing) return std::nullopt;
    const bool is_copy = answer.what == Answer::Copy;
    if (whole && (file || answer.what == Answer::There || answer.what == Answer::TooLarge)) {
        unasked_ += answer.what == Answer::TooLarge;
        return Found{answer.door, std::move(file), is_copy};
    }
    unasked_++;  // it ended just now, or there is no room for a descriptor
    return std::nullopt;
}

std::optional<ForeignFiles::Found> ForeignFiles::find(const std::vector<Door>& doors, Wants wants) {
    const std::string request = request_of(doors, wants);
    const auto began = Clock::now();
    reap();
    if (request.size() > longest_request || spent_ > burst + (began - from_) / part_of_time) {
        unasked_++;
        return std::nullopt;
    }
    // The last one may have been idle, or ended with the thread that started it.
    Asked asked = Asked::Ended;
    for (int tries = 0; tries < 3 && asked == Asked::Ended; tries++) {
        if (!process_ && !start()) break;
        asked = ask(request);
        if (asked != Asked::Answered) leave();
    }
    auto found = asked == Asked::Answered ? answer() : std::nullopt;
    silent_ += asked == Asked::Silent;
    unasked_ += asked == Asked::Ended;
    spent_ += Clock::now() - began;
    return found;
}

}  // namespace kpl
