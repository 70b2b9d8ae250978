// SPDX-License-Identifier: MIT
// The handler language, as data. tests/data/lua_accept*.txt: scripts, what their handlers find, and what
// comes out.
//
//   [name]
//   @args 1 -2 0x1000            ; integer arguments of the hit
//   @stack 5 6                   ; words above the return address
//   @passed 1 0x1000             ; what a tracepoint passes, a word each
//   @user 1 -2                   ; the arguments of a system call; a name that ends in 32 is one of 32 bits
//   @ret -2                      ; the return value
//   @node 0x1000 id=3 name="abc" ; a struct node at an address; fields that are not named are 0
//   @task 0x2000 pid=1           ; likewise a struct task_struct; @unode: a node in the process's memory
//   @str 0x3000 "text"           ; a string in the kernel; @ustr: of the user
//   @path 0x1000 "/etc"          ; what path() says of the struct path there
//   @unsafe                      ; with --unsafe; or @unsafe inject
//   @hits 2                      ; how often; without: once
//   <script>
//   => a line that comes out, or the content of a map afterwards; none: nothing comes out
//   warn: 3: text                ; a warning, with its line
//
// tests/data/lua_refuse*.txt: scripts, and all messages without the file's name:
//
//   => 3: what is wrong
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>

#include "ir/build/diagnostics.hpp"
#include "lab.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

struct LuaRow {
    std::string name, script;
    std::vector<std::string> setup, expected, warnings;
};

std::vector<LuaRow> read_rows(const std::string& prefix) {
    std::vector<LuaRow> rows;
    for (const auto& entry : std::filesystem::directory_iterator(KPL_TEST_DATA)) {
        if (!entry.path().filename().string().starts_with(prefix)) continue;
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with('[') && line.ends_with(']'))
                rows.push_back({line.substr(1, line.size() - 2), {}, {}, {}, {}});
            else if (line.starts_with('#') || rows.empty())
                continue;
            else if (line.starts_with('@'))
                rows.back().setup.push_back(line.substr(1));
            else if (line.starts_with("=> "))
                rows.back().expected.push_back(line.substr(3));
            else if (line.starts_with("warn: "))
                rows.back().warnings.push_back(line.substr(6));
            else if (!line.empty() || !rows.back().script.empty())
                rows.back().script += line + "\n";
        }
    }
    REQUIRE(rows.size() > 5);
    return rows;
}

int64_t number(const std::string& text) { return static_cast<int64_t>(std::stoull(text, nullptr, 0)); }

std::string unquote(const std::string& text) {
    REQUIRE(text.size() >= 2);
    return text.substr(1, text.size() - 2);
}

void set_reg(Lab& lab, uint16_t offset, int64_t value) { lab.sim.regs[offset / 8] = static_cast<uint64_t>(value); }

void put_struct(Lab& lab, SimMemory& memory, const std::string& type, std::istringstream& in) {
    std::string address, assignment;
    in >> address;
    const TypeId id = lab.types().parse("struct " + type).value();
    std::vector<uint8_t> bytes(lab.types().resolve(id).value().size);
    while (in >> assignment) {
        const size_t equals = assignment.find('=');
        const Field field = lab.types().field(id, assignment.substr(0, equals)).value().value();
        const std::string value = assignment.substr(equals + 1);
        if (value.starts_with('"')) {
            std::memcpy(bytes.data() + field.offset, value.data() + 1, value.size() - 2);
            continue;
        }
        uint64_t n = static_cast<uint64_t>(number(value));
        uint32_t size = lab.types().resolve(field.type).value().size;
        if (field.bit_size) {
            uint64_t old = 0;
            size = field.bit_bytes;
            std::memcpy(&old, bytes.data() + field.offset, size);
            n = old | (n & ((uint64_t{1} << field.bit_size) - 1)) << field.bit_offset;
        }
        std::memcpy(bytes.data() + field.offset, &n, std::min<size_t>(size, 8));
    }
    memory.add(static_cast<uint64_t>(number(address)), bytes);
}

