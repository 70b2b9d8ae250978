// SPDX-License-Identifier: MIT
#include "repl/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <vector>

#include "inspect/functions.hpp"
#include "inspect/inspector.hpp"
#include "inspect/system_probes.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

const unsigned char documents[] = {
#include "documents.inc"
};

constexpr const char* tour = R"(Each input is Lua. What it declares is armed at its end, all of it or nothing.
  n = count()                                        a table that the kernel adds to
  p = kprobe("vfs_read", function(p, file, buf, size) n[comm()]:add(size) end)
  n                                                  shows it; `probes` shows what is armed
  p = kprobe(…)                                      replaces p, once the new one is armed
  kretprobe { "vfs_open", ret = function(p, err) printf("%s %d\n", comm(), err) end }
  e = event()  e:each(function(e) print(e.pid) end)  events come to Lua; they appear above the line
  every(5, function() print(n:take()) end)           while you type
  p:stats() p:cost() p:asm() p:disable() p:detach()  detach_all()
  pause() resume()                                   hold what comes
  save "investigation.lua"                           what is armed now, as a script
Keys: TAB completes names, targets, C fields; ^R searches the history; ^C stops a loop, or clears the line; ^D ends.
?kprobe  ?vfs_read  ?struct file  ?n               say more: builtins, kernel functions, types, variables)";

struct Block {
    enum class Kind { Prose, Row, Code } kind;
    std::string text;
};

std::vector<Block> blocks_of(const std::string& text) {
    std::vector<Block> blocks;
    std::istringstream lines(text);
    std::string prose;
    const auto end_prose = [&] {
        if (!prose.empty()) blocks.push_back({Block::Kind::Prose, std::exchange(prose, {})});
    };
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            end_prose();
            const bool is_example = line.starts_with("```lua") && line.find("refused") == line.npos;
            std::string code;
            while (std::getline(lines, line) && !line.starts_with("```")) code += line + "\n";
            if (is_example) blocks.push_back({Block::Kind::Code, code});
        } else if (line.starts_with("| ")) {
            end_prose();
            blocks.push_back({Block::Kind::Row, line});
        } else if (line.empty() || line.starts_with("#") || line.starts_with("|")) {
            end_prose();
        } else {
            prose += (prose.empty() ? "" : " ") + line;
        }
    }
    end_prose();
    return blocks;
}

// Where the name stands as code, between backticks; npos: nowhere.
size_t named_at(const std::string& text, const std::regex& word) {
    for (size_t at = text.find('`'); at != text.npos; at = text.find('`', at + 1)) {
        const size_t end = text.find('`', at + 1);
        if (end == text.npos) return text.npos;
        if (std::regex_search(text.substr(at + 1, end - at - 1), word)) return at;
        at = end;
    }
    return text.npos;
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool begins_with(std::string_view code, const std::string& name) {
    return code.starts_with(name) && code.size() > name.size() && !in_word(code[name.size()]);
}

enum class Defined { Alone, AsMember };

// Whether code in the row's first column begins with the name, alone or as a member: `probe:stats()`.
bool defines(const Block& row, const std::string& name, Defined how) {
    if (row.kind != Block::Kind::Row) return false;
    const size_t end = row.text.find(" | ", 2);
    for (size_t at = row.text.find('`'); at < end; at = row.text.find('`', row.text.find('`', at + 1) + 1)) {
        std::string_view code = std::string_view(row.text).substr(at + 1);
        if (how == Defined::AsMember) {
            const auto object = std::find_if_not(code.begin(), code.end(), in_word);
            if (object == code.end() || (*object != ':' && *object != '.')) continue;
            code.remove_prefix(static_cast<size_t>(object - code.begin()) + 1);
        }
        if (begins_with(code, name)) return true;
    }
    return false;
}

// Lower is better.
size_t distance(const Block& block, const std::regex& word) {
    if (block.kind == Block::Kind::Code) return std::string::npos;
    const size_t at = named_at(block.text, word);
    return at == std::string::npos ? at : at + (block.kind == Block::Kind::Row ? 200 : 0);
}

const Block* shortest_code(const std::vector<Block>& blocks, const std::regex& with) {
    const Block* found = nullptr;
    for (const Block& block : blocks)
        if (block.kind == Block::Kind::Code && (!found || block.text.size() < found->text.size()) &&
            std::regex_search(block.text, with))
            found = &block;
    return found;
}

std::string plain(std::string text, Block::Kind kind) {
    if (kind == Block::Kind::Row) {
        text = text.substr(2, text.find_last_not_of(" |") - 1);
        text = std::regex_replace(text, std::regex(R"( \| )"), ": ");
    }
    text = std::regex_replace(text, std::regex(R"(\*\*|`)"), "");
    return std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
}

std::string wrapped(const std::string& text, size_t columns) {
    std::istringstream words(text);
    std::string out, line;
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + word.size() + 1 > columns) out += std::exchange(line, {}) + "\n";
        line += (line.empty() ? "" : " ") + word;
    }
    return out + line;
}

std::string indented(const std::string& code) {
    std::string out;
    std::istringstream lines(code);
    for (std::string line; std::getline(lines, line);) out += "\n  " + line;
    return out;
}

}  // namespace

