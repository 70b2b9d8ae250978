// SPDX-License-Identifier: MIT
// A handler's beginning and end: its parameters, and what it returns.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

Builder::Builder(UnitState& shared, size_t handler)
    : s_(shared), handler_(handler), decl_(shared.unit.handlers[handler]) {}

Function Builder::run() {
    fn_.name = decl_.name;
    fn_.kind = decl_.kind;
    fn_.budget = decl_.budget;
    w_.enter(w_.new_block());
    Frame frame;
    auto function = std::make_shared<FunctionValue>();
    function->ref = decl_.function;
    frame.function = std::move(function);
    frame.key = std::to_string(handler_);
    auto proto = s_.proto(*decl_.function);
    if (!proto.ok()) {
        s_.diag.add_error(proto.error().at, proto.error().text);
        return std::move(fn_);
    }
    frame.proto = *proto;
    frame_ = &frame;
    w_.set_line({frame.proto->loc(1).file, static_cast<int>(frame.proto->first_line)});
    if (frame.proto->vararg) {
        fail(Err::VARARG, "VARG");
        return std::move(fn_);
    }
    frame.cfg = &s_.cfg(frame.proto);
    enter_handler(frame);
    check_records();
    if (const DataShape* data = data_shape()) fn_.data_size = data->layout.size;
    order_blocks(fn_);
    return std::move(fn_);
}

void Builder::enter_handler(Frame& frame) {
    const DataShape* data = data_shape();
    if (data && decl_.kind == KPL_PROG_ENTRY && data->layout.presence_offset >= 0) {
        const ValueId zero = w_.constant(0);
        w_.store_data(0, zero);
        for (const FieldLayout& f : data->layout.fields)
            if (f.nilable && is_bytes(f.kind)) w_.store_data(f.offset, zero);
    }
    State entry;
    // A call's frame may reach past the function's own: its function and frame link.
    entry.slots.resize(frame.proto->frame_size + 3u);
    const Values values = parameters(frame.cfg->blocks[0].live_in);
    std::copy(values.begin(), values.end(), entry.slots.begin());
    run_frame(frame, std::move(entry));
}

// p, and then the probed function's parameters; `ret` gets (p, value), `fault` (p, addr).
Values Builder::parameters(const SlotSet& live) {
    const Proto& proto = *frame_->proto;
    const uint32_t count = proto.num_params;
    Values values;
    if (!decl_.mirrors && count) values.push_back(named(Kind::Hit));
    const uint32_t first = static_cast<uint32_t>(values.size());
    if (decl_.kind == KPL_PROG_RET || decl_.kind == KPL_PROG_FAULT) {
        const bool fault = decl_.kind == KPL_PROG_FAULT;
        if (count > 2) fail(Err::TOO_MANY_FIXED, fault ? "fault" : "ret", fault ? "(p, addr)" : "(p, value)");
        if (count >= 2 && !fault) values.push_back(hit_member("ret"));
        if (count >= 2 && fault)
            values.push_back(hit_field(offsetof(kpl_hit, bad_addr),
                                       {.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Address}));
        values.resize(count, nil_value());
        return values;
    }
    const uint32_t mirrored = count - first;
    if (mirrored == 0) return values;
    const Signature* signature = decl_.signature ? &*decl_.signature : nullptr;
    const LocalVar* hit = first ? proto.local_at(0, 1) : nullptr;
    const LocalVar* next = first ? proto.local_at(1, 1) : nullptr;
    // All of them one too far to the left.
    if (hit && next && signature && signature->params.size() > 1 && hit->name == signature->params[0].name &&
        next->name == signature->params[1].name)
        fail(Err::PARAMETERS_WITHOUT_HIT, hit->name, decl_.probed);
    const bool typed_here = decl_.kind != KPL_PROG_POST && decl_.at_function_entry;
    if (decl_.passed == Passed::Nothing)
        fail(Err::PASSES_NOTHING, "a parameter after p", decl_.probed);
    else if (!typed_here)
        fail(Err::NOT_AT_ENTRY, "a parameter of the probed function");
    else if (decl_.passed == Passed::Values && !signature)
        fail(Err::NO_SIGNATURE, decl_.probed);
    else if (!decl_.variant.empty())
        fail(Err::VARIANT_PARAMETERS, decl_.variant);
    else if (signature && mirrored > signature->params.size() && !signature->vararg)
        fail(Err::TOO_MANY_PARAMETERS, mirrored, signature->params.size(), signature->text, decl_.probed);
    for (uint32_t n = 0; n < mirrored; n++) {
        const bool used = live.test(first + n);
        values.push_back(used && typed_here ? parameter(signature, n) : poison());
        const LocalVar* local = proto.local_at(first + n, 1);
        if (local && !values.back().is_poison() && !values.back().is(Kind::Opaque)) values.back().text = local->name;
    }
    return values;
}

