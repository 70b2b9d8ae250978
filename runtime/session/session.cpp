// SPDX-License-Identifier: MIT
#include "session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "output/json.hpp"

namespace kpl {
namespace {

constexpr uint64_t ms = 1000000;
constexpr uint64_t longest_turn = 20 * ms;  // of delivery, before timers and signals have theirs
constexpr uint64_t report_period = 1000 * ms;

const char* state_name(uint32_t state) {
    static constexpr const char* names[] = {"int3", "optimized", "ftrace", "disabled", "gone", "detached"};
    return state < std::size(names) ? names[state] : "unknown";
}

void add(kpl_counts& into, const kpl_counts& from) {
    into.hits += from.hits;
    into.handled += from.handled;
    into.skipped += from.skipped;
    into.missed += from.missed;
    into.faults += from.faults;
    into.errors += from.errors;
    into.overruns += from.overruns;
}

bool only_handled(const kpl_counts& counts) { return counts.hits == counts.handled; }

}  // namespace

Session::Session(const Options& options, Sink sink)
    : options_(options), sink_(std::move(sink)), types_(options.btf_dir), decoder_(symbols_) {}

Result<int> Session::run(const Options& options) {
    Sink sink = TRY(Sink::open(options.output, options.buffering));
    Session session(options, std::move(sink));
    return session.main();
}

Result<int> Session::main() {
    if (options_.pid && !options_.check && ::kill(static_cast<pid_t>(*options_.pid), 0) != 0 && errno == ESRCH)
        return Error{Errc::system, fmt::format("no process {}", *options_.pid)};
    TRY(run_script());
    if (options_.list) return list();
    loop_.emplace(TRY(Loop::create()));
    for (auto& [seconds, fn] : early_timers_) add_timer(seconds, std::move(fn));
    if (!exit_code_) {
        TRY(arm());
        sink_.flush();
        if (options_.check) return 0;
        running_ = true;
        if (options_.format == Format::Json) sink_.write(json_attached(probes_.size()));
        if (!ended_) TRY(events());
    }
    TRY(finish());
    if (failure_) return *failure_;
    if (exit_code_) return *exit_code_;
    return options_.strict && lost_ ? 1 : 0;
}

Result<void> Session::run_script() {
    host_.emplace(TRY(LuaHost::create(*this)));
    for (const std::string& dir : options_.search_dirs) host_->add_search_dir(dir);
    for (const std::string& module : options_.modules) TRY(host_->require_module(module));
    if (options_.code) return host_->run_string(*options_.code, "=-e", options_.args);
    return host_->run_file(options_.script, options_.args);
}

// Until the script exits, a signal comes, the command ends or the time is over.
Result<void> Session::events() {
    loop_->on_signal([this](int signal) {
        if (signal == SIGUSR1) {
            for (uint32_t i = 0; i < maps_.size(); i++) {
                const bool shown = maps_[i].shown;  // a look on the way is not the print at the end
                if (auto text = render_map(i)) sink_.write(*text);
                maps_[i].shown = shown;
            }
            sink_.flush();
            return;
        }
        ended_ = true;
    });
    const bool waits = !probes_.empty() || options_.command || options_.timeout || loop_->has_timers();
    if (options_.timeout) add_timer(*options_.timeout, [this] { ended_ = true; });
    loop_->every(report_period, [this] {
        if (!device_) return;
        auto lines = stops_.poll(*device_, programs_, false);
        if (lines)
            for (const std::string& line : *lines) say(line);
        tell_lost();
        if (auto told = tell_gone(); !told && !failure_) failure_ = told.error();
    });
    if (options_.command) {
        command_.emplace(TRY(Command::start(*options_.command)));
        loop_->watch(command_->fd(), [this] {
            if (!command_->poll()) return;
            loop_->unwatch(command_->fd());
            ended_ = true;
        });
    }
    while (waits && !done()) {
        TRY(arm_new());
        std::optional<uint64_t> limit;
        if (delivery_ && deliver()) limit = delivery_->unfinished() ? 0 : options_.wake_latency_ms * ms;
        sink_.flush();
        if (done()) break;
        TRY(loop_->wait(limit));
        if (!device_) continue;
        const kpl_info info = TRY(device_->info());
        if (info.exiting) {
            handler_exit_ = info.exit_code;
            ended_ = true;
        }
    }
    return {};
}

// Delivers records, and asks to be woken for more. While records come they are left to gather, until a ring is filled
// to --wake-fill or they have waited for --wake-latency; after a pause, the first one wakes. True: look again by then.
bool Session::deliver() {
    const uint64_t latency = options_.wake_latency_ms * ms;
    auto drained = delivery_->drain(longest_turn);
    if (!drained) {
        if (!failure_) failure_ = drained.error();
        return false;
    }
    // What comes before the request is seen by poll().
    const bool batches = *drained && latency;
    delivery_->rings().arm(batches ? uint64_t{options_.ring_bytes} * options_.wake_fill / 100 : 0);
    return batches || delivery_->unfinished();
}

void Session::callback(CallbackId id) {
    auto ok = host_->call(id);
    if (!ok && !failure_) failure_ = ok.error();
}

Result<void> Session::arm_new() {
    if (planned_ == declared_.size()) return {};
    return arm();
}

// At most a century: what is longer never comes.
void Session::add_timer(double seconds, std::function<void()> fn) {
    constexpr double longest = 3e9;
    loop_->every(static_cast<uint64_t>(std::min(seconds, longest) * 1e9), std::move(fn));
}

void Session::say(const std::string& line) {
    sink_.flush();
    std::fprintf(stderr, "%s\n", line.c_str());
}

Result<void> Session::finish() {
    running_ = false;
    TRY(tell_gone());
    TRY(detach_from(0));
    probes_over_ = true;
    if (delivery_ && wants_more()) {
        auto drained = delivery_->drain_all();
        if (!drained) failure_ = drained.error();
    }
    if (handler_exit_ && !exit_code_) exit_code_ = handler_exit_;  // what was sent before it has been delivered
    for (const CallbackId id : at_exit_) callback(id);
    if (device_) {
        TRY(print_unshown());
        for (const std::string& line : TRY(stops_.poll(*device_, programs_, true))) say(line);
        TRY(account());
    }
    sink_.flush_all();
    command_.reset();
    types_.keep();
    symbols_.keep();
    if (!sink_.failure().empty() && !failure_) failure_ = Error{Errc::system, "writing output: " + sink_.failure()};
    return {};
}

Result<void> Session::print_unshown() {
    for (uint32_t i = 0; i < maps_.size(); i++) {
        if (maps_[i].shown || !maps_[i].aggregation) continue;
        sink_.write(TRY(render_map(i)));
    }
    return {};
}

// The account of every probe and ring; without -v only of those where something but `handled` is non-zero.
Result<void> Session::account() {
    for (uint32_t i = 0; i < declared_.size(); i++) {
        const auto probes = probes_of(i);
        if (probes.empty()) continue;
        const std::string& one = probes[0].plan.place.function;
        const std::string name = probes.size() == 1 ? one : fmt::format("{} and {} more", one, probes.size() - 1);
        const ProbeStatus status = TRY(this->status(i));
        lost_ |= stopped(status.first) || stopped(status.second) || status.first.missed || status.second.missed;
        const bool has_first = declared_[i].kind == ProbeKind::Kretprobe || declared_[i].handlers[0];
        if (!only_handled(status.first) || (options_.verbose && has_first))
            say(account_line(name, status.first) + (status.dropped ? fmt::format(", {} returns dropped", status.dropped) : ""));
        if (!status.second_name.empty() && (!only_handled(status.second) || options_.verbose))
            say(account_line(name + " " + status.second_name, status.second) +
                (status.second_name == "returns" ? fmt::format(", {} outstanding", status.outstanding) : ""));
        if (status.truncated) say(fmt::format("{}: {} strings cut at their limit", name, status.truncated));
    }
    TRY(account_rings());
    return account_maps();
}

void Session::tell_lost() {
    if (!delivery_) return;
    const uint64_t lost = delivery_->rings().counts().lost - told_lost_;
    if (!lost) return;
    told_lost_ += lost;
    if (options_.format == Format::Json) sink_.write(json_lost(lost));
    if (running_)
        say(fmt::format("{} events lost: a ring was full; --buffer {}K makes them twice as large", lost, options_.ring_bytes >> 9));
}

Result<void> Session::account_rings() {
    if (!delivery_) return {};
    tell_lost();
    const RingCounts counts = delivery_->rings().counts();
    const uint64_t left = counts.sent - delivery_->delivered() - counts.lost;
    const char* by = failure_ ? "the error" : sink_.broken() ? "the closed output" : "exit()";
    lost_ |= counts.lost != 0;
    if (counts.lost || (left && !sink_.broken()) || options_.verbose)
        say(fmt::format("events: {} sent = {} delivered + {} lost{}", counts.sent, delivery_->delivered(), counts.lost,
                        left ? fmt::format(" + {} left by {}", left, by) : ""));
    return {};
}

Result<void> Session::account_maps() {
    for (uint32_t i = 0; i < maps_.size(); i++) {
        if (!maps_[i].created) continue;
        const auto warn = [&](uint64_t n, const char* what) {
            if (!n) return;
            lost_ = true;
            say(Error{Errc::script, fmt::format("{} {}", n, what), unit_.maps[i].at}.message());
        };
        const char* full = "updates lost: the map was full (declare it with a larger max)";
        if (maps_[i].aggregation) {
            warn(maps_[i].aggregation->lost(), full);
            continue;
        }
        const kpl_map_info info = TRY(device_->map_info(maps_[i].made.id));
        warn(info.lost, full);
        warn(info.busy, "accesses given up: other CPUs held the key's part of the map for too long");
    }
    return {};
}

// ---- ScriptApi
Result<uint32_t> Session::declare_map(MapDecl map) {
    unit_.maps.push_back(std::move(map));
    return static_cast<uint32_t>(unit_.maps.size() - 1);
}

Result<uint32_t> Session::declare_event(EventDecl event) {
    unit_.events.push_back(std::move(event));
    return static_cast<uint32_t>(unit_.events.size() - 1);
}

Result<uint32_t> Session::declare_probe(ProbeDecl probe) {
    declared_.push_back(std::move(probe));
    return static_cast<uint32_t>(declared_.size() - 1);
}

void Session::name_map(uint32_t map, const std::string& name) {
    if (unit_.maps[map].name.empty()) unit_.maps[map].name = name;
}

void Session::name_event(uint32_t event, const std::string& name) {
    if (unit_.events[event].name.empty()) unit_.events[event].name = name;
}

Result<ProbeStatus> Session::status(uint32_t declaration) {
    ProbeStatus status;
    status.state = declared_[declaration].detached ? "detached" : "disabled";
    const ProbeDecl& probe = declared_[declaration];
    if (probe.kind == ProbeKind::Kretprobe)
        status.second_name = "returns";
    else if (probe.handlers[1])
        status.second_name = "post";
    std::vector<kpl_probe_stats> stats;
    for (const ArmedProbe& probe : probes_of(declaration)) {
        stats.push_back({});
        stats.back().id = probe.id;
    }
    if (stats.empty()) return status;
    TRY(device_->stats(stats));
    status.state = state_name(stats[0].state);
    for (const kpl_probe_stats& one : stats) {
        add(status.first, one.entry);
        add(status.second, one.ret);
        status.outstanding += one.outstanding;
        status.dropped += one.dropped;
        status.truncated += one.truncated;
        if (state_name(one.state) != status.state) status.state = "mixed";
    }
    return status;
}

std::vector<KeyedValue> Session::decoded(uint32_t map, std::vector<AggRow> rows) const {
    std::vector<KeyedValue> values;
    for (AggRow& row : rows) {
        const std::span<const uint8_t> key(reinterpret_cast<const uint8_t*>(row.key.data()), row.key.size());
        values.push_back({decoder_.fixed(unit_.maps[map].key, key), std::move(row.value)});
    }
    return values;
}

Result<std::vector<KeyedValue>> Session::rows(uint32_t map) {
    if (map >= maps_.size() || !maps_[map].aggregation) return std::vector<KeyedValue>();
    maps_[map].shown = true;
    return decoded(map, TRY(maps_[map].aggregation->read(*device_)));
}

Result<std::vector<KeyedValue>> Session::take(uint32_t map) {
    if (map >= maps_.size() || !maps_[map].aggregation) return std::vector<KeyedValue>();
    maps_[map].shown = true;
    return decoded(map, TRY(maps_[map].aggregation->take(*device_)));
}

Result<AggValue> Session::value(uint32_t map, const std::vector<Datum>& key) {
    if (map >= maps_.size() || !maps_[map].aggregation) return AggValue{};
    maps_[map].shown = true;
    return maps_[map].aggregation->value(*device_, TRY(map_key(map, key)));
}

Result<void> Session::clear(uint32_t map) {
    if (unit_.maps[map].kind == KPL_MAP_HASH) return clear_shared(map);
    if (map >= maps_.size() || !maps_[map].aggregation) return {};
    TRY(maps_[map].aggregation->take(*device_));
    return {};
}

void Session::emit(std::string_view output) {
    if (!sink_.write(output) && delivery_) delivery_->stop();
}

void Session::write(std::string_view text) {
    emit(options_.format == Format::Json ? json_printf(text) : text);
}

// Nothing, when nothing was ever added.
std::string Session::formatted(uint32_t map, std::vector<KeyedValue> rows) const {
    const MapDecl& decl = unit_.maps[map];
    if (rows.empty() || (!decl.keyed && untouched(rows[0].value))) return {};
    sort_rows(decl, rows);
    switch (options_.format) {
        case Format::Json: return json_map(decl, rows);
        case Format::Folded: return render_folded(decl, rows);
        case Format::Text: break;
    }
    return render(decl, rows);
}

Result<std::string> Session::render_map(uint32_t map) { return formatted(map, TRY(rows(map))); }

std::string Session::output_of(uint32_t map, std::vector<KeyedValue> rows) {
    return options_.format == Format::Text ? text_of(map, std::move(rows)) + "\n" : formatted(map, std::move(rows));
}

Result<std::string> Session::text(uint32_t map) { return text_of(map, TRY(rows(map))); }

// What tostring() gives: without a key and a drawing, the value alone.
std::string Session::text_of(uint32_t map, std::vector<KeyedValue> rows) {
    const MapDecl& decl = unit_.maps[map];
    sort_rows(decl, rows);
    std::string text = render(decl, rows);
    if (!decl.keyed && decl.kind != KPL_MAP_HIST && decl.kind != KPL_MAP_LHIST) {
        const auto colon = text.find(": ");
        text = colon == std::string::npos ? "0" : text.substr(colon + 2);
    }
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

void Session::exit(int code) {
    exit_code_ = code;
    if (delivery_) delivery_->stop();
}

void Session::every(double seconds, CallbackId id) {
    std::function<void()> fn = [this, id] {
        if (!done()) callback(id);
    };
    if (loop_)
        add_timer(seconds, std::move(fn));
    else
        early_timers_.emplace_back(seconds, std::move(fn));
}

}  // namespace kpl
