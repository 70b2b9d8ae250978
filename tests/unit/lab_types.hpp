// SPDX-License-Identifier: MIT
// A kernel of a few types and functions, for handlers that are compiled in tests.
#pragma once

#include "btf_writer.hpp"

namespace kpl::test {

// enum color { RED = 1, GREEN = 2, BLUE = -1 };
// struct inner { int a; unsigned short b; };
// struct node {
//   0 int id; 8 struct node *next; 16 char name[16]; 32 unsigned long big; 40 unsigned flags : 3; 40.3 int
//   sbits : 5; 44 enum color color; 48 union { int ui; struct { short us; }; }; 52 struct inner in; 64 struct
//   inner *pin; 72 bool on; 73 signed char sc; 74 unsigned char uc; 76 int arr[4]; 96 void *opaque; 104 char
//   *label; 112 struct missing *gone; 120 double f; 128 struct inner ins[2]; 144 long ticks; };
// struct odd { __int128 wide; };
// struct task_struct { 0 int pid; 8 struct task_struct *real_parent; 16 char comm[16]; };
// struct path { 0 struct vfsmount *mnt; 8 struct dentry *dentry; }; struct file { 16 struct path f_path; };
// struct mount { 16 mnt_parent; 24 mnt_mountpoint; 32 mnt; }; int opened(struct file *f, struct path *at);
// int probe_me(struct node *n, int i, unsigned int u, long l, unsigned long ul, bool flag, short seventh,
// unsigned char eighth); struct node *find(int id);  void nothing(void);  bool truth(unsigned char c);  int
// by_value(struct inner in, int x); unsigned long size_of_it(char *path);
class LabTypes {
  public:
    LabTypes() {
        add_scalars();
        add_structs();
        add_functions();
        save(dir_, "vmlinux", btf_);
        dir_.write("kallsyms",
                   "ffffffff81000000 T probe_me\nffffffff81001000 T find\nffffffff81002000 T other\n"
                   "ffffffff81003000 T last\nffffffff81004000 T opened\n");
    }

    const std::string& dir() const { return dir_.path(); }
    std::string kallsyms() const { return dir_ / "kallsyms"; }

  private:
    void add_scalars() {
        btf* b = btf_.get();
        int_ = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
        uint_ = btf__add_int(b, "unsigned int", 4, 0);
        long_ = btf__add_int(b, "long int", 8, BTF_INT_SIGNED);
        ulong_ = btf__add_int(b, "long unsigned int", 8, 0);
        short_ = btf__add_int(b, "short int", 2, BTF_INT_SIGNED);
        ushort_ = btf__add_int(b, "short unsigned int", 2, 0);
        char_ = btf__add_int(b, "char", 1, BTF_INT_SIGNED);
        schar_ = btf__add_int(b, "signed char", 1, BTF_INT_SIGNED);
        uchar_ = btf__add_int(b, "unsigned char", 1, 0);
        bool_ = btf__add_int(b, "_Bool", 1, BTF_INT_BOOL);
        btf__add_typedef(b, "bool", bool_);
        btf__add_typedef(b, "uint8_t", uchar_);
        btf__add_typedef(b, "int8_t", schar_);
        btf__add_typedef(b, "uint64_t", ulong_);
        btf__add_typedef(b, "int64_t", long_);
        double_ = btf__add_float(b, "double", 8);
        color_ = btf__add_enum(b, "color", 4);
        btf__add_enum_value(b, "RED", 1);
        btf__add_enum_value(b, "GREEN", 2);
        btf__add_enum_value(b, "BLUE", -1);
        void_pointer_ = btf__add_ptr(b, 0);
        char_pointer_ = btf__add_ptr(b, char_);
    }

