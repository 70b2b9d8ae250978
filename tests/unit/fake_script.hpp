// SPDX-License-Identifier: MIT
// A session that remembers what it was told, and knows nothing.
#pragma once

#include <string>
#include <vector>

#include "luahost/declarations.hpp"

namespace kpl::test {

struct FakeScript : ScriptApi {
    Unit unit;
    std::vector<ProbeDecl> probes;
    Kallsyms symbols{"/nonexistent"};
    Decoder values{symbols};

    Result<uint32_t> declare_map(MapDecl map) override { return add(unit.maps, std::move(map)); }
    Result<uint32_t> declare_event(EventDecl event) override { return add(unit.events, std::move(event)); }
    Result<uint32_t> declare_probe(ProbeDecl probe) override { return add(probes, std::move(probe)); }
    void name_map(uint32_t map, const std::string& name) override { unit.maps[map].name = name; }
    void name_event(uint32_t event, const std::string& name) override { unit.events[event].name = name; }
    Result<void> control(std::span<const uint32_t>, kpl_control_op) override { return {}; }
    Result<ProbeStatus> status(uint32_t) override { return ProbeStatus{}; }

    const MapDecl& map(uint32_t map) override { return unit.maps[map]; }
    Result<std::vector<KeyedValue>> rows(uint32_t) override { return std::vector<KeyedValue>(); }
    Result<AggValue> value(uint32_t, const std::vector<Datum>&) override { return AggValue(); }
    Result<void> clear(uint32_t) override { return {}; }
    Result<std::vector<KeyedValue>> take(uint32_t map) override { return rows(map); }
    Result<std::string> text(uint32_t) override { return std::string(); }
    std::string text_of(uint32_t, std::vector<KeyedValue>) override { return {}; }
    std::string output_of(uint32_t, std::vector<KeyedValue>) override { return {}; }
    Result<std::optional<std::string>> entries_output(uint32_t) override { return std::optional<std::string>(); }
    void emit(std::string_view) override {}
    Result<std::vector<MapEntry>> entries(uint32_t) override { return std::vector<MapEntry>(); }
    Result<std::optional<std::vector<Datum>>> get(uint32_t, const std::vector<Datum>&) override {
        return std::optional<std::vector<Datum>>();
    }
    Result<void> set(uint32_t, const std::vector<Datum>&, const NamedValues&) override { return {}; }
    Result<bool> erase(uint32_t, const std::vector<Datum>&) override { return false; }

    const Layout& record_layout(uint32_t event) override { return unit.events[event].record; }
    const Decoder& decoder() override { return values; }
    void every(double, CallbackId) override {}
    void at_exit(CallbackId) override {}
    void exit(int) override {}
    void write(std::string_view) override {}

  private:
    template <class T>
    static uint32_t add(std::vector<T>& to, T one) {
        to.push_back(std::move(one));
        return static_cast<uint32_t>(to.size() - 1);
    }
};

}  // namespace kpl::test
