// SPDX-License-Identifier: MIT
// Declared: what scripts have declared, and the unit that it is compiled as. A number is given once: what is forgotten
// leaves its number unused, so that what Lua still holds never comes to stand for something else.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "luahost/declarations.hpp"

namespace kpl {

class Declared {
  public:
    // set() of a map that is not in the module yet.
    struct EarlySet {
        uint32_t map;
        std::vector<Datum> key;
        NamedValues value;
    };
    // How much there was at some time.
    struct Mark {
        size_t maps = 0, events = 0, probes = 0, sets = 0;
    };

    uint32_t add(MapDecl map);
    uint32_t add(EventDecl event);
    uint32_t add(ProbeDecl probe);
    void set_early(EarlySet set) { early_sets_.push_back(std::move(set)); }

    Unit& unit() { return unit_; }
    const Unit& unit() const { return unit_; }
    std::vector<ProbeDecl>& probes() { return probes_; }
    const std::vector<ProbeDecl>& probes() const { return probes_; }
    std::span<const EarlySet> early_sets() const { return early_sets_; }

    // Probes from here on are still to be armed.
    size_t first_pending() const { return first_pending_; }
    bool pending() const { return first_pending_ < probes_.size(); }

    Mark mark() const { return {unit_.maps.size(), unit_.events.size(), probes_.size(), early_sets_.size()}; }
    // All is armed, early sets of the maps that are in the module are done.
    void commit();
    // What was declared since `mark` is as if it had not been.
    void forget(const Mark& mark);
    // The last probe, or all that are to be armed, will not be: what is said of it is "failed", as of what was
    // forgotten.
    void fail_last();
    void fail_pending();
    // What was compiled since the unit was `before` is as if it had not been. Numbers of printf stay taken: handlers
    // that ran for a moment may have sent records that bear them.
    void undo_compile(Unit before);
    // Gives the names that compiling has given to maps and events to `before`, too.
    void keep_names(Unit& before) const;

    // What declared it failed, and no handler that is armed since uses it: it is not listed.
    bool hidden_map(uint32_t map) const { return forgotten_maps_.contains(map) && !unit_.maps[map].fixed; }
    bool hidden_event(uint32_t event) const { return forgotten_events_.contains(event) && !unit_.events[event].fixed; }
    // Of a handler that was not armed after all.
    bool is_dead_printf(uint32_t printf) const { return dead_printfs_.contains(printf); }

  private:
    void fail(size_t probe);

    Unit unit_;
    std::vector<ProbeDecl> probes_;
    std::vector<EarlySet> early_sets_;
    size_t first_pending_ = 0;
    std::set<uint32_t> forgotten_maps_, forgotten_events_, dead_printfs_;
};

}  // namespace kpl
