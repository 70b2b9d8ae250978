// SPDX-License-Identifier: MIT
#include "inspect/foreign_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "base/lua_string.hpp"
#include "inspect/debugfs.hpp"
#include "inspect/event_filter.hpp"

namespace kpl {
namespace {

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const size_t begin = text.find_first_not_of(" \t");
        if (begin == text.npos) break;
        const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
        out.emplace_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
    return out;
}

std::optional<uint64_t> number(std::string_view text) {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// A value as Lua, and how printf shows it.
struct Value {
    std::string lua;
    const char* shown = "%u";
    bool is_string = false;
    bool reads = false;  // memory, which may not be there
};

// The fetch arguments of one event.
class Fetches {
  public:
    explicit Fetches(const ForeignEvent& event) : event_(event) {}

    // Nothing: it can't be said.
    std::optional<Value> value(const std::string& text) {
        const size_t close = text.rfind(')'), colon = text.rfind(':');
        const bool typed = colon != text.npos && (close == text.npos || colon > close);
        const std::string type = typed ? text.substr(colon + 1) : "";
        return typed_value(text.substr(0, typed ? colon : text.size()), type);
    }
    // Arguments that a return probe keeps from the entry, by number.
    const std::set<unsigned>& kept() const { return kept_; }

  private:
    struct Type {
        const char *name, *c, *shown;
    };
    static constexpr Type types[] = {
        {"u8", "uint8_t", "%u"},     {"u16", "uint16_t", "%u"},   {"u32", "uint32_t", "%u"},
        {"u64", "uint64_t", "%u"},   {"s8", "int8_t", "%d"},      {"s16", "int16_t", "%d"},
        {"s32", "int32_t", "%d"},    {"s64", "int64_t", "%d"},    {"x8", "uint8_t", "0x%x"},
        {"x16", "uint16_t", "0x%x"}, {"x32", "uint32_t", "0x%x"}, {"x64", "uint64_t", "0x%x"},
        {"char", "uint8_t", "%u"},   {"", "uint64_t", "0x%x"},
    };

    static const Type* find_type(const std::string& name) {
        const auto* found =
            std::find_if(std::begin(types), std::end(types), [&](const Type& type) { return name == type.name; });
        return found == std::end(types) ? nullptr : found;
    }

    std::optional<Value> typed_value(const std::string& fetch, const std::string& type) {
        if (fetch == "$comm" || fetch == "$COMM") return Value{"comm()", "%s", true};
        if (type == "string" || type == "ustring") return string(fetch, type == "ustring" || event_.is_user());
        if (type == "symbol" || type == "symstr") {
            const auto of = typed_value(fetch, "u64");
            return of ? std::optional(Value{fmt::format("sym({})", of->lua), "%s", false, of->reads}) : std::nullopt;
        }
        if (type.starts_with('b') && type.find('@') != type.npos) return bits(fetch, type);
        const Type* const row = find_type(type);
        if (!row) return std::nullopt;
        if (auto memory = read(fetch, row->c)) return Value{*memory, row->shown, false, true};
        const auto base = plain(fetch);
        if (!base) return std::nullopt;
        return Value{fmt::format("ffi.cast(\"{}\", {})", row->c, *base), row->shown};
    }

    // bWIDTH@OFFSET/SIZE
    std::optional<Value> bits(const std::string& fetch, const std::string& type) {
        const size_t at = type.find('@'), slash = type.find('/', at);
        if (slash == type.npos) return std::nullopt;
        const auto width = number(std::string_view(type).substr(1, at - 1));
        const auto offset = number(std::string_view(type).substr(at + 1, slash - at - 1));
        const auto of = typed_value(fetch, "u" + type.substr(slash + 1));
        if (!width || !offset || !of || *width == 0 || *width > 32) return std::nullopt;
        return Value{fmt::format("bit.band(bit.rshift({}, {}), {})", of->lua, *offset, (uint64_t{1} << *width) - 1),
                     "%u", false, of->reads};
    }

    std::optional<Value> string(const std::string& fetch, bool user) {
        const auto [offset, base, of_user] = split(fetch);
        const auto address = base.empty() ? std::nullopt : address_of(base);
        if (!address) return std::nullopt;
        return Value{fmt::format("{}({})", user || of_user ? "ustr" : "str", *address + offset), "\\\"%s\\\"", true,
                     true};
    }

    struct Split {
        std::string offset, base;
        bool user = false;
    };
    // "+8(%di)", "-u0($arg1)", "@SYM+4": what is added to which address. An empty base: it is none of these.
    static Split split(const std::string& fetch) {
        if (fetch.starts_with('@')) return {"", fetch, false};
        if (fetch.empty() || (fetch[0] != '+' && fetch[0] != '-') || !fetch.ends_with(')')) return {};
        const size_t open = fetch.find('(');
        const bool user = fetch.size() > 1 && fetch[1] == 'u';
        if (open == fetch.npos) return {};
        const auto offset = number(std::string_view(fetch).substr(user ? 2 : 1, open - (user ? 2 : 1)));
        if (!offset) return {};
        const std::string added = *offset ? fmt::format(" {} {}", fetch[0], *offset) : "";
        return {added, fetch.substr(open + 1, fetch.size() - open - 2), user};
    }

    std::optional<std::string> address_of(const std::string& base) {
        if (base.starts_with('@')) {
            if (base.starts_with("@+") || event_.is_user()) return std::nullopt;  // in the file
            if (const auto address = number(std::string_view(base).substr(1)))
                return fmt::format("0x{:x}ULL", *address);
            const size_t sign = base.find_first_of("+-");
            const std::string name = base.substr(1, sign == base.npos ? base.npos : sign - 1);
            const std::string offset =
                sign == base.npos ? "" : fmt::format(" {} {}", base[sign], base.substr(sign + 1));
            return fmt::format("kaddr(\"{}\"){}", name, offset);
        }
        if (auto memory = read(base, "uint64_t")) return memory;
        return plain(base);
    }

    // What lies in memory, of that C type.
    std::optional<std::string> read(const std::string& fetch, const char* c) {
        const auto [offset, base, of_user] = split(fetch);
        if (base.empty()) return std::nullopt;
        const auto address = address_of(base);
        if (!address) return std::nullopt;
        return fmt::format("ffi.cast(\"{}{} *\", {}{})[0]", c, of_user || event_.is_user() ? " user" : "", *address,
                           offset);
    }

    std::optional<std::string> plain(const std::string& fetch) {
        if (fetch.starts_with('%')) return "p.regs." + fetch.substr(1);
        if (fetch.starts_with('\\')) {
            const bool negative = fetch.starts_with("\\-");
            const auto value = number(std::string_view(fetch).substr(negative ? 2 : 1));
            return value ? std::optional(fmt::format("{}{}{}", negative ? "-" : "", *value, *value >> 53 ? "ULL" : ""))
                         : std::nullopt;
        }
        if (fetch == "$retval") return event_.type == 'r' ? std::optional<std::string>("p.ret") : std::nullopt;
        if (fetch == "$stack") return "p.sp";
        if (fetch.starts_with("$stack"))
            return number(std::string_view(fetch).substr(6))
                       ? std::optional(fmt::format("ffi.cast(\"uint64_t{} *\", p.sp)[{}]",
                                                   event_.is_user() ? " user" : "", fetch.substr(6)))
                       : std::nullopt;
        if (!fetch.starts_with("$arg")) return std::nullopt;
        const auto n = number(std::string_view(fetch).substr(4));
        if (!n || *n == 0 || *n > 16) return std::nullopt;
        if (event_.type != 'r') return fmt::format("p.arg[{}]", *n);
        kept_.insert(static_cast<unsigned>(*n));
        return fmt::format("p.data.arg{}", *n);
    }

    const ForeignEvent& event_;
    std::set<unsigned> kept_;
};

// A name that stands for nothing else in the handler.
std::string local_name(const std::string& name) {
    static const std::set<std::string_view> taken = {
        "and",   "break", "do",  "else", "elseif", "end",    "false", "for",  "function", "goto",   "if",    "in",
        "local", "nil",   "not", "or",   "repeat", "return", "then",  "true", "until",    "while",  "p",     "ffi",
        "bit",   "sym",   "str", "ustr", "try",    "comm",   "tid",   "cpu",  "kaddr",    "printf", "starts"};
    return taken.contains(name) ? name + "_" : name;
}

// "vfs_read+9" as a target. Nothing: an offset of a file where nothing is.
std::optional<std::string> target_of(const ForeignEvent& event, const AddressOf& address_of) {
    if (event.is_user()) {
        const size_t colon = event.place.rfind(':');
        const auto offset = number(std::string_view(event.place).substr(colon + 1));
        const std::string path = event.place.substr(0, colon);
        const auto address = offset ? address_of(path, *offset) : std::nullopt;
        return address ? std::optional(fmt::format("{}:0x{:x}", path, *address)) : std::nullopt;
    }
    const size_t plus = event.place.find('+');
    if (plus == event.place.npos) return event.place;
    const auto offset = number(std::string_view(event.place).substr(plus + 1));
    if (!offset) return std::nullopt;
    return event.place.substr(0, plus) + (*offset ? fmt::format("+0x{:x}", *offset) : "");
}

std::string no(std::string part) {
    std::replace(part.begin(), part.end(), '\n', ' ');
    return fmt::format("-- not said here: {}\n", part);
}

// The handler's body.
std::string body(const ForeignEvent& event, Fetches& fetches, std::string& left_out) {
    std::string names, values, format = event.name + ":", shown;
    FilterFields fields;
    for (const auto& [name, text] : event.args) {
        const auto value = fetches.value(text);
        if (!value) {
            left_out += no(fmt::format("{}={}", name, text));
            continue;
        }
        const std::string local = local_name(name);
        names += (names.empty() ? "" : ", ") + local;
        values += values.empty() ? "" : ",\n    ";
        // What can't be read is 0 there, and a text.
        values += !value->reads      ? value->lua
                  : value->is_string ? fmt::format("try({}, \"(fault)\")", value->lua)
                                     : fmt::format("try({}, 0)", value->lua);
        format += fmt::format(" {}={}", name, value->shown);
        shown += ", " + local;
        fields.push_back({name, local, value->is_string});
    }
    std::string test;
    if (!event.filter.empty()) {
        const auto condition = filter_as_lua(event.filter, fields);
        if (condition)
            test = *condition;
        else
            left_out += no(fmt::format("the filter {}: each hit is shown", event.filter));
    }
    std::string text;
    if (!names.empty()) text += fmt::format("  local {} =\n    {}\n", names, values);
    const std::string print = fmt::format("printf(\"{}\\n\"{})", format, shown);
    text += test.empty() ? fmt::format("  {}\n", print) : fmt::format("  if {} then {} end\n", test, print);
    return text;
}

std::string declaration(const ForeignEvent& event, const AddressOf& address_of) {
    std::string text = fmt::format("\n-- {}\n", event.definition);
    if (event.type != 'p' && event.type != 'r') return text + no("it is no event of a probe");
    const auto target = target_of(event, address_of);
    if (!target) return text + no(fmt::format("{}: there is no code of that file", event.place));
    Fetches fetches(event);
    std::string left_out;
    const std::string handler = body(event, fetches, left_out);
    if (!event.trigger.empty()) left_out += no("the trigger " + event.trigger);
    text += left_out;
    const bool returns = event.type == 'r';
    std::string options = lua_string(*target);
    if (!event.enabled) options += ", enabled = false";
    if (returns && event.maxactive) options += fmt::format(", maxactive = {}", event.maxactive);
    std::string entry;
    for (const unsigned n : fetches.kept()) entry += fmt::format(" p.data.arg{} = p.arg[{}]", n, n);
    if (!entry.empty()) options += fmt::format(", entry = function(p){} end", entry);
    const char* const plain = event.is_user() ? "" : "pre = ";
    return text + fmt::format("{}{} {{ {}, {}function(p)\n{}end }}\n", event.is_user() ? "u" : "k",
                              returns ? "retprobe" : "probe", options, returns ? "ret = " : plain, handler);
}

std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace

std::optional<ForeignEvent> parse_event_definition(std::string_view line) {
    const auto all = words(line);
    if (all.size() < 2) return std::nullopt;
    ForeignEvent event;
    event.definition = line;
    const size_t colon = all[0].find(':'), slash = all[0].find('/');
    if (colon == std::string::npos || slash == std::string::npos || slash < colon) return std::nullopt;
    event.type = all[0][0];
    event.maxactive = static_cast<unsigned>(number(std::string_view(all[0]).substr(1, colon - 1)).value_or(0));
    event.group = all[0].substr(colon + 1, slash - colon - 1);
    event.name = all[0].substr(slash + 1);
    event.place = all[1];
    if (event.type == 'f') event.type = 'p';  // an fprobe: a function's entry, or its return
    if (constexpr std::string_view mark = "%return"; event.place.ends_with(mark)) {
        event.type = 'r';
        event.place.resize(event.place.size() - mark.size());
    }
    for (size_t i = 2; i < all.size(); i++) {
        const size_t equals = all[i].find('=');
        if (equals == std::string::npos) continue;
        event.args.emplace_back(all[i].substr(0, equals), all[i].substr(equals + 1));
    }
    return event;
}

Result<std::vector<ForeignEvent>> read_foreign_events(const std::string& dir) {
    auto text = read_tracefs(dir, "/dynamic_events");
    if (!text) text = read_tracefs(dir, "/kprobe_events");
    if (!text) return text.error();
    std::vector<ForeignEvent> events;
    for (size_t begin = 0; begin < text->size();) {
        const size_t end = std::min(text->find('\n', begin), text->size());
        auto event = parse_event_definition(std::string_view(*text).substr(begin, end - begin));
        begin = end + 1;
        if (!event) continue;
        const std::string own = fmt::format("/events/{}/{}/", event->group, event->name);
        const auto attribute = [&](const char* name) {
            auto value = read_tracefs(dir, own + name);
            return value ? one_line(*value) : std::string();
        };
        event->enabled = attribute("enable").starts_with('1');
        if (const std::string filter = attribute("filter"); filter != "none") event->filter = filter;
        // Without one, the file lists those that there might be.
        if (const std::string trigger = attribute("trigger"); !trigger.starts_with('#')) event->trigger = trigger;
        events.push_back(std::move(*event));
    }
    return events;
}

std::string print_as_script(const std::vector<ForeignEvent>& events, const AddressOf& address_of) {
    std::string text =
        "-- The trace events of this machine that are probes, as kprobe-lua declares them.\nlocal ffi = require \"ffi\"\n";
    for (const ForeignEvent& event : events) text += declaration(event, address_of);
    return text;
}

}  // namespace kpl
