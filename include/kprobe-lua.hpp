// SPDX-License-Identifier: MIT
// C++17 over kprobe-lua.h: owners that can only be moved, ranges, functions with state. Nothing here throws but what a
// callback has thrown: it does not pass through the library, and the call of Session that led to it throws it again.
//
//     kprobe_lua::Session session;
//     if (auto status = session.load_file("opens.lua"); !status) return fail(status.text());
//     if (auto status = session.arm(); !status) return fail(status.text());
//     const int path = session.field(event, "path");
//     session.subscribe(session.event("opens"), [&](const kprobe_lua::Record& r) { std::cout << r[path].string() <<
//     '\n'; }); while (session.poll(-1) && !session.ended()) {}
#ifndef KPROBE_LUA_HPP
#define KPROBE_LUA_HPP

#include <kprobe-lua.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprobe_lua {

// Whether a call succeeded: its number (0 or more), or an error's with the text.
class [[nodiscard]] Status {
  public:
    Status(int number, std::string text) : number_(number), text_(std::move(text)) {}
    explicit operator bool() const { return number_ >= 0; }
    int number() const { return number_; }  // a count, or enum klua_error
    const std::string& text() const { return text_; }

  private:
    int number_;
    std::string text_;
};

// One value of a record, a key or a map. Strings and frames point into what it came from.
class Value {
  public:
    Value() = default;
    explicit Value(const klua_value& raw) : raw_(raw) {}
    explicit Value(int64_t number) {
        raw_.type = KLUA_INT;
        raw_.as.number = number;
    }
    static Value boolean(bool b) {
        Value value(static_cast<int64_t>(b));
        value.raw_.type = KLUA_BOOL;
        return value;
    }
    explicit Value(std::string_view text) {
        raw_.type = KLUA_STRING;
        raw_.length = static_cast<uint32_t>(text.size());
        raw_.as.bytes = text.data();
    }
    klua_type type() const { return static_cast<klua_type>(raw_.type); }
    bool is_nil() const { return raw_.type == KLUA_NIL; }
    // 0, or empty, where it is of another type.
    int64_t integer() const {
        return (raw_.type >= KLUA_BOOL && raw_.type <= KLUA_SYMBOL) || raw_.type == KLUA_NAMED ? raw_.as.number : 0;
    }
    uint64_t address() const { return static_cast<uint64_t>(integer()); }
    std::string_view string() const {
        return raw_.type == KLUA_STRING ? std::string_view(raw_.as.bytes, raw_.length) : std::string_view();
    }
    const uint64_t* begin() const { return is_stack() ? raw_.as.frames : nullptr; }  // of a stack's addresses
    const uint64_t* end() const { return is_stack() ? raw_.as.frames + raw_.length : nullptr; }
    class List;
    List list() const;  // its elements; none where it is of another type
    const klua_value& raw() const { return raw_; }

  private:
    bool is_stack() const { return raw_.type == KLUA_KSTACK || raw_.type == KLUA_USTACK || raw_.type == KLUA_USYMBOL; }
    klua_value raw_{};
};

// for (const Value element : value.list()) …
class Value::List {
  public:
    class Iterator {
      public:
        explicit Iterator(const klua_value* list) : list_(list) { ++*this; }
        Value operator*() const { return Value(element_); }
        Iterator& operator++() {
            if (list_ && klua_list_next(list_, &at_, &element_) <= 0) list_ = nullptr;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return list_ != other.list_; }

      private:
        const klua_value* list_;  // null: at its end
        uint32_t at_ = 0;
        klua_value element_{};
    };
    explicit List(const klua_value& raw) : raw_(raw) {}
    Iterator begin() const { return Iterator(&raw_); }
    Iterator end() const { return Iterator(nullptr); }

  private:
    klua_value raw_;
};
inline Value::List Value::list() const { return List(raw_); }

// The text that `get` writes into room of its own.
template <class Get>
std::string text_from(Get&& get) {
    std::string text(64, 0);
    for (;;) {
        const int length = get(text.data(), text.size());
        if (length < 0) return {};
        const bool fits = static_cast<size_t>(length) < text.size();
        text.resize(static_cast<size_t>(length) + !fits);
        if (fits) return text;
    }
}

