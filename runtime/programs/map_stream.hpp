// SPDX-License-Identifier: MIT
// MapStream: what processes map from now on, as the kernel's perf events tell it on each processor. So the map of a
// process is known that ends before anybody asks for it.
#pragma once

#include <vector>

#include "base/mapping.hpp"
#include "base/unique_fd.hpp"
#include "programs/memory_map.hpp"

namespace kpl {

struct MapEvent {
    enum class What : uint8_t { Map, Exec, Fork, Exit };
    What what = What::Map;
    uint64_t time = 0;  // CLOCK_MONOTONIC
    uint32_t pid = 0, parent = 0;
    CodeMapping mapping{};  // Map
};

class MapStream {
  public:
    // Where perf events are not to be had, there are none.
    void open();
    bool is_open() const { return !rings_.empty(); }
    // All since the last time, in the order of their time.
    std::vector<MapEvent> take();

  private:
    struct Ring {
        UniqueFd fd;
        Mapping memory;
    };
    std::vector<Ring> rings_;
};

}  // namespace kpl
