// SPDX-License-Identifier: MIT
// Passes over a function. Each keeps check() empty.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "ir/visit.hpp"

namespace kpl::ir {
namespace {

// Values that stand for others; applied to every use at once.
class Renames {
  public:
    explicit Renames(size_t values) : to_(values) {
        for (size_t i = 0; i < values; i++) to_[i] = static_cast<ValueId>(i);
    }
    void rename(ValueId from, ValueId to) { to_[from] = find(to); }
    ValueId find(ValueId v) {
        while (to_[v] != v) v = to_[v] = to_[to_[v]];
        return v;
    }
    void apply(Function& f) {
        for (Block& b : f.blocks) {
            for (ValueId id : b.insts) for_each_use(f.insts[id], [&](ValueId& v) { v = find(v); });
            for_each_terminator_use(b.end, [&](ValueId& v) { v = find(v); });
        }
    }

  private:
    std::vector<ValueId> to_;
};

using u64 = uint64_t;
using s64 = int64_t;

std::optional<s64> fold_binary(Opcode op, s64 a, s64 b) {
    const u64 x = static_cast<u64>(a), y = static_cast<u64>(b);
    switch (op) {
        case Opcode::Add: return static_cast<s64>(x + y);
        case Opcode::Sub: return static_cast<s64>(x - y);
        case Opcode::Mul: return static_cast<s64>(x * y);
        case Opcode::And: return a & b;
        case Opcode::Or: return a | b;
        case Opcode::Xor: return a ^ b;
        case Opcode::Shl: return static_cast<s64>(x << (y & 63));
        case Opcode::Shr: return static_cast<s64>(x >> (y & 63));
        case Opcode::Sar: return a >> (y & 63);
        case Opcode::UDiv:
            if (y) return static_cast<s64>(x / y);
            break;
        case Opcode::UMod:
            if (y) return static_cast<s64>(x % y);
            break;
        case Opcode::SDiv:
            if (y) return b == -1 ? static_cast<s64>(-x) : a / b;
            break;
        case Opcode::SMod:
            if (y) return b == -1 ? 0 : a % b;
            break;
        default: break;
    }
    return std::nullopt;
}

bool holds(Cmp cmp, s64 a, s64 b) {
    const u64 x = static_cast<u64>(a), y = static_cast<u64>(b);
    switch (cmp) {
        case Cmp::Eq: return a == b;
        case Cmp::Ne: return a != b;
        case Cmp::SLt: return a < b;
        case Cmp::SLe: return a <= b;
        case Cmp::SGt: return a > b;
        case Cmp::SGe: return a >= b;
        case Cmp::ULt: return x < y;
        case Cmp::ULe: return x <= y;
        case Cmp::UGt: return x > y;
        case Cmp::UGe: return x >= y;
    }
    return false;
}

std::optional<s64> fold_unary(const Inst& inst, s64 a) {
    const unsigned shift = 64 - static_cast<unsigned>(inst.imm);
    switch (inst.op) {
        case Opcode::Neg: return static_cast<s64>(-static_cast<u64>(a));
        case Opcode::Not: return ~a;
        case Opcode::SExt: return static_cast<s64>(static_cast<u64>(a) << shift) >> shift;
        case Opcode::ZExt: return static_cast<s64>(static_cast<u64>(a) << shift >> shift);
        default: return std::nullopt;
    }
}

class Folder {
  public:
    explicit Folder(Function& f) : f_(f), renames_(f.insts.size()) {}

    void run() {
        for (bool changed = true; changed;) {
            changed = false;
            for (Block& b : f_.blocks)
                for (ValueId id : b.insts) changed |= fold(id);
        }
        renames_.apply(f_);
        for (Block& b : f_.blocks) fold_branch(b);
        // A phi that became a constant is no longer among the phis: it goes behind them.
        for (Block& b : f_.blocks)
            std::stable_partition(b.insts.begin(), b.insts.end(),
                                  [&](ValueId id) { return f_.insts[id].op == Opcode::Phi; });
    }

  private:
    std::optional<s64> constant(ValueId v) {
        const Inst& inst = f_.insts[renames_.find(v)];
        if (inst.op != Opcode::Const) return std::nullopt;
        return inst.imm;
    }
    bool become(ValueId id, s64 n) {
        Inst& inst = f_.insts[id];
        inst.op = Opcode::Const;
        inst.imm = n;
        inst.args.clear();
        return true;
    }
    bool same_as(ValueId id, ValueId other) {
        if (renames_.find(id) != id || renames_.find(other) == id) return false;
        renames_.rename(id, other);
        return true;
    }

