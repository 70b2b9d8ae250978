// SPDX-License-Identifier: MIT
// usage: bench_ebpf OBJECT PROGRAM READS PLACE   loads and attaches what is called PROGRAM or PROGRAM__…, a uprobe at
//                                                PLACE in the file READS; says "armed", takes events until it is
//                                                told to end
//        bench_ebpf OBJECT                       prints what there is: a line each, PROGRAM
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace {

volatile sig_atomic_t ended = 0;

// "kprobe__eight_probes" of "kprobe__eight_probes__3".
std::string job_of(const bpf_program* program) {
    const std::string name = bpf_program__name(program);
    return name.substr(0, name.find("__", name.find("__") + 2));
}

bool attached(bpf_program* program, const char* reads, size_t place) {
    if (std::string_view(bpf_program__section_name(program)) != "uprobe") return bpf_program__attach(program);
    return bpf_program__attach_uprobe(program, false, -1, reads, place);
}

int list(bpf_object* object) {
    std::set<std::string> jobs;
    bpf_program* program;
    bpf_object__for_each_program(program, object) jobs.insert(job_of(program));
    for (const std::string& job : jobs) fmt::print("{}\n", job);
    return 0;
}

int take(void* taken, void*, size_t) {
    ++*static_cast<unsigned long*>(taken);
    return 0;
}

int run(bpf_object* object, std::string_view job, const char* reads, size_t place) {
    bpf_program* program;
    bpf_object__for_each_program(program, object) bpf_program__set_autoload(program, job_of(program) == job);
    if (bpf_object__load(object)) return 1;
    bpf_object__for_each_program(program, object) {
        if (bpf_program__autoload(program) && !attached(program, reads, place)) return 1;
    }
    unsigned long events = 0;
    ring_buffer* ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "events"), take, &events, nullptr);
    if (!ring) return 1;
    fmt::print("armed\n");
    std::fflush(stdout);
    while (!ended) ring_buffer__poll(ring, 1000);
    fmt::print("events {}\n", events);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    bpf_object* object = argc > 1 ? bpf_object__open(argv[1]) : nullptr;
    if (!object) return 2;
    signal(SIGINT, [](int) { ended = 1; });
    return argc > 4 ? run(object, argv[2], argv[3], std::strtoull(argv[4], nullptr, 0)) : list(object);
}
