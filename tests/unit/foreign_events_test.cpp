// SPDX-License-Identifier: MIT
// Trace events of others as declarations: lines, fetch arguments, filters, what can't be said.
#include "inspect/foreign_events.hpp"

#include <catch2/catch.hpp>

#include "inspect/event_filter.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

std::string script(const std::string& line, const std::string& filter = "", bool enabled = true) {
    auto event = parse_event_definition(line);
    REQUIRE(event);
    event->filter = filter;
    event->enabled = enabled;
    return print_as_script({*event},
                           [](const std::string&, uint64_t offset) { return std::optional(offset + 0x400000); });
}

bool says(const std::string& text, const std::string& part) {
    if (text.find(part) != text.npos) return true;
    UNSCOPED_INFO(text);
    return false;
}

// What a fetch argument becomes, behind "local a =".
std::string fetched(const std::string& argument, const std::string& start = "p:g/e vfs_read") {
    const std::string text = script(start + " a=" + argument), mark = "local a =\n    ";
    const size_t at = text.find(mark);
    if (at == text.npos) return "";
    return text.substr(at + mark.size(), text.find('\n', at + mark.size()) - at - mark.size());
}

}  // namespace

TEST_CASE("a line of dynamic_events") {
    const auto event = parse_event_definition("r7:kprobe_lua/sum_5 kpl_target:kpl_t_plain sum=$retval:s64 c=$comm");
    REQUIRE(event);
    CHECK(event->type == 'r');
    CHECK(event->maxactive == 7);
    CHECK(event->group == "kprobe_lua");
    CHECK(event->name == "sum_5");
    CHECK(event->place == "kpl_target:kpl_t_plain");
    REQUIRE(event->args.size() == 2);
    CHECK(event->args[0] == std::pair(std::string("sum"), std::string("$retval:s64")));
    CHECK(parse_event_definition("f:fprobes/e vfs_read%return")->type == 'r');
    CHECK(parse_event_definition("p:g/e vfs_read")->maxactive == 0);
    CHECK_FALSE(parse_event_definition(""));
    CHECK_FALSE(parse_event_definition("p:g/e"));
    CHECK_FALSE(parse_event_definition("a line"));
}

TEST_CASE("fetch arguments as Lua") {
    CHECK(fetched("%di") == "ffi.cast(\"uint64_t\", p.regs.di)");
    CHECK(fetched("%di:s32") == "ffi.cast(\"int32_t\", p.regs.di)");
    CHECK(fetched("$arg2:u8") == "ffi.cast(\"uint8_t\", p.arg[2])");
    CHECK(fetched("\\-5:s64") == "ffi.cast(\"int64_t\", -5)");
    CHECK(fetched("$stack") == "ffi.cast(\"uint64_t\", p.sp)");
    CHECK(fetched("$stack2:u64") == "ffi.cast(\"uint64_t\", ffi.cast(\"uint64_t *\", p.sp)[2])");
    CHECK(fetched("$comm") == "comm()");
    CHECK(fetched("+8(%di):u32") == "try(ffi.cast(\"uint32_t *\", p.regs.di + 8)[0], 0)");
    CHECK(fetched("-16(%di):x16") == "try(ffi.cast(\"uint16_t *\", p.regs.di - 16)[0], 0)");
    CHECK(fetched("+u4(%si):s8") == "try(ffi.cast(\"int8_t user *\", p.regs.si + 4)[0], 0)");
    CHECK(fetched("+0(+8($arg1)):string") == "try(str(ffi.cast(\"uint64_t *\", p.arg[1] + 8)[0]), \"(fault)\")");
    CHECK(fetched("+0(%si):ustring") == "try(ustr(p.regs.si), \"(fault)\")");
    CHECK(fetched("@jiffies_64:u64") == "try(ffi.cast(\"uint64_t *\", kaddr(\"jiffies_64\"))[0], 0)");
    CHECK(fetched("@jiffies_64+4:u32") == "try(ffi.cast(\"uint32_t *\", kaddr(\"jiffies_64\") + 4)[0], 0)");
    CHECK(fetched("%ip:symbol") == "sym(ffi.cast(\"uint64_t\", p.regs.ip))");
    CHECK(fetched("%di:b4@8/32") == "bit.band(bit.rshift(ffi.cast(\"uint32_t\", p.regs.di), 8), 15)");
    CHECK(fetched("$retval:s64", "r:g/e vfs_read") == "ffi.cast(\"int64_t\", p.ret)");
    CHECK(fetched("$arg3:u64", "r:g/e vfs_read") == "ffi.cast(\"uint64_t\", p.data.arg3)");
    CHECK(fetched("+0(%di):string", "p:g/e /bin/sh:0x1000") == "try(ustr(p.regs.di), \"(fault)\")");
    CHECK(fetched("+0(%di):u8", "p:g/e /bin/sh:0x1000") == "try(ffi.cast(\"uint8_t user *\", p.regs.di)[0], 0)");
    for (const char* unknown :
         {"%di:u32[4]", "+0(%di):nothing", "$retval", "@+0x100:u8", "$nothing", "+x(%di):u8", "+0(%di:u8", "$arg0"})
        CHECK(fetched(unknown).empty());
    CHECK(says(script("p:g/e vfs_read a=%di:u32[4]"), "-- not said here: a=%di:u32[4]\n"));
}

