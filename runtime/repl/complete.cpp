// SPDX-License-Identifier: MIT
#include "repl/complete.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ir/probe_kinds.hpp"
#include "session/sources.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

using Words = std::vector<std::string>;

const Words hit_fields = {"addr", "arg", "args", "compat", "data", "func", "ip", "regs", "ret", "ret_addr", "sp"};

constexpr size_t most_listed = 120;

std::string_view common_begin(std::string_view a, std::string_view b) {
    const auto end =
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin())
            .first;
    return a.substr(0, static_cast<size_t>(end - a.begin()));
}

Words loaded_modules() {
    Words names;
    std::ifstream list("/proc/modules");
    for (std::string line; std::getline(list, line);) names.push_back(line.substr(0, line.find(' ')) + ":");
    return names;
}

Words files(const std::string& word) {
    namespace fs = std::filesystem;
    const size_t slash = word.rfind('/');
    const std::string dir = slash == word.npos ? "" : word.substr(0, slash + 1);
    Words found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(dir.empty() ? "." : dir, error)) {
        std::error_code unknown;
        found.push_back(dir + entry.path().filename().string() + (entry.is_directory(unknown) ? "/" : ""));
    }
    return found;
}

}  // namespace

Completer::Answer Completer::answer_of(std::vector<std::string_view> words, std::string_view word) {
    Answer answer{word.size(), {}, 0, {}};
    std::erase_if(words, [&](std::string_view one) { return !one.starts_with(word); });
    if (words.empty()) return answer;
    std::string_view common = words.front();
    for (const std::string_view one : words)
        if (common.size() > word.size()) common = common_begin(common, one);
    answer.common = common;
    // A name that stands several times is listed once: some more are sorted than are shown.
    const auto sorted = words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), 2 * most_listed));
    std::partial_sort(words.begin(), sorted, words.end());
    const auto end = std::unique(words.begin(), sorted);
    const size_t distinct = static_cast<size_t>(end - words.begin()), shown = std::min(distinct, most_listed);
    answer.words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(shown));
    answer.more = distinct - shown + static_cast<size_t>(words.end() - sorted);
    return answer;
}

Completer::Answer Completer::complete(std::string_view before_cursor) {
    const InputContext context = context_of(before_cursor);
    Words words;
    using Kind = InputContext::Kind;
    switch (context.kind) {
        case Kind::Name: words = names(context); break;
        case Kind::Target:
            if (const ProbeKindRow* row = find_probe_kind(context.callee); row && row->source != Source::Function)
                words = target_names(row->source, kernel_, context.word);
            else
                return targets(context.word);
            break;
        case Kind::Option:
            for (const std::string& name : host_.names_behind("{" + context.callee)) words.push_back(name + " = ");
            break;
        case Kind::File: words = files(context.word); break;
        case Kind::CType:
            if (auto found = kernel_.types.names(context.word)) words = std::move(*found);
            break;
        case Kind::Nothing: break;
    }
    return answer_of({words.begin(), words.end()}, context.word);
}

// "vfs_r", "ext4:ext4_s"; modules' names stand with their ':'. What is typed need be no target yet.
Completer::Answer Completer::targets(const std::string& word) {
    const size_t colon = word.find(':');
    const std::string module = colon == word.npos ? "" : word.substr(0, colon);
    const std::string begin = colon == word.npos ? word : word.substr(colon + 1);
    std::vector<std::string_view> found;
    const auto done =
        kernel_.symbols.each_function(begin, module, [&](std::string_view name) { found.push_back(name); });
    if (!done) return {};
    const Words modules = colon == word.npos ? loaded_modules() : Words();
    found.insert(found.end(), modules.begin(), modules.end());
    Answer answer = answer_of(std::move(found), begin);
    const std::string before = word.substr(0, word.size() - begin.size());  // "ext4:"
    for (std::string& name : answer.words) name.insert(0, before);
    if (!answer.common.empty()) answer.common.insert(0, before);
    answer.length = word.size();
    return answer;
}

Words Completer::names(const InputContext& context) {
    Words found = members(context);
    if (!found.empty()) return found;
    std::string path;
    for (const std::string& name : context.path) path += (path.empty() ? "" : ".") + name;
    found = host_.names_behind(path);
    if (context.path.empty() && context.handler)
        found.insert(found.end(), context.handler->params.begin(), context.handler->params.end());
    return found;
}

