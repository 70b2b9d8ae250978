// SPDX-License-Identifier: MIT
#include "device/device.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "base/device_users.hpp"
#include "base/printable.hpp"

namespace kpl {
namespace {

Error errno_error(const char* what, int error) {
    return {Errc::system, std::string(what) + ": " + std::strerror(error)};
}

// What the module could not give memory for: whose limit it was, and what there is to do.
Error memory_error(int fd, const char* what, int error) {
    kpl_info info{};
    if (error != EDQUOT || ::ioctl(fd, KPL_IOC_INFO, &info) < 0)
        return {Errc::system,
                std::string(what) + ": not enough free memory in this machine or in this process's cgroup", SourceLoc(),
                true};
    const auto megabytes = [](uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; };
    return {Errc::system,
            std::string(what) + ": all sessions of kprobe-lua together may hold " + megabytes(info.memory_limit) +
                " and hold " + megabytes(info.memory_all) +
                ": end another one, or allow more (echo PERCENT > "
                "/sys/module/kprobe_lua/parameters/memory_percent)",
            SourceLoc(), true};
}

Error call_error(int fd, const char* what, int error) {
    return error == ENOMEM || error == EDQUOT ? memory_error(fd, what, error) : errno_error(what, error);
}

// The ioctl once more after each signal: what was interrupted has done nothing, or goes on where it was.
template <class T>
bool ask(int fd, unsigned long request, T& argument) {
    int result;
    do result = ::ioctl(fd, request, &argument);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

template <class T>
Result<T> call(int fd, unsigned long request, T argument, const char* what) {
    if (!ask(fd, request, argument)) return call_error(fd, what, errno);
    return argument;
}

constexpr const char* elsewhere =
    "; or run the script in a throwaway VM with --vm. `kprobe-lua doctor` says what is missing";

// The command that loads the module: one that is installed, or of this tree.
std::string load_it() {
    utsname name{};
    ::uname(&name);
    const std::string release = name.release;
    std::ifstream installed("/lib/modules/" + release + "/modules.dep");
    for (std::string line; std::getline(installed, line);)
        if (line.find("/kprobe_lua.ko") < line.find(':')) return "modprobe kprobe_lua";
    return "insmod build/kmod/" + release + "/kprobe_lua.ko";
}

// Containers may have no /sys.
bool is_loaded() {
    if (::access("/sys/module/kprobe_lua", F_OK) == 0) return true;
    std::ifstream loaded("/proc/modules");
    for (std::string line; std::getline(loaded, line);)
        if (line.starts_with("kprobe_lua ")) return true;
    return false;
}

Error absent_error(int error) {
    if (is_loaded())
        return {Errc::system, std::string("the kprobe_lua module is loaded, but ") +
                                  (error == ENOENT ? "there is no " KPL_DEVICE " here"
                                                   : "this " KPL_DEVICE " is of an earlier load of it") +
                                  ": a container needs --device=" KPL_DEVICE
                                  ", and to be started after the module was loaded; a chroot needs devtmpfs on /dev"};
    if (::access("/proc/self", F_OK) != 0) return {Errc::system, "/proc is not mounted here: mount -t proc proc /proc"};
    if (::access("/proc/modules", F_OK) != 0)
        return {Errc::system,
                std::string("this kernel can't load modules, so it can't be probed: boot one that can") + elsewhere};
    return {Errc::system, "the kprobe_lua module is not loaded: " + load_it() + elsewhere};
}

// "312 (who), 320 (other)": the other processes that have the device open, and so keep the module loaded.
std::string holders() {
    std::string all;
    for (const int pid : device_users(KPL_DEVICE)) {
        if (pid == ::getpid()) continue;
        std::string name;
        std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
        all += (all.empty() ? "" : ", ") + std::to_string(pid) + " (" + printable(std::move(name)) + ")";
    }
    return all;
}

// What is wrong with the loaded module; a version that no module has: it does not even know the question.
std::optional<Error> misfit(const kpl_info& info) {
    if (info.abi == KPL_ABI_VERSION && info.abi_hash == KPL_ABI_HASH) return {};
    const std::string others = holders();
    const std::string reload = "load the one built with this program: " +
                               (others.empty() ? "" : "end process " + others + ", which has a session; ") +
                               "rmmod kprobe_lua; " + load_it();
    if (info.abi != KPL_ABI_VERSION)
        return Error{Errc::system, "the loaded kprobe_lua module has ABI " +
                                       (info.abi ? std::to_string(info.abi) : std::string("unknown")) +
                                       ", this program needs " + std::to_string(KPL_ABI_VERSION) + ": " + reload};
    return Error{
        Errc::system,
        "the loaded kprobe_lua module was built from other sources than this program: build both (make), then " +
            reload};
}

Error open_error(int error) {
    switch (error) {
        case ENOENT:
        case ENXIO:
        case ENODEV: return absent_error(error);
        case EPERM:
        case EACCES:
            return {Errc::system,
                    "no right to open " KPL_DEVICE
                    ": run as root (CAP_SYS_ADMIN, or CAP_PERFMON with CAP_BPF) on a kernel that is not locked down" +
                        std::string(elsewhere)};
        case EDQUOT:
            return {
                Errc::system,
                "all sessions of kprobe-lua together hold as much memory as they may: end another one, or allow more "
                "(echo PERCENT > /sys/module/kprobe_lua/parameters/memory_percent)"};
        case EUSERS:
            return {Errc::system, "there are " + std::to_string(KPL_MAX_SESSIONS) +
                                      " sessions of kprobe-lua, as many as there may be: end another one"};
        default: return errno_error(KPL_DEVICE, error);
    }
}

}  // namespace

Result<Device> Device::open() {
    Device device;
    device.fd_.reset(::open(KPL_DEVICE, O_RDWR | O_CLOEXEC));
    if (!device.fd_) return open_error(errno);
    // The ioctl's number holds the structure's size: another ABI may not even know the call.
    kpl_info info{};
    if (!ask(device.fd_.get(), KPL_IOC_INFO, info)) {
        if (errno == EPERM) return open_error(EPERM);
        if (errno != ENOTTY) return errno_error("module information", errno);
        info.abi = 0;
    }
    if (auto error = misfit(info)) return *std::move(error);
    device.cpus_ = info.nr_cpus;
    device.features_ = info.features;
    return device;
}

Result<kpl_info> Device::info() const { return call(fd(), KPL_IOC_INFO, kpl_info{}, "module information"); }

Result<void> Device::set_share(uint32_t percent) const {
    kpl_share request{};
    request.percent = percent;
    TRY(call(fd(), KPL_IOC_SHARE, request, "the share of each CPU"));
    return {};
}

Result<void> Device::set_name(std::string_view name, uint32_t dead_man) const {
    kpl_title request{};
    name.substr(0, sizeof request.name - 1).copy(request.name, sizeof request.name - 1);
    request.dead_man = dead_man;
    TRY(call(fd(), KPL_IOC_TITLE, request, "the session's name"));
    return {};
}

Result<void> Device::set_rights(uint32_t rights) const {
    kpl_rights request{};
    request.rights = rights;
    if (ask(fd(), KPL_IOC_RIGHTS, request)) return {};
    switch (errno) {
        case EPERM: return Error{Errc::system, "--unsafe takes CAP_SYS_ADMIN"};
        case EACCES:
            return Error{Errc::system,
                         "--unsafe: this machine's administrator has switched it off "
                         "(/sys/module/kprobe_lua/parameters/changes) until the module is loaded again, or the kernel "
                         "is locked down (/sys/kernel/security/lockdown)"};
        case EOPNOTSUPP: return Error{Errc::system, "--unsafe: on this machine nothing can be changed"};
        default: return call_error(fd(), "--unsafe", errno);
    }
}

Result<kpl_ring_setup> Device::setup_rings(uint32_t bytes_per_cpu) const {
    kpl_ring_setup request{};
    request.size = bytes_per_cpu;
    return call(fd(), KPL_IOC_RING_SETUP, request, "event rings");
}

Result<kpl_ring_spare> Device::spare_ring(uint32_t bytes) const {
    kpl_ring_spare request{};
    request.size = bytes;
    return call(fd(), KPL_IOC_RING_SPARE, request, "a larger event ring");
}

Result<void> Device::offer_ring(uint32_t nr) const {
    kpl_ring_offer request{};
    request.nr = nr;
    TRY(call(fd(), KPL_IOC_RING_OFFER, request, "a larger event ring"));
    return {};
}

Result<kpl_map_create> Device::create_map(kpl_map_create request) const {
    return call(fd(), KPL_IOC_MAP_CREATE, request, "map");
}

Result<kpl_map_clear> Device::clear_map(uint32_t id) const {
    kpl_map_clear request{};
    request.id = id;
    return call(fd(), KPL_IOC_MAP_CLEAR, request, "clearing a map");
}

Result<kpl_map_info> Device::map_info(uint32_t id) const {
    kpl_map_info request{};
    request.id = id;
    return call(fd(), KPL_IOC_MAP_INFO, request, "map information");
}

// Handlers that are at the same entries for long make the module give up, so that its other callers need not wait.
Result<bool> Device::map_op(kpl_map_op& request) const {
    constexpr int most_tries = 1000;
    constexpr useconds_t pause = 1000;  // us
    for (int tries = 1; !ask(fd(), KPL_IOC_MAP_OP, request); tries++) {
        if (errno == ENOENT || errno == ENOSPC) return false;
        if (errno != EBUSY || tries == most_tries) return errno_error("map", errno);
        ::usleep(pause);
    }
    return true;
}

Result<LoadedProgram> Device::load(kpl_prog_load request) const {
    if (!ask(fd(), KPL_IOC_PROG_LOAD, request)) {
        if (errno == E2BIG)
            return Error{Errc::system,
                         "more handlers than the module takes (" + std::to_string(KPL_MAX_PROGS) +
                             "): give one declaration several targets, or fewer whose arguments differ in type"};
        if (errno != EACCES) return call_error(fd(), "loading a handler", errno);
        if (request.reject == KPL_REJECT_TARGET)
            return Error{Errc::script, "p.ip: no instruction begins at that address, or no probe may stand there"};
        return Error{Errc::system, "the module refused the handler at instruction " +
                                       std::to_string(request.reject_pc) + " (reason " +
                                       std::to_string(request.reject) + ")"};
    }
    return LoadedProgram{request.id, request.cost, request.jited != 0, request.native_len};
}

Result<Attached> Device::attach(std::span<kpl_attach> probes) const {
    kpl_attach_batch request{};
    request.probes = reinterpret_cast<uint64_t>(probes.data());
    request.nr = static_cast<uint32_t>(probes.size());
    if (::ioctl(fd(), KPL_IOC_ATTACH, &request) == 0) return Attached::Yes;
    if (errno == ECANCELED) return Attached::Refused;
    if (errno == EINTR) return Attached::Interrupted;
    return call_error(fd(), "attaching probes", errno);
}

Result<NativeCode> Device::native(const LoadedProgram& program, size_t insns) const {
    NativeCode code;
    if (!program.jited) return code;
    code.bytes.resize(program.native_len);
    code.starts.resize(insns);
    kpl_prog_native request{};
    request.id = program.id;
    request.size = program.native_len;
    request.code = reinterpret_cast<uint64_t>(code.bytes.data());
    request.starts = reinterpret_cast<uint64_t>(code.starts.data());
    request.nr_starts = static_cast<uint32_t>(insns);
    if (!ask(fd(), KPL_IOC_PROG_NATIVE, request)) return errno_error("reading native code", errno);
    code.address = request.addr;
    return code;
}

Result<uint32_t> Device::initial_pid(uint32_t pid) const {
    kpl_pid request{};
    request.pid = pid;
    if (ask(fd(), KPL_IOC_PID, request)) return request.pid;
    if (errno == ESRCH) return 0u;
    return errno_error("translating a process id", errno);
}

Result<void> Device::free(kpl_free_kind kind, uint32_t id) const {
    kpl_free request{};
    request.kind = kind;
    request.id = id;
    if (!ask(fd(), KPL_IOC_FREE, request)) return errno_error("freeing what is not used any more", errno);
    return {};
}

Result<void> Device::control(kpl_control_op op, std::span<const uint32_t> ids) const {
    kpl_control request{};
    request.ids = reinterpret_cast<uint64_t>(ids.data());
    request.nr = static_cast<uint32_t>(ids.size());
    request.op = op;
    if (!ask(fd(), KPL_IOC_CONTROL, request)) return errno_error("controlling probes", errno);
    return {};
}

Result<void> Device::each_stats(std::span<const uint32_t> ids,
                                const std::function<void(size_t, const kpl_probe_stats&)>& visit) const {
    constexpr size_t at_once = 256;
    std::vector<kpl_probe_stats> stats;
    for (size_t first = 0; first < ids.size(); first += stats.size()) {
        stats.assign(std::min(at_once, ids.size() - first), {});
        for (size_t i = 0; i < stats.size(); i++) stats[i].id = ids[first + i];
        kpl_stats request{};
        request.stats = reinterpret_cast<uint64_t>(stats.data());
        request.nr = static_cast<uint32_t>(stats.size());
        if (!ask(fd(), KPL_IOC_STATS, request)) return call_error(fd(), "reading statistics", errno);
        for (size_t i = 0; i < stats.size(); i++) visit(first + i, stats[i]);
    }
    return {};
}

Result<std::vector<kpl_site>> Device::sites(uint32_t program, uint32_t room) const {
    std::vector<kpl_site> sites(room);
    kpl_prog_sites request{};
    request.id = program;
    request.nr = room;
    request.sites = reinterpret_cast<uint64_t>(sites.data());
    if (!ask(fd(), KPL_IOC_PROG_SITES, request)) return call_error(fd(), "reading stops", errno);
    sites.resize(request.nr);
    return sites;
}

Result<std::optional<uint64_t>> Device::bench(uint32_t function, uint32_t calls) const {
    kpl_bench request{};
    request.function = function;
    request.calls = calls;
    if (::ioctl(fd(), KPL_IOC_BENCH, &request) == 0) return std::optional(uint64_t{request.ns});
    if (errno == EINTR) return std::optional<uint64_t>();
    return call_error(fd(), "calling what is probed", errno);
}

Result<Mapping> Device::map(uint64_t offset, size_t size, int protection) const {
    return Mapping::create(fd(), offset, size, protection);
}

}  // namespace kpl