// Positions from 0 on as a range of what `Owner::operator[]` gives.
template <class Owner>
class Positions {
  public:
    Positions(const Owner& owner, int at) : owner_(&owner), at_(at) {}
    auto operator*() const { return (*owner_)[at_]; }
    Positions& operator++() {
        at_++;
        return *this;
    }
    bool operator!=(const Positions& other) const { return at_ != other.at_; }

  private:
    const Owner* owner_;
    int at_;
};

// A record while its callback runs.
class Record {
  public:
    explicit Record(const klua_record* record) : record_(record) {}
    Value operator[](int position) const {
        klua_value value{};
        klua_record_value(record_, position, &value);
        return Value(value);
    }
    // As the script's print() shows it.
    std::string text(int position) const {
        return text_from([&](char* to, size_t size) { return klua_record_text(record_, position, to, size); });
    }
    int event() const { return klua_record_event(record_); }
    uint64_t time() const { return klua_record_time(record_); }
    uint32_t cpu() const { return klua_record_cpu(record_); }

  private:
    const klua_record* record_;
};

struct Bucket {
    std::optional<int64_t> low, high;  // [low, high)
    uint64_t count = 0;
};

class Rows;

// A row of Rows, which it must not outlive.
class Row {
  public:
    Row(const klua_rows* rows, int at) : rows_(rows), at_(at) {}
    Value key(int position = 0) const { return get(klua_rows_key, position); }
    Value value(int position = 0) const { return get(klua_rows_value, position); }  // of a shared map
    // As the script's print() shows them.
    std::string key_text(int position = 0) const {
        return text_from([&](char* to, size_t size) { return klua_rows_key_text(rows_, at_, position, to, size); });
    }
    std::string value_text(int position = 0) const {
        return text_from([&](char* to, size_t size) { return klua_rows_value_text(rows_, at_, position, to, size); });
    }
    klua_aggregate aggregate() const {
        klua_aggregate aggregate{};
        aggregate.size = sizeof aggregate;
        klua_rows_aggregate(rows_, at_, &aggregate);
        return aggregate;
    }
    std::vector<Bucket> buckets() const {
        std::vector<Bucket> all;
        klua_bucket bucket{};
        bucket.size = sizeof bucket;
        for (int i = 0; klua_rows_bucket(rows_, at_, i, &bucket) == 0; i++) {
            all.emplace_back();
            if (bucket.has_low) all.back().low = bucket.low;
            if (bucket.has_high) all.back().high = bucket.high;
            all.back().count = bucket.count;
        }
        return all;
    }

  private:
    template <class Get>
    Value get(Get from, int position) const {
        klua_value value{};
        from(rows_, at_, position, &value);
        return Value(value);
    }
    const klua_rows* rows_;
    int at_;
};

// What was read of a map: a copy. for (const Row& row : rows) …
class Rows {
  public:
    Rows() = default;
    explicit Rows(klua_rows* rows) : rows_(rows) {}
    int size() const { return rows_ ? klua_rows_count(rows_.get()) : 0; }
    Row operator[](int at) const { return Row(rows_.get(), at); }
    Positions<Rows> begin() const { return {*this, 0}; }
    Positions<Rows> end() const { return {*this, size()}; }

  private:
    struct Free {
        void operator()(klua_rows* rows) const { klua_rows_free(rows); }
    };
    std::unique_ptr<klua_rows, Free> rows_;
};

// A line of what a call that failed had to say.
struct ErrorLine {
    int number = 0;    // enum klua_error
    std::string file;  // of the script; empty: no place in one
    int line = 0;
    std::string text;  // without the place
};

// One probe, as it was when it was asked for.
struct Probe {
    std::string name, kind, state, file;
    int line = 0, places = 0;
    klua_counts first{}, second{};
    uint64_t outstanding = 0;
};

// The functions that a session calls. All may be empty.
struct Callbacks {
    std::function<bool(std::string_view)> text;  // false: no more of it
    std::function<void(klua_note, std::string_view)> note;
    std::function<void(uint64_t)> lost;
};

// It must not end in a callback of its own. If it does, it goes on unseen, with its probes, until the process ends.
class Session {
  public:
    explicit Session(Callbacks callbacks = {}) : state_(new State) {
        state_->callbacks = std::move(callbacks);
        klua_callbacks raw{};
        raw.size = sizeof raw;
        raw.user = state_.get();
        raw.text = on_text;
        raw.note = on_note;
        raw.lost = on_lost;
        opened_ = klua_open(&raw, &state_->session);
    }
    Session(Session&&) noexcept = default;
    Session& operator=(Session&&) noexcept = default;

