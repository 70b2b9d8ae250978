// SPDX-License-Identifier: MIT
// Registers go to those first that gain most by one, so the rest is spilled; spilling makes short registers,
// and all is done again until every value has a register.
#include "codegen/allocate.hpp"

#include <algorithm>
#include <numeric>

#include "codegen/live.hpp"

namespace kpl {

using mir::Holds;
using mir::Inst;
using mir::Kind;
using mir::Reg;

namespace {

constexpr Reg machine_regs = 9;      // r0 to r8
constexpr Reg first_saved = 6;       // r6 to r8 survive calls
constexpr uint32_t saving_cost = 3;  // of the first use of one of them: saved, restored, and moved to
constexpr int look_ahead = 3;        // copies to follow for a preference
constexpr int most_followed = 16;    // from one register; what many copies join keeps the search short

// Where a register would like to be, most of all.
class Preferences {
  public:
    using Gains = std::array<uint32_t, machine_regs>;

    Preferences(const mir::Function& function, size_t vregs) : partners_(vregs), direct_(vregs) {
        for (mir::BlockId id : function.layout) {
            const mir::Block& block = function.blocks[id];
            for (const Inst& inst : block.insts) {
                if (inst.kind != Kind::Mov && inst.kind != Kind::Zext32) continue;
                connect(inst.dst, inst.a, 1 + frequency(block));
                connect(inst.a, inst.dst, 1 + frequency(block));
            }
        }
    }

    // For each machine register, what is gained by having it.
    Gains gains(Reg reg, const std::vector<Reg>& assigned) const {
        Gains result{};
        add(reg - mir::first_virtual, assigned, look_ahead, 64, result);
        return result;
    }

    // `reg` has the machine register `to` now.
    void settle(Reg reg, Reg to) {
        for (const Partner& partner : partners_[reg - mir::first_virtual]) direct_[partner.index][to] += partner.weight;
    }

  private:
    struct Partner {
        uint32_t index;  // of a virtual register
        uint32_t weight;
    };

    void connect(Reg reg, Reg partner, uint32_t weight) {
        if (!mir::is_virtual(reg)) return;
        if (mir::is_virtual(partner))
            partners_[reg - mir::first_virtual].push_back({partner - mir::first_virtual, weight});
        else if (partner < machine_regs)
            direct_[reg - mir::first_virtual][partner] += weight;
    }

    void add(uint32_t index, const std::vector<Reg>& assigned, int levels, uint32_t scale, Gains& result) const {
        for (Reg reg = 0; reg < machine_regs; reg++) result[reg] += direct_[index][reg] * scale;
        if (levels == 1) return;
        int left = most_followed;
        for (const Partner& partner : partners_[index]) {
            if (assigned[partner.index] != mir::no_reg) continue;
            if (left-- == 0) return;
            add(partner.index, assigned, levels - 1, scale / 4, result);
        }
    }

    std::vector<std::vector<Partner>> partners_;
    std::vector<Gains> direct_;  // by copies from and to registers that have theirs
};

class Allocator {
  public:
    explicit Allocator(const mir::Function& function)
        : function_(function),
          live_(find_liveness(function)),
          preferences_(function, function.vregs.size()),
          assigned_(function.vregs.size(), mir::no_reg) {
        std::copy(live_.machine.begin(), live_.machine.end(), taken_.begin());
    }

    // The virtual registers that found no machine register.
    Result<std::vector<Reg>> run() {
        std::vector<Reg> spilled;
        for (uint32_t index : order()) {
            if (live_.ranges[index].empty() || assign(index)) continue;
            if (!function_.vregs[index].spillable)
                return Error{Errc::system, "register allocation failed: no register for a value that needs one"};
            spilled.push_back(index + mir::first_virtual);
        }
        return spilled;
    }

    void apply(mir::Function& function) {
        std::vector<uint32_t> slots = share_slots(function);
        for (mir::BlockId id : function.layout) {
            mir::Block& block = function.blocks[id];
            set_entry(block, live_.live_in[id], slots);
            for (Inst& inst : block.insts) {
                auto replace = [&](Reg& reg) {
                    if (mir::is_virtual(reg)) reg = assigned_[reg - mir::first_virtual];
                };
                for (Reg* reg : {&inst.dst, &inst.a, &inst.b, &inst.c}) replace(*reg);
                if (inst.kind == Kind::Spill || inst.kind == Kind::Reload) inst.off = slots[inst.off];
            }
        }
        function.vregs.clear();
    }

