// SPDX-License-Identifier: MIT
#include "session/declared.hpp"

#include <algorithm>

namespace kpl {

// The fields of a value stand in the order in which the builder will lay them out: by name.
uint32_t Declared::add(MapDecl map) {
    std::sort(map.declared_value.begin(), map.declared_value.end(),
              [](const FieldLayout& a, const FieldLayout& b) { return a.name < b.name; });
    unit_.maps.push_back(std::move(map));
    return static_cast<uint32_t>(unit_.maps.size() - 1);
}

uint32_t Declared::add(EventDecl event) {
    unit_.events.push_back(std::move(event));
    return static_cast<uint32_t>(unit_.events.size() - 1);
}

uint32_t Declared::add(ProbeDecl probe) {
    probes_.push_back(std::move(probe));
    return static_cast<uint32_t>(probes_.size() - 1);
}

void Declared::commit() {
    first_pending_ = probes_.size();
    std::erase_if(early_sets_, [this](const EarlySet& set) { return unit_.maps[set.map].fixed; });
}

// Probes let go of their functions. Maps and events hold nothing: they are only not listed any more, until a handler
// that is armed after all uses them. What was to be armed before `mark` still is.
void Declared::forget(const Mark& mark) {
    for (size_t i = mark.probes; i < probes_.size(); i++) fail(i);
    for (size_t i = mark.maps; i < unit_.maps.size(); i++) forgotten_maps_.insert(static_cast<uint32_t>(i));
    for (size_t i = mark.events; i < unit_.events.size(); i++) forgotten_events_.insert(static_cast<uint32_t>(i));
    if (early_sets_.size() > mark.sets) early_sets_.resize(mark.sets);
    if (mark.probes <= first_pending_) first_pending_ = probes_.size();
}

void Declared::fail(size_t probe) {
    for (FunctionPtr& handler : probes_[probe].handlers) handler.reset();
    probes_[probe].detached = probes_[probe].failed = true;
}

void Declared::fail_last() { fail(probes_.size() - 1); }

void Declared::fail_pending() {
    for (size_t i = first_pending_; i < probes_.size(); i++)
        if (!probes_[i].detached) fail(i);
    first_pending_ = probes_.size();
}

void Declared::keep_names(Unit& before) const {
    for (size_t i = 0; i < before.maps.size(); i++) before.maps[i].name = unit_.maps[i].name;
    for (size_t i = 0; i < before.events.size(); i++) before.events[i].name = unit_.events[i].name;
}

void Declared::undo_compile(Unit before) {
    const size_t printfs = before.printfs.size();
    before.printfs = std::move(unit_.printfs);
    for (size_t i = printfs; i < before.printfs.size(); i++) dead_printfs_.insert(static_cast<uint32_t>(i));
    unit_ = std::move(before);
}

}  // namespace kpl
