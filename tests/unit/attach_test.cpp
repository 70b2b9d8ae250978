// SPDX-License-Identifier: MIT
// Which way into the kernel a probe takes, and what refusals are said to mean.
#include "session/attach.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdio>
#include <fstream>

using namespace kpl;

namespace {

// A list that forbids 0x1000 to 0x1100, or none that can be read.
Paths paths(bool ftrace, bool list) {
    const std::string path = "attach_test.tmp";
    if (list) std::ofstream(path) << "0x1000-0x1100\tforbidden\n";
    Paths made{ftrace, BlacklistOnDemand(path)};
    REQUIRE((made.blacklist.get() != nullptr) == list);  // read now
    std::remove(path.c_str());
    return made;
}

const std::vector<ArmedProgram> programs = [] {
    std::vector<ArmedProgram> some(2);
    some[0].loaded.id = 40, some[1].loaded.id = 41;
    return some;
}();

PlannedProbe plan_at(uint64_t address, uint64_t offset = 0) {
    PlannedProbe plan;
    plan.place = {"f", {}, address + offset, address, offset, false};
    plan.handlers[0] = 1;
    return plan;
}

struct Row {
    const char* what;
    ProbeKind kind;
    const char* via;
    uint64_t address, offset;
    int post;  // index of its program; -1: none
    bool ftrace, list;
    uint32_t expected_kind, expected_flags;
};

constexpr uint32_t fallback = KPL_ATTACH_F_ELSE_KPROBE;
const Row rows[] = {
    {"entry", ProbeKind::Kprobe, "auto", 0x2000, 0, -1, true, true, KPL_PROBE_FTRACE, fallback},
    {"entry behind a landing pad", ProbeKind::Kprobe, "auto", 0x2000, 4, -1, true, true, KPL_PROBE_FTRACE, fallback},
    {"jprobe", ProbeKind::Jprobe, "auto", 0x2000, 0, -1, true, true, KPL_PROBE_FTRACE, fallback},
    {"ftrace alone", ProbeKind::Kprobe, "ftrace", 0x2000, 0, -1, true, true, KPL_PROBE_FTRACE, 0},
    {"kprobe alone", ProbeKind::Kprobe, "kprobe", 0x2000, 0, -1, true, true, KPL_PROBE_KPROBE, 0},
    {"inside", ProbeKind::Kprobe, "auto", 0x2000, 5, -1, true, true, KPL_PROBE_KPROBE, 0},
    {"with post", ProbeKind::Kprobe, "auto", 0x2000, 0, 0, true, true, KPL_PROBE_FTRACE, fallback},
    {"blacklisted", ProbeKind::Kprobe, "auto", 0x1000, 0, -1, true, true, KPL_PROBE_KPROBE, 0},
    {"blacklist unknown", ProbeKind::Kprobe, "auto", 0x2000, 0, -1, true, false, KPL_PROBE_KPROBE, 0},
    {"no ftrace", ProbeKind::Kprobe, "auto", 0x2000, 0, -1, false, true, KPL_PROBE_KPROBE, 0},
    {"return", ProbeKind::Kretprobe, "auto", 0x2000, 0, -1, true, true, KPL_PROBE_KRETPROBE, 0},
};

}  // namespace

TEST_CASE("attach: the way in") {
    for (const Row& row : rows) {
        INFO(row.what);
        ProbeDecl probe;
        probe.kind = row.kind;
        probe.via = row.via;
        PlannedProbe plan = plan_at(row.address, row.offset);
        plan.handlers[1] = row.post;
        const kpl_attach request = attach_request(probe, plan, programs, paths(row.ftrace, row.list), {});
        CHECK(request.kind == row.expected_kind);
        CHECK(request.flags == row.expected_flags);
        CHECK(request.addr == row.address + row.offset);
        CHECK(request.func == row.address);
        CHECK(request.prog[0] == 41);
        CHECK(request.prog[1] == (row.post < 0 ? KPL_NO_PROG : 40));
        CHECK(request.prog[2] == KPL_NO_PROG);
        CHECK(request.when.mask == 0);
    }
}

TEST_CASE("attach: filters and flags") {
    ProbeDecl probe;
    probe.enabled = false;
    probe.when.mask = KPL_WHEN_TID;
    probe.when.tid = 8;
    PlannedProbe plan = plan_at(0x2000);
    plan.place.by_glob = true;
    const kpl_attach request = attach_request(probe, plan, programs, paths(false, false), 7);
    CHECK(request.flags == (KPL_ATTACH_F_DISABLED | KPL_ATTACH_F_OPTIONAL));
    CHECK(request.when.mask == (KPL_WHEN_PID | KPL_WHEN_TID));
    CHECK(request.when.pid == 7);
    CHECK(request.when.tid == 8);

    probe.when.mask = KPL_WHEN_PID;
    probe.when.pid = 7;
    CHECK(check_attachable(probe, {}, paths(false, false), 7));
    CHECK(check_attachable(probe, {}, paths(false, false), {}));
    CHECK_FALSE(check_attachable(probe, {}, paths(false, false), 8));
}

