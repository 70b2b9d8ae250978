// SPDX-License-Identifier: MIT
#include "session/program_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "arch/disasm.hpp"
#include "programs/find_program.hpp"
#include "symbols/glob.hpp"
#include "symbols/nearest.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

constexpr size_t longest_insn = 16;

struct ProgramTarget {
    std::string program, symbol;
    std::optional<uint64_t> address;
    uint64_t offset = 0;
};

Error no_target(const std::string& text) {
    return {Errc::script, fmt::format("'{}' names no place in a program: write it as \"bash:readline\", "
                                      "\"/usr/bin/bash:readline+4\" or \"bash:0x4d1a0\"",
                                      text)};
}

// A '+' may be part of a name: "operator+".
Result<ProgramTarget> parse_program_target(const std::string& text) {
    const size_t colon = text.find(':');
    if (colon == text.npos || colon == 0 || colon + 1 == text.size()) return no_target(text);
    ProgramTarget target{text.substr(0, colon), text.substr(colon + 1), {}, 0};
    if (const auto address = parse_address(target.symbol)) {
        target.address = address;
        return target;
    }
    const size_t plus = target.symbol.rfind('+');
    const auto offset =
        plus != target.symbol.npos ? parse_number(std::string_view(target.symbol).substr(plus + 1)) : std::nullopt;
    if (!offset) return target;
    target.offset = *offset;
    target.symbol.resize(plus);
    return target;
}

// Whether an instruction begins there: the kernel would put its breakpoint into the middle of one, too.
Result<void> check_boundary(const Program& program, const ProgramSymbol& function, uint64_t address,
                            const std::string& text) {
    if (address == function.address) return {};
    const std::vector<uint8_t> code = program.code(function.address, address - function.address + longest_insn);
    for (const NativeInsn& insn : TRY(disassemble(host_arch(), code, function.address))) {
        if (insn.addr == address && !insn.text.starts_with(".byte")) return {};
        if (insn.addr >= address) break;
    }
    return Error{Errc::script,
                 fmt::format("'{}': no instruction begins there; see objdump -d {}", text, program.path())};
}

// One resolution under way.
struct ProgramResolver {
    KernelView& kernel;
    std::shared_ptr<Program> program;
    const std::string& text;  // as the script has it
    const std::string name;   // of the program, likewise
    Resolved& result;

    KernelPlace place(const ProgramSymbol& symbol, uint64_t address, bool by_glob) {
        KernelPlace place;
        place.function = symbol.name;
        place.address = program->file_offset(address).value_or(0);
        place.offset = symbol.name.empty() ? 0 : address - symbol.address;
        const std::string function = symbol.name.empty() ? fmt::format("{:#x}", address) : symbol.name;
        place.special.edit().shown = name + ":" + function;
        place.function_address = kernel.symbols.number_of(place.special->shown);
        if (place.offset) place.special.edit().shown += fmt::format("+{:#x}", place.offset);
        place.by_glob = by_glob;
        place.special.edit().program = program;
        return place;
    }

    Result<void> at(const ProgramSymbol& symbol, uint64_t address) {
        TRY(check_boundary(*program, symbol, address, text));
        result.places.push_back(place(symbol, address, false));
        return {};
    }

    Result<void> at_address(uint64_t address) {
        if (!program->file_offset(address))
            return Error{Errc::script, fmt::format("'{}': {} has no code there", text, program->path())};
        const auto function = TRY(program->at(address));
        if (!function)
            return Error{Errc::script,
                         fmt::format("'{}': neither a symbol nor unwind information of {} covers it, so where its "
                                     "instructions begin can't be told",
                                     text, program->path())};
        return at(*function, address);
    }

    Result<void> all_like(const std::string& pattern) {
        size_t found = 0;
        uint64_t last = 0;
        for (const ProgramSymbol& symbol : *TRY(program->symbols())) {
            if (!symbol.is_function || !glob_match(pattern, symbol.name)) continue;
            found++;
            if (symbol.indirect)
                result.left_out.chosen++;
            else if (symbol.name.find(".cold") != symbol.name.npos)
                result.left_out.parts++;
            else if (symbol.address == last)
                result.left_out.repeated++;
            else
                result.places.push_back(place(symbol, symbol.address, true));
            last = symbol.address;
        }
        if (found) return {};
        return Error{Errc::script, fmt::format("no function of {} matches '{}'", program->path(), pattern)};
    }