    bool fold(ValueId id) {
        Inst& inst = f_.insts[id];
        if (renames_.find(id) != id) return false;
        if (inst.op == Opcode::Phi) return fold_phi(id);
        if (inst.args.size() == 1 && inst.op != Opcode::Read && inst.op != Opcode::SoftRead) {
            const auto a = constant(inst.args[0]);
            const auto r = a ? fold_unary(inst, *a) : std::nullopt;
            return r && become(id, *r);
        }
        if (inst.args.size() != 2) return false;
        const auto a = constant(inst.args[0]), b = constant(inst.args[1]);
        if (a && b) {
            const auto r =
                inst.op == Opcode::Compare ? std::optional<s64>(holds(inst.cmp, *a, *b)) : fold_binary(inst.op, *a, *b);
            return r && become(id, *r);
        }
        return b && fold_neutral(id, *b);
    }

    // x + 0, x * 1 and the like are x.
    bool fold_neutral(ValueId id, s64 b) {
        const Inst& inst = f_.insts[id];
        switch (inst.op) {
            case Opcode::Add:
            case Opcode::Sub:
            case Opcode::Or:
            case Opcode::Xor:
            case Opcode::Shl:
            case Opcode::Shr:
            case Opcode::Sar: return b == 0 && same_as(id, inst.args[0]);
            case Opcode::Mul:
            case Opcode::UDiv:
            case Opcode::SDiv: return b == 1 && same_as(id, inst.args[0]);
            case Opcode::And: return b == -1 && same_as(id, inst.args[0]);
            default: return false;
        }
    }

    // All values are one, or one constant.
    bool fold_phi(ValueId id) {
        const Inst& inst = f_.insts[id];
        ValueId only = no_value;
        std::optional<s64> n;
        bool constants = true;
        for (ValueId arg : inst.args) {
            const ValueId v = renames_.find(arg);
            if (v == id) continue;
            const auto c = constant(v);
            constants &= c && (!n || *n == *c);
            n = c;
            if (only == no_value)
                only = v;
            else if (only != v)
                only = no_value - 1;
        }
        if (constants && n) return become(id, *n);
        return only < no_value - 1 && same_as(id, only);
    }

    // `if (a < b) != 0` is `if a < b`.
    void fold_branch(Block& b) {
        auto* branch = std::get_if<Branch>(&b.end);
        if (!branch) return;
        while (branch->cmp == Cmp::Ne || branch->cmp == Cmp::Eq) {
            const Inst& inst = f_.insts[branch->a];
            const auto zero = constant(branch->b);
            if (inst.op != Opcode::Compare || !zero || *zero != 0) return;
            if (branch->cmp == Cmp::Eq) std::swap(branch->yes, branch->no);
            branch->cmp = inst.cmp;
            branch->b = inst.args[1];
            branch->a = inst.args[0];
        }
    }

