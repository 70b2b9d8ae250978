// SPDX-License-Identifier: MIT
// What scripts ask of their session.
#include "output/render.hpp"
#include "session/session.hpp"

namespace kpl {

std::string Client::map_output(const MapDecl& map, std::vector<KeyedValue> rows) {
    return plain_text(map, std::move(rows)) + "\n";
}

void Session::name_map(uint32_t map, const std::string& name) {
    std::string& own = declared_.unit().maps[map].name;
    if (own.empty()) own = name;
}

void Session::name_event(uint32_t event, const std::string& name) {
    std::string& own = declared_.unit().events[event].name;
    if (own.empty()) own = name;
}

// ---- probes
Result<void> Session::control(std::span<const uint32_t> declarations, kpl_control_op op) {
    TRY(switch_probes(declarations, op));
    for (const uint32_t declaration : declarations) declared_.probes()[declaration].off = op == KPL_CTL_DISABLE;
    return {};
}

Result<void> Session::control_all(kpl_control_op op) {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < declared_.probes().size(); i++) {
        const ProbeDecl& probe = declared_.probes()[i];
        if (!probe.detached && !(probe.off && op == KPL_CTL_ENABLE)) all.push_back(i);
    }
    return switch_probes(all, op);
}

Result<void> Session::switch_probes(std::span<const uint32_t> declarations, kpl_control_op op) {
    if (stopped_) return {};  // callbacks still get what was sent before
    for (const uint32_t declaration : declarations) {
        ProbeDecl& probe = declared_.probes()[declaration];
        if (op != KPL_CTL_DETACH && probe.detached)
            return Error{Errc::script, "the probe was detached: declare it again"};
        if (declaration >= declared_.first_pending())
            probe.enabled = op == KPL_CTL_ENABLE;  // not armed yet: only remembered
    }
    const Result<void> done = armed_ ? armed_->control(declarations, op) : Result<void>();
    if (op == KPL_CTL_DETACH && done)
        for (const uint32_t declaration : declarations) declared_.probes()[declaration].detached = true;
    return done;
}

Result<ProbeStatus> Session::status(uint32_t declaration) {
    const ProbeDecl& probe = declared_.probes()[declaration];
    ProbeStatus status;
    if (armed_) status = TRY(armed_->status(declaration));
    if (status.state.empty()) status.state = probe.failed ? "failed" : probe.detached ? "detached" : "disabled";
    status.follows_calls = probe.follows_calls();
    if (status.follows_calls || probe.handlers[1]) status.second_name = probe_kind(probe.kind).second_side;
    return status;
}

// ---- the running kernel
Result<bool> Session::has_function(const std::string& name) {
    const auto colon = name.find(':');
    const std::string module = colon == name.npos ? "" : name.substr(0, colon);
    return !TRY(kernel_.symbols.find(colon == name.npos ? name : name.substr(colon + 1), module)).empty();
}

Result<bool> Session::has_field(const std::string& type, const std::string& field) {
    const auto id = kernel_.types.parse(type);
    return id && TRY(kernel_.types.field(*id, field)).has_value();
}

// ---- maps. What the module does not have is empty.
Result<std::vector<KeyedValue>> Session::look(uint32_t map) {
    return is_aggregation(map) ? armed_->maps().rows(map) : std::vector<KeyedValue>();
}

Result<std::vector<KeyedValue>> Session::rows(uint32_t map) {
    if (is_aggregation(map)) shown_.insert(map);
    return look(map);
}

Result<std::vector<KeyedValue>> Session::take(uint32_t map) {
    if (!is_aggregation(map)) return std::vector<KeyedValue>();
    shown_.insert(map);
    return armed_->maps().take(map);
}

Result<AggValue> Session::value(uint32_t map, const std::vector<Datum>& key) {
    if (!is_aggregation(map)) return AggValue{};
    shown_.insert(map);
    return armed_->maps().value(map, key);
}

Result<void> Session::clear(uint32_t map) { return has(map) ? armed_->maps().clear(map) : Result<void>(); }

Result<std::string> Session::text(uint32_t map) { return text_of(map, TRY(rows(map))); }

std::string Session::text_of(uint32_t map, std::vector<KeyedValue> rows) {
    return plain_text(this->map(map), std::move(rows));
}

std::string Session::output_of(uint32_t map, std::vector<KeyedValue> rows) {
    return client_.map_output(this->map(map), std::move(rows));
}

Result<std::vector<MapEntry>> Session::entries(uint32_t map) {
    return has(map) ? armed_->maps().entries(map) : std::vector<MapEntry>();
}

Result<std::optional<std::string>> Session::entries_output(uint32_t map) {
    return client_.map_output(this->map(map), TRY(entries(map)));
}

Result<void> Session::check_typed(uint32_t map) const {
    if (has(map)) return {};
    return Error{Errc::script, "no armed handler uses this map yet, so its keys have no type"};
}

Result<std::optional<std::vector<Datum>>> Session::get(uint32_t map, const std::vector<Datum>& key) {
    TRY(check_typed(map));
    return armed_->maps().get(map, key);
}

// What is set before the map is there is set when it is.
Result<void> Session::set(uint32_t map, const std::vector<Datum>& key, const NamedValues& values) {
    if (has(map)) return armed_->maps().set(map, key, values);
    declared_.set_early({map, key, values});
    return {};
}

Result<bool> Session::erase(uint32_t map, const std::vector<Datum>& key) {
    TRY(check_typed(map));
    return armed_->maps().erase(map, key);
}

// ---- output, end
void Session::write(std::string_view text) {
    if (client_.print(text)) return;
    ended_ = true;
    end_delivery();
}

void Session::emit(std::string_view output) {
    if (client_.show(output)) return;
    ended_ = true;
    end_delivery();
}

void Session::exit(int code) {
    exit_code_ = code;
    end_delivery();
}

}  // namespace kpl