    Result<void> named(const std::string& symbol, uint64_t offset) {
        const auto found = TRY(program->find(symbol));
        if (found.empty()) return unknown(symbol);
        if (found.size() > 1) return ambiguous(symbol, found);
        if (found[0].indirect)
            return Error{Errc::script, fmt::format("'{}' is chosen when a program starts (IFUNC): probe the functions "
                                                   "that it may be, such as {}:*{}_*",
                                                   text, name, symbol)};
        if (offset && offset >= found[0].size)
            return Error{Errc::script,
                         fmt::format("'{}' is behind the function, which has {:#x} bytes", text, found[0].size)};
        return at(found[0], found[0].address + offset);
    }

    Result<void> unknown(const std::string& symbol) {
        Nearest nearest(symbol);
        for (const ProgramSymbol& one : *TRY(program->symbols()))
            if (one.is_function) nearest.offer(one.name);
        const auto near = nearest.names();
        std::string message = fmt::format("{} has no function '{}'", program->path(), symbol);
        if (!near.empty()) message += fmt::format("; near to it: {}", fmt::join(near, ", "));
        if (program->stripped())
            message +=
                "; it is stripped: what it does not export has no name (install its debug symbols, or give an "
                "address)";
        return Error{Errc::script, message};
    }

    Result<void> ambiguous(const std::string& symbol, const std::vector<ProgramSymbol>& found) {
        std::string list;
        for (const ProgramSymbol& one : found)
            list += fmt::format("{}{}:{:#x}", list.empty() ? "" : ", ", name, one.address);
        return Error{Errc::script, fmt::format("{} has {} functions '{}': {}; name one by its address", program->path(),
                                               found.size(), symbol, list)};
    }
};

}  // namespace

Result<std::shared_ptr<Program>> open_program(const std::string& name, KernelView& kernel) {
    const std::string path = TRY(find_program(name, ProgramPaths::usual(host_arch().elf_machine)));
    std::shared_ptr<Program>& known = kernel.programs[path];
    if (!known || known->is_replaced()) known = TRY(Program::open(path, host_arch().elf_machine));
    return known;
}

void drop_repeated_places(Resolved& resolved) {
    std::set<std::tuple<uint64_t, uint64_t, uint64_t>> seen;
    std::erase_if(resolved.places, [&](const KernelPlace& place) {
        const bool again =
            !seen.insert({place.special->program->device(), place.special->program->inode(), place.address}).second;
        resolved.left_out.repeated += again && place.by_glob;
        return again;
    });
}

Result<Resolved> resolve_programs(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand&, bool) {
    Resolved all = TRY(resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        const auto* text = std::get_if<std::string>(&target);
        if (!text) return no_target(fmt::format("{:#x}", std::get<uint64_t>(target)));
        const ProgramTarget wanted = TRY(parse_program_target(*text));
        ProgramResolver resolver{kernel, TRY(open_program(wanted.program, kernel)), *text, wanted.program, resolved};
        if (wanted.address) return resolver.at_address(*wanted.address);
        // A name may have a '*' of its own: "main.(*T).run".
        const bool is_glob = wanted.symbol.find_first_of("*?[") != wanted.symbol.npos;
        if (is_glob && TRY(resolver.program->find(wanted.symbol)).empty()) return resolver.all_like(wanted.symbol);
        return resolver.named(wanted.symbol, wanted.offset);
    }));
    drop_repeated_places(all);
    return all;
}

std::string program_place_text(const KernelPlace& place) {
    return fmt::format("{} {:#x}", place.special->program->path(), place.address);
}

std::vector<std::string> program_targets(const std::string& word, KernelView& kernel) {
    std::vector<std::string> names;
    const size_t colon = word.find(':');
    if (colon == word.npos) {
        for (const std::string& name : program_names(word, ProgramPaths::usual(host_arch().elf_machine)))
            names.push_back(name + ":");
        return names;
    }
    const std::string program = word.substr(0, colon);
    if (const auto opened = open_program(program, kernel))
        if (const auto symbols = (*opened)->symbols())
            for (const ProgramSymbol& symbol : **symbols)
                if (symbol.is_function && !symbol.indirect) names.push_back(program + ":" + symbol.name);
    return names;
}

bool is_replaced(const KernelPlace& place) { return place.special->program && place.special->program->is_replaced(); }

}  // namespace kpl
