// SPDX-License-Identifier: MIT
#include "session/direct.hpp"

#include <algorithm>
#include <iterator>

#include "inspect/functions.hpp"

namespace kpl {
namespace {

constexpr uint32_t word = 8, registers = 6, wide = 16;

// Whether a value by itself, or a part of a struct, is one that no general register holds, or that lies where the
// compiler would not put it by itself: then the whole struct is passed otherwise.
Result<bool> is_odd(Types& types, TypeId id, uint32_t bit_offset = 0, int depth = 0) {
    const TypeInfo type = TRY(types.resolve(id));
    switch (type.kind) {
        case TypeKind::Float:
        case TypeKind::Forward:
        case TypeKind::Function: return true;
        case TypeKind::Array: return depth > 8 || TRY(is_odd(types, type.element, bit_offset, depth + 1));
        case TypeKind::Struct:
        case TypeKind::Union: break;
        default: return depth > 0 && (type.size > word || (type.size && bit_offset % (8 * type.size) != 0));
    }
    if (depth > 8) return true;
    for (const MemberInfo& member : TRY(types.members(id)))
        if (member.depth == 0 && !member.bit_size &&
            TRY(is_odd(types, member.type, bit_offset + member.bit_offset, depth + 1)))
            return true;
    return false;
}

// Arguments in the order of the parameters, and what they have taken.
struct Arguments {
    uint32_t left = registers, on_stack = 0;

    // False: it can't be told where it lies.
    bool take(const TypeInfo& type) {
        const uint32_t words = (type.size + word - 1) / word;
        if (type.size <= wide && words <= left)
            left -= words;
        else if (type.kind == TypeKind::Int && type.size == wide)
            return false;  // at a multiple of 16
        else
            on_stack += words;
        return true;
    }
};

bool is_record(const TypeInfo& type) { return type.kind == TypeKind::Struct || type.kind == TypeKind::Union; }

Result<DirectCall> call_of(Types& types, const Signature& signature) {
    if (signature.vararg) return DirectCall{KPL_WHY_VARARGS};
    Arguments arguments;
    if (signature.result) {
        const TypeInfo result = TRY(types.resolve(signature.result));
        if (TRY(is_odd(types, signature.result))) return DirectCall{KPL_WHY_VALUES};
        if (is_record(result) && result.size > wide) arguments.left--;  // where it is to be put
    }
    for (const Param& param : signature.params)
        if (TRY(is_odd(types, param.type)) || !arguments.take(TRY(types.resolve(param.type))))
            return DirectCall{KPL_WHY_VALUES};
    return DirectCall{KPL_WHY_NONE, arguments.on_stack};
}

}  // namespace

bool returns_otherwise(std::string_view function) {
    // The kernel's list of functions without a return (tools/objtool/noreturns.h), those that are called as another
    // task runs, and the loops of idle tasks, in which stacks are switched.
    static constexpr std::string_view names[] = {
        "__do_sys_exit",
        "__do_sys_exit_group",
        "__fortify_panic",
        "__ia32_sys_exit",
        "__ia32_sys_exit_group",
        "__module_put_and_kthread_exit",
        "__schedule",
        "__stack_chk_fail",
        "__x64_sys_exit",
        "__x64_sys_exit_group",
        "arch_cpu_idle_dead",
        "cpu_bringup_and_idle",
        "cpu_startup_entry",
        "do_exit",
        "do_group_exit",
        "do_idle",
        "do_task_dead",
        "ex_handler_msr_mce",
        "hv_ghcb_terminate",
        "kthread",
        "kthread_complete_and_exit",
        "kthread_exit",
        "machine_real_restart",
        "make_task_dead",
        "mpt_halt_firmware",
        "nmi_panic_self_stop",
        "panic",
        "panic_smp_self_stop",
        "preempt_schedule",
        "preempt_schedule_common",
        "preempt_schedule_irq",
        "preempt_schedule_notrace",
        "rest_init",
        "rewind_stack_and_make_dead",
        "schedule",
        "schedule_idle",
        "schedule_preempt_disabled",
        "sev_es_terminate",
        "snp_abort",
        "start_kernel",
        "stop_this_cpu",
        "usercopy_abort",
        "x86_64_start_kernel",
        "x86_64_start_reservations",
        "xen_cpu_bringup_again",
        "xen_start_kernel",
    };
    static_assert(std::is_sorted(std::begin(names), std::end(names)));
    return std::binary_search(std::begin(names), std::end(names), function) || function.ends_with("_play_dead");
}

Result<DirectCall> direct_call(Types& types, const KernelPlace& place) {
    // All implementations of system calls take a pointer, and are named otherwise than the call.
    if (place.special->way) return DirectCall{place.function.starts_with("exit") ? KPL_WHY_NORETURN : KPL_WHY_NONE};
    if (is_variant(place.function)) return DirectCall{KPL_WHY_VARIANT};
    // Of several static functions of a name, pahole before 1.25 writes the types of the first that it comes by.
    if (place.shares_name) return DirectCall{KPL_WHY_TYPES};
    if (returns_otherwise(place.function)) return DirectCall{KPL_WHY_NORETURN};
    // Without BTF at all, a return probe needs none.
    const auto signature = types.function(place.function, *place.module);
    if (!signature || !*signature) return DirectCall{KPL_WHY_TYPES};
    return call_of(types, **signature);
}

const char* why_text(uint32_t why) {
    static constexpr const char* texts[KPL_WHY_END_] = {
        "",
#define WHY(name, text) text,
#include "uapi/whys.def"
#undef WHY
    };
    return why < std::size(texts) ? texts[why] : "";
}

}  // namespace kpl
