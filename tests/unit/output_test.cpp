// SPDX-License-Identifier: MIT
// Decoding of records and keys, printf, histograms and tables.
#include <catch2/catch.hpp>
#include <cstring>

#include "output/color.hpp"
#include "output/datum.hpp"
#include "output/format.hpp"
#include "output/printf.hpp"
#include "output/render.hpp"

using namespace kpl;

namespace {

FieldLayout field(std::string name, FieldKind kind, uint32_t offset, uint32_t limit = 0, bool nilable = false) {
    FieldLayout f;
    f.name = std::move(name), f.kind = kind, f.offset = offset, f.limit = limit, f.nilable = nilable;
    return f;
}

// A record as the module lays it out: header, fixed part, tail.
struct RecordBuilder {
    std::vector<uint8_t> bytes = std::vector<uint8_t>(sizeof(kpl_rec));
    explicit RecordBuilder(size_t fixed) { bytes.resize(bytes.size() + fixed); }
    template <class T>
    void put(size_t offset, const T& value) {
        std::memcpy(bytes.data() + sizeof(kpl_rec) + offset, &value, sizeof value);
    }
    void put_string(size_t offset, const std::string& text) {
        put(offset, kpl_rec_str{static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(text.size())});
        bytes.insert(bytes.end(), text.begin(), text.end());
        bytes.resize((bytes.size() + 7) & ~size_t{7});
    }
};

const Format& format(std::string_view name) {
    const Format* found = format_named(name);
    REQUIRE(found);
    return *found;
}

MapDecl map_of(kpl_map_kind kind, std::string name, bool keyed) {
    MapDecl map;
    map.kind = kind;
    map.name = std::move(name);
    map.keyed = keyed;
    return map;
}

}  // namespace

TEST_CASE("printf conversions") {
    struct Row {
        const char* format;
        std::vector<Datum> values;
        const char* text;
    };
    const Row rows[] = {
        {"%d", {int64_t{-5}}, "-5"},
        {"%5d|%-5d|%05d", {int64_t{42}, int64_t{42}, int64_t{42}}, "   42|42   |00042"},
        {"%u", {int64_t{-1}}, "18446744073709551615"},
        {"%d", {uint64_t{18446744073709551615u}}, "18446744073709551615"},
        {"%x %#x %X %o", {int64_t{255}, int64_t{255}, int64_t{255}, int64_t{8}}, "ff 0xff FF 10"},
        {"%c%c", {int64_t{'o'}, int64_t{'k'}}, "ok"},
        {"%s|%8s|%-8s|%.2s",
         {std::string("abc"), std::string("abc"), std::string("abc"), std::string("abc")},
         "abc|     abc|abc     |ab"},
        {"%s %s", {true, Nil{}}, "true nil"},
        {"%s", {SymbolDatum{0x1000, "vfs_read"}}, "vfs_read"},
        {"%p", {uint64_t{0xffff0000}}, "0xffff0000"},
        {"100%%, %d%%", {int64_t{3}}, "100%, 3%"},
        {"%lld", {int64_t{9}}, "9"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.format);
        CHECK(format_printf(row.format, row.values) == row.text);
    }
}

TEST_CASE("what print and keys show moves no cursor") {
    const std::string text = "a\033[2J\xc2\x9b\x7f\tz\xc3\xa4\n";
    CHECK(format_print({text}) == "a?[2J??\tz\xc3\xa4\n\n");
    CHECK(key_text({text, int64_t{1}}) == "a?[2J???z\xc3\xa4?, 1");
}

TEST_CASE("printf shows values as print does; what stands in the format stays") {
    CHECK(format_printf("\033[1m%s", {std::string("a\0b\t\033\n\xff", 7)}) == "\033[1ma?b\t?\n\xff");
    const std::string eight_bits = "\xc2\x9b";
    CHECK(format_printf("%c%c%5s|%.2s", {int64_t{27}, int64_t{'\n'}, eight_bits, "\r" + eight_bits}) == "?\n    ?|??");
    CHECK(format_printf("%s%s%.1s", {std::string("a\xc2"), std::string("\x9b"), std::string("\xc2\xa4")}) == "a?\x9b?");
}

TEST_CASE("print joins by tabs") { CHECK(format_print({int64_t{1}, std::string("a"), Nil{}}) == "1\ta\tnil\n"); }

