// SPDX-License-Identifier: MIT
#include "api/handle.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

namespace kpl::api {

// ---- entering
// Reads what may have been freed: that is what it is asked for.
__attribute__((no_sanitize("address"))) bool is_live(const klua_session* s) {
    return s && __atomic_load_n(reinterpret_cast<const uint64_t*>(&s->magic), __ATOMIC_SEQ_CST) == klua_session::live;
}

int enter(klua_session* s, From from, bool& outermost) {
    if (!is_live(s)) return KLUA_ERR_HANDLE;
    if (s->owner != ::getpid()) return KLUA_ERR_FORKED;
    std::thread::id nobody;
    outermost = s->inside.compare_exchange_strong(nobody, std::this_thread::get_id());
    if (outermost) return 0;
    if (nobody != std::this_thread::get_id()) return ErrorList::textless(KLUA_ERR_BUSY);
    return from == From::Anywhere ? 0 : s->errors.set(KLUA_ERR_STATE, "this can't be called from a callback");
}

void leave(klua_session* s, bool outermost) {
    if (outermost) s->inside = std::thread::id();
}

// ---- callbacks
// Where the kernel can't wipe it, a child finds what its parent has: MADV_WIPEONFORK is there from Linux 4.14 on.
Callbacks::Callbacks() {
    void* memory = ::mmap(nullptr, sizeof(klua_record), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    (void)::madvise(memory, sizeof(klua_record), MADV_WIPEONFORK);
    memory_ = Mapping::adopt(memory, sizeof(klua_record));
    record_ = new (memory) klua_record{klua_record::Over, 0, nullptr, nullptr, nullptr};
}

bool Callbacks::print(std::string_view text) {
    if (!given.text) return true;
    if (full_) return false;
    try {
        full_ = given.text(given.user, text.data(), text.size()) != 0;
    } catch (...) {
        full_ = true;
        has_thrown();
    }
    return !full_;
}

void Callbacks::note(Note kind, const std::string& line) {
    if (!given.note) return;
    try {
        given.note(given.user, static_cast<klua_note>(kind), line.c_str());
    } catch (...) {
        has_thrown();
    }
}

void Callbacks::lost(uint64_t events) {
    if (!given.lost) return;
    try {
        given.lost(given.user, events);
    } catch (...) {
        has_thrown();
    }
}

bool Callbacks::attaching(const Device&) {
    sigset_t all;
    sigfillset(&all);
    return ::pthread_sigmask(SIG_SETMASK, &all, &signals_) == 0;
}

void Callbacks::attached() { ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr); }

// A function may subscribe and unsubscribe others, and itself. Who subscribes meanwhile begins with the next record.
bool Callbacks::take(const kpl_rec& record, uint32_t cpu) {
    *record_ = {klua_record::Here, cpu, &record, &unit->events[record.event].record, decoder};
    taking_ = true;
    for (size_t i = 0, count = subscribers_.size(); i < count; i++) {
        const Subscriber subscriber = subscribers_[i];
        if (!subscriber.fn || subscriber.event != static_cast<int>(record.event)) continue;
        try {
            halted_ |= subscriber.fn(subscriber.user, record_) != 0;
        } catch (...) {
            halted_ = true;
            has_thrown();
        }
        if (record_->state == klua_record::Forked) throw ForkedChild{};
    }
    taking_ = false;
    drop_gone();
    record_->state = klua_record::Over;
    return !halted_ || stopping;
}

int Callbacks::unsubscribe(const Subscriber& gone) {
    int count = 0;
    for (Subscriber& one : subscribers_) {
        if (one.event != gone.event || one.fn != gone.fn || one.user != gone.user) continue;
        one.fn = nullptr;
        count++;
    }
    if (!taking_) drop_gone();
    return count;
}

void Callbacks::drop_gone() {
    std::erase_if(subscribers_, [](const Subscriber& one) { return !one.fn; });
}

// ---- fields
uint16_t type_of(FieldKind kind) {
    switch (kind) {
        case FieldKind::I64: return KLUA_INT;
        case FieldKind::U64: return KLUA_UINT;
        case FieldKind::Bool: return KLUA_BOOL;
        case FieldKind::Pointer: return KLUA_POINTER;
        case FieldKind::Named: return KLUA_NAMED;
        case FieldKind::Symbol: return KLUA_SYMBOL;
        case FieldKind::String: return KLUA_STRING;
        case FieldKind::Kstack: return KLUA_KSTACK;
        case FieldKind::Ustack: return KLUA_USTACK;
        case FieldKind::UserSymbol: return KLUA_USYMBOL;
        case FieldKind::Inet: return KLUA_INET;
        case FieldKind::List: return KLUA_LIST;
    }
    return KLUA_NIL;
}

klua_field_info field_info(const FieldLayout& field) {
    const uint32_t limit = field.kind == FieldKind::UserSymbol ? 1 : field.limit;
    return {sizeof(klua_field_info), field.name.c_str(), type_of(field.kind), limit, field.nilable};
}

void give_inet(const uint8_t* packed, uint32_t size, klua_value& value) {
    uint64_t family = 0;
    if (size >= sizeof family) std::memcpy(&family, packed, sizeof family);
    value.type = KLUA_INET;
    value.length = size < 24 ? 0 : family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
    value.as.bytes = reinterpret_cast<const char*>(packed) + sizeof family;
}

int give_text(std::string_view from, char* to, size_t size) {
    if (size) {
        const size_t length = std::min(from.size(), size - 1);
        std::memcpy(to, from.data(), length);
        to[length] = 0;
    }
    return static_cast<int>(from.size());
}

}  // namespace kpl::api

