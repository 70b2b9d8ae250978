// SPDX-License-Identifier: MIT
// Thousands of random functions: the generated program does what the IR says.
#include <cstdlib>

#include "codegen_evaluate.hpp"
#include "codegen_generate_flow.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

// A machine with random numbers in it.
Simulator machine(uint64_t seed) {
    std::mt19937_64 random(seed);
    Simulator simulator;
    ByteVector bytes(64);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    simulator.kernel.add(good_memory, bytes);
    simulator.kernel.add_string(good_string, "a kernel string that is 37 bytes long");
    simulator.user.add_string(good_user, "/etc/passwd");
    simulator.task.comm = random() % 2 ? "fifteen-bytes-1" : "sh";
    simulator.now = random();
    for (uint64_t& reg : simulator.regs) reg = random() % 2 ? random() : random() % 256;
    simulator.rights = KPL_RIGHT_CHANGE;
    simulator.hit.func = random();
    simulator.hit.addr = random();
    simulator.hit.ret = random() % 2 ? -(random() % 100) : random();
    simulator.hit.ret_addr = random();
    simulator.hit.cpu = static_cast<uint32_t>(random());
    simulator.ring_room = random() % 4 ? 1000 : random() % 2;
    simulator.data.resize(data_string + KPL_STR_SIZE(data_limit));
    for (uint32_t i = 0; i < data_string; i++) simulator.data[i] = static_cast<uint8_t>(random());
    simulator.scratch.assign(KPL_MAX_SCRATCH, 0xa5);
    for (MapShape shape : map_shapes) {
        kpl_map_create request{};
        request.kind = shape.kind;
        request.key_size = shape.key_size;
        request.value_size = shape.kind == KPL_MAP_HASH ? hash_value : 0;
        simulator.maps.push_back(SimMap::create(request));
    }
    return simulator;
}

std::vector<SeenRecord> seen(const Simulator& simulator, const std::vector<SeenRecord>& like) {
    std::vector<SeenRecord> result;
    for (size_t i = 0; i < simulator.records.size(); i++) {
        const SimRecord& record = simulator.records[i];
        SeenRecord& out = result.emplace_back();
        out.event = record.event;
        if (i >= like.size()) continue;
        for (auto [offset, number] : like[i].numbers) out.numbers[offset] = record.number(offset);
        for (const auto& [offset, text] : like[i].strings) out.strings[offset] = record.text(offset).value_or("nil");
    }
    return result;
}

// Instance data without what lies behind the end of its string.
std::string seen_data(const ByteVector& data) {
    uint32_t length;
    memcpy(&length, &data[data_string], sizeof length);
    return std::string(reinterpret_cast<const char*>(data.data()), data_string + 8 + std::min(length, data_limit));
}

struct Coverage {
    std::map<Opcode, int> opcodes;
    std::map<Cmp, int> compares, branches;
    int stops = 0, skips = 0, loops = 0, spills = 0, lost = 0, read_in_records = 0;
    size_t instructions = 0;

    void add(const ir::Function& function) {
        for (const ir::Block& block : function.blocks) {
            for (ValueId id : block.insts) {
                opcodes[function.insts[id].op]++;
                if (function.insts[id].op == Opcode::Compare) compares[function.insts[id].cmp]++;
            }
            if (const auto* branch = std::get_if<ir::Branch>(&block.end)) branches[branch->cmp]++;
        }
    }
};

// One function on one machine.
void check_run(const ir::Function& function, const HandlerProgram& program, uint64_t seed, Coverage& coverage) {
    Simulator simulator = machine(seed), expected = machine(seed);
    SimProgram loaded = load(simulator, program);
    Evaluation meaning = Evaluator(function, expected).run();
    REQUIRE(!meaning.endless);
    SimOutcome outcome = simulator.run(loaded);
    CHECK(outcome.reason == meaning.reason);
    if (meaning.reason) CHECK(what_at(program, outcome.pc) == meaning.what);
    CHECK(outcome.skipped == meaning.skipped);
    CHECK(!outcome.record_dropped);
    CHECK(seen(simulator, meaning.records) == meaning.records);
    // A handler that stops may have made a string before the point where it was to be kept: data is gone then.
    if (!meaning.reason) CHECK(seen_data(simulator.data) == seen_data(expected.data));
    CHECK(simulator.regs == expected.regs);
    CHECK(simulator.exit_code == expected.exit_code);
    for (size_t i = 0; i < std::size(map_shapes); i++) CHECK(simulator.maps[i].cells == expected.maps[i].cells);
    coverage.stops += meaning.reason != 0;
    coverage.skips += meaning.skipped;
    coverage.loops += loaded.has_loops;
    coverage.spills += loaded.stack_depth > 80;
    coverage.lost += simulator.lost > 0;
    coverage.read_in_records += std::any_of(program.insns.begin(), program.insns.end(), [](const bpf_insn& insn) {
        return insn.code == (BPF_JMP | BPF_CALL) && insn.imm == KPL_H_rec_read_str;
    });
}

// `compiled` may be another form of `function`.
void check_function(const ir::Function& function, const ir::Function& compiled, uint64_t seed, Coverage& coverage) {
    HandlerProgram program = compile(compiled);
    coverage.instructions += program.insns.size();
    INFO(ir::print(compiled));
    INFO(listing(program));
    for (uint64_t run = 0; run < 3; run++) check_run(function, program, seed * 3 + run, coverage);
}

uint64_t setting(const char* name, uint64_t otherwise) {
    const char* value = getenv(name);
    return value ? strtoull(value, nullptr, 0) : otherwise;
}

}  // namespace

TEST_CASE("random functions mean what their IR means") {
    const uint64_t first = setting("CODEGEN_SEED", 1), count = setting("CODEGEN_COUNT", 2000);
    Coverage coverage;
    for (uint64_t seed = first; seed < first + count; seed++) {
        IrGenerator generator(seed);
        const ir::Function function = generator.run();
        coverage.add(function);
        INFO("CODEGEN_SEED=" << seed << " CODEGEN_COUNT=1");
        check_function(function, function, seed, coverage);
        if (!generator.as_built()) continue;
        CHECK(ir::check(function) == "");
        ir::Function optimized = function;
        ir::optimize(optimized);
        CHECK(ir::check(optimized) == "");
        check_function(function, optimized, seed, coverage);
    }
    if (count < 1000) return;
    constexpr int opcodes = static_cast<int>(Opcode::MapAdd) + 1;
    fmt::print(
        "{} functions, {} instructions; runs with loops {}, spills {}, stops {}, skips {}, lost records {}, read in records {}\n",
        count, coverage.instructions, coverage.loops, coverage.spills, coverage.stops, coverage.skips, coverage.lost,
        coverage.read_in_records);
    fmt::print("opcodes:");
    for (int op = 0; op < opcodes; op++) {
        fmt::print(" {}", coverage.opcodes[static_cast<Opcode>(op)]);
        CHECK(coverage.opcodes[static_cast<Opcode>(op)] > 0);
    }
    fmt::print("\ncompares:");
    for (int cmp = 0; cmp < 10; cmp++) {
        fmt::print(" {}+{}", coverage.compares[static_cast<Cmp>(cmp)], coverage.branches[static_cast<Cmp>(cmp)]);
        CHECK(coverage.compares[static_cast<Cmp>(cmp)] > 0);
        CHECK(coverage.branches[static_cast<Cmp>(cmp)] > 0);
    }
    fmt::print("\n");
    for (int reached :
         {coverage.loops, coverage.spills, coverage.stops, coverage.skips, coverage.lost, coverage.read_in_records})
        CHECK(reached > 0);
}
