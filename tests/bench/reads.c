// SPDX-License-Identifier: MIT
// usage: reads N [OFFSETS]   reads one byte N times, a system call each, comes by the mark bench_reads:read after each, and
// prints the nanoseconds that this took. With OFFSETS, by pread64(2), at so many offsets in turn.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The mark bench_reads:read, as <sys/sdt.h> would make it: a nop, without arguments and semaphore.
#define MARK_READ                                         \
    __asm__ volatile(                                     \
        "990: nop\n"                                      \
        ".pushsection .note.stapsdt, \"?\", \"note\"\n"   \
        ".balign 4\n"                                     \
        ".4byte 992f - 991f, 994f - 993f, 3\n"            \
        "991: .asciz \"stapsdt\"\n"                       \
        "992: .balign 4\n"                                \
        "993: .8byte 990b, 0, 0\n"                        \
        ".asciz \"bench_reads\", \"read\", \"\"\n"        \
        "994: .balign 4\n"                                \
        ".popsection\n")

// One copy: the mark is one place.
__attribute__((noinline, noclone)) static double spin(int fd, long n, long offsets) {
    struct timespec from, to;
    char byte;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < n; i++) {
        if (offsets)
            syscall(SYS_pread64, fd, &byte, 1, i % offsets);
        else
            syscall(SYS_read, fd, &byte, 1);
        MARK_READ;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / n;
}

int main(int argc, char** argv) {
    const long n = argc > 1 ? atol(argv[1]) : 20000;
    const long offsets = argc > 2 ? atol(argv[2]) : 0;
    const int fd = open("/dev/zero", O_RDONLY);
    if (fd < 0 || n <= 0) return 1;
    spin(fd, n / 4 + 1, offsets);
    printf("%.1f\n", spin(fd, n, offsets));
    return 0;
}
