// SPDX-License-Identifier: MIT
// Session: the pipeline of docs/architecture.md, again and again for as long as it is open: scripts declare, arm()
// compiles and arms what they have declared, turn() delivers. Each step is done as a whole or leaves the session as it
// was. It writes to no stream and takes no signal: see Client.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "luahost/host.hpp"
#include "session/account.hpp"
#include "session/armed.hpp"
#include "session/client.hpp"
#include "session/declared.hpp"
#include "session/delivery.hpp"
#include "session/kernel_view.hpp"
#include "session/options.hpp"
#include "session/timers.hpp"
#include "session/trace_events.hpp"

namespace kpl {

class Session final : public ScriptApi {
  public:
    static constexpr uint64_t longest_turn = 20000000;  // ns of delivery, before timers and signals have theirs

    // The client outlives it. Nothing is asked of the kernel yet.
    // `lua`: the state of a program, to be in; null: one of its own.
    static Result<std::unique_ptr<Session>> open(Options options, Client& client, lua_State* lua = nullptr);
    const LuaHost& host() const { return *host_; }
    LuaHost& host() { return *host_; }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    // Leaves what was read of the kernel to the next session on this machine.
    ~Session() override;

    // Runs a chunk; what it declares is to be armed. After an error, it has declared nothing.
    Result<void> require_module(const std::string& name);
    Result<void> run_file(const std::string& path, std::span<const std::string> args);
    Result<void> run_string(const std::string& code, const std::string& name, std::span<const std::string> args);

    // Of a prompt: as LuaHost::run_input().
    Result<void> run_input(const std::string& input, const std::string& name);

    // Arms all that is declared and not yet armed: all of it or, with an error, none: those declarations are forgotten,
    // and everything that is armed goes on. With Options::check, compiles and verifies it.
    Result<void> arm();
    // What is declared, as events of the kernel's own; nothing is armed.
    Result<std::vector<TraceEvent>> trace_events();

    // Compiles and verifies what arm() would arm, which stays to be armed or, after an error, is forgotten. Needs no
    // module.
    Result<std::vector<CompiledHandler>> check();

    // Runs the timers that are due, arms what callbacks have declared (unless a chunk's declarations still wait for
    // arm(): then that does), delivers for about `limit_ns` at most. Returns
    // for how long the next turn may wait (nothing: for ever) unless device_fd() is readable before. An error is that
    // of a callback; the session goes on. What callbacks have declared and the kernel refuses is noted, and has failed.
    Result<std::optional<uint64_t>> turn(uint64_t limit_ns = longest_turn);
    int device_fd() const { return armed_ ? armed_->device().fd() : -1; }
    // Until the larger ring is there that is made behind the armed probes, for `ms` at most.
    void await_rings(uint32_t ms);
    // Nothing is armed, no timer waits: turns do nothing.
    bool idle() const { return !probes() && timers_.size() == 0; }
    // exit() was called, by the script or a handler, or the client takes no more text.
    bool ended() const { return exit_code_ || ended_; }
    std::optional<int> exit_code() const { return exit_code_ ? exit_code_ : handler_exit_; }

    // The end: detaches all, delivers the rest if that is wanted, calls what at_exit() was given. Done once. An error
    // of detaching keeps nothing of it from being done; after one of a callback, the rest is dropped, and what
    // at_exit() was given is called.
    Result<void> stop(bool deliver_rest);
    // The same, up to the first error: called again, it goes on behind that.
    Result<void> stop_on(bool deliver_rest);
    bool stopped() const { return stopped_; }
    // The module has detached all (--dead-man): that was an error, and what was gathered can still be delivered.
    bool dead() const { return dead_; }

    // Of all probes. What was disabled for itself stays so.
    Result<void> control_all(kpl_control_op op);

    // Tells the client of handlers that stopped, losses, modules that went. turn() does once a second; `last`: all that
    // is left to tell.
    Result<void> report(bool last);
    Result<Account> account();

    const Options& options() const { return options_; }
    const Declared& declared() const { return declared_; }
    KernelView& kernel() { return kernel_; }
    // Grows with all that scripts ask for: what they declare, timers, callbacks.
    size_t asked() const;
    size_t probes() const { return armed_ ? armed_->probes() : 0; }
    Account::Events events() const;                                                                       // so far
    uint32_t largest_ring() const { return delivery_ ? delivery_->rings().largest() : options_.ring(); }  // bytes
    uint64_t delivered() const { return delivery_ ? delivery_->delivered() : 0; }
    Armed* armed() { return armed_.get(); }  // null: nothing was armed yet
    // An aggregation that the module has, and that the script has neither read nor printed.
    bool is_unshown(uint32_t map) const { return is_aggregation(map) && !shown_.contains(map); }
    bool is_aggregation(uint32_t map) const { return armed_ && armed_->maps().is_aggregation(map); }
    // As rows(), which the script calls; looking does not show it.
    Result<std::vector<KeyedValue>> look(uint32_t map);