TEST_CASE("attach: returns by direct calls") {
    ProbeDecl probe;
    probe.kind = ProbeKind::Kretprobe;
    PlannedProbe plan = plan_at(0x2000);
    plan.direct.stack_args = 3;
    Paths way = paths(true, true);
    way.direct = true;
    kpl_attach request = attach_request(probe, plan, programs, way, {});
    CHECK(request.kind == KPL_PROBE_DIRECT);
    CHECK(request.flags == fallback);
    CHECK(request.stack_args == 3);
    CHECK(request.why == KPL_WHY_NONE);

    probe.via = "kretprobe";
    CHECK(attach_request(probe, plan, programs, way, {}).kind == KPL_PROBE_KRETPROBE);
    CHECK(attach_request(probe, plan, programs, way, {}).stack_args == 0);

    // what is known to stand against it; asked for all the same, the module refuses it
    plan.direct = {KPL_WHY_VARARGS, 0};
    for (const char* via : {"auto", "direct"}) {
        probe.via = via;
        request = attach_request(probe, plan, programs, way, {});
        CHECK(request.kind == (probe.via == "auto" ? KPL_PROBE_KRETPROBE : KPL_PROBE_DIRECT));
        CHECK(request.flags == 0);
        CHECK(request.why == KPL_WHY_VARARGS);
    }
    request.error = -EOPNOTSUPP;
    CHECK(attach_reason(request, way).find("variable number of arguments; leave via out") != std::string::npos);
    probe.via = "auto";
    plan.direct = {};
    CHECK(attach_request(probe, plan_at(0x1000), programs, way, {}).why == KPL_WHY_BLACKLIST);
    Paths blind = paths(true, false);
    blind.direct = true;
    CHECK(attach_request(probe, plan, programs, blind, {}).why == KPL_WHY_BLACKLIST);
    way.direct = false;
    CHECK(attach_request(probe, plan, programs, way, {}).kind == KPL_PROBE_KRETPROBE);

    std::vector<PlannedProbe> planned(3, plan);
    std::vector<kpl_attach> requests(3, kpl_attach{});
    for (kpl_attach& one : requests) one.kind = KPL_PROBE_KRETPROBE;
    requests[0].why = requests[2].why = KPL_WHY_BUSY;
    const auto lines = not_direct_text(requests, planned);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with("kretprobe, not direct: f and 1 more: somebody else"));
}

TEST_CASE("attach: ftrace or nothing") {
    ProbeDecl probe;
    probe.via = "ftrace";
    const std::vector<KernelPlace> entry{plan_at(0x2000).place}, inside{plan_at(0x2000, 9).place};
    CHECK(check_attachable(probe, entry, paths(true, true), {}));
    CHECK_FALSE(check_attachable(probe, inside, paths(true, true), {}));
    CHECK_FALSE(check_attachable(probe, entry, paths(false, true), {}));
    CHECK_FALSE(check_attachable(probe, entry, paths(true, false), {}));
}

TEST_CASE("attach: refusals in words") {
    kpl_attach request{};
    request.error = -EINVAL;
    request.addr = 0x1010;
    CHECK(attach_reason(request, paths(true, true)).find("blacklist") != std::string::npos);
    request.addr = 0x2000;
    CHECK(attach_reason(request, paths(true, true)).find("blacklist") == std::string::npos);
    request.kind = KPL_PROBE_FTRACE;
    CHECK(attach_reason(request, paths(true, true)).find("available_filter_functions") != std::string::npos);
    CHECK(is_about_place(request));
    for (const int error : {ENOMEM, EBUSY, E2BIG, EINTR}) {
        request.error = -error;
        CHECK_FALSE(is_about_place(request));
        CHECK_FALSE(attach_reason(request, paths(false, false)).empty());
    }
}

TEST_CASE("attach: sums in words") {
    kpl_attach requests[4] = {};
    requests[0].kind = requests[1].kind = KPL_PROBE_FTRACE;
    requests[2].kind = KPL_PROBE_KRETPROBE;
    requests[3].kind = KPL_PROBE_KPROBE, requests[3].error = -EINVAL;
    CHECK(attached_text(requests) == "2 by ftrace, 1 by kretprobe");
    CHECK(LeftOut{}.text().empty());
    CHECK(LeftOut{.parts = 1, .freed = 2, .blacklisted = 3}.text() ==
          "3 blacklisted, 2 freed after boot, 1 parts of functions");
    CHECK(LeftOut{.parts = 1, .repeated = 4}.unwilling() == 0);
    CHECK(LeftOut{.variants = 2}.unwilling() == 2);
    ProbeDecl probe;
    probe.targets.emplace_back(std::string("vfs_*"));
    CHECK(too_many_error(probe, 5, 3, 7).text ==
          "'vfs_*' stands for 5 places, beside 3 other probes: more than 7 probes: narrow it, or allow them with "
          "--max-probes=8");
}
