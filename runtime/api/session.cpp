// SPDX-License-Identifier: MIT
// Opening, loading, arming, running, the end.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>

#include "api/handle.hpp"
#include "base/version.hpp"
#include "session/option_table.hpp"

using namespace kpl;
using namespace kpl::api;

extern "C" {

const char* klua_version(void) { return KPL_VERSION; }
unsigned klua_api_version(void) {
    static_assert(KLUA_API_VERSION == api_version);  // which scripts see
    return KLUA_API_VERSION;
}

const char* klua_strerror(int error) {
    static constexpr const char* texts[] = {
        "no error",
        "the script is wrong",
        "an argument is wrong",
        "the machine refuses or lacks something",
        "no session, or one that was closed",
        "not now, or not from a callback",
        "another thread is in a call of this session",
        "the session belongs to the parent process",
        "there is none of that name or number",
        "it is of another kind",
        "out of memory",
    };
    return error <= 0 && -error < static_cast<int>(std::size(texts)) ? texts[-error] : "no such error";
}

// ---- errors
const char* klua_error_text(klua_session* s) {
    if (!is_live(s)) return klua_strerror(KLUA_ERR_HANDLE);
    if (s->owner != ::getpid()) return klua_strerror(KLUA_ERR_FORKED);
    return ErrorList::textless() ? klua_strerror(ErrorList::textless()) : s->errors.text();
}

int klua_error_count(klua_session* s) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        return ErrorList::textless() ? 1 : static_cast<int>(s->errors.lines().size());
    });
}

int klua_error_at(klua_session* s, int index, klua_error_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const int textless = ErrorList::textless();
        if (textless && index == 0) {
            if (!check_size(info)) return int{KLUA_ERR_USAGE};
            TRY(give(info, klua_error_info{0, textless, nullptr, 0, klua_strerror(textless)}));
            return 0;
        }
        const auto& lines = s->errors.lines();
        if (textless || index < 0 || static_cast<size_t>(index) >= lines.size())
            return int{KLUA_ERR_NOT_FOUND};  // the errors stay
        const ErrorList::Line& line = lines[static_cast<size_t>(index)];
        if (!check_size(info)) return int{KLUA_ERR_USAGE};
        TRY(give(info, klua_error_info{0, s->errors.number(), line.file.empty() ? nullptr : line.file.c_str(),
                                       line.line, line.text.c_str()}));
        return 0;
    });
}

// ---- opening and closing
int klua_open(const klua_callbacks* callbacks, klua_session** out) {
    if (!out) return KLUA_ERR_USAGE;
    *out = nullptr;
    try {
        *out = new klua_session(::getpid());
    } catch (...) {
        return KLUA_ERR_MEMORY;
    }
    klua_session* s = *out;
    return call(s, From::Outside, [&]() -> Result<int> {
        if (callbacks) {
            TRY(check_size(callbacks));
            std::memcpy(static_cast<void*>(&s->callbacks.given), callbacks,
                        std::min(callbacks->size, sizeof(klua_callbacks)));
        }
        TRY(s->watch());
        return 0;
    });
}

int klua_close(klua_session* s) {
    if (!s) return 0;
    bool outermost = false;
    const bool child = is_live(s) && s->owner != ::getpid();
    if (child && s->inside.load() == std::this_thread::get_id()) return KLUA_ERR_STATE;  // it was forked in a callback
    if (!child)
        if (const int refused = enter(s, From::Outside, outermost)) return refused;
    s->magic = 0;
    delete s;
    return 0;
}

static bool is_option(std::string_view name) {
    const auto rows = option_table();
    return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) { return row.name == name; });
}

int klua_set_option(klua_session* s, const char* name, const char* value) {
    return call(s, From::Outside, [&]() -> Result<int> {
        if (!name || !value) return Error{Errc::usage, "an option has a name and a value"};
        if (s->loaded) return s->errors.set(KLUA_ERR_STATE, "options are set before the first script is loaded");
        s->drop();  // what was asked of it before had other options
        const Result<void> done = set_option(s->options, name, value);
        if (done) return 0;
        return s->errors.set(is_option(name) ? KLUA_ERR_USAGE : KLUA_ERR_NOT_FOUND, done.error().message());
    });
}

