// SPDX-License-Identifier: MIT
// Types on BTF that is made here: every kind, and the cases that a given kernel may not have.
#include "symbols/types.hpp"

#include <catch2/catch.hpp>

#include "made_btf.hpp"
#include "symbols/nearest.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

template <class T>
T ok(Result<T> result) {
    if (!result) FAIL(result.error().text);
    return std::move(result).value();
}

Field field_of(Types& types, const std::string& type, const std::string& name) {
    auto field = ok(types.field(ok(types.parse(type)), name));
    INFO(type + "." + name);
    REQUIRE(field);
    return *field;
}

std::string spelled(Types& types, const std::string& text) { return ok(types.spell(ok(types.parse(text)))); }

std::string error_of(Types& types, const std::string& text) {
    auto result = types.parse(text);
    return result.ok() ? "parsed" : result.error().text;
}

}  // namespace

TEST_CASE("nothing is read before it is asked for, and missing BTF is explained") {
    Types types("/nonexistent/btf");
    auto result = types.parse("int");
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == Errc::system);
    CHECK(result.error().text.find("/nonexistent/btf/vmlinux: No such file or directory") != std::string::npos);
    CHECK(result.error().text.find("CONFIG_DEBUG_INFO_BTF=y") != std::string::npos);
    CHECK_FALSE(types.function("do_read").ok());

    TempDir dir;
    dir.write("vmlinux", "not BTF at all, but long enough to have a header");
    CHECK_FALSE(Types(dir.path()).parse("int").ok());
    dir.write("vmlinux", "");
    CHECK_FALSE(Types(dir.path()).parse("int").ok());
}

TEST_CASE("types are what BTF says") {
    Made made;
    Types types = made.types();
    struct Row {
        const char* text;
        TypeKind kind;
        uint32_t size;
        bool is_signed;
        const char* name;
    };
    const Row rows[] = {
        {"void", TypeKind::Void, 0, false, ""},
        {"int", TypeKind::Int, 4, true, "int"},
        {"unsigned", TypeKind::Int, 4, false, "unsigned int"},
        {"long unsigned int", TypeKind::Int, 8, false, "unsigned long"},
        {"unsigned long", TypeKind::Int, 8, false, "unsigned long"},
        {"u32", TypeKind::Int, 4, false, "unsigned int"},
        {"char", TypeKind::Char, 1, true, "char"},
        {"unsigned char", TypeKind::Int, 1, false, "unsigned char"},
        {"bool", TypeKind::Bool, 1, false, "_Bool"},
        {"double", TypeKind::Float, 8, false, "double"},
        {"struct outer", TypeKind::Struct, 64, false, "outer"},
        {"struct outer *", TypeKind::Pointer, 8, false, ""},
        {"char[16]", TypeKind::Array, 16, false, ""},
        {"int[2][3]", TypeKind::Array, 24, false, ""},
        {"u32[]", TypeKind::Array, 0, false, ""},
        {"enum color", TypeKind::Enum, 4, false, "color"},
        {"enum temperature", TypeKind::Enum, 4, true, "temperature"},
        {"enum large", TypeKind::Enum, 8, false, "large"},
        {"enum signed_large", TypeKind::Enum, 8, true, "signed_large"},
        // Not in this BTF, but C's own.
        {"short", TypeKind::Int, 2, true, "short"},
        {"long long unsigned", TypeKind::Int, 8, false, "unsigned long long"},
        {"signed char", TypeKind::Int, 1, true, "signed char"},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        TypeInfo info = ok(types.resolve(ok(types.parse(row.text))));
        CHECK(info.kind == row.kind);
        CHECK(info.size == row.size);
        CHECK(info.is_signed == row.is_signed);
        CHECK(info.name == row.name);
    }
    TypeInfo array = ok(types.resolve(ok(types.parse("int[2][3]"))));
    CHECK(array.count == 2);
    TypeInfo row = ok(types.resolve(array.element));
    CHECK(row.count == 3);
    CHECK(ok(types.resolve(row.element)).name == "int");
    CHECK_FALSE(types.resolve(0x7fffffff).ok());
    CHECK_FALSE(types.resolve(0xffffffff).ok());
}

