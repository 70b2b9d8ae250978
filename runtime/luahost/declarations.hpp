// SPDX-License-Identifier: MIT
// What a script asks of the session, and what the session asks of the script's functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "ir/capture.hpp"
#include "ir/probe_kinds.hpp"
#include "ir/unit.hpp"
#include "output/render.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

using FunctionPtr = std::shared_ptr<const FunctionRef>;

// One call of a function that declares probes.
struct ProbeDecl {
    ProbeKind kind = ProbeKind::Kprobe;
    std::vector<std::variant<std::string, uint64_t>> targets;
    FunctionPtr handlers[most_handlers];  // as the kind's row has them
    kpl_when when{};
    bool enabled = true;
    bool off = false;       // disabled for itself: stays so when all are enabled
    bool detached = false;  // before it was armed: it never is
    bool failed = false;    // and that because it could not be
    bool optional = false;
    uint32_t budget = 0;
    uint32_t maxactive = 0;
    std::optional<uint32_t> data;
    std::string via = "auto";
    uint64_t every = 0;  // perf: how many; 0: as the counter has it
    uint32_t len = 0;    // watch: bytes; 0: as many as lie there together
    bool reads = false;  // watch: reads, too
    SourceLoc at;

    // Something runs, or is followed, on the first side: its counters count.
    // Of a system call: it is placed as a kprobe's pre handler is, which takes less.
    bool entry_alone() const { return probe_kind(kind).source == Source::Syscall && !handlers[1]; }
    bool follows_calls() const { return probe_kind(kind).follows_calls && !entry_alone(); }
    bool has_first() const { return probe_kind(kind).follows_calls || handlers[0]; }
};

struct ProbeStatus {
    std::string state;
    kpl_counts first{};
    std::string second_name;  // what `second` counts: "returns", "post"; "": nothing
    bool follows_calls = false;
    kpl_counts second{};
    uint64_t outstanding = 0, dropped = 0;  // if it follows calls
    uint64_t moved = 0;                     // calls that an override ended, or that p.ip led elsewhere
    uint64_t truncated = 0;                 // strings cut at their limit
};

// One entry of a map().
struct MapEntry {
    std::vector<Datum> key, value;
};
// A value that a script gives: by field name; "" is a value without fields.
using NamedValues = std::vector<std::pair<std::string, Datum>>;

using CallbackId = int;  // a Lua function that the host keeps

// What takes the text of a script.
struct Medium {
    std::string format = "text";  // as -f names it
    int rows = 0, columns = 0;    // of a terminal; 0: it is none
};

// Implemented by the session. Numbers are those that declare_* gave.
class ScriptApi {
  public:
    virtual ~ScriptApi() = default;
    virtual Result<uint32_t> declare_map(MapDecl map) = 0;
    virtual Result<uint32_t> declare_event(EventDecl event) = 0;
    // In a callback, what can be known to be wrong with it is an error at once.
    virtual Result<uint32_t> declare_probe(ProbeDecl probe) = 0;
    virtual void name_map(uint32_t map, const std::string& name) = 0;
    virtual void name_event(uint32_t event, const std::string& name) = 0;

    virtual Result<void> control(std::span<const uint32_t> probes, kpl_control_op op) = 0;
    virtual Result<ProbeStatus> status(uint32_t probe) = 0;

    virtual const MapDecl& map(uint32_t map) = 0;
    virtual Result<std::vector<KeyedValue>> rows(uint32_t map) = 0;
    virtual Result<AggValue> value(uint32_t map, const std::vector<Datum>& key) = 0;
    virtual Result<void> clear(uint32_t map) = 0;
    // What is in it, which empties it: each update is in these rows or in later ones.
    virtual Result<std::vector<KeyedValue>> take(uint32_t map) = 0;
    virtual Result<std::string> text(uint32_t map) = 0;
    virtual std::string text_of(uint32_t map, std::vector<KeyedValue> rows) = 0;
    // What print(map) writes: the text, or lines of the format that was asked for. And its way out.
    virtual std::string output_of(uint32_t map, std::vector<KeyedValue> rows) = 0;
    virtual Result<std::optional<std::string>> entries_output(uint32_t map) = 0;  // of a map(); nothing: its text
    virtual void emit(std::string_view output) = 0;
    virtual Medium medium() const { return {}; }

    // What the running kernel has: a function that a probe may name; a member of "struct file".
    virtual Result<bool> has_function(const std::string&) { return false; }
    virtual Result<bool> has_field(const std::string& /*type*/, const std::string& /*field*/) { return false; }

    // map(): shared with handlers. A value has the fields of its layout; without a struct value, one.
    virtual Result<std::vector<MapEntry>> entries(uint32_t map) = 0;
    virtual Result<std::optional<std::vector<Datum>>> get(uint32_t map, const std::vector<Datum>& key) = 0;
    virtual Result<void> set(uint32_t map, const std::vector<Datum>& key, const NamedValues& value) = 0;
    virtual Result<bool> erase(uint32_t map, const std::vector<Datum>& key) = 0;

    virtual const Layout& record_layout(uint32_t event) = 0;
    virtual const Decoder& decoder() = 0;
    virtual void every(double seconds, CallbackId callback) = 0;
    virtual void at_exit(CallbackId callback) = 0;
    virtual void exit(int code) = 0;
    virtual void write(std::string_view text) = 0;
    // Whether write() leads into no Lua: compiled code then calls it directly.
    virtual bool writes_directly() const { return false; }
};

}  // namespace kpl
