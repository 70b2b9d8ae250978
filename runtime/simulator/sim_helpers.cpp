// SPDX-License-Identifier: MIT
#include "simulator/sim_helpers.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace kpl {
namespace {

thread_local Simulator* current = nullptr;

// Where the kernel leaves what was there before: programs that rely on it are noticed.
constexpr uint8_t garbage = 0xaa;

Simulator& sim() {
    assert(current);
    return *current;
}

}  // namespace

SimHelpers::Current::Current(Simulator& simulator) {
    assert(!current);
    current = &simulator;
}
SimHelpers::Current::~Current() { current = nullptr; }

const kpl_helper_fn* SimHelpers::table() {
    static const kpl_helper_fn* const table = [] {
        static kpl_helper_fn functions[KPL_H_END_] = {};
#define HELPER(id, name, ...) functions[id] = name;
#include "uapi/helpers.def"
#undef HELPER
        return functions;
    }();
    return table;
}

// Each helper's parameters are those of helpers.def; the names of unused ones are left out.
#define HELPER_FN(name, a1, a2, a3, a4, a5)                                               \
    uint64_t SimHelpers::name([[maybe_unused]] uint64_t a1, [[maybe_unused]] uint64_t a2, \
                              [[maybe_unused]] uint64_t a3, [[maybe_unused]] uint64_t a4, \
                              [[maybe_unused]] uint64_t a5)

// ---- task and time

HELPER_FN(now, , , , , ) { return sim().now; }
HELPER_FN(pid, , , , , ) { return sim().task.pid; }
HELPER_FN(tid, , , , , ) { return sim().task.tid; }
HELPER_FN(ppid, , , , , ) { return sim().task.ppid; }
HELPER_FN(uid, , , , , ) { return sim().task.uid; }
HELPER_FN(gid, , , , , ) { return sim().task.gid; }
HELPER_FN(task, , , , , ) { return sim().task.task; }
HELPER_FN(user_reg, offset, , , , ) {
    const std::vector<uint64_t>& regs = sim().task.user_regs;
    return offset / 8 < regs.size() ? regs[offset / 8] : 0;
}
HELPER_FN(space, , , , , ) { return sim().task.space; }
HELPER_FN(cgroup, , , , , ) { return sim().task.cgroup; }

HELPER_FN(comm, dst, limit, , , ) {
    const std::string& comm = sim().task.comm;
    std::span bytes(reinterpret_cast<const uint8_t*>(comm.data()), std::min<size_t>(comm.size(), KPL_COMM - 1));
    return store_string(dst, limit, bytes.first(std::min<size_t>(bytes.size(), limit)), Rest::zeros);
}

// ---- memory