    Status opened() const { return status(opened_); }
    Status set(const char* option, const std::string& value) {
        return status(klua_set_option(raw(), option, value.c_str()));
    }

    Status load_file(const std::string& path, const std::vector<std::string>& args = {}) {
        const auto argv = pointers(args);
        return status(klua_load_file(raw(), path.c_str(), static_cast<int>(args.size()), argv.data()));
    }
    Status load(std::string_view code, const std::string& chunk_name = "script",
                const std::vector<std::string>& args = {}) {
        const auto argv = pointers(args);
        return status(klua_load_string(raw(), code.data(), code.size(), chunk_name.c_str(),
                                       static_cast<int>(args.size()), argv.data()));
    }
    Status check() { return status(klua_check(raw())); }
    Status arm() { return status(klua_arm(raw())); }

    int fd() const { return klua_fd(raw()); }
    // How many records were delivered.
    Status poll(int wait_ms, int deliver_ms = 20) { return status(klua_poll(raw(), wait_ms, deliver_ms)); }
    void interrupt() { klua_interrupt(raw()); }
    bool ended() const { return klua_ended(raw(), nullptr) != 0; }
    Status disable() { return status(klua_disable(raw())); }
    Status enable() { return status(klua_enable(raw())); }
    Status stop() { return status(klua_stop(raw())); }

    // Numbers; below 0: there is none.
    int event(const char* name) const { return klua_find_event(raw(), name); }
    int field(int event, const char* name) const { return klua_find_field(raw(), event, name); }
    int map(const char* name) const { return klua_find_map(raw(), name); }

    // Gives the subscription's number for unsubscribe(); without that, it is for as long as the session lives.
    Status subscribe(int event, std::function<void(const Record&)> fn) {
        if (!state_) return status(KLUA_ERR_HANDLE);
        auto subscriber = std::make_unique<Subscriber>(Subscriber{state_.get(), event, std::move(fn)});
        if (const int error = klua_subscribe(raw(), event, on_record, subscriber.get()); error < 0)
            return status(error);
        state_->subscribers.push_back(std::move(subscriber));
        return status(static_cast<int>(state_->subscribers.size()) - 1);
    }
    // Also from within the function.
    Status unsubscribe(int subscription) {
        const bool known =
            state_ && subscription >= 0 && static_cast<size_t>(subscription) < state_->subscribers.size();
        Subscriber* subscriber = known ? state_->subscribers[static_cast<size_t>(subscription)].get() : nullptr;
        return status(klua_unsubscribe(raw(), subscriber ? subscriber->event : -1, on_record, subscriber));
    }

    // Empty after an error, which error() tells.
    Rows read(int map) { return rows(klua_map_read, map); }
    Rows take(int map) { return rows(klua_map_take, map); }
    Status set(int map, const std::vector<Value>& key, const std::vector<Value>& value) {
        const auto keys = values(key), fields = values(value);
        return status(klua_map_set(raw(), map, keys.data(), static_cast<int>(keys.size()), fields.data(),
                                   static_cast<int>(fields.size())));
    }
    // 1; 0: there was no such key.
    Status erase(int map, const std::vector<Value>& key) {
        const auto keys = values(key);
        return status(klua_map_delete(raw(), map, keys.data(), static_cast<int>(keys.size())));
    }
    Status clear(int map) { return status(klua_map_clear(raw(), map)); }

    // By number, as klua_probe() has them.
    std::vector<Probe> probes() const {
        std::vector<Probe> all;
        klua_probe_info info{};
        info.size = sizeof info;
        for (int i = 0; klua_probe(raw(), i, &info) == 0; i++)
            all.push_back({info.name, info.kind, info.state, info.file, info.line, info.places, info.first, info.second,
                           info.outstanding});
        return all;
    }
    Status enable(int probe) { return status(klua_probe_enable(raw(), probe)); }
    Status disable(int probe) { return status(klua_probe_disable(raw(), probe)); }
    Status detach(int probe) { return status(klua_probe_detach(raw(), probe)); }

