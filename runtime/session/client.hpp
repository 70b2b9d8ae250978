// SPDX-License-Identifier: MIT
// Client: what a session tells the program that has opened it, and asks of it. The session itself writes to no stream.
// All calls are made within a call of the session's, in the thread that makes that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "luahost/declarations.hpp"
#include "session/delivery.hpp"
#include "session/overload.hpp"

namespace kpl {

enum class Note {
    Warning,  // something is not as it was asked for, or should not be
    Info,     // worth knowing where it is not asked for quiet
    Detail,   // only with Options::verbose
    Stop,     // a handler stopped at its hit
};

class Client {
  public:
    virtual ~Client() = default;

    // Text that the script or a handler prints. False: nobody takes it any more, and the session ends.
    virtual bool print(std::string_view text) = 0;
    // print() runs no Lua: it may be called from the middle of compiled code.
    virtual bool prints_directly() const { return false; }
    // Text that has its form already: what map_output() gave, listings of the compiler's stages.
    virtual bool show(std::string_view text) = 0;
    // What print() shows of an aggregation, and of a map() (nothing: as any other value).
    virtual std::string map_output(const MapDecl& map, std::vector<KeyedValue> rows);
    virtual std::optional<std::string> map_output(const MapDecl&, std::vector<MapEntry>) { return std::nullopt; }

    virtual Medium medium() const { return {}; }

    virtual void note(Note kind, const std::string& line) = 0;
    // So many more events than last time did not fit into a ring.
    virtual void lost(uint64_t events) = 0;

    // A CPU's ring has so many bytes now; 0: it should have grown and can't, as a note says.
    virtual void ring_grown(uint32_t /*cpu*/, uint32_t /*bytes*/) {}

    // The module has disabled this probe; a note says so, too.
    virtual void overloaded(const std::string& /*place*/, const Overload&) {}

    // Takes the records of events, beside the script; asked for once.
    virtual RecordTaker* record_taker() { return nullptr; }

    // Around the call that attaches, which may take seconds and which a signal to this thread interrupts. False: it is
    // not to be made.
    virtual bool attaching(const Device&) { return true; }
    virtual void attached() {}
    // The session does not end when attaching was interrupted: that step has failed.
    virtual bool goes_on() { return false; }
};

// Hears nothing, and takes all text.
struct SilentClient : Client {
    bool print(std::string_view) override { return true; }
    bool show(std::string_view) override { return true; }
    void note(Note, const std::string&) override {}
    void lost(uint64_t) override {}
};

}  // namespace kpl
