// SPDX-License-Identifier: MIT
#include "symbols/types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "symbols/c_decl.hpp"
#include "symbols/nearest.hpp"
#include "symbols/type_graph.hpp"

namespace kpl {
namespace {

TypeKind public_kind(NodeKind kind) {
    switch (kind) {
        case NodeKind::Int: return TypeKind::Int;
        case NodeKind::Bool: return TypeKind::Bool;
        case NodeKind::Char: return TypeKind::Char;
        case NodeKind::Float: return TypeKind::Float;
        case NodeKind::Pointer: return TypeKind::Pointer;
        case NodeKind::Array: return TypeKind::Array;
        case NodeKind::Struct: return TypeKind::Struct;
        case NodeKind::Union: return TypeKind::Union;
        case NodeKind::Enum: return TypeKind::Enum;
        case NodeKind::Forward: return TypeKind::Forward;
        case NodeKind::Function: return TypeKind::Function;
        default: return TypeKind::Void;
    }
}

constexpr uint32_t pointer_size = 8;

// The bytes to read for the bits [first, first + count): the smallest aligned unit that has them all, else
// the smallest one from the byte of the first bit that stays within the struct.
std::optional<Field> bit_field(TypeId type, uint32_t first, uint32_t count, uint32_t struct_size) {
    auto unit = [&](uint32_t offset, uint32_t bytes) {
        return Field{type, offset, static_cast<uint8_t>(first - offset * 8), static_cast<uint8_t>(count),
                     static_cast<uint8_t>(bytes)};
    };
    for (uint32_t bytes : {1u, 2u, 4u, 8u}) {
        const uint32_t offset = first / 8 / bytes * bytes;
        if (first + count <= (offset + bytes) * 8 && offset + bytes <= struct_size) return unit(offset, bytes);
    }
    for (uint32_t bytes : {1u, 2u, 4u, 8u}) {
        if (bytes > struct_size) break;
        const uint32_t offset = std::min(first / 8, struct_size - bytes);
        if (first + count <= (offset + bytes) * 8) return unit(offset, bytes);
    }
    return std::nullopt;
}

}  // namespace

struct Types::Impl {
    explicit Impl(std::string dir) : graph(std::move(dir)) {}

    TypeGraph graph;
    std::vector<std::string> expected;
    struct Constant {
        int64_t value;
        TypeId of;         // an enum
        TypeId other = 0;  // an enum that has another value of that name
    };
    std::unordered_map<std::string_view, Constant> constants;
    size_t counted_parts = 0;  // of the graph, in `constants`; a module that is loaded later adds its own