TEST_CASE("C declarations: parsed, spelled") {
    Made made;
    Types types = made.types();
    const std::pair<const char*, const char*> rows[] = {
        {"struct file*", "struct file *"},
        {"  const struct file * const *  ", "struct file **"},
        {"struct file const *", "struct file *"},
        {"void*", "void *"},
        {"char [ 16 ]", "char[16]"},
        {"const char __user *", "char *"},
        {"int unsigned", "unsigned int"},
        {"signed", "int"},
        {"short unsigned int", "unsigned short"},
        {"long long", "long long"},
        {"u32", "u32"},
        {"struct file *[4][2]", "struct file *[4][2]"},
        {"enum color", "enum color"},
    };
    for (const auto& [text, spelling] : rows) {
        INFO(text);
        CHECK(spelled(types, text) == spelling);
    }
    for (const char* text : {"", "*", "struct", "struct *", "int x", "int[", "int[x]", "int[3", "int]", "struct file)",
                             "int[99999999999]"})
        CHECK(error_of(types, text).find("C type") != std::string::npos);
    for (const char* text :
         {"long long long", "unsigned signed", "short long", "char int", "unsigned float", "int int", "short short"})
        CHECK(error_of(types, text) == "these words make no C type");
    CHECK(error_of(types, "struct fil *") == "this kernel has no type \"struct fil\" (did you mean struct file?)");
    CHECK(error_of(types, "file *") == "this kernel has no type \"file\" (did you mean struct file?)");
    CHECK(error_of(types, "u3") == "this kernel has no type \"u3\" (did you mean u32?)");
    CHECK(error_of(types, "enum colour") == "this kernel has no type \"enum colour\" (did you mean enum color?)");
    CHECK(error_of(types, "struct xyzzy") == "this kernel has no type \"struct xyzzy\"");
    CHECK(types.parse("struct fil *").error().code == Errc::script);

    TypeId file = ok(types.parse("struct file"));
    CHECK(ok(types.pointer_to(file)) == ok(types.parse("struct file *")));
    CHECK(ok(types.resolve(ok(types.pointer_to(file)))).element == file);
}

TEST_CASE("members: nested, anonymous, arrays") {
    Made made;
    Types types = made.types();
    CHECK(field_of(types, "struct outer", "first").offset == 0);
    CHECK(field_of(types, "struct outer", "whole").offset == 8);
    CHECK(field_of(types, "struct outer", "lo").offset == 8);
    CHECK(field_of(types, "struct outer", "hi").offset == 12);
    Field in = field_of(types, "struct outer", "in");
    CHECK(in.offset == 16);
    CHECK(ok(types.field(in.type, "y"))->offset == 4);
    CHECK(ok(types.resolve(field_of(types, "struct outer", "name").type)).count == 16);
    Field tail = field_of(types, "struct outer", "tail");
    CHECK(tail.offset == 64);
    CHECK(ok(types.resolve(tail.type)).size == 0);
    for (const char* absent : {"x", "", "firs", "first "})
        CHECK_FALSE(ok(types.field(ok(types.parse("struct outer")), absent)));
    // Only structs and unions have members.
    CHECK_FALSE(ok(types.field(ok(types.parse("struct outer *")), "first")));
    CHECK_FALSE(ok(types.field(ok(types.parse("int")), "first")));
}

TEST_CASE("bit fields: the unit that is read holds the bits and lies in the struct") {
    Made made;
    Types types = made.types();
    struct Row {
        const char *type, *name;
        uint32_t offset, first, bits, bytes;
    };
    const Row rows[] = {
        {"struct outer", "flag_a", 40, 0, 1, 1},       {"struct outer", "flag_b", 40, 1, 3, 1},
        {"struct outer", "signed_bits", 40, 4, 12, 2}, {"struct outer", "wide", 40, 32, 40, 8},
        {"struct packed", "crossing", 0, 6, 20, 4},    {"struct packed", "last", 3, 6, 10, 2},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        Field field = field_of(types, row.type, row.name);
        if (std::string(row.name) == "wide") {
            // 352 = 44 * 8, 40 bits: within no aligned unit of 8 bytes that begins at 40.
            CHECK(field.offset * 8u + field.bit_offset == 352);
        } else {
            CHECK(field.offset == row.offset);
            CHECK(field.bit_offset == row.first);
            CHECK(field.bit_bytes == row.bytes);
        }
        CHECK(field.bit_size == row.bits);
        CHECK(field.bit_offset + field.bit_size <= field.bit_bytes * 8);
        CHECK(field.offset + field.bit_bytes <= ok(types.resolve(ok(types.parse(row.type)))).size);
    }
    auto nine = types.field(ok(types.parse("struct hopeless")), "nine_bytes");
    REQUIRE_FALSE(nine.ok());
    CHECK(nine.error().text.find("nine_bytes") != std::string::npos);
}

