// SPDX-License-Identifier: MIT
// libFuzzer: calls' arguments against what the module checks of each by itself. What is accepted is within the limits
// that the code behind relies on, and nothing else is looked at.
#include <cstdlib>
#include <cstring>

#include "core/agg.h"
#include "core/args.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr uint32_t page = 4096, regs_size = 21 * 8;

void must(bool holds) {
    if (!holds) std::abort();
}

template <class T>
T taken(const uint8_t*& data, size_t& size) {
    T value{};
    const size_t n = size < sizeof value ? size : sizeof value;
    std::memcpy(&value, data, n);
    data += n;
    size -= n;
    return value;
}

// What bytes a map takes of each CPU can be computed without an overflow, and is less than 2^40.
void map_create(const kpl_map_create& arg) {
    if (kpl_check_map_create(&arg)) return;
    must(arg.kind < KPL_MAP_KINDS && arg.key_size <= KPL_MAX_KEY && arg.key_size % 8 == 0);
    must(arg.value_size <= KPL_MAX_VALUE && arg.value_size % 8 == 0 && arg.max_entries <= KPL_MAX_ENTRIES);
    must(arg.key_string * 8ull <= arg.key_size);
    if (arg.kind == KPL_MAP_HASH) {
        must(arg.key_size && arg.value_size);
        return;
    }
    const uint32_t words = kpl_agg_words(&kpl_agg_descs[arg.kind], arg.lo, arg.hi, arg.step);
    must(words > 0 && words <= KPL_MAX_HIST_SLOTS + 4);
    must((uint64_t{arg.key_size} + words * 8ull + 64) * (uint64_t{arg.max_entries} + 1) < 1ull << 40);
    if (kpl_agg_descs[arg.kind].slots != KPL_SLOTS_STEPS) return;
    const int64_t edges[] = {INT64_MIN, arg.lo - (arg.lo > INT64_MIN), arg.lo, arg.hi - 1, arg.hi, INT64_MAX};
    for (const int64_t value : edges) must(kpl_lhist_slot(arg.lo, arg.step, words, value) < words);
}

void prog_load(const kpl_prog_load& arg) {
    if (kpl_check_prog_load(&arg)) return;
    must(arg.nr_insns > 0 && arg.nr_insns <= KPL_MAX_INSNS && arg.nr_labels <= KPL_MAX_LABELS);
    must(arg.kind < KPL_PROG_KINDS && arg.budget <= KPL_MAX_BUDGET && !arg.reserved);
    must(arg.data_size <= KPL_MAX_DATA && arg.scratch_size <= KPL_MAX_SCRATCH);
}

void attach(const kpl_attach& arg, const kpl_attach_rules& rules) {
    if (kpl_check_attach(&arg, &rules)) return;
    must(arg.maxactive <= rules.maxactive && !(arg.when.mask & ~KPL_WHEN_ALL));
    must(!(arg.flags & ~(KPL_ATTACH_F_ALL | rules.flags)) && (rules.stack_args || !arg.stack_args));
    must(rules.takes_event || !(arg.period || arg.event || arg.len));
    must(rules.takes_file || !(arg.semaphore || arg.fd));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto call = taken<uint8_t>(data, size);
    switch (call % 11) {
        case 0: map_create(taken<kpl_map_create>(data, size)); break;
        case 1: prog_load(taken<kpl_prog_load>(data, size)); break;
        case 2: {
            auto rules = taken<kpl_attach_rules>(data, size);
            attach(taken<kpl_attach>(data, size), rules);
            break;
        }
        case 3: {
            const auto arg = taken<kpl_prog_run>(data, size);
            if (!kpl_check_prog_run(&arg, regs_size))
                must(arg.repeat <= KPL_MAX_REPEAT && arg.regs_size <= regs_size && arg.data_size <= KPL_MAX_DATA);
            break;
        }
        case 4: {
            const auto arg = taken<kpl_ring_setup>(data, size);
            if (!kpl_check_ring_setup(&arg, page))
                must(arg.size >= page && arg.size <= KPL_MAX_RING && arg.size % page == 0);
            break;
        }
        case 5: {
            const auto arg = taken<kpl_attach_batch>(data, size);
            if (!kpl_check_attach_batch(&arg)) must(arg.nr > 0 && arg.nr <= KPL_MAX_PROBES);
            break;
        }
        case 6: {
            const auto arg = taken<kpl_control>(data, size);
            if (!kpl_check_control(&arg)) must(arg.nr > 0 && arg.nr <= KPL_MAX_PROBES && arg.op <= KPL_CTL_DETACH);
            break;
        }
        case 7: {
            const auto arg = taken<kpl_title>(data, size);
            if (!kpl_check_title(&arg)) must(strnlen(arg.name, KPL_TITLE_SIZE) < KPL_TITLE_SIZE && !arg.reserved);
            break;
        }
        case 8: {
            const auto arg = taken<kpl_bench>(data, size);
            if (!kpl_check_bench(&arg)) must(arg.calls > 0 && arg.calls <= KPL_MAX_BENCH);
            break;
        }
        case 9: {
            const auto last = uint32_t{1} << (12 + taken<uint8_t>(data, size) % 15);  // to KPL_MAX_RING
            const auto arg = taken<kpl_ring_spare>(data, size);
            if (!kpl_check_ring_spare(&arg, last))
                must(arg.size > last && arg.size <= KPL_MAX_RING && arg.size % last == 0 && !arg.reserved);
            break;
        }
        default: {
            const auto arg = taken<kpl_map_op>(data, size);
            if (!kpl_check_map_op(&arg)) must(arg.op <= KPL_MAP_NEXT && (arg.op == KPL_MAP_NEXT || !arg.cursor));
        }
    }
    return 0;
}