TEST_CASE("records are decoded by their layout") {
    Kallsyms symbols("/nonexistent");
    const Decoder decoder(symbols);
    Layout layout;
    layout.size = 40;
    layout.presence_offset = 32;
    layout.fields = {field("n", FieldKind::I64, 0), field("u", FieldKind::U64, 8),
                     field("path", FieldKind::String, 16, 255), field("maybe", FieldKind::I64, 24, 0, true)};
    RecordBuilder record(40);
    record.put(0, int64_t{-7});
    record.put(8, uint64_t{1} << 63);
    record.put(24, int64_t{99});
    record.put(32, uint64_t{0});
    record.put_string(16, "/etc/passwd");

    auto values = decoder.record(layout, record.bytes);
    REQUIRE(values.size() == 4);
    CHECK(std::get<int64_t>(values[0]) == -7);
    CHECK(std::get<uint64_t>(values[1]) == uint64_t{1} << 63);
    CHECK(std::get<std::string>(values[2]) == "/etc/passwd");
    CHECK(std::holds_alternative<Nil>(values[3]));

    record.put(32, uint64_t{1} << 3);
    CHECK(std::get<int64_t>(decoder.record(layout, record.bytes)[3]) == 99);
}

TEST_CASE("a truncated record never reads beyond its bytes") {
    Kallsyms symbols("/nonexistent");
    const Decoder decoder(symbols);
    Layout layout;
    layout.size = 8;
    layout.fields = {field("s", FieldKind::String, 0, 255)};
    RecordBuilder record(8);
    record.put(0, kpl_rec_str{24, 0xffffffff});
    for (size_t size = sizeof(kpl_rec); size <= record.bytes.size(); size++)
        CHECK_NOTHROW(decoder.record(layout, std::span(record.bytes).first(size)));
}

TEST_CASE("keys go both ways") {
    Kallsyms symbols("/nonexistent");
    const Decoder decoder(symbols);
    Layout layout;
    layout.size = 8 + KPL_STR_SIZE(16);
    layout.fields = {field("1", FieldKind::I64, 0), field("2", FieldKind::String, 8, 16)};
    const auto bytes = encode(layout, {int64_t{12}, std::string("cat")});
    REQUIRE(bytes);
    REQUIRE(bytes->size() == layout.size);
    const auto values =
        decoder.fixed(layout, std::span(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()));
    CHECK(std::get<int64_t>(values[0]) == 12);
    CHECK(std::get<std::string>(values[1]) == "cat");

    CHECK(encode(layout, {int64_t{12}}).error().text == "the key has 2 elements, 1 given");
    CHECK(encode(layout, {int64_t{12}, int64_t{3}}).error().text == "element 2 of the key should be a string");
    CHECK(encode(layout, {std::string("x"), std::string("y")}).error().text ==
          "element 1 of the key should be a number");
    CHECK_FALSE(encode(layout, {int64_t{12}, std::string(17, 'x')}));

    layout.fields = {field("1", FieldKind::Bool, 0)};
    CHECK(encode(layout, {true}));
    CHECK(encode(layout, {int64_t{0}}).error().text == "element 1 of the key should be true or false");
}

TEST_CASE("histograms are drawn as bpftrace draws them") {
    MapDecl map = map_of(KPL_MAP_HIST, "lat", false);
    AggValue value;
    value.slots.assign(66, 0);
    value.slots[6] = 12;  // [16, 32)
    value.slots[7] = 6;
    value.slots[12] = 3;  // [1K, 2K)
    const std::string text = draw_histogram(map, value);
    CHECK(text.starts_with("[16, 32)              12 |" + std::string(52, '@') + "|\n"));
    CHECK(text.find("[32, 64)               6 |" + std::string(26, '@') + std::string(26, ' ') + "|\n") !=
          std::string::npos);
    CHECK(text.find("[1K, 2K)               3 |") != std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 7);
}

TEST_CASE("labels of the first and last buckets") {
    MapDecl map = map_of(KPL_MAP_HIST, "", false);
    AggValue value;
    value.slots.assign(65, 1);
    const std::string text = draw_histogram(map, value);
    CHECK(text.starts_with("(..., 0) "));
    CHECK(text.find("\n[0] ") != std::string::npos);
    CHECK(text.find("\n[1] ") != std::string::npos);
    CHECK(text.find("\n[2, 4) ") != std::string::npos);
    CHECK(text.find("\n[512, 1K) ") != std::string::npos);
    CHECK(text.find("\n[2E, 4E) ") != std::string::npos);
    CHECK(text.find("\n[4E, ...) ") != std::string::npos);

    map.kind = KPL_MAP_LHIST;
    map.lo = 0, map.hi = 20, map.step = 10;
    value.slots.assign(4, 1);
    const std::string linear = draw_histogram(map, value);
    CHECK(linear.starts_with("(..., 0) "));
    CHECK(linear.find("\n[0, 10) ") != std::string::npos);
    CHECK(linear.find("\n[10, 20) ") != std::string::npos);
    CHECK(linear.find("\n[20, ...) ") != std::string::npos);
}