TEST_CASE("functions") {
    Made made;
    Types types = made.types();
    auto read = ok(types.function("do_read"));
    REQUIRE(read);
    CHECK(read->name == "do_read");
    CHECK(read->text == "long do_read(struct file *file, const char *buf, unsigned long count)");
    REQUIRE(read->params.size() == 3);
    CHECK(read->params[1].name == "buf");
    CHECK(ok(types.resolve(ok(types.resolve(read->params[1].type)).element)).kind == TypeKind::Char);
    CHECK_FALSE(read->vararg);
    CHECK(ok(types.resolve(read->result)).size == 8);

    auto nothing = ok(types.function("nothing"));
    REQUIRE(nothing);
    CHECK(nothing->result == 0);
    CHECK(nothing->params.empty());
    CHECK(nothing->text == "void nothing(void)");

    auto printk = ok(types.function("printk"));
    REQUIRE(printk);
    CHECK(printk->vararg);
    CHECK(printk->params.size() == 1);
    CHECK(printk->text == "int printk(const char *fmt, ...)");

    auto walk = ok(types.function("walk"));
    REQUIRE(walk);
    CHECK(walk->text == "void walk(void (*fn)(void), volatile int *restrict restrict_p, int (*rows)[3])");
    TypeInfo fn = ok(types.resolve(walk->params[0].type));
    CHECK(ok(types.resolve(fn.element)).kind == TypeKind::Function);

    CHECK_FALSE(ok(types.function("absent")));
    CHECK_FALSE(ok(types.function("file")));  // a struct
    CHECK(ok(types.function("twin")));
    CHECK_FALSE(ok(types.function("stranger")));
    CHECK(ok(types.function("do_read", "vmlinux")));
    CHECK_FALSE(ok(types.function("do_read", "no_such_module")));
    CHECK_FALSE(ok(types.function("do_read", "../vmlinux")));
}

TEST_CASE("enum constants") {
    Made made;
    made.add_modules();
    Types types = made.types();
    CHECK(ok(types.enumerator("RED")) == 0);
    CHECK(ok(types.enumerator("ALL_COLORS")) == 0xffffffffLL);
    CHECK(ok(types.enumerator("COLD")) == -40);
    CHECK(ok(types.enumerator("HUGE")) == INT64_MIN);
    CHECK(ok(types.enumerator("DEEP")) == -5000000000LL);
    CHECK_FALSE(ok(types.enumerator("PURPLE")));
    auto none = types.enumerator("NONE");
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().text == "NONE is not the same in enum shade and enum none_too: write the number");
    // A module that is loaded later brings its own.
    CHECK_FALSE(ok(types.enumerator("IN_MODULE")));
    REQUIRE(ok(types.function("nf_two", "nf_two")));
    CHECK(ok(types.enumerator("IN_MODULE")) == 7);
    CHECK(ok(types.enumerator("RED")) == 0);
}

TEST_CASE("modules: own numbering, vmlinux's types, forwards in both directions") {
    Made made;
    made.add_modules();
    Types types = made.types();
    CHECK_FALSE(ok(types.function("nf_one")));  // only when the module is named
    auto one = ok(types.function("nf_one", "nf_one"));
    auto two = ok(types.function("nf_two", "nf_two"));
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->text == "int nf_one(struct nf_conn *ct)");
    CHECK(two->text == "struct own nf_two(void)");

    TypeInfo conn = ok(types.resolve(ok(types.resolve(one->params[0].type)).element));
    CHECK(conn.name == "nf_conn");
    CHECK(ok(types.field(conn.id, "status"))->offset == 8);
    TypeId inner = ok(types.field(conn.id, "inner"))->type;
    CHECK(ok(types.resolve(inner)).name == "inner");
    CHECK(ok(types.field(inner, "y"))->offset == 4);

    // The module's forward of vmlinux's struct, and vmlinux's of the module's.
    auto outer = ok(types.field(two->result, "outer"));
    REQUIRE(outer);
    TypeInfo full = ok(types.resolve(ok(types.resolve(outer->type)).element));
    CHECK(full.kind == TypeKind::Struct);
    CHECK(full.size == 64);
    auto use = ok(types.function("use_conn"));
    REQUIRE(use);
    TypeId target = ok(types.resolve(use->params[0].type)).element;
    CHECK(ok(types.resolve(target)).id == conn.id);
    CHECK(ok(types.field(target, "status"))->offset == 8);
}