Value Builder::parameter(const Signature* signature, uint32_t index) {
    if (!signature) return argument(index, fmt::format("parameter {}", index + 1));
    if (index >= signature->params.size()) return poison();
    const Param& param = signature->params[index];
    if (decl_.passed == Passed::Described) return argument(index, param.name);
    // What is passed by value in several registers, or in others, moves all that comes after it.
    for (uint32_t n = decl_.passed == Passed::Registers ? 0 : index; n <= index; n++) {
        const auto t = ask(s_.types.resolve(signature->params[n].type));
        if (!t) return poison();
        const bool scalar =
            t->size <= 8 && t->kind != TypeKind::Struct && t->kind != TypeKind::Union && t->kind != TypeKind::Float;
        if (!scalar)
            return named(Kind::Opaque,
                         fmt::format("'{}', as '{}' is passed by value", param.name, signature->params[n].name));
    }
    const Value raw = argument(index, param.name);
    return from_register(raw.id, param.type, param.name);
}

// ---- the end

void Builder::note_entry_stores() {
    DataShape* data = data_shape();
    if (!data || decl_.kind != KPL_PROG_ENTRY) return;
    if (!data->entry_stores_now) {
        data->entry_stores_now = cur_.stored;
        return;
    }
    std::erase_if(*data->entry_stores_now, [&](const std::string& name) { return !cur_.stored.contains(name); });
}

// nil and true: done. false from entry: skip this instance.
void Builder::handler_return(const Values& values) {
    const Value v = values.empty() ? nil_value() : values[0];
    const bool entry = decl_.kind == KPL_PROG_ENTRY;
    if (v.is_poison() || v.is(Kind::Nil)) {
        note_entry_stores();
        w_.leave(Return{false});
        return;
    }
    if (!entry || !v.is(Kind::Bool)) {
        if (entry)
            fail(Err::ENTRY_RESULT, describe(v));
        else
            fail(Err::RESULT, describe(v));
        w_.leave(Return{false});
        return;
    }
    if (v.constant && !v.type.nilable) {
        if (*v.constant) note_entry_stores();
        w_.leave(Return{*v.constant == 0});
        return;
    }
    note_entry_stores();
    // Skips on false alone: nil goes on.
    ValueId go_on = num(v);
    if (v.type.nilable) go_on = w_.binary(Opcode::Or, go_on, w_.binary(Opcode::Xor, v.present, w_.constant(1)));
    const auto [skip, done] = fork(Cmp::Eq, go_on, w_.constant(0));
    w_.enter(skip);
    w_.leave(Return{true});
    w_.enter(done);
    w_.leave(Return{false});
}

void Builder::check_records() {
    for (const auto& [id, made] : records_made_)
        if (!records_used_.contains(id)) s_.diag.error(made.at, Err::TABLE_UNUSED, record_name(id));
    for (const auto& [site, waiting] : list_constants_)
        if (!waiting.constants.empty()) s_.diag.error(waiting.at, Err::LIST_HOLE);
}

}  // namespace kpl::builder
