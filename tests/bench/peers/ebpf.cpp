// SPDX-License-Identifier: MIT
// usage: bench_ebpf OBJECT PROGRAM READS PLACE   loads and attaches what is called PROGRAM or PROGRAM__…, a uprobe at
//                                                PLACE in the file READS; says "armed", takes events until it is
//                                                told to end
//        bench_ebpf OBJECT PROGRAM FUNCTIONS     the same, by kprobe, kretprobe or their multi kinds at each function
//                                                that the file FUNCTIONS has a line of
//        bench_ebpf OBJECT                       prints what there is: a line each, PROGRAM
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

volatile sig_atomic_t ended = 0;

// "kprobe__eight_probes" of "kprobe__eight_probes__3".
std::string job_of(const bpf_program* program) {
    const std::string name = bpf_program__name(program);
    return name.substr(0, name.find("__", name.find("__") + 2));
}

bool attached_to_each(bpf_program* program, const char* functions, bool at_return) {
    std::ifstream file(functions);
    for (std::string name; std::getline(file, name);)
        if (!bpf_program__attach_kprobe(program, at_return, name.c_str())) return false;
    return true;
}

bool attached_to_all(bpf_program* program, const char* functions, bool at_return) {
    std::vector<std::string> names;
    std::ifstream file(functions);
    for (std::string name; std::getline(file, name);) names.push_back(name);
    std::vector<const char*> symbols;
    for (const std::string& name : names) symbols.push_back(name.c_str());
    LIBBPF_OPTS(bpf_kprobe_multi_opts, options);
    options.syms = symbols.data();
    options.cnt = symbols.size();
    options.retprobe = at_return;
    return bpf_program__attach_kprobe_multi_opts(program, nullptr, &options);
}

bool attached(bpf_program* program, const char* file, size_t place) {
    const std::string_view section = bpf_program__section_name(program);
    if (section.ends_with(".multi")) return attached_to_all(program, file, section == "kretprobe.multi");
    if (section == "kprobe" || section == "kretprobe") return attached_to_each(program, file, section == "kretprobe");
    if (section != "uprobe") return bpf_program__attach(program);
    return bpf_program__attach_uprobe(program, false, -1, file, place);
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

int run(bpf_object* object, std::string_view job, const char* file, size_t place) {
    bpf_program* program;
    bpf_object__for_each_program(program, object) bpf_program__set_autoload(program, job_of(program) == job);
    if (bpf_object__load(object)) return 1;
    bpf_object__for_each_program(program, object) {
        if (bpf_program__autoload(program) && !attached(program, file, place)) return 1;
    }
    unsigned long events = 0;
    const int map = bpf_object__find_map_fd_by_name(object, "events");
    ring_buffer* ring = map < 0 ? nullptr : ring_buffer__new(map, take, &events, nullptr);
    if (map >= 0 && !ring) return 1;
    fmt::print("armed\n");
    std::fflush(stdout);
    while (!ended) ring ? (void)ring_buffer__poll(ring, 1000) : (void)::pause();
    fmt::print("events {}\n", events);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    bpf_object* object = argc > 1 ? bpf_object__open(argv[1]) : nullptr;
    if (!object) return 2;
    signal(SIGINT, [](int) { ended = 1; });
    return argc > 3 ? run(object, argv[2], argv[3], argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 0) : list(object);
}