std::optional<std::string> Help::documented(const std::string& name, size_t columns, Rows rows) {
    static const std::vector<Block> blocks =
        blocks_of({reinterpret_cast<const char*>(documents), sizeof documents - 1});
    if (!std::regex_match(name, std::regex(R"([\w.]+)"))) return std::nullopt;
    const std::string spelt = "(^|[^\\w.\"])" + std::regex_replace(name, std::regex(R"(\.)"), "\\.");
    const std::regex word(spelt + "($|[^\\w\"])"), call(spelt + " *[({\"]");
    std::string text;
    const auto say = [&](const Block& block) {
        text += (text.empty() ? "" : "\n") + wrapped(plain(block.text, block.kind), columns);
    };
    for (const Defined how : {Defined::Alone, Defined::AsMember}) {
        const auto row =
            std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return defines(block, name, how); });
        if (row != blocks.end()) say(*row);
    }
    if (text.empty() && rows == Rows::Any) {
        const auto best = std::min_element(blocks.begin(), blocks.end(), [&](const Block& a, const Block& b) {
            return distance(a, word) < distance(b, word);
        });
        if (distance(*best, word) == std::string::npos) return std::nullopt;
        say(*best);
    }
    if (text.empty()) return std::nullopt;
    const Block* example = shortest_code(blocks, call);
    if (!example && name.find('.') != name.npos) example = shortest_code(blocks, word);
    return text + (example ? indented(example->text) : "");
}

std::string Help::about(const std::string& name, size_t columns) {
    if (name.empty()) return tour;
    if (auto text = find(name, columns)) return *std::move(text);
    return unknown(name);
}

std::optional<std::string> Help::find(const std::string& name, size_t columns) {
    if (const std::string variable = host_.about_variable(name); !variable.empty()) return variable;
    if (auto text = documented(name, columns, Rows::Defining)) return text;
    if (auto text = function(name)) return text;
    if (auto text = type(name)) return text;
    return documented(name, columns);
}

std::string Help::unknown(const std::string& name) {
    std::string near;
    if (const auto found = kernel_.symbols.near(name); found && !found->empty())
        near = fmt::format("; similar functions: {}", fmt::join(*found, ", "));
    return fmt::format("'{}' is no builtin, variable, kernel function or type{}", name, near);
}

std::optional<std::string> Help::function(const std::string& target) {
    const auto spec = parse_target(target);
    if (!spec) return std::nullopt;
    const auto found = kernel_.symbols.find(spec->symbol, spec->module);
    if (!found || found->empty()) return std::nullopt;
    const Symbol& symbol = found->front();
    std::string text;
    const auto sig = kernel_.types.function(symbol.name, symbol.module);
    text = sig && *sig ? (*sig)->text
                       : symbol.name + ": BTF does not describe its parameters; p.arg[n] is what the registers hold";
    if (!symbol.module.empty()) text += fmt::format("\n  in the module {}", symbol.module);
    if (found->size() > 1) text += fmt::format("\n  {} functions have this name: give the address", found->size());
    auto inspector = Inspector::open(kernel_.symbols, kernel_.types);
    auto view = inspector ? inspector->function(symbol) : Result<FunctionView>(inspector.error());
    if (!view)
        text += "\n  whether it can be probed is not known: " + view.error().text;
    else if (view->points.empty() || !view->points.front().probe.yes())
        text += "\n  can't be probed: " +
                (view->points.empty() ? "it has no code" : text_of(view->points.front().probe, symbol.addr));
    else
        text += view->points.front().ftrace ? "\n  can be probed: at its entry by ftrace, within by kprobes"
                                            : "\n  can be probed: by kprobes; ftrace has no site at its entry";
    const uint64_t end = view ? symbol.addr + view->size : symbol.addr + 1;
    if (const auto probes = system_probes(kernel_.symbols, kernel_.types))
        for (const SystemProbe& probe : *probes)
            if (probe.addr >= symbol.addr && probe.addr < end)
                text += fmt::format("\n  {} at {}, {}{}", probe.kind, probe.place, probe.state,
                                    probe.owner.empty() ? "" : ", of " + probe.owner);
    return text;
}

std::optional<std::string> Help::type(const std::string& name) {
    const auto parsed = kernel_.types.parse(name);
    if (!parsed) {
        const auto value = kernel_.types.enumerator(name);
        if (value && *value) return fmt::format("{} is a constant of an enum: {}", name, **value);
        return std::nullopt;
    }
    const auto info = kernel_.types.resolve(*parsed);
    if (!info) return std::nullopt;
    std::string text = name;
    if (const auto spelt = kernel_.types.spell(info->id); spelt && *spelt != name) text += " is " + *spelt;
    text += fmt::format(", {} bytes", info->size);
    if (info->kind == TypeKind::Enum)
        if (const auto constants = kernel_.types.enumerators(info->id))
            for (const auto& [value, constant] : *constants) text += fmt::format("\n  {} = {}", constant, value);
    if (const auto members = kernel_.types.members(info->id))
        for (const MemberInfo& member : *members)
            text += fmt::format("\n  {:>6}{:<3}{} {}", member.bit_offset / 8,
                                member.bit_size ? fmt::format(":{}", member.bit_offset % 8) : "",
                                std::string(static_cast<size_t>(member.depth) * 2, ' '),
                                member.text + (member.bit_size ? fmt::format(" : {}", member.bit_size) : ""));
    return text;
}

}  // namespace kpl
