// SPDX-License-Identifier: MIT
// How the module's answers are taken: this program's own open() and ioctl() give them.
#include "device/device.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdarg>
#include <string_view>

using namespace kpl;

namespace {

bool there = false;  // the module
int device_fd = -1;
int busy = 0;  // so many times

}  // namespace

// Other tests of the same program open files.
extern "C" int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    if (!there || std::string_view(path) != KPL_DEVICE)
        return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
    return device_fd = ::eventfd(0, EFD_CLOEXEC);
}

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list more;
    va_start(more, request);
    void* const argument = va_arg(more, void*);
    va_end(more);
    if (!there || fd != device_fd) return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
    if (request == KPL_IOC_INFO) {
        auto* const info = static_cast<kpl_info*>(argument);
        info->abi = KPL_ABI_VERSION, info->abi_hash = KPL_ABI_HASH;
        return 0;
    }
    if (request == KPL_IOC_PROG_LOAD) {
        errno = E2BIG;
        return -1;
    }
    errno = busy ? EBUSY : ENOENT;
    busy -= busy > 0;
    return -1;
}

TEST_CASE("a map whose entries are in use is asked again") {
    there = true;
    const auto device = Device::open();
    REQUIRE(device);
    kpl_map_op request{};
    busy = 20;
    const auto found = device->map_op(request);
    REQUIRE(found);
    CHECK_FALSE(*found);
    CHECK(busy == 0);
    busy = 1000000;
    CHECK(device->map_op(request).error().text == "map: Device or resource busy");
    there = false;
}

TEST_CASE("more handlers than the module takes") {
    there = true;
    const auto device = Device::open();
    REQUIRE(device);
    CHECK(device->load({}).error().text ==
          "more handlers than the module takes (1024): give one declaration several targets, or fewer whose arguments "
          "differ in type");
    there = false;
}