    // Zeros after an error.
    klua_record_stats stats() const {
        klua_record_stats stats{};
        stats.size = sizeof stats;
        klua_stats(raw(), &stats);
        return stats;
    }
    // Calls `fn` with each name that matches, until it gives false.
    Status targets(const char* glob, const std::function<bool(const char*)>& fn) {
        struct Call {
            State* state;
            const std::function<bool(const char*)>& fn;
        } call{state_.get(), fn};
        const auto on_name = [](void* user, const char* name) {
            auto* c = static_cast<Call*>(user);
            bool more = true;
            return c->state->guarded([&] { more = c->fn(name); }) && more ? 0 : 1;
        };
        return status(klua_targets(raw(), glob, on_name, &call));
    }

    std::string symbol(uint64_t address) const {
        return text_from([&](char* to, size_t size) { return klua_symbol(raw(), address, to, size); });
    }
    // Of a process's stack, the frame of that number, or of its symbol.
    std::string user_symbol(const Value& value, uint32_t frame = 0) const {
        return text_from([&](char* to, size_t size) { return klua_user_symbol(raw(), &value.raw(), frame, to, size); });
    }
    std::string error() const { return klua_error_text(raw()); }
    // The same, line by line.
    std::vector<ErrorLine> errors() const {
        std::vector<ErrorLine> all;
        klua_error_info info{};
        info.size = sizeof info;
        for (int i = 0; klua_error_at(raw(), i, &info) == 0; i++)
            all.push_back({info.error, info.file ? info.file : "", info.line, info.text});
        return all;
    }
    // Null after it was moved from: every call then is KLUA_ERR_HANDLE.
    klua_session* raw() const { return state_ ? state_->session : nullptr; }

  private:
    struct State;
    struct Subscriber {
        State* state;
        int event;
        std::function<void(const Record&)> fn;
    };
    // Where the library's callbacks find it, wherever the Session is moved to.
    struct State {
        klua_session* session = nullptr;
        Callbacks callbacks;
        std::vector<std::unique_ptr<Subscriber>> subscribers;
        std::exception_ptr thrown;

        // False: it has thrown.
        template <class Body>
        bool guarded(Body&& body) noexcept {
            try {
                body();
                return true;
            } catch (...) {
                thrown = std::current_exception();
                return false;
            }
        }
    };

    static int on_text(void* user, const char* text, size_t length) {
        auto* state = static_cast<State*>(user);
        bool more = true;
        const bool done = state->guarded([&] {
            if (state->callbacks.text) more = state->callbacks.text({text, length});
        });
        return done && more ? 0 : 1;
    }
    static void on_note(void* user, klua_note kind, const char* line) {
        auto* state = static_cast<State*>(user);
        state->guarded([&] {
            if (state->callbacks.note) state->callbacks.note(kind, line);
        });
    }
    static void on_lost(void* user, uint64_t events) {
        auto* state = static_cast<State*>(user);
        state->guarded([&] {
            if (state->callbacks.lost) state->callbacks.lost(events);
        });
    }
    static int on_record(void* user, const klua_record* record) {
        auto* subscriber = static_cast<Subscriber*>(user);
        return subscriber->state->guarded([&] { subscriber->fn(Record(record)); }) ? 0 : 1;
    }

    static std::vector<const char*> pointers(const std::vector<std::string>& words) {
        std::vector<const char*> all;
        for (const std::string& word : words) all.push_back(word.c_str());
        return all;
    }
    // Of a call, in which a callback may have thrown.
    Status status(int number) const {
        if (state_ && state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
        return {number, number < 0 ? klua_error_text(raw()) : ""};
    }
    static std::vector<klua_value> values(const std::vector<Value>& from) {
        std::vector<klua_value> all;
        for (const Value& value : from) all.push_back(value.raw());
        return all;
    }
    template <class Read>
    Rows rows(Read from, int map) {
        klua_rows* made = nullptr;
        from(raw(), map, &made);
        return Rows(made);
    }

    // The library still calls what a callback can't close.
    struct Close {
        void operator()(State* state) const {
            if (klua_close(state->session) != KLUA_ERR_STATE) delete state;
        }
    };

    std::unique_ptr<State, Close> state_;
    int opened_ = 0;
};

}  // namespace kprobe_lua

#endif