TEST_CASE("declarations of them") {
    CHECK(
        says(script("p:g/e vfs_read+9"), "kprobe { \"vfs_read+0x9\", pre = function(p)\n  printf(\"e:\\n\")\nend }\n"));
    CHECK(says(script("p:g/e vfs_read+0"), "kprobe { \"vfs_read\", pre"));
    CHECK(says(script("p:g/e vfs_read", "", false), "kprobe { \"vfs_read\", enabled = false, pre"));
    CHECK(says(script("r7:g/e m:f"), "kretprobe { \"m:f\", maxactive = 7, ret = function(p)"));
    CHECK(says(script("r:g/e f n=$arg3:u64"),
               "kretprobe { \"f\", entry = function(p) p.data.arg3 = p.arg[3] end, ret = "));
    CHECK(says(script("p:g/e /bin/sh:0x1000 a=%ax"), "uprobe { \"/bin/sh:0x401000\", function(p)\n"));
    CHECK(says(script("r:g/e /bin/sh:0x1000"), "uretprobe { \"/bin/sh:0x401000\", ret = function(p)\n"));
    CHECK(says(script("e:g/e sched/sched_switch"), "-- not said here: it is no event of a probe\n"));
    CHECK(says(script("p:g/e f n=%di:x32 s=+0(%si):string"), "printf(\"e: n=0x%x s=\\\"%s\\\"\\n\", n, s)"));
    CHECK(says(script("p:g/e f end=%di:u32", "end > 5"), "local end_ =\n"));
    CHECK(says(script("p:g/e f end=%di:u32", "end > 5"), "if end_ > 5 then printf"));
    CHECK(
        says(script("p:g/e f a=%di:u32", "a ~ \"?\""), "-- not said here: the filter a ~ \"?\": each hit is shown\n"));
}

TEST_CASE("filters as Lua") {
    const FilterFields fields = {{"n", "n", false}, {"name", "name", true}};
    const auto lua = [&](const char* filter) { return filter_as_lua(filter, fields).value_or("-"); };
    CHECK(lua("n > 4096") == "n > 4096");
    CHECK(lua("n != -5 && common_pid == 7") == "n ~= -5 and tid() == 7");
    CHECK(lua("n==1||n==0x2") == "n == 1 or n == 0x2");
    CHECK(lua("!(n < 5 || n > 9) && comm == \"sh\"") == "not ((n < 5 or n > 9)) and comm() == \"sh\"");
    CHECK(lua("n & 4") == "bit.band(n, 4) ~= 0");
    CHECK(lua("n & 010 && n != 0") == "bit.band(n, 8) ~= 0 and n ~= 0");
    CHECK(lua("n & 4 && cpu == 1") == "bit.band(n, 4) ~= 0 and cpu() == 1");
    CHECK(lua("name != bash") == "name ~= \"bash\"");
    CHECK(lua("name ~ \"ba*\"") == "starts(name, \"ba\")");
    CHECK(lua("n == 18446744073709551615") == "n == 18446744073709551615ULL");
    for (const char* refused : {"", "n", "n >", "n > x", "m == 1", "n == 1 &&", "(n == 1", "n == 1)", "name ~ \"*a*\"",
                                "name == \"a\\b\"", "name < \"a\"", "n == 1 n == 2", "name == \"a"})
        CHECK(lua(refused) == "-");
}

TEST_CASE("events are read with their filters and triggers") {
    const TempDir root;
    const auto put = [&](const std::string& path, const std::string& text) { root.write(path, text + "\n"); };
    CHECK_FALSE(read_foreign_events(root.path()));
    put("dynamic_events", "p:g/one f n=%di:u64\nr:g/two f\n");
    put("events/g/one/enable", "1");
    put("events/g/one/filter", "n > 1");
    put("events/g/one/trigger", "hist:keys=n");
    put("events/g/two/enable", "0");
    put("events/g/two/filter", "none");
    put("events/g/two/trigger", "# Available triggers:\n# hist");
    const auto events = read_foreign_events(root.path());
    REQUIRE(events);
    REQUIRE(events->size() == 2);
    CHECK((*events)[0].enabled);
    CHECK((*events)[0].filter == "n > 1");
    CHECK((*events)[0].trigger == "hist:keys=n");
    CHECK_FALSE((*events)[1].enabled);
    CHECK((*events)[1].filter.empty());
    CHECK((*events)[1].trigger.empty());
}
