// SPDX-License-Identifier: Apache-2.0
/// Simulates a disk that fails at a chosen call. The program under test is started with this
/// library in LD_PRELOAD. Only calls that change something below $DISK_FOLDER are counted. The test
/// writes the file $DISK_ORDERS, which determines the call that fails.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kHalf = -1 };

struct orders {
    int64_t made;      ///< calls so far
    int64_t fails_at;  ///< number of the call that fails, from 1; 0 for none
    int64_t is_over;   ///< whether all later calls also fail
    int64_t problem;   ///< the errno of the failure; kHalf: write only half
    int64_t failed;    ///< number of calls that failed
};

static volatile struct orders* given(void) {
    static struct orders* orders;
    const char* path = getenv("DISK_ORDERS");
    if (orders || !path)
        return orders;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void* memory = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return orders = memory == MAP_FAILED ? NULL : memory;
}

static int is_below(const char* path) {
    const char* folder = getenv("DISK_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_open_below(int fd) {
    char name[64];
    char path[4096];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(name, path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    return is_below(path);
}

/// Returns 0, or the error with which the call must fail.
static int problem(int concerns) {
    const int before = errno;
    volatile struct orders* orders = concerns ? given() : NULL;
    errno = before;
    if (!orders)
        return 0;
    const int64_t number = ++orders->made;
    if (orders->fails_at == 0 || number < orders->fails_at ||
        (number > orders->fails_at && !orders->is_over))
        return 0;
    ++orders->failed;
    return (int)orders->problem;
}

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

#define FAILS(concerns)                        \
    do {                                       \
        const int failure = problem(concerns); \
        if (failure > 0) {                     \
            errno = failure;                   \
            return -1;                         \
        }                                      \
    } while (0)

static int changes(int flags) {
    return (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY;
}

#define OPENS(name, parameters, arguments)                             \
    int name parameters {                                              \
        va_list rest;                                                  \
        va_start(rest, flags);                                         \
        const mode_t mode = changes(flags) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                  \
        FAILS(changes(flags) && is_below(path));                       \
        return NEXT(name) arguments;                                   \
    }
OPENS(open, (const char* path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char* path, int flags, ...), (path, flags, mode))
OPENS(openat, (int at, const char* path, int flags, ...), (at, path, flags, mode))
OPENS(openat64, (int at, const char* path, int flags, ...), (at, path, flags, mode))

int mkostemp(char* pattern, int flags) {
    FAILS(is_below(pattern));
    return NEXT(mkostemp)(pattern, flags);
}
int mkostemp64(char* pattern, int flags) {
    FAILS(is_below(pattern));
    return NEXT(mkostemp64)(pattern, flags);
}
ssize_t write(int fd, const void* bytes, size_t size) {
    const int failure = problem(is_open_below(fd));
    if (failure > 0) {
        errno = failure;
        return -1;
    }
    return NEXT(write)(fd, bytes, failure == kHalf && size > 1 ? size / 2 : size);
}
int fsync(int fd) {
    FAILS(is_open_below(fd));
    return NEXT(fsync)(fd);
}
int fdatasync(int fd) {
    FAILS(is_open_below(fd));
    return NEXT(fdatasync)(fd);
}
int fchmod(int fd, mode_t mode) {
    FAILS(is_open_below(fd));
    return NEXT(fchmod)(fd, mode);
}
int ftruncate(int fd, off_t size) {
    FAILS(is_open_below(fd));
    return NEXT(ftruncate)(fd, size);
}
int rename(const char* from, const char* to) {
    FAILS(is_below(to));
    return NEXT(rename)(from, to);
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
    FAILS(is_below(to));
    return NEXT(renameat)(from_at, from, to_at, to);
}
int unlink(const char* path) {
    FAILS(is_below(path));
    return NEXT(unlink)(path);
}
int mkdir(const char* path, mode_t mode) {
    FAILS(is_below(path));
    return NEXT(mkdir)(path, mode);
}