int set_up(Lab& lab, const LuaRow& row) {
    int hits = 1;
    set_reg(lab, host_arch().sp, 0xffffc90000000000);
    for (const std::string& line : row.setup) {
        std::istringstream in(line);
        std::string what, word;
        in >> what;
        if (what == "args") {
            for (uint16_t offset : host_arch().args)
                if (in >> word) set_reg(lab, offset, number(word));
        } else if (what == "stack") {
            uint64_t at = 0xffffc90000000000 + host_arch().stack_arg;
            while (in >> word) lab.sim.kernel.add_u64(at, static_cast<uint64_t>(number(word))), at += 8;
        } else if (what == "passed") {
            std::vector<uint64_t> words;
            while (in >> word) words.push_back(static_cast<uint64_t>(number(word)));
            lab.sim.data.resize(words.size() * 8);
            std::memcpy(lab.sim.data.data(), words.data(), lab.sim.data.size());
        } else if (what == "user") {
            const bool compat = row.script.find("32\"") != row.script.npos;
            for (uint16_t offset : host_arch().syscalls[compat].args)
                if (in >> word) lab.sim.task.user_regs[offset / 8] = static_cast<uint64_t>(number(word));
        } else if (what == "ret") {
            in >> word;
            lab.sim.hit.ret = static_cast<uint64_t>(number(word));
            set_reg(lab, host_arch().ret, number(word));
        } else if (what == "node" || what == "task" || what == "unode") {
            put_struct(lab, what == "unode" ? lab.sim.user : lab.sim.kernel, what == "task" ? "task_struct" : "node",
                       in);
        } else if (what == "str" || what == "ustr") {
            std::string text;
            in >> word >> std::ws;
            std::getline(in, text);
            (what == "str" ? lab.sim.kernel : lab.sim.user)
                .add_string(static_cast<uint64_t>(number(word)), unquote(text));
        } else if (what == "path") {
            std::string text;
            in >> word >> text;
            lab.sim.paths[static_cast<uint64_t>(number(word))] = unquote(text);
        } else if (what == "hits") {
            in >> hits;
        } else if (what == "unsafe") {
            lab.options.unsafe = in >> word && word == "inject" ? Unsafe::Inject : Unsafe::All;
            lab.sim.rights = static_cast<uint32_t>(lab.options.unsafe);
        } else {
            FAIL("unknown set-up: " << line);
        }
    }
    return hits;
}

std::string without_file(const std::string& text) {
    std::string out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out += (line.starts_with("t.lua:") ? line.substr(6) : line) + "\n";
    return out;
}

std::string lines_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("handlers that are accepted do what they say") {
    for (const LuaRow& row : read_rows("lua_accept")) {
        DYNAMIC_SECTION(row.name) {
            Lab lab;
            const int hits = set_up(lab, row);
            const std::string errors = lab.compile(row.script);
            REQUIRE(errors == "");
            std::string out;
            for (int i = 0; i < hits; i++) out += lines_of(lab.hit());
            out += lines_of(lab.maps());
            INFO((lab.programs.empty() ? "" : print(lab.programs[0])));
            CHECK(out == lines_of(row.expected));
            CHECK(without_file(lab.warnings) == lines_of(row.warnings));
        }
    }
}

TEST_CASE("handlers that are refused say what is wrong") {
    for (const LuaRow& row : read_rows("lua_refuse")) {
        DYNAMIC_SECTION(row.name) {
            Lab lab;
            set_up(lab, row);
            CHECK(without_file(lab.compile(row.script)) == lines_of(row.expected));
        }
    }
}

// The text of a message with any content of its places.
static std::regex pattern(const builder::MessageRow& row) {
    std::string text(row.text);
    if (!row.advice.empty()) text.append(": ").append(row.advice);
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        const bool place =
            text[i] == '{' && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]));
        if (place) {
            out += ".*";
            i += 2;
        } else if ((text[i] == '{' || text[i] == '}') && i + 1 < text.size() && text[i + 1] == text[i]) {
            out += std::string("\\") + text[i++];
        } else {
            if (std::string_view("\\^$.|?*+()[]{}").find(text[i]) != std::string_view::npos) out += '\\';
            out += text[i];
        }
    }
    return std::regex(out);
}

TEST_CASE("every message has a row") {
    std::vector<std::string> messages;
    for (const char* prefix : {"lua_refuse", "lua_accept"})
        for (const LuaRow& row : read_rows(prefix)) {
            const auto& lines = row.warnings.empty() ? row.expected : row.warnings;
            for (const std::string& line : lines)
                messages.push_back(line.substr(std::min(line.size(), line.find(": ") + 2)));
        }
    const auto covered = [&](const builder::MessageRow& row) {
        const std::regex text = pattern(row);
        return std::any_of(messages.begin(), messages.end(),
                           [&](const std::string& m) { return std::regex_match(m, text); });
    };
    for (size_t i = 0; i < static_cast<size_t>(builder::Err::count_); i++) {
        const builder::MessageRow& row = builder::row(static_cast<builder::Err>(i));
        // Only another LuaJIT has other opcodes; what was compiled before has a test of its own.
        if (row.id == "OPCODE" || row.id == "SHAPE_FIXED" || row.id == "SHAPE_LACKS") continue;
        INFO(row.id);
        CHECK(covered(row));
    }
    for (size_t i = 0; i < static_cast<size_t>(builder::Warn::count_); i++) {
        INFO(builder::row(static_cast<builder::Warn>(i)).id);
        CHECK(covered(builder::row(static_cast<builder::Warn>(i))));
    }
}

