// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Replaces the system calls that change files. Each call can fail, or end the process. Include
/// this header only once in a program, because its functions replace those of libc.
namespace {

bool is_armed = false;
int fails_at = 0;
int fails_with = 0;
int made = 0;

/// Whether this call must fail. Sets errno.
bool fails() {
    if (!is_armed || ++made != fails_at)
        return false;
    if (fails_with == 0)
        ::kill(::getpid(), SIGKILL);
    errno = fails_with;
    return true;
}

int result_of(long value) {
    return static_cast<int>(value);
}

}  // namespace

namespace gpuprobe::support {

/// While this object exists, call number `at` (from 1) of the calls that change a file fails with
/// `problem`. If `problem` is 0, SIGKILL ends the process before the call. Create only one object.
class FailingDisk {
public:
    FailingDisk(int at, int problem);
    ~FailingDisk();
    FailingDisk(const FailingDisk&) = delete;
    FailingDisk& operator=(const FailingDisk&) = delete;
    /// The number of calls so far.
    [[nodiscard]] static int calls();
};

inline FailingDisk::FailingDisk(int at, int problem) {
    fails_at = at;
    fails_with = problem;
    made = 0;
    is_armed = true;
}

inline FailingDisk::~FailingDisk() {
    is_armed = false;
}

inline int FailingDisk::calls() {
    return made;
}

}  // namespace gpuprobe::support

// open(2) and close(2) are not replaced, because they change nothing.
extern "C" {

int mkostemp(char* pattern, int flags) noexcept {
    if (fails())
        return -1;
    const auto length = __builtin_strlen(pattern);
    static unsigned number = 0;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        unsigned rest = ++number + 7919U * static_cast<unsigned>(::getpid());
        for (std::size_t i = length - 6; i < length; ++i, rest /= 26)
            pattern[i] = static_cast<char>('a' + rest % 26);
        const int fd = result_of(
            ::syscall(SYS_openat, AT_FDCWD, pattern, O_RDWR | O_CREAT | O_EXCL | flags, 0600));
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

ssize_t write(int fd, const void* data, size_t size) {
    return fails() ? -1 : ::syscall(SYS_write, fd, data, size);
}

int fchmod(int fd, mode_t mode) noexcept {
    return fails() ? -1 : result_of(::syscall(SYS_fchmod, fd, mode));
}

int fsync(int fd) {
    return fails() ? -1 : result_of(::syscall(SYS_fsync, fd));
}

int rename(const char* from, const char* to) noexcept {
    return fails() ? -1 : result_of(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char* path) noexcept {
    return fails() ? -1 : result_of(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"
