// SPDX-License-Identifier: MIT
#include "session/session.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/printable.hpp"
#include "session/change.hpp"
#include "session/costs.hpp"
#include "session/listing.hpp"

namespace kpl {
namespace {

using Kinds = std::initializer_list<FieldKind>;

bool has_kind(const Layout& layout, Kinds kinds) {
    return std::any_of(layout.fields.begin(), layout.fields.end(), [&](const FieldLayout& field) {
        return std::find(kinds.begin(), kinds.end(), field.kind) != kinds.end();
    });
}

bool has_kind(const Unit& unit, Kinds kinds) {
    return std::any_of(unit.maps.begin(), unit.maps.end(),
                       [&](const MapDecl& m) { return has_kind(m.key, kinds) || has_kind(m.value, kinds); }) ||
           std::any_of(unit.events.begin(), unit.events.end(),
                       [&](const EventDecl& e) { return has_kind(e.record, kinds); }) ||
           std::any_of(unit.printfs.begin(), unit.printfs.end(),
                       [&](const PrintfDecl& p) { return has_kind(p.record, kinds); });
}

constexpr uint64_t ms = 1000000;
constexpr uint64_t report_period = 1000 * ms;

}  // namespace

Result<std::unique_ptr<Session>> Session::open(Options options, Client& client, lua_State* lua) {
    std::unique_ptr<Session> session(new Session(std::move(options), client));
    session->host_.emplace(TRY(lua ? LuaHost::join(*session, lua) : LuaHost::create(*session)));
    for (const std::string& dir : session->options_.search_dirs) session->host_->add_search_dir(dir);
    return session;
}

// What is armed would see the files being written.
Session::~Session() {
    delivery_.reset();
    armed_.reset();
    kernel_.symbols.keep();
    kernel_.types.keep();
}

// ---- declaring
Result<void> Session::run(const std::function<Result<void>()>& chunk) {
    const Mark before = mark();
    const bool waited = waiting_;
    auto done = chunk();
    if (const LuaHost::KeptErrors kept = host_->take_kept(); !kept.text.empty()) {
        ErrorRound errors;
        errors.add({Errc::script, kept.text});
        if (!done)
            errors.add(done.error());
        else if (kept.alone && declared_.pending())
            if (const auto others = look_ahead(true); !others) errors.add(others.error());
        done = errors.error();
    }
    if (!done) {
        forget(before);
        waiting_ = waited;
    }
    return done;
}

Result<void> Session::run_file(const std::string& path, std::span<const std::string> args) {
    return run([&] { return host_->run_file(path, args); });
}

Result<void> Session::run_string(const std::string& code, const std::string& name, std::span<const std::string> args) {
    return run([&] { return host_->run_string(code, name, args); });
}

Result<void> Session::require_module(const std::string& name) {
    return run([&] { return host_->require_module(name); });
}

Result<void> Session::run_input(const std::string& input, const std::string& name) {
    return run([&] { return host_->run_input(input, name); });
}

size_t Session::asked() const {
    const Mark m = mark();
    return m.declared.maps + m.declared.events + m.declared.probes + m.declared.sets + m.timers + m.at_exit +
           m.subscriptions;
}

void Session::forget(const Mark& mark) {
    declared_.forget(mark.declared);
    for (const CallbackId callback : timers_.cut(mark.timers)) host_->forget(callback);
    for (size_t i = mark.at_exit; i < at_exit_.size(); i++) host_->forget(at_exit_[i]);
    at_exit_.resize(std::min(at_exit_.size(), mark.at_exit));
    host_->unsubscribe(mark.subscriptions);
}

// A probe of a callback is looked at when it is declared, where the script can still handle what is wrong with it.
Result<uint32_t> Session::declare_probe(ProbeDecl probe) {
    const uint32_t number = declared_.add(std::move(probe));
    waiting_ |= !in_callback_;
    if (waiting_) return number;
    auto opened = open_module();  // it knows which ways there are to probe
    const auto looked = opened ? look_ahead(options_.check) : opened.error();
    if (looked) return number;
    declared_.fail_last();
    return looked.error();
}

Result<void> Session::open_module() {
    if (!options_.check && !armed_) armed_ = TRY(Armed::open({options_, client_, kernel_, paths_, declared_}));
    return {};
}

// ---- arming
Result<void> Session::arm() {
    timers_.start();
    waiting_ = false;
    if (auto armed = arm_all(); !armed) {
        forget(armed_mark_);
        return armed;
    }
    armed_mark_ = mark();
    return {};
}

Result<void> Session::arm_all() {
    if (!declared_.pending()) return {};
    Unit before = declared_.unit();
    const auto outcome = arm_pending();
    if (outcome && *outcome == Armed::Outcome::Armed) {
        declared_.commit();
        // What an earlier step's handlers sent before they were detached again was read without fields.
        if (std::exchange(layouts_undone_, false)) host_->forget_layouts();
        return {};
    }
    declared_.undo_compile(std::move(before));
    layouts_undone_ = true;
    if (!outcome) return outcome.error();
    constexpr const char* text = "interrupted: none of these probes is armed";
    if (client_.goes_on()) return Error{Errc::script, text};
    client_.note(Note::Warning, text);
    ended_ = true;  // what was declared stays: at_exit functions may name it
    return {};
}

Result<Armed::Outcome> Session::arm_pending() {
    if (stopped_) return Error{Errc::usage, "the session has ended: nothing can be armed in it any more"};
    // First: without the module, nothing else is worth saying.
    TRY(open_module());
    const std::optional<uint32_t> pid = armed_ ? armed_->pid() : std::nullopt;
    auto plan = plan_pending({options_, client_, kernel_, paths_, pid, armed_ ? armed_->attached() : 0}, declared_);
    auto handlers = TRY(compile(options_, client_, plan));
    if (options_.check) return Armed::Outcome::Armed;
    // Read now: what is armed would see the thousand reads of the table.
    if (has_kind(declared_.unit(), {FieldKind::Symbol, FieldKind::Kstack})) (void)kernel_.symbols.at(0);
    if (has_kind(declared_.unit(), {FieldKind::UserSymbol, FieldKind::Ustack})) kernel_.users.follow();
    if (!delivery_ && !(declared_.unit().events.empty() && declared_.unit().printfs.empty()))
        delivery_.emplace(
            TRY(make_rings()),
            Delivery::Parts{*host_, declared_.unit(), kernel_.decoder, [this](std::string_view text) { write(text); },
                            [this](uint32_t printf) { return declared_.is_dead_printf(printf); },
                            client_.record_taker()});
    const Armed::Outcome outcome = TRY(armed_->arm(std::move(*plan), std::move(handlers)));
    if (const auto info = device_info(); delivery_ && info)
        delivery_->rings().make_ahead(info->memory_limit - std::min(info->memory_all, info->memory_limit));
    return outcome;
}

void Session::await_rings(uint32_t ms) {
    if (delivery_) delivery_->rings().await_spare(ms);
}

// What could not be planned leaves the others to be compiled: their errors are told in the same round.
Result<std::vector<CompiledHandler>> Session::compile(const Options& options, Client& client,
                                                      const Result<Plan>& plan) {
    if (plan) return compile(options, client);
    if (plan.error().code != Errc::script) return plan.error();
    ErrorRound errors;
    errors.add(plan.error());
    SilentClient silent;  // the step itself says it
    if (const auto others = compile(options, silent); !others) errors.add(others.error());
    return errors.error();
}

Result<std::vector<CompiledHandler>> Session::compile(const Options& options, Client& client) {
    const auto began = std::chrono::steady_clock::now();
    auto handlers = TRY(compile_unit(
        declared_.unit(), kernel_.types, options, [&](const std::string& text) { client.show(text); },
        [&](const Warning& w) {
            client.note(Note::Warning, "warning: " + Error{Errc::script, w.text, w.at}.message());
        },
        &kernel_.symbols));
    if (options.cost) client.show(print_costs(handlers));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    if (options.verbose)
        client.note(Note::Detail, fmt::format("compiled {} handler{} in {:.1f} ms", handlers.size(),
                                              handlers.size() == 1 ? "" : "s", took.count()));
    return handlers;
}

// Places without addresses, as where nothing will be attached; a module that is there already says more.
Result<std::vector<CompiledHandler>> Session::check() {
    Options options = options_;
    options.check = true;
    auto handlers = try_pending(options, client_);
    if (!handlers) {
        forget(armed_mark_);
        waiting_ = false;
    }
    return handlers;
}

Result<std::vector<CompiledHandler>> Session::look_ahead(bool check) {
    Options options = options_;
    options.check = check;
    SilentClient silent;
    return try_pending(options, silent);
}

Result<std::vector<CompiledHandler>> Session::try_pending(const Options& options, Client& client) {
    Unit before = declared_.unit();
    const std::optional<uint32_t> pid = armed_ ? armed_->pid() : std::nullopt;
    const auto plan = plan_pending({options, client, kernel_, paths_, pid, armed_ ? armed_->attached() : 0}, declared_);
    Options silent = options;
    silent.check = silent.cost = false;  // what is asked for is given, not shown
    auto handlers = compile(silent, client, plan);
    if (handlers) declared_.keep_names(before);
    declared_.undo_compile(std::move(before));
    return handlers;
}

Result<std::vector<TraceEvent>> Session::trace_events() {
    Unit before = declared_.unit();
    const Plan plan = TRY(plan_pending({options_, client_, kernel_, paths_, std::nullopt, 0}, declared_));
    BuildOptions build_options;
    build_options.arch = &host_arch();
    build_options.rights = static_cast<uint32_t>(options_.unsafe);
    build_options.symbol_address = [this](const std::string& name) { return kernel_.symbols.address(name); };
    const BuildResult built = TRY(build(declared_.unit(), kernel_.types, build_options));
    std::vector<TraceEvent> events;
    std::set<std::string> names;
    for (const PlannedProbe& one : plan.probes)
        events.push_back(trace_event(declared_.probes()[one.declaration], one, declared_.unit(), built.functions,
                                     host_arch(), names));
    declared_.undo_compile(std::move(before));
    return events;
}

Result<Rings> Session::make_rings() const {
    const Device& device = armed_->device();
    auto rings = Rings::create(device, options_.ring(), options_.ring_bytes ? 0 : Options::largest_ring);
    if (rings) return rings;
    return Error{Errc::system, fmt::format("{}: each CPU has a ring of {}K; a smaller --buffer takes less",
                                           rings.error().text, options_.ring() >> 10)};
}

// ---- running
Result<std::optional<uint64_t>> Session::turn(uint64_t limit_ns) {
    TRY(in_callback([&] {
        return timers_.run([this](CallbackId callback) { return ended() ? Result<void>() : host_->call(callback); });
    }));
    TRY(look_for_exit());
    if (ended()) return std::optional<uint64_t>(0);
    timers_.start();
    if (!waiting_) {
        if (const auto armed = arm_all(); !armed) {
            declared_.fail_pending();
            client_.note(Note::Warning,
                         armed.error().message() + "\nnone of the probes that were declared with it is armed");
        }
        armed_mark_ = mark();
    }
    if (!armed_ || stopped_) return timers_.left();
    if (!report_due_) report_due_ = monotonic_ns() + report_period;
    if (monotonic_ns() >= report_due_) {
        report_due_ = monotonic_ns() + report_period;
        if (const auto told = report(false); !told && !told.error().passes) return told.error();
    }
    std::optional<uint64_t> wait = TRY(deliver(limit_ns));
    const uint64_t now = monotonic_ns();
    const uint64_t report = report_due_ > now ? report_due_ - now : 0;
    for (const auto other : {std::optional(report), timers_.left()})
        if (other && (!wait || *other < *wait)) wait = other;
    return wait;
}

// Delivers records, and asks to be woken for more. While records come they are left to gather, until a ring is filled
// to wake_fill or they have waited for wake_latency; after a pause, the first one wakes. Returns by when to look again.
Result<std::optional<uint64_t>> Session::deliver(uint64_t limit_ns) {
    if (!delivery_) return std::optional<uint64_t>();
    const uint64_t latency = options_.wake_latency_ms * ms;
    // A turn that a timer asked for cuts no gathering short; a ring that is filled to the mark does.
    pollfd ready{armed_->device().fd(), POLLIN, 0};
    if (const uint64_t now = monotonic_ns(); now < gather_until_ && ::poll(&ready, 1, 0) <= 0)
        return std::optional(gather_until_ - now);
    const size_t drained = TRY(in_callback([&] { return delivery_->drain(limit_ns); }));
    // What comes before the request is seen by poll().
    const bool batches = drained && latency;
    delivery_->rings().arm(batches ? uint64_t{options_.ring()} * options_.wake_fill / 100 : 0);
    gather_until_ = 0;
    if (delivery_->unfinished()) return std::optional<uint64_t>(0);
    if (!batches) return std::optional<uint64_t>();
    gather_until_ = monotonic_ns() + latency;
    return std::optional(latency);
}

Result<kpl_info> Session::device_info() {
    kpl_info info = TRY(armed_->device().info());
    if (delivery_) delivery_->rings().set_lost_without(info.lost_without);
    return info;
}

Result<void> Session::look_for_exit() {
    if (!armed_ || stopped_) return {};
    const kpl_info info = TRY(device_info());
    handler_exit_ = info.exiting ? std::optional<int>(info.exit_code) : std::nullopt;
    ended_ |= info.exiting != 0;
    if (!info.dead || dead_) return {};
    dead_ = ended_ = true;  // what was gathered is still there
    return Error{Errc::system, fmt::format("nothing was heard of this process for {} seconds (--dead-man): "
                                           "everything is detached",
                                           options_.dead_man)};
}

Result<void> Session::stop(bool deliver_rest) {
    Result<void> last = detach();
    const auto take = [&](Result<void> next) {
        if (next) return;
        if (!last) client_.note(Note::Warning, last.error().message());
        last = std::move(next);
    };
    take(stop_on(deliver_rest));
    while (!finished_) take(stop_on(false));
    return last;
}

// Whatever can't be told, nothing stays armed.
Result<void> Session::detach() {
    if (stopped_) return {};
    Result<void> first;
    if (armed_)
        for (const auto& step :
             {look_for_exit(), armed_->report_gone(), armed_->report_overloads(), armed_->detach_all()})
            if (first && !step) first = step;
    stopped_ = true;
    return first;
}

Result<void> Session::stop_on(bool deliver_rest) {
    if (finished_) return {};
    TRY(detach());
    if (delivery_ && deliver_rest && !exit_code_ && !drained_) TRY(delivery_->drain_all());
    drained_ = true;
    if (!exit_code_) exit_code_ = handler_exit_;  // what was sent before it has been delivered
    while (!at_exit_.empty()) {
        const CallbackId callback = at_exit_.front();
        at_exit_.erase(at_exit_.begin());
        TRY(host_->call(callback));
    }
    finished_ = true;
    return {};
}

void Session::end_delivery() {
    if (delivery_) delivery_->stop();
}

// ---- reports
// What grew first: it is why less is lost from then on.
void Session::tell_rings() {
    if (!delivery_) return;
    for (const Rings::Growth& growth : delivery_->rings().grown()) {
        client_.ring_grown(growth.cpu, growth.bytes);
        if (!growth.bytes)
            client_.note(Note::Warning, fmt::format("the ring of CPU {} does not grow: {}", growth.cpu, growth.error));
        else if (options_.verbose)
            client_.note(Note::Detail, fmt::format("CPU {} sends faster than events are taken: its ring has {}K now",
                                                   growth.cpu, growth.bytes >> 10));
    }
    if (const uint64_t lost = delivery_->newly_lost()) client_.lost(lost);
}

// Once of each map; how much it was, the account says.
Result<void> Session::tell_full_maps() {
    const auto& maps = declared_.unit().maps;
    full_told_.resize(maps.size());
    for (uint32_t i = 0; i < maps.size(); i++) {
        if (full_told_[i] || !has(i) || !TRY(armed_->maps().losses(i)).full) continue;
        full_told_[i] = true;
        client_.note(Note::Warning,
                     Error{Errc::script, "the map is full: updates are lost (declare it with a larger max)", maps[i].at}
                         .message());
    }
    return {};
}

Result<void> Session::report(bool last) {
    if (!armed_) return {};
    tell_rings();
    kernel_.users.look();
    TRY(armed_->report_stops(last));
    if (stopped_) return {};
    TRY(tell_full_maps());
    TRY(armed_->report_gone());
    return armed_->report_overloads();
}

Account::Events Session::events() const {
    if (!delivery_) return {};
    const RingCounts counts = delivery_->rings().counts();
    return {counts.sent, delivery_->delivered(), counts.lost, largest_ring() > options_.ring() ? largest_ring() : 0};
}

Result<Account> Session::account() {
    Account account;
    if (!armed_) return account;
    for (uint32_t i = 0; i < declared_.probes().size(); i++) {
        std::string name = armed_->name_of(i);
        if (name.empty()) continue;
        const ProbeDecl& probe = declared_.probes()[i];
        // There may be others on this function.
        name += fmt::format(" ({}:{})", printable(probe.at.file), probe.at.line);
        const ProbeStatus status = TRY(this->status(i));
        std::string changes =
            change_text(armed_->programs_of(i), status.moved, status.first.handled + status.second.handled);
        account.probes.push_back({std::move(name), probe.has_first(), status, std::move(changes)});
    }
    const kpl_info info = TRY(device_info());
    if (delivery_) {
        tell_rings();
        account.events = events();
    }
    account.hits_about = info.hits_about, account.hits_own = info.hits_own;
    account.unknown_processes = kernel_.users.unknown();
    account.lost_mappings = kernel_.users.lost();
    account.silent_files = kernel_.users.silent(), account.unasked_files = kernel_.users.unasked();
    account.large_files = kernel_.users.too_large();
    for (uint32_t i = 0; i < declared_.unit().maps.size(); i++) {
        if (!has(i)) continue;
        const ArmedMaps::Losses losses = TRY(armed_->maps().losses(i));
        account.maps.push_back({declared_.unit().maps[i].at, losses.full, losses.busy, losses.without});
    }
    return account;
}

}  // namespace kpl
