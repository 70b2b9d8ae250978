// SPDX-License-Identifier: MIT
// Types on the BTF of the kernels in /boot, which kernel-btf.sh has put into KPL_KERNEL_BTF.
#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>

#include "symbols/types.hpp"

using namespace kpl;

namespace {

std::vector<std::filesystem::path> kernels() {
    std::vector<std::filesystem::path> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(KPL_KERNEL_BTF, none))
        if (std::filesystem::exists(entry.path() / "vmlinux")) found.push_back(entry.path());
    if (found.empty()) std::cout << "skipped: no kernel's BTF in " KPL_KERNEL_BTF "\n";  // CTest looks for this
    return found;
}

template <class T>
T ok(Result<T> result) {
    if (!result) FAIL(result.error().text);
    return std::move(result).value();
}

// Follows a chain as the language does: pointers and nested structs alike.
TypeInfo follow(Types& types, TypeId type, std::initializer_list<const char*> names) {
    TypeInfo info = ok(types.resolve(type));
    for (const char* name : names) {
        INFO(name);
        if (info.kind == TypeKind::Pointer) info = ok(types.resolve(info.element));
        auto field = ok(types.field(info.id, name));
        REQUIRE(field);
        info = ok(types.resolve(field->type));
    }
    return info;
}

}  // namespace

TEST_CASE("functions, fields and constants that every kernel has") {
    for (const auto& kernel : kernels()) {
        INFO(kernel);
        Types types(kernel.string());
        auto read = ok(types.function("vfs_read"));
        REQUIRE(read);
        CHECK(read->text == "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)");
        TypeInfo name = follow(types, read->params[0].type, {"f_path", "dentry", "d_name", "name"});
        CHECK(name.kind == TypeKind::Pointer);
        CHECK(ok(types.spell(name.id)) == "const unsigned char *");
        CHECK(follow(types, read->params[0].type, {"f_inode", "i_sb", "s_id"}).count == 32);
        CHECK(ok(types.resolve(read->result)).is_signed);

        TypeId task = ok(types.parse("struct task_struct"));
        CHECK(follow(types, task, {"comm"}).count == 16);
        CHECK(follow(types, task, {"mm", "pgd"}).kind == TypeKind::Pointer);
        CHECK(follow(types, task, {"real_parent", "tgid"}).is_signed);

        CHECK(ok(types.enumerator("PIDTYPE_TGID")) == 1);
        CHECK(ok(types.enumerator("TCP_ESTABLISHED")) == 1);
        CHECK(ok(types.resolve(ok(types.parse("pid_t")))).name == "int");
        CHECK(ok(types.resolve(ok(types.parse("u64")))).size == 8);
        CHECK(ok(types.resolve(ok(types.parse("struct pt_regs")))).size == 168);
    }
}

TEST_CASE("bit fields of the kernel") {
    for (const auto& kernel : kernels()) {
        INFO(kernel);
        Types types(kernel.string());
        TypeId skb = ok(types.parse("struct sk_buff"));
        auto cloned = ok(types.field(skb, "cloned"));
        REQUIRE(cloned);
        CHECK(cloned->bit_size == 1);
        CHECK(cloned->bit_bytes == 1);
        auto pkt_type = ok(types.field(skb, "pkt_type"));  // in an anonymous struct in an anonymous union
        REQUIRE(pkt_type);
        CHECK(pkt_type->bit_size == 3);
        CHECK(pkt_type->bit_offset == 0);
        CHECK(ok(types.near_fields(skb, "protocl")) == std::vector<std::string>{"protocol"});
    }
}

TEST_CASE("modules of the kernel") {
    for (const auto& kernel : kernels()) {
        if (!std::filesystem::exists(kernel / "nf_conntrack")) continue;
        INFO(kernel);
        Types types(kernel.string());
        auto function = ok(types.function("nf_conntrack_in", "nf_conntrack"));
        REQUIRE(function);
        CHECK(function->text == "unsigned int nf_conntrack_in(struct sk_buff *skb, const struct nf_hook_state *state)");
        CHECK(follow(types, function->params[0].type, {"dev", "name"}).count == 16);
        CHECK(follow(types, ok(types.parse("struct nf_conn *")), {"tuplehash"}).count == 2);
    }
}

TEST_CASE("every function of the kernel can be asked for") {
    for (const auto& kernel : kernels()) {
        INFO(kernel);
        Types types(kernel.string());
        REQUIRE(ok(types.function("vfs_read")));
        size_t functions = 0;
        // Ids are dense: each is a type or, past the last, an error.
        for (TypeId id = 1;; id++) {
            auto info = types.resolve(id);
            if (!info && info.error().text.find("no type number") != std::string::npos) break;
            if (!info) continue;  // variables and sections
            auto text = types.spell(id);
            REQUIRE(text.ok());
            functions += info->kind == TypeKind::Function;
        }
        CHECK(functions > 10000);
    }
}

TEST_CASE("searches and the index answer alike") {
    for (const auto& kernel : kernels()) {
        // The first few questions are answered without an index; each of these is asked both early and late.
        const char* names[] = {"vfs_read", "do_sys_openat2", "no_such_function", "schedule", "task_struct"};
        Types late(kernel.string());
        for (const char* name : names) (void)ok(late.function(name));
        for (const char* name : names) {
            Types early(kernel.string());
            const auto one = ok(early.function(name)), other = ok(late.function(name));
            REQUIRE(one.has_value() == other.has_value());
            if (one) CHECK(one->text == other->text);
        }
    }
}
