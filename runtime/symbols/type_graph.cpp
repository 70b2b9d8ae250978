// SPDX-License-Identifier: MIT
#include "symbols/type_graph.hpp"

#include <bpf/btf.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace kpl {
namespace {

uint32_t btf_kinds(uint32_t kinds) {
    uint32_t bits = 0;
    if (kinds & name_type) bits |= kind_bit(BTF_KIND_INT) | kind_bit(BTF_KIND_FLOAT) | kind_bit(BTF_KIND_TYPEDEF);
    if (kinds & name_struct) bits |= kind_bit(BTF_KIND_STRUCT);
    if (kinds & name_union) bits |= kind_bit(BTF_KIND_UNION);
    if (kinds & name_enum) bits |= kind_bit(BTF_KIND_ENUM) | kind_bit(BTF_KIND_ENUM64);
    if (kinds & name_function) bits |= kind_bit(BTF_KIND_FUNC);
    return bits;
}

NodeKind int_kind(const btf_type* t, std::string_view name) {
    const auto encoding = btf_int_encoding(t);
    if (encoding & BTF_INT_BOOL) return NodeKind::Bool;
    if ((encoding & BTF_INT_CHAR) || name == "char") return NodeKind::Char;
    return NodeKind::Int;
}

NodeKind reference_kind(uint32_t kind) {
    switch (kind) {
        case BTF_KIND_PTR: return NodeKind::Pointer;
        case BTF_KIND_TYPEDEF: return NodeKind::Typedef;
        case BTF_KIND_CONST: return NodeKind::Const;
        case BTF_KIND_VOLATILE: return NodeKind::Volatile;
        case BTF_KIND_RESTRICT: return NodeKind::Restrict;
        case BTF_KIND_FUNC_PROTO: return NodeKind::Function;
        default: return NodeKind::Tag;  // type tags, and a function, which stands for its prototype
    }
}

}  // namespace

Result<void> TypeGraph::load() {
    if (!parts_.empty()) return {};
    auto file = BtfFile::open(dir_ + "/vmlinux");
    if (!file)
        return Error{Errc::system, fmt::format("no types of this kernel: {} (it has to be built with "
                                               "CONFIG_DEBUG_INFO_BTF=y)",
                                               file.error().text)};
    parts_.push_back(std::make_unique<Part>(Part{"", std::move(*file), 1}));
    return {};
}

Result<bool> TypeGraph::load_module(const std::string& name) {
    for (const auto& part : parts_)
        if (part->module == name) return true;
    const std::string path = dir_ + "/" + name;
    std::error_code unreadable;
    if (name.find('/') != std::string::npos || !std::filesystem::exists(path, unreadable)) return false;
    const Part& last = *parts_.back();
    const TypeId first = last.first + (last.file.end_id() - last.file.first_id());
    BtfFile file = TRY(BtfFile::open(path, &parts_.front()->file));
    parts_.push_back(std::make_unique<Part>(Part{name, std::move(file), first}));
    return true;
}

void TypeGraph::load_all_modules() {
    if (all_loaded_) return;
    all_loaded_ = true;
    std::vector<std::string> names;
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(dir_, unreadable))
        if (entry.path().filename() != "vmlinux") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) (void)load_module(name);
}

std::optional<TypeGraph::Entry> TypeGraph::entry(TypeId id) const {
    if (id == 0 || id >= made_first) return std::nullopt;
    for (const auto& part : parts_) {
        const uint32_t own = id - part->first;
        if (id < part->first || own >= part->file.end_id() - part->file.first_id()) continue;
        const uint32_t file_id = part->file.first_id() + own;
        if (const btf_type* t = part->file.type(file_id)) return Entry{part.get(), file_id, t};
    }
    return std::nullopt;
}

TypeId TypeGraph::global(const Part& part, uint32_t id) const {
    return id < part.file.first_id() ? id : part.first + (id - part.file.first_id());
}

Result<Node> TypeGraph::node(TypeId id) const {
    if (id == 0) return Node{};
    if (id >= made_first && id - made_first < made_.size()) return made_[id - made_first];
    auto at = entry(id);
    if (!at) return Error{Errc::system, fmt::format("BTF has no type number {}", id)};
    const btf_type* t = at->type;
    Node n;
    n.name = at->part->file.name(t->name_off);
    n.size = t->size;
    switch (btf_kind(t)) {
        case BTF_KIND_INT:
            n.kind = int_kind(t, n.name);
            n.is_signed = btf_int_encoding(t) & BTF_INT_SIGNED;
            break;
        case BTF_KIND_FLOAT: n.kind = NodeKind::Float; break;
        case BTF_KIND_STRUCT: n.kind = NodeKind::Struct; break;
        case BTF_KIND_UNION: n.kind = NodeKind::Union; break;
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64:
            n.kind = NodeKind::Enum;
            n.is_signed = btf_kflag(t);
            break;
        case BTF_KIND_FWD:
            n.kind = NodeKind::Forward;
            n.is_union = btf_kflag(t);
            n.size = 0;
            break;
        case BTF_KIND_ARRAY:
            n.kind = NodeKind::Array;
            n.count = btf_array(t)->nelems;
            n.target = global(*at->part, btf_array(t)->type);
            n.size = 0;
            break;
        case BTF_KIND_VAR:
        case BTF_KIND_DATASEC: return Error{Errc::system, fmt::format("\"{}\" is a variable, not a type", n.name)};
        default:
            n.kind = reference_kind(btf_kind(t));
            n.target = global(*at->part, t->type);
            n.size = 0;
    }
    return n;
}

