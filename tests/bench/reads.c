// SPDX-License-Identifier: MIT
// usage: reads N   reads one byte N times, a system call each, and prints the nanoseconds that a call took.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double spin(int fd, long n) {
    struct timespec from, to;
    char byte;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < n; i++) syscall(SYS_read, fd, &byte, 1);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / n;
}

int main(int argc, char** argv) {
    const long n = argc > 1 ? atol(argv[1]) : 20000;
    const int fd = open("/dev/zero", O_RDONLY);
    if (fd < 0 || n <= 0) return 1;
    spin(fd, n / 4 + 1);
    printf("%.1f\n", spin(fd, n));
    return 0;
}
