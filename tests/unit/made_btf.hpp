// SPDX-License-Identifier: MIT
// A kernel with every kind of type, and two modules.
#pragma once

#include "btf_writer.hpp"
#include "symbols/types.hpp"

namespace kpl::test {

// A kernel of a few types. Ids are the order of the calls, from 1.
struct Made {
    TempDir dir;
    Btf vmlinux = new_btf();
    int int_, u32_, u64_, long_, char_, bool_, u8_, float_;
    int inner, outer, file, fwd_conn;

    Made() {
        btf* b = vmlinux.get();
        int_ = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
        u32_ = btf__add_int(b, "unsigned int", 4, 0);
        u64_ = btf__add_int(b, "long unsigned int", 8, 0);
        long_ = btf__add_int(b, "long int", 8, BTF_INT_SIGNED);
        char_ = btf__add_int(b, "char", 1, BTF_INT_SIGNED);
        bool_ = btf__add_int(b, "_Bool", 1, BTF_INT_BOOL);
        u8_ = btf__add_int(b, "unsigned char", 1, 0);
        float_ = btf__add_float(b, "double", 8);
        btf__add_typedef(b, "u32", u32_);
        btf__add_typedef(b, "bool", bool_);
        add_structs(b);
        add_functions(b);
        add_enums(b);
        save(dir, "vmlinux", vmlinux);
    }

    void add_structs(btf* b) {
        inner = btf__add_struct(b, "inner", 8);
        btf__add_field(b, "x", int_, 0, 0);
        btf__add_field(b, "y", int_, 32, 0);

        int anonymous_struct = btf__add_struct(b, nullptr, 8);
        btf__add_field(b, "lo", u32_, 0, 0);
        btf__add_field(b, "hi", u32_, 32, 0);
        int anonymous_union = btf__add_union(b, nullptr, 8);
        btf__add_field(b, "whole", u64_, 0, 0);
        btf__add_field(b, nullptr, anonymous_struct, 0, 0);
        // The anonymous union hides behind a qualifier, as compilers write it for const members.
        int const_union = btf__add_const(b, anonymous_union);
        int flexible = btf__add_array(b, u32_, u8_, 0);
        int name_array = btf__add_array(b, u32_, char_, 16);
        outer = btf__add_struct(b, "outer", 64);
        btf__add_field(b, "first", int_, 0, 0);
        btf__add_field(b, nullptr, const_union, 64, 0);
        btf__add_field(b, "in", inner, 128, 0);
        btf__add_field(b, "name", name_array, 192, 0);
        btf__add_field(b, "flag_a", u32_, 320, 1);
        btf__add_field(b, "flag_b", u32_, 321, 3);
        btf__add_field(b, "signed_bits", int_, 324, 12);
        btf__add_field(b, "wide", u64_, 352, 40);
        btf__add_field(b, "tail", flexible, 512, 0);

        // Packed: bits that no aligned unit covers, and bits that reach the last byte.
        btf__add_struct(b, "packed", 5);
        btf__add_field(b, "crossing", u32_, 6, 20);
        btf__add_field(b, "last", u32_, 30, 10);
        btf__add_struct(b, "hopeless", 16);
        btf__add_field(b, "nine_bytes", u64_, 7, 62);

        file = btf__add_struct(b, "file", 32);
        btf__add_field(b, "f_flags", u32_, 0, 0);
        fwd_conn = btf__add_fwd(b, "nf_conn", BTF_FWD_STRUCT);
        btf__add_fwd(b, "nowhere", BTF_FWD_STRUCT);
        btf__add_fwd(b, "only_union", BTF_FWD_UNION);
    }

    void add_functions(btf* b) {
        int file_pointer = btf__add_ptr(b, file);
        int tagged_char = btf__add_type_tag(b, "user", btf__add_const(b, char_));
        int user_string = btf__add_ptr(b, tagged_char);
        int proto = add_proto(b, long_, {{"file", file_pointer}, {"buf", user_string}, {"count", u64_}});
        btf__add_func(b, "do_read", BTF_FUNC_STATIC, proto);
        int nothing = btf__add_func_proto(b, 0);
        int func_nothing = btf__add_func(b, "nothing", BTF_FUNC_GLOBAL, nothing);
        btf__add_decl_tag(b, "kfunc", func_nothing, -1);
        int variadic = add_proto(b, int_, {{"fmt", user_string}, {nullptr, 0}});
        btf__add_func(b, "printk", BTF_FUNC_GLOBAL, variadic);
        int callback = btf__add_ptr(b, nothing);
        int restricted = btf__add_restrict(b, btf__add_ptr(b, btf__add_volatile(b, int_)));
        int rows = btf__add_ptr(b, btf__add_array(b, u32_, int_, 3));
        add_function(b, "walk", 0, {{"fn", callback}, {"restrict_p", restricted}, {"rows", rows}});
        // Two static functions of one name: alike, and not alike.
        btf__add_func(b, "twin", BTF_FUNC_STATIC, nothing);
        btf__add_func(b, "twin", BTF_FUNC_STATIC, nothing);
        btf__add_func(b, "stranger", BTF_FUNC_STATIC, nothing);
        btf__add_func(b, "stranger", BTF_FUNC_STATIC, proto);
        // A function that takes what only a module defines.
        int conn_pointer = btf__add_ptr(b, fwd_conn);
        int conn = add_proto(b, 0, {{"ct", conn_pointer}});
        btf__add_func(b, "use_conn", BTF_FUNC_GLOBAL, conn);
    }

    void add_enums(btf* b) {
        btf__add_enum(b, "color", 4);
        btf__add_enum_value(b, "RED", 0);
        btf__add_enum_value(b, "ALL_COLORS", 0xffffffffLL);
        btf__add_enum(b, "shade", 4);
        btf__add_enum_value(b, "RED", 0);
        btf__add_enum_value(b, "NONE", 0);
        btf__add_enum(b, "none_too", 4);
        btf__add_enum_value(b, "NONE", 9);
        btf__add_enum(b, "temperature", 4);
        btf__add_enum_value(b, "COLD", -40);
        btf__add_enum64(b, "large", 8, false);
        btf__add_enum64_value(b, "HUGE", 0x8000000000000000ULL);
        btf__add_enum64(b, "signed_large", 8, true);
        btf__add_enum64_value(b, "DEEP", static_cast<__u64>(-5000000000LL));
    }

    // Two modules, each of which numbers its own types from the end of vmlinux's.
    void add_modules() {
        const Btf one = new_btf(vmlinux);
        int conn = btf__add_struct(one.get(), "nf_conn", 48);
        btf__add_field(one.get(), "status", u64_, 64, 0);
        btf__add_field(one.get(), "inner", inner, 128, 0);
        int conn_pointer = btf__add_ptr(one.get(), conn);
        add_function(one.get(), "nf_one", int_, {{"ct", conn_pointer}});
        save(dir, "nf_one", one);

        const Btf two = new_btf(vmlinux);
        int outer_pointer = btf__add_ptr(two.get(), btf__add_fwd(two.get(), "outer", BTF_FWD_STRUCT));
        int own = btf__add_struct(two.get(), "own", 8);
        btf__add_field(two.get(), "outer", outer_pointer, 0, 0);
        add_function(two.get(), "nf_two", own, {});
        btf__add_enum(two.get(), "module_enum", 4);
        btf__add_enum_value(two.get(), "IN_MODULE", 7);
        save(dir, "nf_two", two);
    }

    Types types() const { return Types(dir.path()); }
};

}  // namespace kpl::test
