// SPDX-License-Identifier: Apache-2.0
/// A library for LD_PRELOAD that changes the wall clock of a program. The file $WALL_CLOCK contains
/// the number of nanoseconds that are added to the true time. Monotonic clocks and timers are not
/// changed. libfaketime 0.9.10 cannot do this: it also changes timers of the monotonic clock
/// (timerfd_settime), and a timer before the start of the machine is an error.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kSecond = 1000000000 };

static int64_t offset(void) {
    static volatile int64_t* given;
    const char* path = getenv("WALL_CLOCK");
    if (!given && path) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        void* memory = mmap(NULL, sizeof *given, PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        given = memory == MAP_FAILED ? NULL : memory;
    }
    return given ? *given : 0;
}

int clock_gettime(clockid_t clock, struct timespec* at) {
    const int failed = (int)syscall(SYS_clock_gettime, clock, at);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    const int64_t now = (int64_t)at->tv_sec * kSecond + at->tv_nsec + offset();
    at->tv_sec = now / kSecond - (now % kSecond < 0);
    at->tv_nsec = (now % kSecond + kSecond) % kSecond;
    return 0;
}

int gettimeofday(struct timeval* restrict at, void* restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    *at = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t* at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
