// SPDX-License-Identifier: MIT
#include "programs/foreign_files.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
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
#include <string_view>
#include <utility>

#include "base/regular_file.hpp"

namespace kpl {
namespace {

using Clock = std::chrono::steady_clock;
using Wants = ForeignFiles::Wants;
using What = ForeignFiles::What;

constexpr auto patience = std::chrono::seconds(3);
constexpr auto burst = std::chrono::seconds(5);  // of looks; then such a part of the time:
constexpr int part_of_time = 20;
constexpr timeval idle{10, 0};  // then who looks ends, and holds nothing of this process's memory any more
constexpr auto silence = std::chrono::hours(1);   // then who did not answer is asked again
constexpr size_t first_left = 4, last_left = 16;  // who are left behind: one more each hour, so that a long run goes on
constexpr auto last_wait = std::chrono::seconds(1);
constexpr size_t longest_request = 128 << 10;
constexpr uint64_t most_copied = 256 << 20;  // bytes, of one file
constexpr uint64_t small_section = 4096;     // such as .gnu_debuglink
constexpr size_t most_text = 16 << 20;       // bytes, of one that the kernel makes up

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

// What the kernel makes up has no size before it is read. Each text has its end behind it.
UniqueFd texts_behind(const char* at, const char* end) {
    static char bytes[16384];
    UniqueFd to(::memfd_create("texts", MFD_CLOEXEC));
    bool whole = bool(to);
    while (at < end) {
        size_t left = most_text;
        const char* const path = at + sizeof(Head);
        const UniqueFd from(::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        for (ssize_t n; from && (n = ::read(from.get(), bytes, std::min(sizeof bytes, left))) > 0;) {
            whole &= ::write(to.get(), bytes, static_cast<size_t>(n)) == n;
            left -= static_cast<size_t>(n);
        }
        whole &= ::write(to.get(), "", 1) == 1;
        at = path + std::strlen(path) + 1;
    }
    return whole ? std::move(to) : UniqueFd();
}

void look_behind(int line, Wants wants, const char* at, const char* end) {
    Answer answer;
    if (wants == Wants::Proc) {
        const UniqueFd texts = texts_behind(at, end);
        if (!texts) ::_exit(1);
        answer.what = Answer::Copy;
        return send(line, answer, texts.get());
    }
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

// By what silence is remembered: the file's number, or the first place where it would be.
std::string key_of(const std::vector<ForeignFiles::Door>& doors) {
    if (doors.empty()) return "";
    return doors[0].inode ? fmt::format("{} {}", doors[0].device, doors[0].inode) : doors[0].path;
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
    if (left_.size() >= most_left(Clock::now() - from_) ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
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

size_t ForeignFiles::most_left(Clock::duration ran) {
    const auto hours = std::chrono::floor<std::chrono::hours>(ran).count();
    return std::min(first_left + static_cast<size_t>(hours), last_left);
}

// Who is stuck does not end.
ForeignFiles::~ForeignFiles() {
    leave();
    const auto until = Clock::now() + last_wait;
    for (const UniqueFd& process : left_) {
        pollfd end{process.get(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        (void)::poll(&end, 1, static_cast<int>(std::max<int64_t>(left, 0)));
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

ForeignFiles::Found ForeignFiles::answer() {
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
    Found found{answer.door, std::move(file), answer.what == Answer::Copy};
    if (whole && answer.what == Answer::Nothing)
        found.what = What::Nothing;
    else if (whole && answer.what == Answer::TooLarge)
        found.what = What::TooLarge, too_large_++;
    else if (!whole || (!found.file && answer.what != Answer::There))
        found.what = What::Unasked, unasked_++;  // it ended just now, or there is no room for a descriptor
    return found;
}

ForeignFiles::Found ForeignFiles::not_answered(Asked asked, std::string key) {
    Found none;
    none.what = asked == Asked::Silent ? What::Silent : What::Unasked;
    unasked_ += asked != Asked::Silent;
    if (asked != Asked::Silent) return none;
    silent_++;
    const auto now = Clock::now();
    std::erase_if(asked_again_, [now](const auto& other) { return other.second <= now; });
    asked_again_[std::move(key)] = now + silence;
    return none;
}

ForeignFiles::Found ForeignFiles::find(const std::vector<Door>& doors, Wants wants) {
    const std::string request = request_of(doors, wants);
    std::string key = key_of(doors);
    const auto began = Clock::now();
    reap();
    if (const auto it = asked_again_.find(key); it != asked_again_.end() && began < it->second)
        return {.what = What::Silent};
    if (request.size() > longest_request || spent_ > burst + (began - from_) / part_of_time)
        return not_answered(Asked::Ended, std::move(key));
    // The last one may have been idle, or ended with the thread that started it.
    Asked asked = Asked::Ended;
    for (int tries = 0; tries < 3 && asked == Asked::Ended; tries++) {
        if (!process_ && !start()) break;
        asked = ask(request);
        if (asked != Asked::Answered) leave();
    }
    Found found = asked == Asked::Answered ? answer() : not_answered(asked, std::move(key));
    spent_ += Clock::now() - began;
    return found;
}

ForeignFiles::Texts ForeignFiles::read(const std::vector<std::string>& paths) {
    std::vector<Door> doors;
    for (const std::string& path : paths) doors.push_back({.path = path});
    const Found found = find(doors, Wants::Proc);
    Texts texts{found.what, std::vector<std::string>(paths.size())};
    struct stat about {};
    if (!found || ::fstat(found.file.get(), &about) != 0) return texts;
    std::string all(static_cast<size_t>(about.st_size), '\0');
    const ssize_t n = ::pread(found.file.get(), all.data(), all.size(), 0);
    all.resize(n > 0 ? static_cast<size_t>(n) : 0);
    std::string_view left = all;
    for (std::string& text : texts.of) {
        text = left.substr(0, left.find('\0'));
        left.remove_prefix(std::min(text.size() + 1, left.size()));
    }
    return texts;
}

}  // namespace kpl