  private:
    // The hit comes first, as everything goes through it; then what can't be spilled, the shortest first;
    // then the rest by what a register gains for it.
    std::vector<uint32_t> order() const {
        std::vector<uint32_t> result(function_.vregs.size());
        std::iota(result.begin(), result.end(), 0);
        std::vector<uint64_t> key(result.size());
        for (uint32_t i : result) {
            const LiveRange& range = live_.ranges[i];
            uint64_t length = range.empty() ? 1 : range.length();
            constexpr uint64_t unspillable = uint64_t{1} << 62;
            if (function_.vregs[i].spillable)
                key[i] = (uint64_t{live_.weight[i]} << 20) / length;
            else
                key[i] = function_.vregs[i].holds == Holds::Hit ? unspillable : unspillable - length;
        }
        std::stable_sort(result.begin(), result.end(), [&](uint32_t a, uint32_t b) { return key[a] > key[b]; });
        return result;
    }

    bool assign(uint32_t index) {
        // r1 is mostly set last, to the hit; r0 is where results come from.
        constexpr Reg by_taste[machine_regs] = {1, 5, 4, 3, 0, 2, 6, 7, 8};
        const LiveRange& range = live_.ranges[index];
        auto gains = preferences_.gains(index + mir::first_virtual, assigned_);
        Reg best = mir::no_reg;
        for (Reg reg : by_taste) {
            if (taken_[reg].overlaps(range)) continue;
            if (best == mir::no_reg || gains[reg] > gains[best]) best = reg;
        }
        if (best == mir::no_reg) return false;
        if (best >= first_saved && taken_[best].empty()) {
            best = first_fresh(best);
            if (function_.vregs[index].spillable && live_.weight[index] <= saving_cost) return false;
        }
        taken_[best].merge(range);
        assigned_[index] = best;
        preferences_.settle(index + mir::first_virtual, best);
        return true;
    }

    // Saved registers are taken in order, whatever is preferred.
    Reg first_fresh(Reg reg) const {
        while (reg > first_saved && taken_[reg - 1].empty()) reg--;
        return reg;
    }

    // Spill slots that are never live together share one.
    std::vector<uint32_t> share_slots(mir::Function& function) const {
        std::vector<LiveRange> slots;
        std::vector<uint32_t> result(function.spill_slots);
        for (uint32_t slot = 0; slot < function.spill_slots; slot++) {
            const LiveRange& range = live_.ranges[function.vregs.size() + slot];
            auto free_slot = std::find_if(slots.begin(), slots.end(),
                                          [&](const LiveRange& other) { return !other.overlaps(range); });
            result[slot] = static_cast<uint32_t>(free_slot - slots.begin());
            if (free_slot == slots.end()) slots.emplace_back();
            slots[result[slot]].merge(range);
        }
        function.spill_slots = static_cast<uint32_t>(slots.size());
        return result;
    }

    void set_entry(mir::Block& block, const RegSet& live, const std::vector<uint32_t>& slots) const {
        const size_t vregs = function_.vregs.size();
        for (size_t i = 0; i < vregs; i++)
            if (live[i]) block.entry[assigned_[i]] = function_.vregs[i].holds;
        for (size_t slot = 0; slot < slots.size(); slot++)
            if (live[vregs + slot] && slots[slot] < 64) block.entry_slots |= uint64_t{1} << slots[slot];
    }

    const mir::Function& function_;
    const Liveness live_;
    Preferences preferences_;
    std::vector<Reg> assigned_;  // by virtual register
    std::array<LiveRange, machine_regs> taken_;
};

}  // namespace

Result<void> allocate(mir::Function& function) {
    for (;;) {
        Allocator allocator(function);
        std::vector<Reg> spilled = TRY(allocator.run());
        if (spilled.empty()) {
            allocator.apply(function);
            return {};
        }
        spill(function, spilled);
    }
}

}  // namespace kpl