TEST_CASE("tables are sorted by value, smallest first") {
    const MapDecl map = map_of(KPL_MAP_COUNT, "reads", true);
    AggValue three, one;
    three.n = 3;
    one.n = 1;
    std::vector<KeyedValue> rows = {{{std::string("cat")}, three}, {{std::string("sh")}, one}};
    sort_rows(map, rows);
    CHECK(render(map, rows) == "@reads[sh]: 1\n@reads[cat]: 3\n");
    CHECK(render(map_of(KPL_MAP_COUNT, "", false), {{{}, three}}) == "@: 3\n");
}

TEST_CASE("a tuple key prints its elements") {
    const MapDecl map = map_of(KPL_MAP_SUM, "t", true);
    AggValue v;
    v.sum = -4;
    CHECK(render(map, {{{SymbolDatum{1, "vfs_read"}, std::string("dd")}, v}}) == "@t[vfs_read, dd]: -4\n");
}

TEST_CASE("JSON has bpftrace's types") {
    AggValue five;
    five.n = 5, five.sum = -7, five.min = -9, five.max = 2;
    const std::vector<Datum> key = {SymbolDatum{1, "vfs_read"}, std::string("dd")};
    CHECK(format("json").ring_grown(3, 4096) == "{\"type\":\"ring_grown\",\"data\":{\"cpu\":3,\"bytes\":4096}}\n");
    CHECK(format("json").printed("a\"b\n") == "{\"type\":\"printf\",\"data\":\"a\\\"b\\n\"}\n");
    CHECK(format("json").printed("\033\x7f\xc2\x80-\xc2\x9f\xc2\xa0\xff") ==
          "{\"type\":\"printf\",\"data\":\"\\u001b\\u007f\\u0080-\\u009f\xc2\xa0\xef\xbf\xbd\"}\n");
    CHECK(format("json").attached(2) == "{\"type\":\"attached_probes\",\"data\":{\"probes\":2}}\n");
    CHECK(
        format("json").overload({"vfs_read", 1, 60, 25, 9}) ==
        "{\"type\":\"overload\",\"data\":{\"probe\":\"vfs_read\",\"hits\":9,\"cpu\":1,\"percent\":60,\"share\":25}}\n");
    CHECK(format("json").lost(3) == "{\"type\":\"lost_events\",\"data\":{\"events\":3}}\n");
    CHECK(format("json").map(map_of(KPL_MAP_COUNT, "n", false), {{{}, five}}) ==
          "{\"type\":\"map\",\"data\":{\"@n\":5}}\n");
    CHECK(format("json").map(map_of(KPL_MAP_SUM, "s", true), {{key, five}}) ==
          "{\"type\":\"map\",\"data\":{\"@s\":{\"vfs_read,dd\":-7}}}\n");
    CHECK(format("json").map(map_of(KPL_MAP_STATS, "st", false), {{{}, five}}) ==
          "{\"type\":\"stats\",\"data\":{\"@st\":{\"count\":5,\"average\":-1,\"total\":-7,\"min\":-9,\"max\":2}}}\n");
    CHECK(format("json").map(map_of(KPL_MAP_AVG, "a", false), {{{}, five}}) ==
          "{\"type\":\"stats\",\"data\":{\"@a\":-1}}\n");
    five.slots.assign(66, 0);
    five.slots[0] = 1, five.slots[2] = 4;
    CHECK(
        format("json").map(map_of(KPL_MAP_HIST, "h", false), {{{}, five}}) ==
        "{\"type\":\"hist\",\"data\":{\"@h\":[{\"max\":-1,\"count\":1},{\"min\":0,\"max\":0,\"count\":0},{\"min\":1,\"max\":1,\"count\":4}]}}\n");
}

TEST_CASE("JSON replaces what is not UTF-8 and keeps large integers as strings") {
    CHECK(format("json").printed("a\xff") == "{\"type\":\"printf\",\"data\":\"a\xef\xbf\xbd\"}\n");
    AggValue big;
    big.n = UINT64_MAX;
    CHECK(format("json").map(map_of(KPL_MAP_COUNT, "n", false), {{{}, big}}) ==
          "{\"type\":\"map\",\"data\":{\"@n\":\"18446744073709551615\"}}\n");
}

TEST_CASE("JSON has what every row has, though their keys look alike as text") {
    AggValue one, two;
    one.n = 1, two.n = 2;
    const std::vector<Datum> left{std::string("a,b"), std::string("c")}, right{std::string("a"), std::string("b,c")};
    CHECK(format("json").map(map_of(KPL_MAP_COUNT, "n", true), {{left, one}, {right, two}}) ==
          "{\"type\":\"map\",\"data\":{\"@n\":{\"a,b,c\":3}}}\n");
    CHECK(format("json").entries(map_of(KPL_MAP_HASH, "m", true), {{left, {int64_t{1}}}, {right, {int64_t{2}}}}) ==
          "{\"type\":\"map\",\"data\":{\"@m\":{\"a,b,c\":1,\"a,b,c\":2}}}\n");
}

