// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>

#include "base/files.h"

namespace gpuprobe::inline base {

Result<UniqueFd> lock_file(const std::string& path) {
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!fd)
        return errno_error(path, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (errno == EWOULDBLOCK)
        return UniqueFd{};
    return errno_error(path, errno);
}

}  // namespace gpuprobe::inline base