Result<std::pair<TypeId, Node>> TypeGraph::strip(TypeId id) const {
    // The bound only ends a damaged file's circles.
    for (int steps = 0; steps < 64; steps++) {
        Node n = TRY(node(id));
        if (n.kind < NodeKind::Typedef) return std::pair(id, n);
        id = n.target;
    }
    return Error{Errc::system, fmt::format("BTF type {} has no end", id)};
}

std::vector<Member> TypeGraph::members(TypeId id) const {
    std::vector<Member> out;
    auto at = entry(id);
    if (!at || !btf_is_composite(at->type)) return out;
    const btf_member* m = btf_members(at->type);
    for (uint32_t i = 0; i < btf_vlen(at->type); i++, m++)
        out.push_back({at->part->file.name(m->name_off), global(*at->part, m->type), btf_member_bit_offset(at->type, i),
                       btf_member_bitfield_size(at->type, i)});
    return out;
}

std::vector<Param> TypeGraph::params(TypeId id) const {
    std::vector<Param> out;
    auto at = entry(id);
    if (!at || !btf_is_func_proto(at->type)) return out;
    const btf_param* p = btf_params(at->type);
    for (uint32_t i = 0; i < btf_vlen(at->type); i++, p++)
        out.push_back({std::string(at->part->file.name(p->name_off)), global(*at->part, p->type)});
    return out;
}

std::vector<Enumerator> TypeGraph::enumerators(TypeId id) const {
    std::vector<Enumerator> out;
    auto at = entry(id);
    if (!at) return out;
    const BtfFile& file = at->part->file;
    const bool is_signed = btf_kflag(at->type);
    if (btf_is_enum(at->type)) {
        const auto* e = btf_enum(at->type);
        for (uint32_t i = 0; i < btf_vlen(at->type); i++, e++)
            out.push_back(
                {file.name(e->name_off), is_signed ? e->val : static_cast<int64_t>(static_cast<uint32_t>(e->val))});
    } else if (btf_is_enum64(at->type)) {
        const auto* e = btf_enum64(at->type);
        for (uint32_t i = 0; i < btf_vlen(at->type); i++, e++)
            out.push_back({file.name(e->name_off), static_cast<int64_t>(btf_enum64_value(e))});
    }
    return out;
}

std::vector<TypeId> TypeGraph::find_in(const Part& part, std::string_view name, uint32_t kinds) const {
    std::vector<TypeId> out;
    for (uint32_t id : part.file.find(name, btf_kinds(kinds))) out.push_back(global(part, id));
    return out;
}

std::vector<TypeId> TypeGraph::find(std::string_view name, uint32_t kinds, const std::string& module) const {
    for (const auto& part : parts_)
        if (part->module == module) return find_in(*part, name, kinds);
    return {};
}

void TypeGraph::expect(std::vector<std::string> names, uint32_t kinds) const {
    parts_.front()->file.expect(std::move(names), btf_kinds(kinds));
}

std::optional<TypeId> TypeGraph::find_anywhere(std::string_view name, uint32_t kinds) {
    for (size_t i = 0; i < parts_.size(); i++) {
        if (auto found = find_in(*parts_[i], name, kinds); !found.empty()) return found.front();
        if (i + 1 == parts_.size()) load_all_modules();
    }
    return std::nullopt;
}

std::optional<TypeId> TypeGraph::definition(TypeId forward) {
    auto at = entry(forward);
    if (!at || btf_kind(at->type) != BTF_KIND_FWD) return std::nullopt;
    const std::string name(at->part->file.name(at->type->name_off));
    const uint32_t kinds = btf_kflag(at->type) ? name_union : name_struct;
    if (auto found = find_in(*at->part, name, kinds); !found.empty()) return found.front();
    return find_anywhere(name, kinds);
}

std::optional<TypeId> TypeGraph::variable(std::string_view name) const {
    if (parts_.empty()) return std::nullopt;
    const Part& part = *parts_[0];
    for (const uint32_t id : part.file.find(name, kind_bit(BTF_KIND_VAR)))
        return global(part, part.file.type(id)->type);
    return std::nullopt;
}

std::vector<TypeId> TypeGraph::all(uint32_t kinds) const {
    std::vector<TypeId> out;
    const uint32_t wanted = btf_kinds(kinds);
    for (const auto& part : parts_)
        part->file.each_type([&](uint32_t id, const btf_type* t) {
            if (kind_bit(btf_kind(t)) & wanted) out.push_back(global(*part, id));
        });
    return out;
}

TypeId TypeGraph::add_made(const Node& node) {
    for (size_t i = 0; i < made_.size(); i++) {
        const Node& m = made_[i];
        if (m.kind == node.kind && m.target == node.target && m.count == node.count && m.size == node.size &&
            m.is_signed == node.is_signed && m.name == node.name)
            return made_first + static_cast<TypeId>(i);
    }
    made_.push_back(node);
    return made_first + static_cast<TypeId>(made_.size() - 1);
}

TypeId TypeGraph::make(NodeKind kind, TypeId target, uint32_t count) {
    Node n;
    n.kind = kind;
    n.target = target;
    n.count = count;
    return add_made(n);
}

TypeId TypeGraph::make_int(NodeKind kind, std::string_view name, uint32_t size, bool is_signed) {
    Node n;
    n.kind = kind;
    n.name = name;
    n.size = size;
    n.is_signed = is_signed;
    return add_made(n);
}

}  // namespace kpl
