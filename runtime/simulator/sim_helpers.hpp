// SPDX-License-Identifier: MIT
// The helpers of helpers.def on a Simulator.
#pragma once

#include "simulator/simulate.hpp"

namespace kpl {

// 64-bit words of an aggregation's value.
uint32_t agg_words(const SimMap& map);
// Adds n to the cell of an aggregation; its value is all zeros when it is new.
void agg_update(const SimMap& map, std::span<uint64_t> value, int64_t n);

struct SimHelpers {
    // The simulator that runs in this thread: helpers such as `now` are given nothing that would lead to it.
    class Current {
      public:
        explicit Current(Simulator& simulator);
        ~Current();
        Current(const Current&) = delete;
        Current& operator=(const Current&) = delete;
    };

    static const kpl_helper_fn* table();  // KPL_H_END_ elements

#define HELPER(id, name, ...) static uint64_t name(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
#include "uapi/helpers.def"
#undef HELPER

  private:
    enum class Rest { unspecified, zeros };  // what follows the text of a string

    template <class T>
    static uint64_t read(uint64_t address);
    static std::optional<ByteVector> scan_string(uint64_t limit, uint64_t address, const SimMemory& memory,
                                                 uint32_t stop);
    static bool append(uint64_t rec, uint64_t slot, std::span<const uint8_t> bytes);
    static uint64_t read_string(uint64_t dst, uint64_t limit, uint64_t address, const SimMemory& memory, uint32_t stop);
    static uint64_t read_bytes(uint64_t dst, uint64_t limit, uint64_t address, uint64_t n, const SimMemory& memory,
                               uint32_t stop);
    static uint64_t store_string(uint64_t dst, uint64_t limit, std::span<const uint8_t> bytes,
                                 Rest rest = Rest::unspecified);
    static uint8_t* list_room(uint64_t list, uint64_t limit, size_t size);
    static std::span<const uint8_t> load_string(uint64_t src, uint64_t limit);
    static uint64_t copy_stack(uint64_t dst, uint64_t size, const std::vector<uint64_t>& stack);
    static ByteVector key_of(const SimMap& map, uint64_t key);
    static ByteVector* cell(SimMap& map, ByteVector key);
    static uint64_t add(SimMap& map, ByteVector key, uint64_t n);
};

}  // namespace kpl