TEST_CASE("modules are looked through for what vmlinux does not define") {
    Made made;
    made.add_modules();
    made.dir.write("broken", "no BTF");
    {
        Types types = made.types();
        TypeId target = ok(types.resolve(ok(types.function("use_conn"))->params[0].type)).element;
        CHECK(ok(types.resolve(target)).size == 48);
    }
    Types types = made.types();
    CHECK(ok(types.resolve(ok(types.parse("struct nf_conn")))).size == 48);
    CHECK_FALSE(types.function("x", "broken").ok());
}

TEST_CASE("a forward without a definition stays one") {
    Made made;
    Types types = made.types();
    TypeId target = ok(types.resolve(ok(types.function("use_conn"))->params[0].type)).element;
    TypeInfo info = ok(types.resolve(target));
    CHECK(info.kind == TypeKind::Forward);
    CHECK(info.name == "nf_conn");
    CHECK_FALSE(ok(types.field(target, "status")));
    CHECK(ok(types.spell(target)) == "struct nf_conn");
}

TEST_CASE("per-CPU variables are found whatever was asked for before") {
    Made made;
    btf* b = made.vmlinux.get();
    btf__add_var(b, "runqueues", BTF_VAR_GLOBAL_ALLOCATED, made.inner);
    save(made.dir, "vmlinux", made.vmlinux);
    Types types = made.types();
    for (const char* name : {"struct inner", "struct outer", "struct file", "enum color", "u32"}) {
        CHECK(ok(types.per_cpu_variable("runqueues")) == static_cast<TypeId>(made.inner));
        CHECK_FALSE(ok(types.per_cpu_variable("inner")));
        ok(types.parse(name));
    }
}

TEST_CASE("near names") {
    Made made;
    Types types = made.types();
    TypeId outer = ok(types.parse("struct outer"));
    using Names = std::vector<std::string>;
    CHECK(ok(types.near_fields(outer, "fisrt")) == Names{"first"});
    CHECK(ok(types.near_fields(outer, "flag_c")) == Names{"flag_a", "flag_b"});
    CHECK(ok(types.near_fields(outer, "whol")) == Names{"whole"});  // through the anonymous union
    CHECK(ok(types.near_fields(outer, "zzzzzz")).empty());
    CHECK(ok(types.near_fields(ok(types.parse("int")), "x")).empty());

    auto nearest = [](const std::string& wanted, std::initializer_list<const char*> names) {
        Nearest n(wanted);
        for (const char* name : names) n.offer(name);
        return n.names();
    };
    CHECK(nearest("vfs_raed", {"vfs_write", "vfs_readv", "vfs_read", "vfs_seek"}) == Names{"vfs_read", "vfs_readv"});
    CHECK(nearest("abc", {"abc"}).empty());
    CHECK(nearest("abcd", {"abce", "abcf", "abcg", "abch", "abc"}) == Names{"abce", "abcf", "abcg"});
    CHECK(nearest("abcdefgh", {"abcdefxx", "abcdefgx", "bacdefgh", "abcdefg", "abcdefgh1"}) ==
          Names{"abcdefgx", "bacdefgh", "abcdefg"});
    CHECK(nearest("", {"a", "ab"}) == Names{"a"});
    CHECK(nearest("abcdefghi", {"abc", "", "ihgfedcba"}).empty());
    CHECK(did_you_mean({}) == "");
    CHECK(did_you_mean({"a", "b", "c"}) == " (did you mean a, b or c?)");
}

TEST_CASE("damaged BTF is refused or read, never followed out of its bounds") {
    Made made;
    __u32 size = 0;
    const char* data = static_cast<const char*>(btf__raw_data(made.vmlinux.get(), &size));
    TempDir dir;
    int read = 0;
    for (__u32 at = 24; at + 4 <= size; at += 4) {
        std::string damaged(data, size);
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        dir.write("vmlinux", damaged);
        Types types(dir.path());
        if (!types.parse("struct outer").ok()) continue;
        read++;
        for (TypeId id = 0; id < 80; id++) {
            (void)types.resolve(id);
            (void)types.spell(id);
            (void)types.field(id, "hi");
            (void)types.near_fields(id, "fisrt");
        }
        for (const char* name : {"do_read", "walk", "printk"}) (void)types.function(name);
        (void)types.enumerator("COLD");
    }
    CHECK(read > 20);
}