TEST_CASE("lhist labels whole K and M") {
    MapDecl map = map_of(KPL_MAP_LHIST, "", false);
    map.lo = -2048, map.hi = 1 << 21, map.step = (1 << 20) + 1024;
    AggValue value;
    value.slots.assign(4, 1);
    const std::string text = draw_histogram(map, value);
    CHECK(text.starts_with("(..., -2K) "));
    CHECK(text.find("\n[2M, ...) ") != std::string::npos);
}

TEST_CASE("colours of messages") {
    CHECK(uses_color(Color::Always, -1));
    CHECK_FALSE(uses_color(Color::Never, 2));
    CHECK_FALSE(uses_color(Color::Auto, -1));  // no terminal
    CHECK(painted("warning: x") == "\033[33mwarning:\033[0m x");
    CHECK(painted("note: x") == "\033[36mnote:\033[0m x");
    CHECK(painted("a warning: x") == "a warning: x");
    CHECK(painted_error("f.lua:1: x\nmore") == "\033[31mf.lua:1: x\033[0m\nmore");
    CHECK(painted_error("x") == "\033[31mx\033[0m");
}

TEST_CASE("folded stacks") {
    const MapDecl map = map_of(KPL_MAP_COUNT, "n", true);
    AggValue three;
    three.n = 3;
    const StackDatum kernel{{{1, "vfs_read+0x1a"}, {2, "entry+0x6 [mod]"}}},
        user{{{3, "0x55d0"}, {4, "0x55d8"}}, false};
    CHECK(format("folded").map(map, {{{kernel}, three}}) == "entry_[k];vfs_read_[k] 3\n");
    CHECK(format("folded").map(map, {{{std::string("a;b"), user, kernel}, three}}) ==
          "a:b;0x55d8;0x55d0;entry_[k];vfs_read_[k] 3\n");
    CHECK(format("folded").map(map, {{{std::string("x"), StackDatum{}}, three}}) == "x 3\n");
    // Two ways through the same functions are one line.
    const StackDatum further{{{5, "vfs_read+0x2b"}, {2, "entry+0x6 [mod]"}}};
    CHECK(format("folded").map(map, {{{kernel}, three}, {{std::string("x")}, three}, {{further}, three}}) ==
          "entry_[k];vfs_read_[k] 6\nx 3\n");
    AggValue low, high;
    low.n = 1, low.sum = low.min = low.max = -4;
    high.n = 2, high.sum = 20, high.min = 8, high.max = 12;
    const auto both = [&](kpl_map_kind kind) {
        return format("folded").map(map_of(kind, "n", true), {{{kernel}, high}, {{further}, low}});
    };
    CHECK(both(KPL_MAP_SUM) == "entry_[k];vfs_read_[k] 16\n");
    CHECK(both(KPL_MAP_MIN) == "entry_[k];vfs_read_[k] -4\n");
    CHECK(both(KPL_MAP_MAX) == "entry_[k];vfs_read_[k] 12\n");
    CHECK(both(KPL_MAP_AVG) == "entry_[k];vfs_read_[k] 5\n");
    CHECK(both(KPL_MAP_HIST) == "entry_[k];vfs_read_[k] 3\n");
    CHECK(format("folded").map(map_of(KPL_MAP_COUNT, "n", false), {{{}, three}}) == "n 3\n");
}

TEST_CASE("an aggregation that was never updated is untouched") {
    AggValue value;
    CHECK(untouched(value));
    value.slots.assign(66, 0);
    CHECK(untouched(value));
    value.slots[1] = 1;
    CHECK_FALSE(untouched(value));
}

TEST_CASE("JSON of a shared map") {
    MapDecl map = map_of(KPL_MAP_HASH, "m", true);
    CHECK(format("json").entries(map,
                                 {{{int64_t{5}}, {true}}, {{std::string("a"), SymbolDatum{1, "f"}}, {UINT64_MAX}}}) ==
          "{\"type\":\"map\",\"data\":{\"@m\":{\"5\":true,\"a,f\":\"18446744073709551615\"}}}\n");
    map.struct_value = true;
    map.value.fields = {field("n", FieldKind::I64, 0), field("gone", FieldKind::I64, 8),
                        field("s", FieldKind::String, 16, 8)};
    CHECK(format("json").entries(map, {{{int64_t{1}}, {int64_t{-2}, Nil{}, std::string("\xff")}}}) ==
          "{\"type\":\"map\",\"data\":{\"@m\":{\"1\":{\"n\":-2,\"s\":\"\xef\xbf\xbd\"}}}}\n");
}
