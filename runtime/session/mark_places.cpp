// SPDX-License-Identifier: MIT
#include "session/mark_places.hpp"

#include <fmt/format.h>

#include "session/program_places.hpp"
#include "symbols/glob.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

struct MarkTarget {
    std::string program, provider, name;

    std::string mark() const { return provider + ":" + name; }
};

Error no_mark_target(const std::string& text) {
    return {Errc::script,
            fmt::format("'{}' names no mark: write it as \"libstdc++:libstdcxx:throw\", \"/usr/bin/python3:python:*\"; "
                        "kprobe-lua -l 'usdt:PROGRAM:*:*' lists those of a program",
                        text)};
}

Result<MarkTarget> parse_mark_target(const std::string& text) {
    const size_t first = text.find(':'), second = first == text.npos ? first : text.find(':', first + 1);
    if (second == text.npos || first == 0 || second == first + 1 || second + 1 == text.size())
        return no_mark_target(text);
    return MarkTarget{text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

bool is_wanted(const MarkTarget& wanted, const ProgramMark& mark) {
    return glob_match(wanted.provider, mark.provider) && glob_match(wanted.name, mark.name);
}

Error no_mark(const MarkTarget& wanted, const Program& program, const std::vector<ProgramMark>& marks) {
    if (marks.empty())
        return {Errc::script, fmt::format("{} has no marks (USDT) at all: it was built without", program.path())};
    Nearest nearest(wanted.mark());
    for (const ProgramMark& mark : marks) nearest.offer(mark.text());
    const auto near = nearest.names();
    return {Errc::script, fmt::format("{} has no mark '{}'{}{}", program.path(), wanted.mark(),
                                      near.empty() ? "" : "; near to it: ", fmt::join(near, ", "))};
}

KernelPlace mark_place(const ProgramMark& mark, const std::string& program, KernelView& kernel) {
    KernelPlace place;
    place.address = mark.file_offset;
    place.function_address = kernel.symbols.number_of(mark.text());
    place.special.edit().shown = program + ":" + mark.text();
    place.special.edit().marked = std::make_shared<const std::vector<MarkArg>>(mark.args);
    place.special.edit().semaphore = mark.semaphore;
    return place;
}

Result<void> resolve_mark(const std::string& text, KernelView& kernel, Resolved& resolved) {
    const MarkTarget wanted = TRY(parse_mark_target(text));
    const auto program = TRY(open_program(wanted.program, kernel));
    const std::vector<ProgramMark>& marks = *TRY(program->marks());
    const bool by_glob = wanted.mark().find_first_of("*?[") != text.npos;
    bool found = false;
    for (const ProgramMark& mark : marks) {
        if (!is_wanted(wanted, mark)) continue;
        found = true;
        KernelPlace place = mark_place(mark, wanted.program, kernel);
        place.by_glob = by_glob;
        place.special.edit().program = program;
        resolved.places.push_back(std::move(place));
    }
    return found ? Result<void>() : no_mark(wanted, *program, marks);
}

}  // namespace

Result<Resolved> resolve_marks(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand&, bool) {
    Resolved all = TRY(resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        const auto* text = std::get_if<std::string>(&target);
        return text ? resolve_mark(*text, kernel, resolved)
                    : no_mark_target(fmt::format("{:#x}", std::get<uint64_t>(target)));
    }));
    drop_repeated_places(all);
    return all;
}

Result<std::optional<Signature>> mark_signature(const KernelPlace& place, Types&) {
    Signature signature;
    signature.name = place.special->shown;
    signature.text = place.special->shown + "(";
    for (const MarkArg& arg : *place.special->marked) {
        const size_t n = signature.params.size() + 1;
        signature.params.push_back({fmt::format("arg{}", n), 0});
        signature.text += fmt::format("{}{} arg{}", n == 1 ? "" : ", ", mark_arg_type(arg), n);
    }
    signature.text += ")";
    return std::optional(std::move(signature));
}

std::vector<std::string> mark_targets(const std::string& word, KernelView& kernel) {
    const size_t colon = word.find(':');
    if (colon == word.npos) return program_targets(word, kernel);
    std::vector<std::string> names;
    const std::string program = word.substr(0, colon);
    if (const auto opened = open_program(program, kernel))
        if (const auto marks = (*opened)->marks())
            for (const ProgramMark& mark : **marks) {
                std::string name = program + ":" + mark.text();
                if (names.empty() || names.back() != name) names.push_back(std::move(name));
            }
    return names;
}

}  // namespace kpl
