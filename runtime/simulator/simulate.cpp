// SPDX-License-Identifier: MIT
#include "simulator/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "simulator/sim_helpers.hpp"

namespace kpl {

void SimMemory::add(uint64_t address, std::span<const uint8_t> bytes) {
    ranges_[address] = ByteVector(bytes.begin(), bytes.end());
}

void SimMemory::add_string(uint64_t address, const std::string& text) {
    add(address, {reinterpret_cast<const uint8_t*>(text.c_str()), text.size() + 1});
}

void SimMemory::add_u64(uint64_t address, uint64_t value) {
    add(address, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
}

std::optional<uint8_t> SimMemory::byte(uint64_t address) const {
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return {};
    const auto& [first, bytes] = *std::prev(after);
    if (address - first >= bytes.size()) return {};
    return bytes[address - first];
}

bool SimMemory::read(uint64_t address, std::span<uint8_t> out) const {
    for (uint8_t& to : out) {
        auto found = byte(address++);
        if (!found) return false;
        to = *found;
    }
    return true;
}

SimMap SimMap::create(const kpl_map_create& request) {
    SimMap map;
    map.kind = request.kind;
    map.key_size = request.key_size;
    map.key_string = request.key_string;
    map.max_entries = request.max_entries ? request.max_entries : 4096;
    map.lo = request.lo;
    map.hi = request.hi;
    map.step = request.step ? request.step : 1;
    map.value_size = request.kind == KPL_MAP_HASH ? request.value_size : 8 * agg_words(map);
    return map;
}

uint64_t SimRecord::number(uint32_t offset) const {
    uint64_t value = 0;
    std::memcpy(&value, &bytes.at(sizeof(kpl_rec) + offset + 7) - 7, sizeof value);
    return value;
}

std::optional<std::string> SimRecord::text(uint32_t offset) const {
    uint64_t slot = number(offset);
    kpl_rec_str str;
    std::memcpy(&str, &slot, sizeof str);
    if (str.off == 0) return {};
    if (str.len == 0) return "";
    return std::string(reinterpret_cast<const char*>(&bytes.at(str.off)),
                       reinterpret_cast<const char*>(&bytes.at(str.off + str.len - 1)) + 1);
}

std::string SimReject::text() const { return fmt::format("{}, at {}", kpl_reject_text(reason), pc); }

std::optional<SimProgram> Simulator::load(const SimLoad& program, SimReject& reject) const {
    std::vector<kpl_map_desc> descs;
    std::vector<uint64_t> values;
    for (const SimMap& map : maps) {
        descs.push_back({map.kind, map.key_size, map.value_size});
        values.push_back(reinterpret_cast<uint64_t>(&map));
    }
    std::vector<uint64_t> ws(kpl_verify_ws_size(static_cast<u32>(program.insns.size())) / 8 + 1);
    struct kpl_verify v {};  // `struct`: the function has the same name
    v.insns = program.insns.data();
    v.labels = program.labels.data();
    v.maps = descs.data();
    v.nr_insns = static_cast<u32>(program.insns.size());
    v.nr_labels = static_cast<u32>(program.labels.size());
    v.nr_maps = static_cast<u32>(descs.size());
    v.kind = program.kind;
    v.data_size = program.data_size;
    v.scratch_size = program.scratch_size;
    v.budget = program.budget;
    v.regs_size = static_cast<u32>(regs.size() * sizeof regs[0]);
    v.max_record = max_record;
    kpl_verify_rights(&v, rights, writable, ret_reg);
    v.ws = reinterpret_cast<kpl_verify_ws*>(ws.data());

    SimProgram out;
    auto room = static_cast<u32>(std::min<size_t>(KPL_MAX_SLOTS, 4 * program.insns.size() + 1));
    out.insns.resize(room);
    out.out_pc.resize(program.insns.size());
    u32 slots = 0;
    if (kpl_verify(&v) || kpl_rewrite(&v, out.insns.data(), room, &slots, out.out_pc.data())) {
        reject = {v.reject, v.reject_pc};
        return {};
    }
    out.insns.resize(slots);
    kpl_bind_maps(out.insns.data(), slots, values.data());
    for (u32 pc = 0; pc < v.nr_insns; pc++) out.costs.push_back(kpl_insn_cost(&v, pc));
    out.kind = program.kind;
    out.data_size = program.data_size;
    out.scratch_size = program.scratch_size;
    out.cost = v.cost;
    out.fuel = v.fuel;
    out.stack_depth = v.stack_depth;
    out.has_loops = v.has_loops;
    return out;
}

Result<SimProgram> Simulator::load(const SimLoad& program) const {
    SimReject reject;
    auto loaded = load(program, reject);
    if (!loaded) return Error{Errc::script, reject.text()};
    return *std::move(loaded);
}

SimOutcome Simulator::run(const SimProgram& program, Engine engine) {
    data.resize(std::max<size_t>(data.size(), program.data_size));
    scratch.resize(std::max<size_t>(scratch.size(), program.scratch_size));
    stack_.assign(program.stack_depth / 8, stack_fill);
    hit.regs = reinterpret_cast<uint64_t>(regs.data());
    hit.data = reinterpret_cast<uint64_t>(data.data());
    hit.scratch = reinterpret_cast<uint64_t>(scratch.data());
    hit.status = 0;
    if (program.kind != KPL_PROG_FAULT) hit.bad_addr = 0;
    pending_.reset();

    SimOutcome outcome;
    {
        SimHelpers::Current current(*this);
        outcome.r0 = engine(program.insns.data(), &hit, SimHelpers::table(), stack_end());
    }
    outcome.bad_addr = hit.bad_addr;
    outcome.record_dropped = pending_.has_value();
    pending_.reset();
    const u32 ending = kpl_ending(program.kind, static_cast<u32>(program.out_pc.size()), outcome.r0);
    if (ending == KPL_RET_SKIP) {
        outcome.skipped = true;
    } else if (ending != KPL_RET_DONE) {
        outcome.reason = KPL_RET_REASON(ending);
        outcome.pc = KPL_RET_PC(ending);
    }
    return outcome;
}

uint8_t* Simulator::reach(uint64_t pointer, size_t size, bool store) {
    struct Object {
        void* begin;
        size_t size;
        bool stores, loads;
    } objects[] = {
        {&hit, sizeof hit, false, true},
        {regs.data(), regs.size() * sizeof regs[0], rights != 0, true},
        {stack_.data(), stack_.size() * sizeof stack_[0], true, true},
        {data.data(), data.size(), true, true},
        {scratch.data(), scratch.size(), true, true},
        {pending_ ? pending_->bytes.data() + sizeof(kpl_rec) : nullptr, pending_ ? pending_->fixed : 0, true, false},
    };
    for (const Object& object : objects) {
        uint64_t offset = pointer - reinterpret_cast<uint64_t>(object.begin);
        bool allowed = store ? object.stores : object.loads;
        if (allowed && offset <= object.size && size <= object.size - offset)
            return static_cast<uint8_t*>(object.begin) + offset;
    }
    return nullptr;
}

// For helpers, which the verifier has protected: anything else is a bug of the verifier.
uint8_t* Simulator::memory(uint64_t pointer, size_t size, bool store) {
    uint8_t* bytes = reach(pointer, size, store);
    if (!bytes) {
        fmt::print(stderr, "handler passed memory that it may not reach: {:#x}, {} bytes\n", pointer, size);
        std::abort();
    }
    return bytes;
}

SimMap& Simulator::map(uint64_t value) {
    for (SimMap& map : maps)
        if (reinterpret_cast<uint64_t>(&map) == value) return map;
    fmt::print(stderr, "handler passed {:#x} as a map\n", value);
    std::abort();
}

void Simulator::fail(uint32_t stop, uint64_t address) {
    hit.status = stop;
    hit.bad_addr = address;
}

}  // namespace kpl
