// SPDX-License-Identifier: MIT
// MapStream: what processes map from now on, as the kernel's perf events tell it on each processor. So the map of a
// process is known that ends before anybody asks for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
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
    // Where perf events are not to be had, there are none. A CPU's that can't be had now are asked for again.
    void open();
    // All since the last time, in the order of their time. Follows CPUs that come and go.
    std::vector<MapEvent> take();
    // Records that there was no room for, and at least one for each CPU that came up, or was asked for again, which was
    // not listened to at first.
    uint64_t lost() const { return lost_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Ring {
        long cpu;
        UniqueFd fd;
        Mapping memory;
    };
    bool add_ring(long cpu);
    void drain(const Ring& ring, std::vector<MapEvent>& events);
    void follow_cpus();

    std::vector<Ring> rings_;
    bool open_ = false;
    std::string online_;  // the kernel's list, as it was when the rings were opened
    std::chrono::nanoseconds slept_{0};
    Clock::time_point look_again_;
    uint64_t lost_ = 0;
};

}  // namespace kpl
