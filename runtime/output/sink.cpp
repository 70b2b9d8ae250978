// SPDX-License-Identifier: MIT
#include "output/sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/unique_fd.hpp"

namespace kpl {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// A closed standard stream's number would go to the next file that is opened, and text into it.
void fill_standard_streams() {
    for (int fd = 0; fd <= 2; fd++)
        if (!is_open(fd)) (void)!::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

constexpr size_t block = 1 << 16;  // bytes, of a write(2) to what is no terminal

// libc drops what a write(2) leaves.
ssize_t write_waiting(int fd, const char* bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        const ssize_t n = ::write(fd, bytes + done, size - done);
        if (n >= 0) {
            done += static_cast<size_t>(n);
        } else if (errno == EAGAIN) {
            pollfd room{fd, POLLOUT, 0};
            (void)::poll(&room, 1, -1);
        } else if (errno != EINTR) {
            break;
        }
    }
    return static_cast<ssize_t>(done);
}

template <int fd>
FILE* waiting_stream() {
    constexpr auto write = [](void*, const char* bytes, size_t size) { return write_waiting(fd, bytes, size); };
    return ::fopencookie(nullptr, "w", {nullptr, write, nullptr, nullptr});
}

}  // namespace

void wait_on_stderr() {
    FILE* stream = waiting_stream<STDERR_FILENO>();
    if (!stream) return;
    (void)std::setvbuf(stream, nullptr, _IONBF, 0);
    stderr = stream;
}

// Whoever has it written, also libc where it flushes all streams, the file is emptied first.
struct Sink::File {
    UniqueFd fd;
    std::string created{};  // its path, if it is new
    bool held = false;

    bool empty() {
        if (!held || ::ftruncate(fd.get(), 0) != 0) return !held;
        held = false;
        return true;
    }
    FILE* stream() {
        const auto write = [](void* file, const char* bytes, size_t size) {
            auto* const self = static_cast<File*>(file);
            return self->empty() ? write_waiting(self->fd.get(), bytes, size) : 0;
        };
        const auto close = [](void* file) {
            delete static_cast<File*>(file);
            return 0;
        };
        return ::fopencookie(this, "w", {nullptr, write, nullptr, close});
    }
};

Result<Sink> Sink::open_file(const std::string& path, Buffering buffering) {
    // Who cuts the file (logrotate's copytruncate) has what follows begin there.
    constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    constexpr mode_t mode = 0666;
    auto file = std::make_unique<File>();
    file->fd.reset(::open(path.c_str(), flags | O_EXCL, mode));
    if (file->fd)
        file->created = path;
    else if (errno == EEXIST)
        file->fd.reset(::open(path.c_str(), flags, mode));
    struct stat st {};
    if (!file->fd || ::fstat(file->fd.get(), &st) != 0) return Error{Errc::system, path + ": " + std::strerror(errno)};
    file->held = S_ISREG(st.st_mode);
    FILE* const stream = file->stream();
    if (!stream) return Error{Errc::system, path + ": " + std::strerror(errno)};
    Sink sink(stream, true, file->fd.get(), buffering);
    sink.opened_ = file.release();
    return sink;
}

Result<Sink> Sink::open(const std::string& path, Buffering buffering, Stdout usual) {
    const bool has_stdout = is_open(STDOUT_FILENO);
    fill_standard_streams();
    if (!path.empty()) return open_file(path, buffering);
    if (!has_stdout) return Error{Errc::system, "stdout is closed: -o FILE writes to a file"};
    if (usual == Stdout::Usual) return Sink(stdout, false, STDOUT_FILENO, buffering);
    FILE* file = waiting_stream<STDOUT_FILENO>();
    if (!file) return Error{Errc::system, std::string("stdout: ") + std::strerror(errno)};
    Sink sink(file, true, STDOUT_FILENO, buffering);
    // Lua's io library and this keep their order in it.
    sink.usual_ = std::exchange(stdout, file);
    return sink;
}

Sink::Sink(FILE* file, bool owned, int fd, Buffering buffering) : file_(file), owned_(owned), buffering_(buffering) {
    if (::isatty(fd)) {
        (void)std::setvbuf(file, nullptr, _IOLBF, 0);
        return;
    }
    block_.reset(new char[block]);
    (void)std::setvbuf(file, block_.get(), _IOFBF, block);
}

Sink::Sink(Sink&& other) noexcept
    : block_(std::move(other.block_)),
      file_(std::exchange(other.file_, nullptr)),
      opened_(std::exchange(other.opened_, nullptr)),
      owned_(other.owned_),
      usual_(std::exchange(other.usual_, nullptr)),
      buffering_(other.buffering_),
      broken_(other.broken_),
      failure_(std::move(other.failure_)) {}

Sink::~Sink() {
    if (usual_) stdout = usual_;
    if (held()) {
        __fpurge(file_);
        if (!opened_->created.empty()) ::unlink(opened_->created.c_str());
    }
    if (file_ && owned_) std::fclose(file_);
    if (!file_ || owned_ || !block_) return;
    std::fflush(file_);
    (void)std::setvbuf(file_, nullptr, _IONBF, 0);  // stdout goes on without the block
}

bool Sink::check(bool ok) {
    if (ok) return true;
    if (!broken_ && errno != EPIPE) failure_ = std::strerror(errno);
    broken_ = true;
    return false;
}

bool Sink::held() const { return opened_ && opened_->held; }

bool Sink::begin() {
    if (broken_ || !held()) return !broken_;
    return check(opened_->empty()) && flush();
}

bool Sink::write(std::string_view text) {
    if (broken_) return false;
    if (!check(std::fwrite(text.data(), 1, text.size(), file_) == text.size())) return false;
    if (buffering_ == Buffering::None || (buffering_ == Buffering::Line && text.ends_with('\n'))) return flush_all();
    return true;
}

bool Sink::flush() { return buffering_ == Buffering::Full ? !broken_ : flush_all(); }

bool Sink::flush_all() {
    if (broken_ || held()) return !broken_;
    return check(std::fflush(file_) == 0);
}

Result<void> Sink::end() {
    begin();
    flush_all();
    if (failure_.empty()) return {};
    return Error{Errc::system, "writing output: " + failure_};
}

}  // namespace kpl