    // ScriptApi, called by the script.
    Result<uint32_t> declare_map(MapDecl map) override { return declared_.add(std::move(map)); }
    Result<uint32_t> declare_event(EventDecl event) override { return declared_.add(std::move(event)); }
    Result<uint32_t> declare_probe(ProbeDecl probe) override;
    void name_map(uint32_t map, const std::string& name) override;
    void name_event(uint32_t event, const std::string& name) override;
    Result<void> control(std::span<const uint32_t> probes, kpl_control_op op) override;
    Result<ProbeStatus> status(uint32_t probe) override;
    const MapDecl& map(uint32_t map) override { return declared_.unit().maps[map]; }
    Result<std::vector<KeyedValue>> rows(uint32_t map) override;
    Result<AggValue> value(uint32_t map, const std::vector<Datum>& key) override;
    Result<void> clear(uint32_t map) override;
    Result<std::vector<KeyedValue>> take(uint32_t map) override;
    Result<std::string> text(uint32_t map) override;
    std::string text_of(uint32_t map, std::vector<KeyedValue> rows) override;
    std::string output_of(uint32_t map, std::vector<KeyedValue> rows) override;
    Result<std::optional<std::string>> entries_output(uint32_t map) override;
    void emit(std::string_view output) override;
    Medium medium() const override { return client_.medium(); }
    Result<bool> has_function(const std::string& name) override;
    Result<bool> has_field(const std::string& type, const std::string& field) override;
    Result<std::vector<MapEntry>> entries(uint32_t map) override;
    Result<std::optional<std::vector<Datum>>> get(uint32_t map, const std::vector<Datum>& key) override;
    Result<void> set(uint32_t map, const std::vector<Datum>& key, const NamedValues& value) override;
    Result<bool> erase(uint32_t map, const std::vector<Datum>& key) override;
    const Layout& record_layout(uint32_t event) override { return declared_.unit().events[event].record; }
    const Decoder& decoder() override { return kernel_.decoder; }
    void every(double seconds, CallbackId callback) override { timers_.add(seconds, callback); }
    void at_exit(CallbackId callback) override { at_exit_.push_back(callback); }
    void exit(int code) override;
    void write(std::string_view text) override;
    bool writes_directly() const override { return client_.prints_directly(); }

  private:
    // How much was declared at some time.
    struct Mark {
        Declared::Mark declared;
        size_t timers = 0, at_exit = 0, subscriptions = 0;
    };

    Session(Options options, Client& client)
        : options_(std::move(options)), client_(client), kernel_(options_.btf_dir) {
        paths_.blacklist = BlacklistOnDemand([this] { return Blacklist::of_kernel(kernel_.symbols); });
    }
    Mark mark() const { return {declared_.mark(), timers_.size(), at_exit_.size(), host_->subscriptions()}; }
    void forget(const Mark& mark);
    Result<void> run(const std::function<Result<void>()>& chunk);
    // Arms all that is pending, or says why not: then it is still pending, as it was before it was compiled.
    Result<void> arm_all();
    Result<Armed::Outcome> arm_pending();
    Result<void> open_module();  // unless it is open, or nothing is to be armed
    // Plans and compiles what is pending, and leaves it as it was.
    Result<std::vector<CompiledHandler>> try_pending(const Options& options, Client& client);
    Result<std::vector<CompiledHandler>> look_ahead(bool check);  // the same, without a word
    Result<std::vector<CompiledHandler>> compile(const Options& options, Client& client, const Result<Plan>& plan);
    Result<std::vector<CompiledHandler>> compile(const Options& options, Client& client);
    // Calls what calls the script's callbacks: what is wrong with a probe that they declare is an error of its
    // declaration.
    template <class Call>
    auto in_callback(Call&& call) {
        in_callback_ = true;
        auto done = call();
        in_callback_ = false;
        return done;
    }
    Result<Rings> make_rings() const;
    Result<std::optional<uint64_t>> deliver(uint64_t limit_ns);
    Result<void> look_for_exit();
    Result<void> detach();
    Result<kpl_info> device_info();  // once armed
    void tell_rings();
    Result<void> tell_full_maps();
    void end_delivery();
    Result<void> switch_probes(std::span<const uint32_t> probes, kpl_control_op op);
    bool has(uint32_t map) const { return armed_ && armed_->maps().has(map); }
    Result<void> check_typed(uint32_t map) const;

    const Options options_;
    Client& client_;
    std::optional<LuaHost> host_;  // above all that refers to its values: closed after they are gone
    KernelView kernel_;
    Paths paths_;
    Declared declared_;
    std::unique_ptr<Armed> armed_;      // from the first arming on
    std::optional<Delivery> delivery_;  // from the first arming with events on
    Timers timers_;
    std::vector<CallbackId> at_exit_;
    Mark armed_mark_;           // what was declared when last all was armed
    std::set<uint32_t> shown_;  // maps that the script has read or printed
    uint64_t report_due_ = 0;
    uint64_t gather_until_ = 0;        // when records that gather are delivered; 0: none do
    std::optional<int> exit_code_;     // of exit() in user space; after the end, of either
    std::optional<int> handler_exit_;  // of exit() in a handler
    bool in_callback_ = false;
    bool waiting_ = false;         // probes that were declared outside of callbacks are still to be armed: arm() does
    bool layouts_undone_ = false;  // events may be delivered without fields, until the next arm()
    bool dead_ = false;            // the module has detached all
    bool ended_ = false;
    bool stopped_ = false;                     // stop() has detached all
    std::vector<bool> full_told_;              // of each map
    bool drained_ = false, finished_ = false;  // and delivered the rest; and called what at_exit() was given
};

}  // namespace kpl
