// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>

#include "base/files.h"
#include "base/patience.h"

namespace gpuprobe::inline base {

Result<UniqueFd> lock_file(const std::string& path, Duration patience) {
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!fd)
        return errno_error(path, errno);
    int problem = 0;
    (void)succeeds_within(patience, [&] {  // it may also fail for good
        problem = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        return problem != EWOULDBLOCK;
    });
    if (problem == EWOULDBLOCK)
        return UniqueFd{};
    if (problem != 0)
        return errno_error(path, problem);
    return fd;
}

}  // namespace gpuprobe::inline base
