// SPDX-License-Identifier: MIT
#include "codegen/live.hpp"

#include <algorithm>

#include "codegen/helpers.hpp"

namespace kpl {

using mir::Inst;
using mir::Kind;
using mir::Reg;

uint32_t LiveRange::length() const {
    uint32_t sum = 0;
    for (Span span : spans_) sum += span.to - span.from;
    return sum;
}

bool LiveRange::overlaps(const LiveRange& other) const {
    if (empty() || other.empty() || end() <= other.start() || other.end() <= start()) return false;
    auto before = [](Span span, uint32_t position) { return span.to <= position; };
    auto a = std::lower_bound(spans_.begin(), spans_.end(), other.start(), before);
    auto b = std::lower_bound(other.spans_.begin(), other.spans_.end(), start(), before);
    while (a != spans_.end() && b != other.spans_.end()) {
        if (a->to <= b->from)
            ++a;
        else if (b->to <= a->from)
            ++b;
        else
            return true;
    }
    return false;
}

void LiveRange::merge(const LiveRange& other) {
    std::vector<Span> all;
    std::merge(spans_.begin(), spans_.end(), other.spans_.begin(), other.spans_.end(), std::back_inserter(all),
               [](Span a, Span b) { return a.from < b.from; });
    spans_.clear();
    for (Span span : all) {
        if (!spans_.empty() && spans_.back().to >= span.from)
            spans_.back().to = std::max(spans_.back().to, span.to);
        else
            spans_.push_back(span);
    }
}

void LiveRange::prepend(Span span) {
    if (!spans_.empty() && spans_.back().from <= span.to)
        spans_.back() = {span.from, std::max(spans_.back().to, span.to)};
    else
        spans_.push_back(span);
}

void LiveRange::reverse() { std::reverse(spans_.begin(), spans_.end()); }

uint32_t frequency(const mir::Block& block) {
    constexpr uint32_t per_loop = 8, deepest = 4;
    if (block.cold) return 0;
    uint32_t result = 1;
    for (uint32_t i = 0; i < std::min(block.depth, deepest); i++) result *= per_loop;
    return result;
}

namespace {

class Finder {
  public:
    explicit Finder(const mir::Function& function)
        : function_(function), count_(function.vregs.size() + function.spill_slots) {}

    Liveness run() {
        find_live_in();
        result_.ranges.resize(count_);
        result_.weight.resize(count_);
        uint32_t position = 0;
        for (mir::BlockId id : function_.layout) position += 2 * function_.blocks[id].insts.size();
        for (size_t i = function_.layout.size(); i-- > 0;) {
            const mir::Block& block = function_.blocks[function_.layout[i]];
            scan(block, position);
            position -= 2 * block.insts.size();
        }
        for (LiveRange& range : result_.ranges) range.reverse();
        for (LiveRange& range : result_.machine) range.reverse();
        result_.calls.reverse();
        return std::move(result_);
    }

  private:
    static constexpr size_t untracked = ~size_t{0};

    size_t index(Reg reg) const { return mir::is_virtual(reg) ? reg - mir::first_virtual : untracked; }
    size_t slot_index(const Inst& inst) const { return function_.vregs.size() + inst.off; }

    size_t written(const Inst& inst) const { return inst.kind == Kind::Spill ? slot_index(inst) : index(inst.dst); }

    template <class F>
    void for_each_read(const Inst& inst, F f) const {
        mir::for_each_use(inst, [&](Reg reg) {
            if (mir::is_virtual(reg)) f(index(reg));
        });
        if (inst.kind == Kind::Reload) f(slot_index(inst));
    }

    // What is live at the start of a block, given what is at its end.
    RegSet through(const mir::Block& block, RegSet live) const {
        for (size_t i = block.insts.size(); i-- > 0;) {
            const Inst& inst = block.insts[i];
            if (written(inst) != untracked) live.erase(written(inst));
            for_each_read(inst, [&](size_t read) { live.insert(read); });
        }
        return live;
    }

    RegSet live_out(const mir::Block& block) const {
        RegSet live(count_);
        mir::for_each_successor(block, [&](mir::BlockId to) { live.insert(result_.live_in[to]); });
        return live;
    }

    void find_live_in() {
        result_.live_in.assign(function_.blocks.size(), RegSet(count_));
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t i = function_.layout.size(); i-- > 0;) {
                mir::BlockId id = function_.layout[i];
                RegSet live = through(function_.blocks[id], live_out(function_.blocks[id]));
                if (live == result_.live_in[id]) continue;
                result_.live_in[id] = std::move(live);
                changed = true;
            }
        }
    }

    // The spans within one block that ends at `end`. `open`: position up to which a register is live.
    void scan(const mir::Block& block, uint32_t end) {
        const uint32_t start = end - 2 * block.insts.size();
        constexpr uint32_t dead = 0;
        std::vector<uint32_t> open(count_, dead);
        std::array<uint32_t, 6> machine{};
        live_out(block).for_each([&](size_t i) { open[i] = end; });
        const uint32_t weight = frequency(block);

        for (size_t i = block.insts.size(); i-- > 0;) {
            const Inst& inst = block.insts[i];
            const uint32_t at = start + 2 * i;
            write(inst, at, open, machine);
            read(inst, at, open, machine);
            if (i == 0 || !mir::continues(block.insts[i - 1], inst))
                weigh(inst.dst, mir::reads_dst(inst) ? 2 * weight : weight);
            mir::for_each_use(inst, [&](const Reg& reg) {
                if (&reg != &inst.dst) weigh(reg, weight);
            });
        }
        for (size_t i = 0; i < open.size(); i++)
            if (open[i] != dead) result_.ranges[i].prepend({start, open[i]});
        for (size_t reg = 0; reg < machine.size(); reg++)
            if (machine[reg] != dead) result_.machine[reg].prepend({start, machine[reg]});
    }

    void write(const Inst& inst, uint32_t at, std::vector<uint32_t>& open, std::array<uint32_t, 6>& machine) {
        const Span lost{at + 1, at + 2};
        auto end = [&](uint32_t& until) {
            Span span{at + 1, std::max(until, at + 2)};
            until = 0;
            return span;
        };
        if (inst.kind == Kind::Call) {
            for (size_t reg = 0; reg < machine.size(); reg++)
                result_.machine[reg].prepend(reg == 0 ? end(machine[0]) : lost);
            result_.calls.prepend(lost);
        }
        if (size_t to = written(inst); to != untracked) {
            result_.ranges[to].prepend(end(open[to]));
        } else if (inst.dst < machine.size()) {
            result_.machine[inst.dst].prepend(end(machine[inst.dst]));
        }
    }

    void read(const Inst& inst, uint32_t at, std::vector<uint32_t>& open, std::array<uint32_t, 6>& machine) {
        for_each_read(inst, [&](size_t from) { open[from] = std::max(open[from], at + 1); });
        auto use = [&](Reg reg) {
            if (reg < machine.size()) machine[reg] = std::max(machine[reg], at + 1);
        };
        mir::for_each_use(inst, use);
        if (inst.kind != Kind::Call) return;
        for (Reg reg = 1; reg <= helper_args(static_cast<kpl_helper>(inst.imm)); reg++) use(reg);
    }

    void weigh(Reg reg, uint32_t weight) {
        if (mir::is_virtual(reg)) result_.weight[index(reg)] += weight;
    }

    const mir::Function& function_;
    const size_t count_;
    Liveness result_;
};

}  // namespace

Liveness find_liveness(const mir::Function& function) { return Finder(function).run(); }

}  // namespace kpl