const char* klua_option_name(int index) {
    const auto rows = option_table();
    return index >= 0 && static_cast<size_t>(index) < rows.size() ? rows[static_cast<size_t>(index)].name : nullptr;
}

const char* klua_option_help(int index) {
    const auto rows = option_table();
    return index >= 0 && static_cast<size_t>(index) < rows.size() ? rows[static_cast<size_t>(index)].help : nullptr;
}

// ---- loading and arming
static Result<std::vector<std::string>> words(int argc, const char* const* argv) {
    if (argc < 0 || (argc > 0 && !argv)) return Error{Errc::usage, "argc says that there are arguments, argv has none"};
    std::vector<std::string> all;
    for (int i = 0; i < argc; i++) {
        if (!argv[i]) return Error{Errc::usage, fmt::format("argv[{}] is NULL, and argc is {}", i, argc)};
        all.emplace_back(argv[i]);
    }
    return all;
}

// `run` loads the script. A first one that fails leaves no session behind.
using Loader = std::function<Result<void>(Session&, const std::vector<std::string>&)>;
static Result<int> load(klua_session* s, int argc, const char* const* argv, const Loader& run) {
    const auto args = TRY(words(argc, argv));
    Session& session = *TRY(s->open());
    const Result<void> ran = run(session, args);
    s->loaded |= ran || session.ended();
    if (!s->loaded) s->drop();
    if (!ran) return ran.error();
    return 0;
}

int klua_load_file(klua_session* s, const char* path, int argc, const char* const* argv) {
    return call(s, From::Outside, [&]() -> Result<int> {
        if (!path) return Error{Errc::usage, "no path"};
        return load(s, argc, argv, [&](Session& session, const auto& args) { return session.run_file(path, args); });
    });
}

int klua_load_string(klua_session* s, const char* code, size_t length, const char* chunk_name, int argc,
                     const char* const* argv) {
    return call(s, From::Outside, [&]() -> Result<int> {
        if (!code && length) return Error{Errc::usage, "no code"};
        const std::string name = chunk_name ? chunk_name : "script";
        return load(s, argc, argv, [&](Session& session, const auto& args) {
            return session.run_string({code ? code : "", length}, "@" + name, args);
        });
    });
}

int klua_arm(klua_session* s) {
    return call(s, From::Outside, [&]() -> Result<int> {
        Session& session = *TRY(s->open());
        if (session.stopped())
            return s->errors.set(KLUA_ERR_STATE, "the session has ended: nothing can be armed in it any more");
        TRY(session.arm());
        TRY(s->watch());
        if (!session.idle()) s->due(0);
        return 0;
    });
}

int klua_check(klua_session* s) {
    return call(s, From::Outside, [&]() -> Result<int> {
        s->checked = TRY(TRY(s->open())->check());
        return static_cast<int>(s->checked.size());
    });
}

int klua_checked_handler(klua_session* s, int index, klua_handler_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (index < 0 || static_cast<size_t>(index) >= s->checked.size())
            return s->errors.set(KLUA_ERR_NOT_FOUND, "no such handler: klua_check() gives their number");
        const CompiledHandler& handler = s->checked[static_cast<size_t>(index)];
        const HandlerProgram& program = handler.program;
        TRY(give(info, klua_handler_info{0, program.name.c_str(), static_cast<uint32_t>(program.insns.size()),
                                         handler.cost, program.budget ? program.budget : KPL_DEFAULT_BUDGET}));
        return 0;
    });
}

// ---- running
int klua_fd(klua_session* s) {
    return call(s, From::Anywhere, [&]() -> Result<int> { return s->poll_set.get(); });
}