    Result<TypeInfo> resolve(TypeId id);
    Result<uint32_t> size_of(TypeId id, int depth = 0);
    Result<std::optional<Field>> field(TypeId outer, std::string_view name, uint32_t base_bits, uint32_t outer_size,
                                       int depth);
    Result<void> list_members(TypeId type, uint32_t base_bits, int depth, std::vector<MemberInfo>& into);
    void offer_members(TypeId type, Nearest& nearest, int depth);
    Result<std::optional<Signature>> signature(TypeId function);
    Result<std::optional<Signature>> attached_to(std::string_view name, std::string_view module);
    void collect_constants();
};

Types::Types(std::string btf_dir) : impl_(std::make_unique<Impl>(std::move(btf_dir))) {}
Types::~Types() = default;
Types::Types(Types&&) noexcept = default;
Types& Types::operator=(Types&&) noexcept = default;

// ---- what a type is

Result<uint32_t> Types::Impl::size_of(TypeId id, int depth) {
    if (depth > 16) return Error{Errc::system, fmt::format("BTF type {} has no end", id)};
    auto [stripped, node] = TRY(graph.strip(id));
    if (node.kind == NodeKind::Pointer) return pointer_size;
    if (node.kind != NodeKind::Array) return node.size;
    const uint64_t size = uint64_t{node.count} * TRY(size_of(node.target, depth + 1));
    if (size > UINT32_MAX) return Error{Errc::system, fmt::format("BTF type {} is larger than 4 GiB", id)};
    return static_cast<uint32_t>(size);
}

Result<TypeInfo> Types::Impl::resolve(TypeId id) {
    TRY(graph.load());
    auto [stripped, node] = TRY(graph.strip(id));
    if (node.kind == NodeKind::Forward)
        if (auto full = graph.definition(stripped)) {
            stripped = *full;
            node = TRY(graph.node(stripped));
        }
    TypeInfo info;
    info.id = stripped;
    info.kind = public_kind(node.kind);
    info.size = TRY(size_of(stripped));
    info.is_signed = node.is_signed;
    if (node.kind == NodeKind::Pointer || node.kind == NodeKind::Array) info.element = node.target;
    info.count = node.count;
    info.name = usual_spelling(node.name);
    return info;
}

Result<TypeInfo> Types::resolve(TypeId id) { return impl_->resolve(id); }

Result<TypeId> Types::pointer_to(TypeId type) {
    TRY(impl_->graph.load());
    return impl_->graph.make(NodeKind::Pointer, type);
}

Result<TypeId> Types::parse(std::string_view c_declaration) { return TRY(parse_declaration(c_declaration)).type; }

Result<Declaration> Types::parse_declaration(std::string_view c_declaration) {
    TRY(impl_->graph.load());
    return parse_type(impl_->graph, c_declaration);
}

Result<std::map<int64_t, std::string>> Types::enumerators(TypeId id) {
    TRY(impl_->graph.load());
    std::map<int64_t, std::string> names;
    for (const Enumerator& e : impl_->graph.enumerators(id)) names.emplace(e.value, e.name);
    return names;
}

Result<std::optional<TypeId>> Types::per_cpu_variable(std::string_view name) {
    TRY(impl_->graph.load());
    return impl_->graph.variable(name);
}

Result<std::string> Types::spell(TypeId type) {
    TRY(impl_->graph.load());
    return spell_type(impl_->graph, type);
}

void Types::keep() const { impl_->graph.keep(); }

// ---- members

Result<std::optional<Field>> Types::Impl::field(TypeId outer, std::string_view name, uint32_t base_bits,
                                                uint32_t outer_size, int depth) {
    if (depth > 16) return std::optional<Field>();
    for (const Member& member : graph.members(outer)) {
        const uint32_t first = base_bits + member.bit_offset;
        if (member.name == name) {
            if (member.bit_size == 0 && first % 8 == 0) return std::optional(Field{member.type, first / 8, 0, 0, 0});
            auto found = bit_field(member.type, first, member.bit_size, outer_size);
            if (!found || member.bit_size == 0)
                return Error{Errc::script, fmt::format("the bit field \"{}\" has an unknown layout", name)};
            return found;
        }
        if (!member.name.empty()) continue;
        auto [inner, node] = TRY(graph.strip(member.type));
        if (node.kind != NodeKind::Struct && node.kind != NodeKind::Union) continue;
        if (auto found = TRY(field(inner, name, first, outer_size, depth + 1))) return found;
    }
    return std::optional<Field>();
}

Result<std::optional<Field>> Types::field(TypeId type, std::string_view name) {
    const TypeInfo info = TRY(impl_->resolve(type));
    if (name.empty() || (info.kind != TypeKind::Struct && info.kind != TypeKind::Union)) return std::optional<Field>();
    return impl_->field(info.id, name, 0, info.size, 0);
}

Result<void> Types::Impl::list_members(TypeId type, uint32_t base_bits, int depth, std::vector<MemberInfo>& into) {
    if (depth > 16) return {};
    for (const Member& member : graph.members(type)) {
        const uint32_t first = base_bits + member.bit_offset;
        into.push_back({std::string(member.name), member.type, first, member.bit_size,
                        TRY(spell_type(graph, member.type, std::string(member.name))), depth});
        if (!member.name.empty()) continue;
        if (auto inner = graph.strip(member.type)) TRY(list_members(inner->first, first, depth + 1, into));
    }
    return {};
}

Result<std::vector<std::string>> Types::names(std::string_view begin) {
    TRY(impl_->graph.load());
    constexpr std::pair<NameKinds, const char*> kinds[] = {
        {name_struct, "struct "}, {name_union, "union "}, {name_enum, "enum "}, {name_type, ""}};
    std::set<std::string> found;
    for (const auto& [kind, tag] : kinds)
        for (const TypeId id : impl_->graph.all(kind)) {
            const Node node = TRY(impl_->graph.node(id));
            if (std::string name = tag + std::string(node.name); !node.name.empty() && name.starts_with(begin))
                found.insert(std::move(name));
        }
    return std::vector<std::string>(found.begin(), found.end());
}

Result<std::vector<MemberInfo>> Types::members(TypeId type) {
    std::vector<MemberInfo> found;
    const TypeInfo info = TRY(impl_->resolve(type));
    if (info.kind == TypeKind::Struct || info.kind == TypeKind::Union) TRY(impl_->list_members(info.id, 0, 0, found));
    return found;
}

void Types::Impl::offer_members(TypeId type, Nearest& nearest, int depth) {
    if (depth > 16) return;
    for (const Member& member : graph.members(type)) {
        if (!member.name.empty())
            nearest.offer(member.name);
        else if (auto inner = graph.strip(member.type))
            offer_members(inner->first, nearest, depth + 1);
    }
}

Result<std::vector<std::string>> Types::near_fields(TypeId type, std::string_view name) {
    const TypeInfo info = TRY(impl_->resolve(type));
    Nearest nearest{std::string(name)};
    impl_->offer_members(info.id, nearest, 0);
    return nearest.names();
}

// ---- functions

Result<std::optional<Signature>> Types::Impl::signature(TypeId function) {
    const Node node = TRY(graph.node(function));
    auto [proto, proto_node] = TRY(graph.strip(function));
    if (proto_node.kind != NodeKind::Function) return std::optional<Signature>();
    Signature s;
    s.name = node.name;
    s.result = proto_node.target;
    s.params = graph.params(proto);
    if (!s.params.empty() && s.params.back().type == 0 && s.params.back().name.empty()) {
        s.vararg = true;
        s.params.pop_back();
    }
    s.text = TRY(spell_type(graph, proto, s.name));
    return std::optional(s);
}

void Types::expect(std::vector<std::string> functions) { impl_->expected = std::move(functions); }

Result<std::optional<Signature>> Types::function(std::string_view name, std::string_view module) {
    TRY(impl_->graph.load());
    const std::string where(module == "vmlinux" ? "" : module);
    if (!where.empty() && !TRY(impl_->graph.load_module(where))) return std::optional<Signature>();
    if (auto expected = std::exchange(impl_->expected, {}); where.empty() && !expected.empty())
        impl_->graph.expect(std::move(expected), name_function);
    std::optional<Signature> found;
    for (TypeId id : impl_->graph.find(name, name_function, where)) {
        auto one = TRY(impl_->signature(id));
        // Static functions of one name: which one is probed can't be told, so their types can't either.
        if (found && one && one->text != found->text) return std::optional<Signature>();
        if (!found) found = std::move(one);
    }
    return found;
}

// The function that calls what is attached has them behind its own `void *__data`, with their names; the type of what
// is attached, without.
Result<std::optional<Signature>> Types::tracepoint(std::string_view name, std::string_view module) {
    auto found = TRY(function("__traceiter_" + std::string(name), module));
    if (!found) found = TRY(impl_->attached_to(name, module));
    if (!found || found->params.empty()) return std::optional<Signature>();
    found->params.erase(found->params.begin());
    found->name = name;
    found->result = 0;
    found->text.clear();
    for (size_t i = 0; i < found->params.size(); i++) {
        Param& param = found->params[i];
        if (param.name.empty()) param.name = fmt::format("arg{}", i + 1);
        found->text += fmt::format("{}{}", i ? ", " : "", TRY(spell_type(impl_->graph, param.type, param.name)));
    }
    found->text = fmt::format("{}({})", name, found->text);
    return found;
}

Result<std::optional<Signature>> Types::Impl::attached_to(std::string_view name, std::string_view module) {
    for (const TypeId id : graph.find("btf_trace_" + std::string(name), name_type, std::string(module))) {
        const auto [pointer, node] = TRY(graph.strip(id));
        if (node.kind == NodeKind::Pointer) return signature(node.target);
    }
    return std::optional<Signature>();
}

// ---- enum constants

Result<std::optional<int64_t>> Types::enumerator(std::string_view name) {
    TRY(impl_->graph.load());
    impl_->collect_constants();
    auto found = impl_->constants.find(name);
    if (found == impl_->constants.end()) return std::optional<int64_t>();
    const auto& [value, of, other] = found->second;
    if (other)
        return Error{Errc::script, fmt::format("{} is not the same in {} and {}: write the number", name,
                                               TRY(spell(of)), TRY(spell(other)))};
    return std::optional(value);
}

void Types::Impl::collect_constants() {
    if (counted_parts == graph.parts()) return;
    counted_parts = graph.parts();
    for (TypeId id : graph.all(name_enum))
        for (const Enumerator& e : graph.enumerators(id)) {
            auto [entry, is_new] = constants.try_emplace(e.name, Constant{e.value, id});
            if (!is_new && entry->second.value != e.value) entry->second.other = id;
        }
}

}  // namespace kpl