using kpl::Errc;
using kpl::Error;
using kpl::Result;

namespace {

// A script's os.exit() ends the session, not the program that it is in.
constexpr const char* own_exit = R"(
local exit = exit
function os.exit(code)
  if code == nil or code == true then code = 0 elseif code == false then code = 1 end
  exit(type(code) == "number" and math.floor(code) % 256 or code)
end)";

Error errno_error(const char* what) { return Error{Errc::system, fmt::format("{}: {}", what, std::strerror(errno))}; }

bool add(int set, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<kpl::Session*> klua_session::open() {
    if (session) return session.get();
    auto made = TRY(kpl::Session::open(options, callbacks, lua));
    if (!lua) TRY(made->run_string(own_exit, "=kprobe", {}));
    for (const std::string& module : options.modules) TRY(made->require_module(module));
    session = std::move(made);
    callbacks.unit = &session->declared().unit();
    callbacks.decoder = &session->kernel().decoder;
    return session.get();
}

void klua_session::drop() {
    callbacks.unit = nullptr;
    callbacks.decoder = nullptr;
    session.reset();
}

Result<void> klua_session::watch() {
    if (!poll_set) {
        kpl::UniqueFd set(::epoll_create1(EPOLL_CLOEXEC)),
            clock(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
            bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!set || !clock || !bell || !add(set.get(), clock.get()) || !add(set.get(), bell.get()))
            return errno_error("making the session's descriptor");
        poll_set = std::move(set), timer = std::move(clock), wake = std::move(bell);
    }
    const int device = session ? session->device_fd() : -1;
    if (device < 0 || device == watched) return {};
    if (!add(poll_set.get(), device)) return errno_error("watching the device");
    watched = device;
    return {};
}

void klua_session::due(std::optional<uint64_t> ns) {
    if (!timer) return;
    itimerspec when{};
    if (ns) {
        const uint64_t at_least = std::max<uint64_t>(*ns, 1);  // 0 would stop it
        when.it_value = {static_cast<time_t>(at_least / 1000000000), static_cast<long>(at_least % 1000000000)};
    }
    ::timerfd_settime(timer.get(), 0, &when, nullptr);
}