// Waits until a turn has something to do. False: the time is over before.
static Result<bool> wait_for_turn(klua_session* s, std::optional<uint64_t> next, int wait_ms, uint64_t began) {
    std::optional<uint64_t> limit = next;
    if (wait_ms >= 0) {
        const uint64_t whole = static_cast<uint64_t>(wait_ms) * 1000000, passed = monotonic_ns() - began;
        const uint64_t left = whole > passed ? whole - passed : 0;
        if (!limit || left < *limit) limit = left;
    }
    pollfd fds[] = {{s->session->device_fd(), POLLIN, 0}, {s->wake.get(), POLLIN, 0}};
    timespec ts{};
    if (limit) ts = {static_cast<time_t>(*limit / 1000000000), static_cast<long>(*limit % 1000000000)};
    const int ready = ::ppoll(fds, std::size(fds), limit ? &ts : nullptr, nullptr);
    if (ready < 0 && errno != EINTR) return Error{Errc::system, std::string("poll: ") + std::strerror(errno)};
    return ready != 0 || limit == next;
}

// False: a callback has thrown.
static Result<bool> one_turn(klua_session* s, int deliver_ms, std::optional<uint64_t>& next) {
    const unsigned throws = s->callbacks.throws();
    auto wait = s->session->turn(static_cast<uint64_t>(deliver_ms) * 1000000);
    const bool thrown = throws != s->callbacks.throws();  // which call() tells
    s->due(wait ? *wait : std::optional<uint64_t>(0));    // after an error: to go on
    next = TRY(std::move(wait));
    return !thrown;
}

int klua_poll(klua_session* s, int wait_ms, int deliver_ms) {
    return call(s, From::Outside, [&]() -> Result<int> {
        if (wait_ms < -1 || deliver_ms < 0) return Error{Errc::usage, "a time is below 0"};
        Session& session = *TRY(s->open());
        const uint64_t began = monotonic_ns(), before = session.delivered();
        const auto count = [&] { return static_cast<int>(std::min<uint64_t>(session.delivered() - before, INT_MAX)); };
        std::optional<uint64_t> next;
        const bool done = TRY(one_turn(s, deliver_ms, next));
        const bool halted = s->callbacks.take_halted() || !done;
        TRY(s->watch());
        if (!halted && !count() && wait_ms != 0 && !session.ended() && TRY(wait_for_turn(s, next, wait_ms, began))) {
            (void)TRY(one_turn(s, deliver_ms, next));
            (void)s->callbacks.take_halted();
        }
        uint64_t rung = 0;
        if (::read(s->wake.get(), &rung, sizeof rung) < 0) errno = 0;  // nobody rang
        if (session.ended()) s->due(std::nullopt);
        return count();
    });
}

int klua_interrupt(klua_session* s) {
    if (!is_live(s)) return KLUA_ERR_HANDLE;
    if (s->owner != ::getpid()) return KLUA_ERR_FORKED;
    const int saved = errno;
    const uint64_t one = 1;
    const bool done = ::write(s->wake.get(), &one, sizeof one) > 0 || errno == EAGAIN;
    errno = saved;
    return done ? 0 : KLUA_ERR_SYSTEM;
}

int klua_ended(klua_session* s, int* exit_code) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (exit_code) *exit_code = s->session ? s->session->exit_code().value_or(0) : 0;
        return s->session && s->session->ended();
    });
}

static int control_all(klua_session* s, kpl_control_op op) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!s->session) return 0;
        return switched(s, op, s->session->control_all(op));
    });
}

int klua_disable(klua_session* s) { return control_all(s, KPL_CTL_DISABLE); }
int klua_enable(klua_session* s) { return control_all(s, KPL_CTL_ENABLE); }

int klua_stop(klua_session* s) {
    return call(s, From::Outside, [&]() -> Result<int> {
        if (!s->session) return 0;
        s->due(std::nullopt);
        s->callbacks.stopping = true;
        const Result<void> stopped = s->session->stop_on(true);
        TRY(s->session->report(true));
        (void)s->callbacks.take_halted();
        TRY(stopped);
        return 0;
    });
}

}  // extern "C"
