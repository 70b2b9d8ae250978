// SPDX-License-Identifier: MIT
#include "bench/doubts.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "inspect/knobs.hpp"

namespace kpl {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// "model name : AMD EPYC": what stands behind the colon of the first such line.
std::string cpuinfo(const std::string& root, const std::string& key) {
    std::ifstream file(root + "/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key))
            if (const size_t at = line.find(": "); at != line.npos) return line.substr(at + 2);
    return {};
}

}  // namespace

std::string processor_name(const std::string& root) { return cpuinfo(root, "model name"); }

std::vector<std::string> machine_doubts(const std::string& root) {
    std::vector<std::string> doubts;
    if ((" " + cpuinfo(root, "flags") + " ").find(" hypervisor ") != std::string::npos)
        doubts.emplace_back("a virtual machine: what traps costs what its host makes of it");
    const std::string governor = first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (!governor.empty() && governor != "performance")
        doubts.push_back(fmt::format("the processor's frequency changes: scaling_governor is {}", governor));
    std::istringstream load(first_line(root + "/proc/loadavg"));
    double busy = 0;
    if (load >> busy && busy >= 1) doubts.push_back(fmt::format("other work: a load of {:.1f}", busy));
    for (const Knob& knob : knobs()) {
        const auto now = read_knob(knob, root);
        const KnobValue* const value = now ? knob.find(*now) : nullptr;
        if (!value || (value->effect != KnobValue::Effect::Slower && value->effect != KnobValue::Effect::Silences))
            continue;
        doubts.push_back(
            fmt::format("{}: kprobe-lua knobs {} {} ends that", value->meaning, knob.name, knob.values.front().value));
    }
    return doubts;
}

Interference::Interference() : before_(look()) {}

Interference::Look Interference::look() {
    Look now;
    rusage usage{};
    if (::getrusage(RUSAGE_THREAD, &usage) == 0) now.switches = usage.ru_nivcsw;
    std::istringstream stat(first_line("/proc/stat"));
    std::string cpu;
    unsigned long long part[8] = {};  // user nice system idle iowait irq softirq steal
    stat >> cpu;
    for (unsigned long long& one : part) stat >> one;
    now.stolen = part[7];
    return now;
}

std::vector<std::string> Interference::doubts() const {
    const Look now = look();
    std::vector<std::string> doubts;
    if (const long n = now.switches - before_.switches; n > 0)
        doubts.push_back(fmt::format("other tasks took this one's processor {} times", n));
    if (now.stolen > before_.stolen) doubts.emplace_back("the host took processors away from this virtual machine");
    return doubts;
}

}  // namespace kpl