TEST_CASE("what was compiled before keeps its layouts") {
    Lab lab;
    REQUIRE(lab.compile(R"(
        ev, m = event(), map()
        kprobe("other", function(p, a) ev { a = a, s = comm() } m[a] = { x = a } end)
    )") == "");
    const Layout before = lab.unit().events[0].record;
    CHECK(lab.hit() == std::vector<std::string>{"ev a=0 s=sim"});
    REQUIRE(lab.again(R"(
        d = event()
        kprobe("other", function(p, a) ev { a = 1, s = "y" } m[1] = { x = 2 } d { k = m[1] and 3 } print(4) end)
    )") == "");
    CHECK(lab.unit().events[0].record.size == before.size);
    CHECK(lab.unit().printfs.size() == 1);
    CHECK(lab.hit() == std::vector<std::string>{"ev a=0 s=sim", "ev a=1 s=y", "d k=3", "4"});
    CHECK(lab.maps() == std::vector<std::string>{"m[0] = x=0", "m[1] = x=2"});
    CHECK(
        lab.again("kprobe('other', function(p, a) ev { a = 1, s = 's', b = 2 }\nev { a = 1 } end)") ==
        "t.lua:1: ev.b is new, and armed handlers have fixed the fields (a, s): declare an event or a map of its own, or "
        "this handler before the script's end\n"
        "t.lua:2: ev.s may be nil here, and armed handlers always store it: store a value, or declare an event or a map of "
        "its own");
}

// Probes of system calls and of processes say so of all their parameters.
TEST_CASE("parameters that come from the process are user pointers") {
    Lab lab;
    lab.user_pointers = true;
    CHECK(lab.compile("kprobe('probe_me', function(p, n) print(str(n.name)) end)") ==
          "t.lua:1: str reads the kernel's memory, and n.name is an address of the process: write ustr(n.name)");
}

TEST_CASE("what a mark passes is fetched as its note describes it") {
    if (host_arch().name != "x86_64") return;  // the simulator's registers are x86-64's
    const auto passed = [](const std::string& args, const std::string& handler) {
        Lab lab;
        lab.mark_args = args;
        lab.sim.regs[*host_arch().reg("bx") / 8] = 0xffffffffffff80fe;
        lab.sim.regs[*host_arch().reg("bp") / 8] = 0x7000;
        lab.sim.regs[*host_arch().reg("ax") / 8] = 3;
        lab.sim.user.add_u64(0x6ff0, 0xfedcba9876543210);
        lab.sim.user.add_u64(0x7018, 0xffffffff00000005);
        const std::string errors = lab.compile("usdt('x:y:z', " + handler + ")");
        const auto lines = errors.empty() ? lab.hit() : std::vector{errors};
        return lines.empty() ? std::string() : lines[0];
    };
    const std::string first = "function(p, a) print(a) end";
    const std::pair<const char*, const char*> rows[] = {
        {"-8@%rbx", "-32514"},
        {"8@%rbx", "-32514"},
        {"-4@%ebx", "-32514"},
        {"4@%ebx", "4294934782"},
        {"-2@%bx", "-32514"},
        {"2@%bx", "33022"},
        {"-1@%bl", "-2"},
        {"1@%bl", "254"},
        {"-1@%bh", "-128"},
        {"1@%bh", "128"},
        {"-4@$-5", "-5"},
        {"4@$-5", "4294967291"},
        {"8@-16(%rbp)", "-81985529216486896"},
        {"4@-16(%rbp)", "1985229328"},
        {"-4@-12(%rbp)", "-19088744"},
        {"-1@-9(%rbp)", "-2"},
        {"-4@(%rbp,%rax,8)", "5"},
        {"-4@4(%rbp,%rax,8)", "-1"},
        {"4@28(%rbp)", "4294967295"},
        {"8@8(%rbp)", "stop USER_READ at 1: arg1"},
    };
    for (const auto& [args, printed] : rows) {
        INFO(args);
        CHECK(passed(args, first) == printed);
        CHECK(passed(std::string("8@$1 ") + args, "function(p) print(p.args.arg2) end").starts_with("stop") ==
              std::string(printed).starts_with("stop"));
        if (!std::string(printed).starts_with("stop"))
            CHECK(passed(std::string("8@$1 ") + args, "function(p) print(p.arg[2]) end") == printed);
    }
    // in one place a number, and no constant, for elsewhere it may be anything
    CHECK(passed("-4@$0", "function(p, a) if a == 0 then print('none') else print(1 / a) end end") == "none");
    CHECK(passed("8f@%xmm0", first).starts_with("t.lua:1: 'arg1', which the program passes as '8f@%xmm0' can't be"));
    CHECK(passed("8f@%xmm0 -4@$3", "function(p, a, b) print(b) end") == "3");
    CHECK(passed("", first).starts_with("t.lua:1: the handler has 1 parameters for the mark's 0: it is x:y:z()"));
    CHECK(passed("-4@$1", "function(p) print(p.arg[2]) end")
              .starts_with("t.lua:1: the probed mark has no parameter 'p.arg[2]': it is x:y:z(int32_t arg1)"));
    CHECK(passed("-4@$1", "function(p) print(p.args.arg0) end")
              .starts_with("t.lua:1: the probed mark has no parameter 'arg0' (did you mean arg1?)"));
}

TEST_CASE("what no handler has used yet takes the layout that a later one gives it") {
    Lab lab;
    REQUIRE(lab.compile(R"(
        ev, c, m = event(), count(), map()
        kprobe("other", function(p, a) print(a) end)
    )") == "");
    REQUIRE(lab.again(R"(kprobe("other", function(p, a) ev { x = "s" } c[a]:add() m[{ a, a }] = a end))") == "");
    CHECK(lab.hit() == std::vector<std::string>{"0", "ev x=s"});
}

// ---- LuaJIT's opcodes

namespace {

void add_opcodes(const Proto& proto, std::set<Op>& ops) {
    for (const Insn& insn : proto.code) ops.insert(insn.op);
    for (const GcConst& constant : proto.gc)
        if (const auto* child = std::get_if<std::shared_ptr<const Proto>>(&constant)) add_opcodes(**child, ops);
}

// Those of a handler and of the functions that it captures.
void add_opcodes(const FunctionRef& function, std::set<Op>& ops, std::set<const void*>& visited) {
    if (!visited.insert(function.identity()).second) return;
    const auto proto = function.proto();
    if (!proto) return;
    add_opcodes(**proto, ops);
    for (uint32_t i = 0; i < (*proto)->upvalues.size(); i++) {
        const Captured value = function.upvalue(i);
        if (const auto* inner = std::get_if<std::shared_ptr<const FunctionRef>>(&value))
            add_opcodes(**inner, ops, visited);
    }
}

// A function whose code is made here.
struct MadeFunction : FunctionRef {
    std::shared_ptr<Proto> made = std::make_shared<Proto>();
    Result<std::shared_ptr<const Proto>> proto() const override { return std::shared_ptr<const Proto>(made); }
    Captured upvalue(uint32_t) const override { return Nil{}; }
    Captured global(const std::string&) const override { return Nil{}; }
    const void* identity() const override { return this; }
};

// What the compiler says to a function whose one instruction is `op`.
std::string errors_of(Op op) {
    auto function = std::make_shared<MadeFunction>();
    Proto& p = *function->made;
    p.chunk = "@t.lua";
    p.frame_size = 8;
    p.upvalues.push_back({"up", 0, true, true, false});
    p.num = {1};
    p.code = {{Op::FUNCF, 0, 0, 0}, {op, 3, 0, 0x8000}, {Op::RET0, 0, 0, 1}, {Op::RET0, 0, 0, 1}};
    p.lines = {1, 1, 1, 1};
    Lab lab;
    Unit unit;
    unit.handlers.emplace_back();
    unit.handlers[0].function = function;
    BuildOptions options;
    options.arch = &host_arch();
    const auto built = build(unit, lab.types(), options);
    return built ? "" : built.error().message();
}

}  // namespace

// The opcodes of a row's handlers; whether they were refused.
static bool row_opcodes(const LuaRow& row, std::set<Op>& ops) {
    Lab lab;
    set_up(lab, row);
    const bool refused = !lab.compile(row.script).empty();
    std::set<const void*> visited;
    for (const HandlerDecl& handler : lab.unit().handlers) add_opcodes(*handler.function, ops, visited);
    return refused;
}

TEST_CASE("every opcode is used by a row, or refused") {
    std::set<Op> used, in_refused;
    for (const LuaRow& row : read_rows("lua_accept")) CHECK_FALSE(row_opcodes(row, used));
    for (const LuaRow& row : read_rows("lua_refuse"))
        if (!row_opcodes(row, in_refused)) FAIL_CHECK(row.name);
    std::string covered, refused;
    size_t covers = 0, refuses = 0;
    for (size_t i = 0; i < static_cast<size_t>(Op::count_); i++) {
        const Op op = static_cast<Op>(i);
        const std::string name(op_name(op));
        (used.contains(op) ? covers : refuses)++;
        (used.contains(op) ? covered : refused) += " " + name;
        if (used.contains(op) || in_refused.contains(op)) continue;
        // No Lua code of this LuaJIT has it in a dump.
        INFO(name);
        CHECK(errors_of(op) == "t.lua:1: LuaJIT's " + name + " is not available in handlers");
    }
    std::cout << fmt::format("opcodes: {} used by handlers that are accepted:{}\n{} refused:{}\n", covers, covered,
                             refuses, refused);
    CHECK(covers > 60);
}
