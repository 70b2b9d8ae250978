// SPDX-License-Identifier: MIT
// Which functions a stub can call: where their arguments lie, by the calling convention.
#include "session/direct.hpp"

#include <catch2/catch.hpp>

#include "btf_writer.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

struct Row {
    const char* function;
    kpl_why why;
    uint32_t stack_args;
};

class Kernel {
  public:
    Kernel() {
        btf* b = btf_.get();
        const int num = btf__add_int(b, "long int", 8, BTF_INT_SIGNED);
        const int small = btf__add_int(b, "char", 1, BTF_INT_SIGNED);
        const int wide = btf__add_int(b, "__int128", 16, BTF_INT_SIGNED);
        const int real = btf__add_float(b, "double", 8);
        const int pair = record("pair", 16, {{"a", num, 0}, {"b", num, 64}});
        const int triple = record("triple", 24, {{"a", num, 0}, {"b", num, 64}, {"c", num, 128}});
        const int bytes = record("bytes", 3, {{"a", small, 0}, {"b", small, 8}, {"c", small, 16}});
        const int none = record("none", 0, {});
        const int packed = record("packed", 9, {{"a", small, 0}, {"b", num, 8}});
        const int reals = record("reals", 16, {{"a", num, 0}, {"b", real, 64}});
        const int holds = record("holds", 16, {{"in", pair, 0}});
        const int alias = btf__add_typedef(b, "pair_t", pair);
        add("nothing", 0, {});
        add("six", num, {num, num, num, num, num, num});
        add("seven", num, {num, num, num, num, num, small, num});
        add("fourteen", num, std::vector<int>(14, num));
        add("pairs", num, {pair, alias, holds});
        add("pair_fits_not", num, {num, num, num, num, num, pair, num});
        add("triple", num, {num, triple, num});
        add("small", num, {bytes, none, num, num, num, num, num});
        add("gives_pair", pair, {num, num, num, num, num, num});
        add("gives_triple", triple, {num, num, num, num, num, num});
        add("wide", wide, {wide, wide, wide});
        add("wide_on_stack", num, {num, num, num, num, num, wide});
        add("real", num, {real});
        add("gives_real", real, {});
        add("reals", num, {reals});
        add("packed", num, {packed});
        add("varargs", num, {num, 0});
        add("do_exit", 0, {num});
        add("made.isra.0", num, {num});
        save(dir_, "vmlinux", btf_);
    }

    const std::string& dir() const { return dir_.path(); }

  private:
    struct Part {
        const char* name;
        int type;
        uint32_t bits;
    };
    int record(const char* name, uint32_t size, std::vector<Part> parts) {
        const int id = btf__add_struct(btf_.get(), name, size);
        for (const Part& part : parts) btf__add_field(btf_.get(), part.name, part.type, part.bits, 0);
        return id;
    }
    void add(const char* name, int result, std::vector<int> params) {
        const int proto = btf__add_func_proto(btf_.get(), result);
        for (const int type : params) btf__add_func_param(btf_.get(), type ? "x" : "", type);
        btf__add_func(btf_.get(), name, BTF_FUNC_STATIC, proto);
    }

    TempDir dir_;
    Btf btf_ = new_btf();
};

const Row rows[] = {
    {"nothing", KPL_WHY_NONE, 0},
    {"six", KPL_WHY_NONE, 0},
    {"seven", KPL_WHY_NONE, 1},
    {"fourteen", KPL_WHY_NONE, 8},
    {"pairs", KPL_WHY_NONE, 0},
    {"pair_fits_not", KPL_WHY_NONE, 2},  // the last number takes the register that is left
    {"triple", KPL_WHY_NONE, 3},
    {"small", KPL_WHY_NONE, 0},
    {"gives_pair", KPL_WHY_NONE, 0},
    {"gives_triple", KPL_WHY_NONE, 1},  // the first register tells where to
    {"wide", KPL_WHY_NONE, 0},
    {"wide_on_stack", KPL_WHY_VALUES, 0},
    {"real", KPL_WHY_VALUES, 0},
    {"gives_real", KPL_WHY_VALUES, 0},
    {"reals", KPL_WHY_VALUES, 0},
    {"packed", KPL_WHY_VALUES, 0},
    {"varargs", KPL_WHY_VARARGS, 0},
    {"do_exit", KPL_WHY_NORETURN, 0},
    {"native_play_dead", KPL_WHY_NORETURN, 0},
    {"made.isra.0", KPL_WHY_VARIANT, 0},
    {"unknown", KPL_WHY_TYPES, 0},
};

}  // namespace

TEST_CASE("direct: where arguments lie") {
    const Kernel kernel;
    Types types(kernel.dir());
    for (const Row& row : rows) {
        INFO(row.function);
        const auto call = direct_call(types, {row.function, {}, 0x1000, 0x1000, 0, false});
        REQUIRE(call);
        CHECK(call->why == row.why);
        CHECK(call->stack_args == row.stack_args);
    }
    Types none("/nonexistent");
    CHECK(direct_call(none, {"six", {}, 0x1000, 0x1000, 0, false})->why == KPL_WHY_TYPES);
}

TEST_CASE("direct: every reason has its words") {
    for (uint32_t why = KPL_WHY_NONE + 1; why < KPL_WHY_END_; why++) CHECK(why_text(why)[0]);
    CHECK_FALSE(why_text(KPL_WHY_NONE)[0]);
    CHECK_FALSE(why_text(KPL_WHY_END_)[0]);
}