std::optional<Signature> Completer::signature(const InputContext::Handler& handler) {
    const ProbeKindRow& row = *find_probe_kind(handler.declares);
    if (row.source == Source::Tracepoint || row.source == Source::Syscall || row.source == Source::Mark) {
        ProbeDecl probe;
        probe.kind = static_cast<ProbeKind>(&row - probe_kinds);
        probe.targets.emplace_back(handler.target);
        const auto found = resolve(probe, kernel_, BlacklistOnDemand(), false);
        if (!found || found->places.empty()) return std::nullopt;
        auto passed = signature_at(row.source, found->places.front(), kernel_.types);
        return passed ? *passed : std::nullopt;
    }
    const auto target = parse_target(handler.target);
    if (!target) return std::nullopt;
    auto found = kernel_.types.function(target->symbol, target->module);
    return found ? *found : std::nullopt;
}

// Of the path's beginning, of which it takes `used` names.
std::optional<TypeId> Completer::first_type(const InputContext& context, size_t& used) {
    const std::string& name = context.path.front();
    used = 1;
    const auto parsed = [this](std::string_view text) -> std::optional<TypeId> {
        auto type = kernel_.types.parse(text);
        return type ? std::optional(*type) : std::nullopt;
    };
    if (name.starts_with('(')) return parsed(std::string_view(name).substr(1, name.size() - 2));
    if (name == "task()") return parsed("struct task_struct *");
    if (!context.handler) return std::nullopt;
    const auto& [declares, target, side, params, in_params] = *context.handler;
    const auto sig = signature(*context.handler);
    if (!sig) return std::nullopt;
    const ProbeKindRow& kind = *find_probe_kind(declares);
    const ProbeHandler* handler = find_handler(kind, side);
    const bool returns = handler && handler->program == KPL_PROG_RET;
    const size_t own = kind.mirrors ? 0 : 1;
    if (own && !params.empty() && name == params[0] && context.path.size() > 1 && context.path[1] == "args" &&
        !returns) {
        used = 3;
        for (const Param& param : sig->params)
            if (context.path.size() > 2 && param.name == context.path[2]) return param.type;
        return std::nullopt;
    }
    for (size_t i = own; i < params.size(); i++) {
        if (params[i] != name) continue;
        if (returns) return sig->result;
        return i - own < sig->params.size() ? std::optional(sig->params[i - own].type) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<TypeId> Completer::type_of(const InputContext& context) {
    size_t used = 0;
    std::optional<TypeId> type = first_type(context, used);
    for (size_t i = used; type; i++) {
        auto info = kernel_.types.resolve(*type);
        if (info && i < context.path.size() && context.path[i].starts_with('[')) {
            const bool indexed = info->kind == TypeKind::Pointer || info->kind == TypeKind::Array;
            type = indexed ? std::optional(info->element) : std::nullopt;
            continue;
        }
        if (info && (info->kind == TypeKind::Pointer || info->kind == TypeKind::Array))
            info = kernel_.types.resolve(info->element);
        if (!info) return std::nullopt;
        if (i >= context.path.size()) return info->id;
        const auto field = kernel_.types.field(info->id, context.path[i]);
        type = field && *field ? std::optional((*field)->type) : std::nullopt;
    }
    return std::nullopt;
}

// Of the C type, or the hit, that the path leads to.
Words Completer::members(const InputContext& context) {
    Words found;
    if (context.path.empty() || context.method) return found;
    if (const auto type = type_of(context)) {
        if (auto members = kernel_.types.members(*type))
            for (const MemberInfo& member : *members)
                if (!member.name.empty()) found.push_back(member.name);
        return found;
    }
    if (!context.handler || find_probe_kind(context.handler->declares)->mirrors || context.handler->params.empty() ||
        context.path[0] != context.handler->params[0])
        return found;
    if (context.path.size() == 1) return hit_fields;
    if (context.path.size() == 2 && context.path[1] == "args")
        if (const auto sig = signature(*context.handler))
            for (const Param& param : sig->params) found.push_back(param.name);
    return found;
}

std::string Completer::hint(std::string_view before_cursor) {
    if (before_cursor.find("function") == before_cursor.npos) return {};
    const InputContext context = context_of(before_cursor);
    if (!context.handler || !context.handler->in_params || context.handler->target.empty()) return {};
    const auto sig = signature(*context.handler);
    return sig ? sig->text : "";
}

}  // namespace kpl