template <class T>
uint64_t SimHelpers::read(uint64_t address) {
    uint8_t bytes[sizeof(T)];
    T value = 0;
    if (!sim().kernel.read(address, bytes)) {
        sim().fail(KPL_STOP_READ, address);
        return 0;
    }
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

HELPER_FN(read8, hit, address, , , ) { return read<uint8_t>(address); }
HELPER_FN(read16, hit, address, , , ) { return read<uint16_t>(address); }
HELPER_FN(read32, hit, address, , , ) { return read<uint32_t>(address); }
HELPER_FN(read64, hit, address, , , ) { return read<uint64_t>(address); }

HELPER_FN(read_mem, hit, dst, size, address, ) {
    std::span out(sim().memory(dst, size, true), size);
    if (sim().kernel.read(address, out)) return 0;
    std::fill(out.begin(), out.end(), 0);
    sim().fail(KPL_STOP_READ, address);
    return KPL_STOP_READ;
}

// Writes a struct kpl_str; its length. Behind the last 8 bytes of text, `rest` is left: only some helpers
// write zeros there, and what the others leave is not for programs to rely on.
uint64_t SimHelpers::store_string(uint64_t dst, uint64_t limit, std::span<const uint8_t> bytes, Rest rest) {
    assert(bytes.size() <= limit);
    uint8_t* out = sim().memory(dst, KPL_STR_SIZE(limit), true);
    // The source may be the destination itself.
    ByteVector copy(bytes.begin(), bytes.end());
    std::memset(out, rest == Rest::zeros ? 0 : garbage, KPL_STR_SIZE(limit));
    copy.resize((copy.size() + 7) & ~size_t{7});
    std::copy(copy.begin(), copy.end(), out + sizeof(kpl_str));
    kpl_str header{};
    header.len = static_cast<uint32_t>(bytes.size());
    std::memcpy(out, &header, sizeof header);
    return header.len;
}

// The handler wrote it: its length may be anything.
std::span<const uint8_t> SimHelpers::load_string(uint64_t src, uint64_t limit) {
    const uint8_t* str = sim().memory(src, KPL_STR_SIZE(limit), false);
    uint32_t len = 0;
    std::memcpy(&len, str, sizeof len);
    return {str + sizeof(kpl_str), std::min<size_t>(len, limit)};
}

// A string of memory, up to its end or the limit; what can't be read is in the status.
std::optional<ByteVector> SimHelpers::scan_string(uint64_t limit, uint64_t address, const SimMemory& memory,
                                                  uint32_t stop) {
    ByteVector bytes;
    for (uint64_t i = 0;; i++) {
        auto byte = memory.byte(address + i);
        // Whether it goes on behind the limit may be unknown.
        if (!byte && i < limit) {
            sim().fail(stop, address);
            return std::nullopt;
        }
        if (byte.value_or(0) == 0) return bytes;
        if (i == limit) {
            sim().truncated++;
            return bytes;
        }
        bytes.push_back(*byte);
    }
}

uint64_t SimHelpers::read_string(uint64_t dst, uint64_t limit, uint64_t address, const SimMemory& memory,
                                 uint32_t stop) {
    return store_string(dst, limit, scan_string(limit, address, memory, stop).value_or(ByteVector{}));
}

HELPER_FN(str, hit, dst, limit, address, ) { return read_string(dst, limit, address, sim().kernel, KPL_STOP_READ); }
HELPER_FN(ustr, hit, dst, limit, address, ) { return read_string(dst, limit, address, sim().user, KPL_STOP_USER_READ); }

uint64_t SimHelpers::read_bytes(uint64_t dst, uint64_t limit, uint64_t address, uint64_t n, const SimMemory& memory,
                                uint32_t stop) {
    if (n > limit) sim().truncated++;
    ByteVector bytes(std::min(n, limit));
    if (!memory.read(address, bytes)) {
        store_string(dst, limit, {});
        sim().fail(stop, address);
        return 0;
    }
    return store_string(dst, limit, bytes);
}

HELPER_FN(buf, hit, dst, limit, address, n) { return read_bytes(dst, limit, address, n, sim().kernel, KPL_STOP_READ); }
HELPER_FN(ubuf, hit, dst, limit, address, n) {
    return read_bytes(dst, limit, address, n, sim().user, KPL_STOP_USER_READ);
}

HELPER_FN(uread, hit, address, size, , ) {
    uint64_t value = 0;
    if (size <= sizeof value && sim().user.read(address, std::span(reinterpret_cast<uint8_t*>(&value), size)))
        return value;
    sim().fail(KPL_STOP_USER_READ, address);
    return 0;
}

HELPER_FN(status_clear, hit, , , , ) { return std::exchange(sim().hit.status, 0); }

// ---- strings

HELPER_FN(str_copy, hit, dst, limit, src, src_limit) {
    auto bytes = load_string(src, src_limit);
    uint16_t elements;  // of a list; 0 in strings
    std::memcpy(&elements, sim().memory(src, KPL_STR_SIZE(src_limit), false) + offsetof(kpl_str, reserved),
                sizeof elements);
    if (bytes.size() <= limit) {
        const uint64_t length = store_string(dst, limit, bytes, Rest::zeros);
        std::memcpy(sim().memory(dst, KPL_STR_SIZE(limit), true) + offsetof(kpl_str, reserved), &elements,
                    sizeof elements);
        return length;
    }
    store_string(dst, limit, {}, Rest::zeros);
    sim().fail(KPL_STOP_TOO_LONG);
    return 0;
}

HELPER_FN(str_eq, a, a_limit, b, b_limit, ) {
    auto left = load_string(a, a_limit), right = load_string(b, b_limit);
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

HELPER_FN(str_starts, s, s_limit, prefix, prefix_limit, ) {
    auto text = load_string(s, s_limit), start = load_string(prefix, prefix_limit);
    return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin());
}

// ---- lists

// Where the next element goes; nullptr: it is cut.
uint8_t* SimHelpers::list_room(uint64_t list, uint64_t limit, size_t size) {
    uint8_t* out = sim().memory(list, KPL_STR_SIZE(limit), true);
    kpl_str header{};
    std::memcpy(&header, out, sizeof header);
    const size_t room = limit & ~uint64_t{7}, len = std::min<size_t>(header.len & ~7u, room);
    const uint32_t count = header.reserved & 0xffff, max = header.reserved >> 16;
    const bool fits = count < max && size <= room - len;
    if (fits) {
        header.len = static_cast<uint32_t>(len + size);
        header.reserved = (count + 1) | max << 16;
    } else {
        header.reserved = count | std::min(count, max) << 16;
        sim().truncated++;
    }
    std::memcpy(out, &header, sizeof header);
    if (!fits) return nullptr;
    std::memset(out + sizeof header + len, 0, size);
    return out + sizeof header + len;
}

HELPER_FN(list_num, hit, list, limit, n, ) {
    if (uint8_t* to = list_room(list, limit, sizeof n)) std::memcpy(to, &n, sizeof n);
    return 0;
}

HELPER_FN(list_str, hit, list, limit, src, src_limit) {
    const auto bytes = load_string(src, src_limit);
    const auto len = static_cast<uint32_t>(bytes.size());
    uint8_t* to = list_room(list, limit, (sizeof len + len + 7) & ~size_t{7});
    if (!to) return 0;
    std::memcpy(to, &len, sizeof len);
    std::copy(bytes.begin(), bytes.end(), to + sizeof len);
    return 0;
}

HELPER_FN(path, hit, dst, limit, address, mount) {
    const auto found = sim().paths.find(address);
    if (found == sim().paths.end()) {
        store_string(dst, limit, {});
        sim().fail(KPL_STOP_READ, address);
        return 0;
    }
    std::string_view text = found->second;
    if (text.size() > limit) {
        sim().truncated++;
        text.remove_prefix(text.size() - limit);
    }
    return store_string(dst, limit, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// ---- arithmetic

HELPER_FN(sdiv, a, b, , , ) {
    auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    if (y == 0) return 0;
    if (y == -1) return -a;  // also for the one quotient that does not fit
    return static_cast<uint64_t>(x / y);
}

HELPER_FN(smod, a, b, , , ) {
    auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    if (y == 0) return a;
    if (y == -1) return 0;
    return static_cast<uint64_t>(x % y);
}

#ifdef KPL_TEST_ROWS
HELPER_FN(test_twice, n, , , , ) { return 2 * n; }
#endif

// ---- records

HELPER_FN(rec_begin, hit, event, fixed, tail, ) {
    assert(!sim().pending_);
    if (sim().records.size() >= sim().ring_room) {
        sim().sent++;
        sim().lost++;
        return 0;
    }
    sim().pending_.emplace(Simulator::Pending{});
    auto& record = *sim().pending_;
    record.event = static_cast<uint32_t>(event);
    record.fixed = fixed;
    record.used = sizeof(kpl_rec) + fixed;
    record.bytes.resize(record.used + tail, garbage);  // a ring has what was in it
    return reinterpret_cast<uint64_t>(record.bytes.data() + sizeof(kpl_rec));
}

// A tail that has no room left stops the handler: the verifier does not add the strings up.
bool SimHelpers::append([[maybe_unused]] uint64_t rec, uint64_t slot, std::span<const uint8_t> bytes) {
    auto& record = *sim().pending_;
    assert(reinterpret_cast<uint8_t*>(rec) == record.bytes.data() + sizeof(kpl_rec) && slot + 8 <= record.fixed);
    size_t padded = (bytes.size() + 7) & ~size_t{7};
    if (padded > record.bytes.size() - record.used) {
        sim().fail(KPL_STOP_TOO_LONG);
        return false;
    }
    kpl_rec_str str{static_cast<uint32_t>(record.used), static_cast<uint32_t>(bytes.size())};
    std::memcpy(record.bytes.data() + sizeof(kpl_rec) + slot, &str, sizeof str);
    ByteVector copy(bytes.begin(), bytes.end());
    copy.resize(padded);
    std::copy(copy.begin(), copy.end(), record.bytes.begin() + static_cast<ptrdiff_t>(record.used));
    record.used += padded;
    return true;
}

HELPER_FN(rec_str, hit, rec, slot, src, limit) {
    append(rec, slot, load_string(src, limit));
    return 0;
}

// There is room for the limit, or nothing is read.
HELPER_FN(rec_read_str, hit, rec, slot, limit, address) {
    const auto& record = *sim().pending_;
    if (((limit + 7) & ~uint64_t{7}) > record.bytes.size() - record.used) {
        sim().fail(KPL_STOP_TOO_LONG);
        return 0;
    }
    const auto bytes = scan_string(limit, address, sim().kernel, KPL_STOP_READ);
    return bytes && append(rec, slot, *bytes);
}

HELPER_FN(rec_end, hit, rec, , , ) {
    auto& record = *sim().pending_;
    record.bytes.resize(record.used);
    kpl_rec header{static_cast<uint32_t>(record.used), record.event, sim().sent++, sim().now};
    std::memcpy(record.bytes.data(), &header, sizeof header);
    sim().records.push_back({header.event, header.seq, header.time, std::move(record.bytes)});
    sim().pending_.reset();
    return 0;
}

HELPER_FN(rec_drop, hit, rec, , , ) {
    sim().pending_.reset();
    return 0;
}

// ---- maps

ByteVector SimHelpers::key_of(const SimMap& map, uint64_t key) {
    if (map.key_size == 0) return {};
    const uint8_t* bytes = sim().memory(key, map.key_size, false);
    ByteVector copy(bytes, bytes + map.key_size);
    if (!map.key_string) return copy;
    uint32_t length = 0;
    std::memcpy(&length, &copy[8 * (map.key_string - 1)], sizeof length);
    const uint64_t end = 8 * map.key_string + ((uint64_t{length} + 7) & ~uint64_t{7});
    if (end < copy.size()) std::fill(copy.begin() + static_cast<ptrdiff_t>(end), copy.end(), 0);
    return copy;
}

// The value at a key, zeros if it is new; nullptr if the map is full.
ByteVector* SimHelpers::cell(SimMap& map, ByteVector key) {
    auto found = map.cells.find(key);
    if (found != map.cells.end()) return &found->second;
    if (map.cells.size() >= map.max_entries) {
        map.lost++;
        return nullptr;
    }
    return &map.cells.emplace(std::move(key), ByteVector(map.value_size)).first->second;
}

uint64_t SimHelpers::add(SimMap& map, ByteVector key, uint64_t n) {
    ByteVector* value = cell(map, std::move(key));
    if (!value) return 0;
    std::vector<uint64_t> words(value->size() / 8);
    std::memcpy(words.data(), value->data(), value->size());
    agg_update(map, words, static_cast<int64_t>(n));
    std::memcpy(value->data(), words.data(), value->size());
    return 1;
}

HELPER_FN(agg_add, hit, map_value, key, n, ) {
    SimMap& map = sim().map(map_value);
    return add(map, key_of(map, key), n);
}

HELPER_FN(agg_add_comm, hit, map_value, n, , ) {
    SimMap& map = sim().map(map_value);
    const std::string& comm = sim().task.comm;
    const uint64_t length = std::min<uint64_t>(comm.size(), KPL_COMM - 1);
    ByteVector key(map.key_size);
    std::memcpy(key.data(), &length, sizeof length);
    std::memcpy(key.data() + sizeof length, comm.data(), length);
    return add(map, std::move(key), n);
}

HELPER_FN(map_get, hit, map_value, key, dst, ) {
    SimMap& map = sim().map(map_value);
    uint8_t* out = sim().memory(dst, map.value_size, true);
    auto found = map.cells.find(key_of(map, key));
    std::memset(out, 0, map.value_size);
    if (found == map.cells.end()) return 0;
    std::copy(found->second.begin(), found->second.end(), out);
    return 1;
}

HELPER_FN(map_set, hit, map_value, key, src, ) {
    SimMap& map = sim().map(map_value);
    const uint8_t* bytes = sim().memory(src, map.value_size, false);
    ByteVector* value = cell(map, key_of(map, key));
    if (!value) return 0;
    value->assign(bytes, bytes + map.value_size);
    return 1;
}

HELPER_FN(map_delete, hit, map_value, key, , ) {
    SimMap& map = sim().map(map_value);
    return map.cells.erase(key_of(map, key));
}

HELPER_FN(map_add, hit, map_value, key, n, ) {
    SimMap& map = sim().map(map_value);
    ByteVector* value = cell(map, key_of(map, key));
    if (!value) return 0;
    uint64_t sum = 0;
    std::memcpy(&sum, value->data(), std::min(sizeof sum, value->size()));
    sum += n;
    std::memcpy(value->data(), &sum, std::min(sizeof sum, value->size()));
    return 1;
}

// ---- stacks and the end

uint64_t SimHelpers::copy_stack(uint64_t dst, uint64_t size, const std::vector<uint64_t>& stack) {
    uint8_t* out = sim().memory(dst, size, true);
    size_t depth = std::min<size_t>(stack.size(), size / 8);
    std::memset(out, 0, size);
    if (depth) std::memcpy(out, stack.data(), depth * 8);
    return depth;
}

HELPER_FN(kstack, hit, dst, size, , ) { return copy_stack(dst, size, sim().task.kstack); }
HELPER_FN(ustack, hit, dst, size, , ) { return copy_stack(dst, size, sim().task.ustack); }

HELPER_FN(exit, hit, code, , , ) {
    if (!sim().exit_code) sim().exit_code = static_cast<int32_t>(code);
    return 0;
}

// ---- what runs, changed

HELPER_FN(override, hit, value, , , ) {
    sim().overridden = value;
    return 0;
}

HELPER_FN(go_to, hit, low, high, , ) {
    sim().went_to = static_cast<uint32_t>(low) | high << 32;
    return 0;
}

}  // namespace kpl
