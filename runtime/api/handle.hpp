// SPDX-License-Identifier: MIT
// What a klua_session is, and how a call enters it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/error_list.hpp"
#include "base/mapping.hpp"
#include "base/unique_fd.hpp"
#include "kprobe-lua.h"
#include "session/session.hpp"

// The record that a session's functions are called with. It lies in memory that is zeros in a forked child, where rings
// are not mapped; and it stays, of no record, when they have returned.
struct klua_record {
    enum State : uint32_t { Forked = 0, Over, Here };
    State state;
    uint32_t cpu;
    const kpl_rec* rec;
    const kpl::Layout* layout;
    const kpl::Decoder* decoder;
};

namespace kpl::api {

// A function of the program's for an event's records.
struct Subscriber {
    int event;
    klua_record_fn fn;
    void* user;
};

// In a child that was forked in a record's callback, and has returned from it: nothing of the session may be touched.
struct ForkedChild {};

// The program's callbacks as a session calls them. What one throws is an error of the library's call.
class Callbacks final : public Client, public RecordTaker {
  public:
    Callbacks();
    bool print(std::string_view text) override;
    bool show(std::string_view text) override { return print(text); }
    void note(Note kind, const std::string& line) override;
    void lost(uint64_t events) override;
    RecordTaker* record_taker() override { return this; }
    bool attaching(const Device&) override;
    void attached() override;
    bool take(const kpl_rec& record, uint32_t cpu) override;

    void subscribe(const Subscriber& subscriber) { subscribers_.push_back(subscriber); }
    int unsubscribe(const Subscriber& subscriber);
    // Of the functions that were called since.
    bool take_halted() { return std::exchange(halted_, false); }
    // How many have thrown so far.
    unsigned throws() const { return throws_; }
    void has_thrown() { throws_++; }

    klua_callbacks given{};
    bool stopping = false;       // all that is left is delivered, whatever functions return
    const Unit* unit = nullptr;  // of the session
    const Decoder* decoder = nullptr;

  private:
    void drop_gone();

    std::vector<Subscriber> subscribers_;
    bool taking_ = false;  // those that are gone stay in their places, without a function
    Mapping memory_;       // of the record
    klua_record* record_;
    sigset_t signals_{};  // blocked while an attach is under way: else they interrupt it
    bool halted_ = false;
    bool full_ = false;  // no more text is wanted
    unsigned throws_ = 0;
};

}  // namespace kpl::api

struct klua_session {
    static constexpr uint64_t live = 0x6b6c75612d6f6b21;

    std::atomic<uint64_t> magic{live};
    const pid_t owner;
    std::atomic<std::thread::id> inside{};  // the thread whose call is under way
    kpl::api::ErrorList errors;
    kpl::api::Callbacks callbacks;
    kpl::Options options;
    lua_State* lua = nullptr;               // to be in; null: a state of its own
    std::unique_ptr<kpl::Session> session;  // from the first use on
    bool loaded = false;                    // a script: options stand
    kpl::UniqueFd poll_set, timer, wake;    // klua_fd() and what it watches, beside the device
    int watched = -1;                       // the device's descriptor
    std::vector<kpl::CompiledHandler> checked;
    std::string probe_text[3];  // that klua_probe() gave

    explicit klua_session(pid_t pid) : owner(pid) {}
    kpl::Result<kpl::Session*> open();     // the session, made if there is none yet
    void drop();                           // as if it had never been made
    kpl::Result<void> watch();             // makes the descriptor, takes the device into it
    void due(std::optional<uint64_t> ns);  // when klua_fd() shall be readable at the latest
};

namespace kpl::api {

enum class From { Anywhere, Outside };  // where a call may come from: Outside of callbacks

// As far as its memory tells: also of one that was closed.
bool is_live(const klua_session* s);
// 0, or why no call may be made now.
int enter(klua_session* s, From from, bool& outermost);
void leave(klua_session* s, bool outermost);

// Runs the body, which gives a Result<int>, as a call of the session. A value below 0 is an error that was noted
// already.
template <class Body>
int call(klua_session* s, From from, Body&& body) noexcept {
    bool outermost = false;
    if (const int refused = enter(s, from, outermost)) return refused;
    int result = KLUA_ERR_MEMORY;
    const unsigned throws = s->callbacks.throws();
    try {
        Result<int> done = body();
        result = done ? *done : s->errors.set(done.error());
        if (throws != s->callbacks.throws())
            result = s->errors.set(KLUA_ERR_USAGE, "a callback has thrown an exception: it must catch its own");
    } catch (const ForkedChild&) {
        result = KLUA_ERR_FORKED;
    } catch (...) {
        s->errors.set_memory();
    }
    leave(s, outermost);
    return result;
}

// As snprintf does: what fits of the text, with a 0 at its end; its whole length. Size 0: the length alone.
int give_text(std::string_view from, char* to, size_t size);

// What there is of a structure that a caller gave with its size.
template <class T>
Result<void> check_size(const T* given) {
    if (!given) return Error{Errc::usage, "no structure: NULL"};
    if (given->size < sizeof(size_t)) return Error{Errc::usage, "the structure's size is not set"};
    if (given->size > 4096) return Error{Errc::usage, "the structure's size is out of range: sizeof, before the call"};
    return {};
}
template <class T>
Result<void> give(T* to, T value) {
    TRY(check_size(to));
    const size_t size = std::min(to->size, sizeof(T));
    value.size = to->size;
    std::memcpy(static_cast<void*>(to), &value, size);
    return {};
}

// What became of enabling or disabling probes: 0, or an error that was noted.
int switched(klua_session* s, kpl_control_op op, const Result<void>& done);

// What callers see of a field: enum klua_type.
uint16_t type_of(FieldKind kind);
klua_field_info field_info(const FieldLayout& field);
// An internet address as helpers pack it: its family in 8 bytes, then its bytes.
void give_inet(const uint8_t* packed, uint32_t size, klua_value& value);

}  // namespace kpl::api