    void add_structs() {
        btf* b = btf_.get();
        inner_ = btf__add_struct(b, "inner", 8);
        btf__add_field(b, "a", int_, 0, 0);
        btf__add_field(b, "b", ushort_, 32, 0);
        const int inner_pointer = btf__add_ptr(b, inner_);
        const int missing = btf__add_fwd(b, "missing", BTF_FWD_STRUCT);
        const int missing_pointer = btf__add_ptr(b, missing);
        const int name = btf__add_array(b, uint_, char_, 16);
        const int four = btf__add_array(b, uint_, int_, 4);
        const int inners = btf__add_array(b, uint_, inner_, 2);
        const int us = btf__add_struct(b, nullptr, 2);
        btf__add_field(b, "us", short_, 0, 0);
        const int either = btf__add_union(b, nullptr, 4);
        btf__add_field(b, "ui", int_, 0, 0);
        btf__add_field(b, nullptr, us, 0, 0);
        const int node = btf__add_struct(b, "node", 152);  // its pointer has the next id
        node_pointer_ = node + 1;
        auto field = [&](const char* n, int type, uint32_t bytes) { btf__add_field(b, n, type, bytes * 8, 0); };
        field("id", int_, 0);
        field("next", node_pointer_, 8);
        field("name", name, 16);
        field("big", ulong_, 32);
        btf__add_field(b, "flags", uint_, 320, 3);
        btf__add_field(b, "sbits", int_, 323, 5);
        field("color", color_, 44);
        field(nullptr, either, 48);
        field("in", inner_, 52);
        field("pin", inner_pointer, 64);
        field("on", bool_, 72);
        field("sc", schar_, 73);
        field("uc", uchar_, 74);
        field("arr", four, 76);
        field("opaque", void_pointer_, 96);
        field("label", char_pointer_, 104);
        field("gone", missing_pointer, 112);
        field("f", double_, 120);
        field("ins", inners, 128);
        field("ticks", long_, 144);
        REQUIRE(btf__add_ptr(b, node) == node_pointer_);
        const int int128 = btf__add_int(b, "__int128", 16, BTF_INT_SIGNED);
        btf__add_struct(b, "odd", 16);
        btf__add_field(b, "wide", int128, 0, 0);
        const int task = btf__add_struct(b, "task_struct", 32);
        btf__add_field(b, "pid", int_, 0, 0);
        btf__add_field(b, "real_parent", task + 1, 64, 0);
        btf__add_field(b, "comm", name, 128, 0);
        REQUIRE(btf__add_ptr(b, task) == task + 1);
        const int path = btf__add_struct(b, "path", 16);
        btf__add_field(b, "mnt", void_pointer_, 0, 0);
        btf__add_field(b, "dentry", void_pointer_, 64, 0);
        path_pointer_ = btf__add_ptr(b, path);
        const int file = btf__add_struct(b, "file", 32);
        btf__add_field(b, "f_path", path, 128, 0);
        file_pointer_ = btf__add_ptr(b, file);
        btf__add_struct(b, "mount", 64);
        btf__add_field(b, "mnt_parent", void_pointer_, 128, 0);
        btf__add_field(b, "mnt_mountpoint", void_pointer_, 192, 0);
        btf__add_field(b, "mnt", path, 256, 0);
    }

    void add_functions() {
        btf* b = btf_.get();
        add_function(b, "probe_me", int_,
                     {{"n", node_pointer_},
                      {"i", int_},
                      {"u", uint_},
                      {"l", long_},
                      {"ul", ulong_},
                      {"flag", bool_},
                      {"seventh", short_},
                      {"eighth", uchar_}});
        add_function(b, "opened", int_, {{"f", file_pointer_}, {"at", path_pointer_}});
        // A tracepoint's: passed(struct node *n, int i, unsigned char c, bool flag, struct inner in, short last, char
        // *path).
        add_function(b, "__traceiter_passed", int_,
                     {{"__data", void_pointer_},
                      {"n", node_pointer_},
                      {"i", int_},
                      {"c", uchar_},
                      {"flag", bool_},
                      {"in", inner_},
                      {"last", short_},
                      {"path", char_pointer_}});
        add_function(b, "find", node_pointer_, {{"id", int_}});
        add_function(b, "nothing", 0, {});
        add_function(b, "truth", bool_, {{"c", uchar_}});
        add_function(b, "by_value", int_, {{"in", inner_}, {"x", int_}});
        add_function(b, "size_of_it", ulong_, {{"path", char_pointer_}});
    }

    TempDir dir_;
    Btf btf_ = new_btf();
    int int_, uint_, long_, ulong_, short_, ushort_, char_, schar_, uchar_, bool_, double_, color_, void_pointer_,
        char_pointer_, inner_, node_pointer_, path_pointer_, file_pointer_;
};

}  // namespace kpl::test