    Function& f_;
    Renames renames_;
};

bool is_pure(const Inst& inst) {
    switch (inst.op) {
        case Opcode::HitField: return !changes_during_hit(inst.imm);
        case Opcode::Const:
        case Opcode::Reg:
        case Opcode::Add:
        case Opcode::Sub:
        case Opcode::Mul:
        case Opcode::UDiv:
        case Opcode::UMod:
        case Opcode::SDiv:
        case Opcode::SMod:
        case Opcode::And:
        case Opcode::Or:
        case Opcode::Xor:
        case Opcode::Shl:
        case Opcode::Shr:
        case Opcode::Sar:
        case Opcode::Neg:
        case Opcode::Not:
        case Opcode::SExt:
        case Opcode::ZExt:
        case Opcode::Compare:
        case Opcode::Select: return true;
        case Opcode::Call: return kpl_helper_descs[inst.helper].effect == KPL_EFFECT_SAME;
        default: return false;
    }
}

// Leaves what was read from memory as it was, as far as a handler can tell.
bool keeps_memory(const Inst& inst) {
    switch (inst.op) {
        case Opcode::Phi:
        case Opcode::HitField:
        case Opcode::Read:
        case Opcode::LoadData:
        case Opcode::LoadReg:
        case Opcode::StoreReg:
        case Opcode::LoadSlot:
        case Opcode::StoreSlot: return true;
        default: return is_pure(inst);
    }
}

// A block that begins with what is known at another's end, and has or leads to something that it may be used for.
bool inherits(const Function& f, BlockId at) {
    const Block& b = f.blocks[at];
    if (b.preds.size() != 1 || b.preds[0] >= at) return false;
    bool leads_on = false;
    for_each_successor(b.end, [&](BlockId) { leads_on = true; });
    return leads_on ||
           std::any_of(b.insts.begin(), b.insts.end(), [&](ValueId id) { return f.insts[id].op == Opcode::Read; });
}

// By block: the last one that inherits from it; none: itself.
std::vector<BlockId> last_heirs(const Function& f) {
    std::vector<BlockId> heirs(f.blocks.size());
    std::iota(heirs.begin(), heirs.end(), BlockId{0});
    for (BlockId at = 0; at < f.blocks.size(); at++)
        if (inherits(f, at)) heirs[f.blocks[at].preds[0]] = at;
    return heirs;
}

using Key = std::tuple<Opcode, Cmp, kpl_helper, int64_t, std::vector<ValueId>>;

// Removable when nothing uses the result. A Read may stop the handler, so it stays.
bool is_removable(const Inst& inst) {
    if (is_pure(inst)) return true;
    switch (inst.op) {
        case Opcode::Phi:
        case Opcode::HitField:
        case Opcode::LoadData:
        case Opcode::LoadReg:
        case Opcode::LoadSlot: return true;
        case Opcode::Call: return kpl_helper_descs[inst.helper].effect == KPL_EFFECT_RESULT;
        default: return false;
    }
}

}  // namespace

void fold_constants(Function& f) { Folder(f).run(); }

void remove_common_subexpressions(Function& f) {
    const DominatorTree tree(f);
    Renames renames(f.insts.size());
    std::map<Key, std::vector<ValueId>> pure;
    // Reads that are still good at a block's end; a block with one predecessor begins with its: those that need them
    // get copies, and the last one the map itself.
    std::vector<std::map<Key, ValueId>> reads(f.blocks.size());
    const std::vector<BlockId> heirs = last_heirs(f);
    for (BlockId at = 0; at < f.blocks.size(); at++) {
        Block& b = f.blocks[at];
        if (inherits(f, at)) reads[at] = heirs[b.preds[0]] == at ? std::move(reads[b.preds[0]]) : reads[b.preds[0]];
        std::vector<ValueId> kept;
        for (ValueId id : b.insts) {
            Inst& inst = f.insts[id];
            if (inst.op != Opcode::Phi) for_each_use(inst, [&](ValueId& v) { v = renames.find(v); });
            const Key key{inst.op, inst.cmp, inst.helper, inst.imm, inst.args};
            if (is_pure(inst)) {
                auto& same = pure[key];
                const auto it = std::find_if(same.begin(), same.end(),
                                             [&](ValueId v) { return tree.dominates(f.insts[v].block, at); });
                if (it != same.end()) {
                    renames.rename(id, *it);
                    continue;
                }
                same.push_back(id);
            } else if (inst.op == Opcode::Read) {
                const auto [it, fresh] = reads[at].emplace(key, id);
                if (!fresh) {
                    renames.rename(id, it->second);
                    continue;
                }
            } else if (!keeps_memory(inst)) {
                reads[at].clear();
            }
            kept.push_back(id);
        }
        b.insts = std::move(kept);
    }
    renames.apply(f);
}

void remove_dead_code(Function& f) {
    std::vector<bool> live(f.insts.size(), false);
    std::vector<ValueId> work;
    auto mark = [&](ValueId v) {
        if (live[v]) return;
        live[v] = true;
        work.push_back(v);
    };
    for (const Block& b : f.blocks) {
        for (ValueId id : b.insts)
            if (!is_removable(f.insts[id])) mark(id);
        for_each_terminator_use(b.end, mark);
    }
    while (!work.empty()) {
        const ValueId v = work.back();
        work.pop_back();
        for_each_use(f.insts[v], mark);
    }
    for (Block& b : f.blocks) std::erase_if(b.insts, [&](ValueId id) { return !live[id]; });
}

namespace {

// Broken invariants are found where they were broken: in builds with assertions, as `make sanitize` tests one.
void check_after([[maybe_unused]] const char* pass, [[maybe_unused]] const Function& f) {
#ifndef NDEBUG
    if (const std::string wrong = check(f); !wrong.empty()) {
        fmt::print(stderr, "after {}: {}{}", pass, wrong, print(f));
        std::abort();
    }
#endif
}

}  // namespace

void optimize(Function& f) {
    static constexpr struct {
        const char* name;
        void (*run)(Function&);
    } passes[] = {
        {"fold_constants", fold_constants},
        {"remove_common_subexpressions", remove_common_subexpressions},
        {"fold_constants", fold_constants},
        {"remove_dead_code", remove_dead_code},
    };
    check_after("the builder", f);
    for (const auto& pass : passes) {
        pass.run(f);
        check_after(pass.name, f);
    }
}

}  // namespace kpl::ir
