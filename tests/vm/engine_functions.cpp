// SPDX-License-Identifier: MIT
// Compiled Lua on three engines: the simulator, the module's interpreter and the kernel's JIT leave the same in p.data
// and end in the same way. Functions are random (KPL_FUNCTIONS, KPL_SEED), operators meet the edges of 64 bits.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <iostream>

#include "base/unique_fd.hpp"
#include "unit/lab.hpp"
#include "unit/lua_random.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

constexpr int64_t edges[] = {0,
                             1,
                             -1,
                             2,
                             7,
                             -7,
                             63,
                             64,
                             int64_t{1} << 31,
                             -(int64_t{1} << 31),
                             int64_t{1} << 32,
                             -(int64_t{1} << 32),
                             int64_t{1} << 53,
                             -(int64_t{1} << 53),
                             INT64_MAX,
                             INT64_MIN};

constexpr uint32_t max_loads = 1000;  // of a session; the module takes 1,024

class Kernel {
  public:
    // The module's number of the program on an engine: 0 the interpreter, 1 native code.
    uint32_t load(const HandlerProgram& program, int engine) {
        if (loads_++ % max_loads == 0) session_.reset(::open(KPL_DEVICE, O_RDWR | O_CLOEXEC));
        REQUIRE(session_);
        kpl_prog_load load{};
        load.insns = reinterpret_cast<uint64_t>(program.insns.data());
        load.labels = reinterpret_cast<uint64_t>(program.labels.data());
        load.nr_insns = static_cast<uint32_t>(program.insns.size());
        load.nr_labels = static_cast<uint32_t>(program.labels.size());
        load.kind = program.kind;
        load.data_size = program.data_size;
        load.scratch_size = program.scratch_size;
        load.budget = program.budget;
        load.flags = engine == 0 ? KPL_PROG_F_INTERPRET : 0;
        REQUIRE(::ioctl(session_.get(), KPL_IOC_PROG_LOAD, &load) == 0);
        REQUIRE(load.jited == static_cast<uint32_t>(engine));
        return load.id;
    }

    uint64_t run(uint32_t id, const std::vector<uint64_t>& regs, ByteVector& data) {
        kpl_prog_run run{};
        run.id = id;
        run.regs = reinterpret_cast<uint64_t>(regs.data());
        run.regs_size = static_cast<uint32_t>(regs.size() * sizeof regs[0]);
        run.data = reinterpret_cast<uint64_t>(data.data());
        run.data_size = static_cast<uint32_t>(data.size());
        REQUIRE(::ioctl(session_.get(), KPL_IOC_PROG_RUN, &run) == 0);
        return run.result;
    }

  private:
    UniqueFd session_;
    uint32_t loads_ = 0;
};

// One handler on all engines.
class Handler {
  public:
    Handler(Kernel& kernel, Lab& lab) : kernel_(kernel), lab_(lab) {
        const HandlerProgram& program = lab.programs[0];
        size_ = program.data_size;
        simulated_ = lab.load(program).value();
        for (int engine : {0, 1}) ids_[engine] = kernel.load(program, engine);
    }

    // True: it ran to its end.
    bool run(std::initializer_list<int64_t> args) {
        size_t n = 0;
        for (int64_t arg : args) lab_.sim.regs[host_arch().args[n++] / 8] = static_cast<uint64_t>(arg);
        const ByteVector before(size_, 0xa5);
        lab_.sim.data = before;
        const uint64_t expected = lab_.sim.run(simulated_).r0;
        for (int engine : {0, 1}) {
            ByteVector data = before;
            INFO((engine ? "native code" : "interpreter"));
            REQUIRE(kernel_.run(ids_[engine], lab_.sim.regs, data) == expected);
            if (expected == KPL_RET_DONE) REQUIRE(std::memcmp(data.data(), lab_.sim.data.data(), size_) == 0);
        }
        return expected == KPL_RET_DONE;
    }

  private:
    Kernel& kernel_;
    Lab& lab_;
    SimProgram simulated_;
    uint32_t size_ = 0, ids_[2] = {};
};

std::string entry(const std::string& body) {
    return std::string(LuaGenerator::handler_prelude) +
           "kretprobe { \"other\", budget = 1000000, entry = function(p, a, b, c, d)\n" + body +
           "end, ret = function() end }";
}

// Every operator of the language on x and y, each into a field of its own.
std::string all_operators(const std::string& x, const std::string& y) {
    std::string body = "local x, y = " + x + ", " + y + "\n";
    int n = 0;
    const auto keep = [&](const std::string& expression) { body += fmt::format("p.data.r{} = {}\n", n++, expression); };
    for (const char* op : {"+", "-", "*", "<", "<=", ">", ">=", "==", "~="}) keep(fmt::format("x {} y", op));
    for (const char* f : {"band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror"})
        keep(fmt::format("bit.{}(x, y)", f));
    for (const char* f : {"bnot", "bswap", "tobit"}) keep(fmt::format("bit.{}(x)", f));
    for (const char* t :
         {"int8_t", "uint8_t", "short", "unsigned short", "int", "unsigned int", "int64_t", "uint64_t", "bool"})
        keep(fmt::format("ffi.cast(\"{}\", x)", t));
    keep("-x");
    return body + fmt::format("p.data.r{} = x / y\np.data.r{} = x % y\n", n, n + 1);
}

}  // namespace

TEST_CASE("random functions") {
    const char* count = std::getenv("KPL_FUNCTIONS");
    const char* first = std::getenv("KPL_SEED");
    const uint64_t functions = count ? std::stoull(count) : 200, seed = first ? std::stoull(first) : 1;
    Kernel kernel;
    Coverage coverage;
    size_t compiled = 0, ended = 0, runs = 0;
    for (uint64_t n = 0; n < functions; n++) {
        const RandomFunction f = LuaGenerator(seed + n, coverage).make(true);
        Lab lab;
        INFO("seed " << seed + n << "\n" << f.handler);
        if (!lab.compile(entry(f.handler)).empty()) continue;  // refusals are the differential test's matter
        compiled++;
        Handler handler(kernel, lab);
        std::mt19937_64 random(seed + n);
        const auto edge = [&] { return edges[random() % std::size(edges)]; };
        for (int run = 0; run < 4; run++, runs++) ended += handler.run({edge(), edge(), edge(), edge()});
    }
    std::cout << fmt::format("{} random functions, {} runs, {} of them to their end: all engines agree\n", compiled,
                             runs, ended);
    CHECK(compiled > functions / 3);
    CHECK(ended > runs / 2);
}

TEST_CASE("every operator at the edges") {
    Kernel kernel;
    size_t runs = 0;
    for (const char* x : {"a", "ffi.cast(\"uint64_t\", a)"})
        for (const char* y : {"b", "ffi.cast(\"uint64_t\", b)"}) {
            Lab lab;
            INFO(x << " and " << y);
            REQUIRE(lab.compile(entry(all_operators(x, y))) == "");
            Handler handler(kernel, lab);
            for (int64_t a : edges)
                for (int64_t b : edges) {
                    INFO(a << " and " << b);
                    CHECK(handler.run({a, b}) == (b != 0));
                    runs++;
                }
        }
    std::cout << fmt::format("every operator on {} pairs of edges: all engines agree\n", runs);
}
