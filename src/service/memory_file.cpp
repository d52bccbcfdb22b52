// SPDX-License-Identifier: Apache-2.0
#include "service/memory_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe::inline service {

Result<UniqueFd> sealed_file(const char* name, std::string_view content) {
    UniqueFd file{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!file)
        return errno_error(name, errno);
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0 && errno != EINTR)
            return errno_error(name, errno);
        if (written > 0)
            content.remove_prefix(static_cast<std::size_t>(written));
    }
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (::lseek(file.get(), 0, SEEK_SET) != 0 || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
        return errno_error(name, errno);
    return file;
}

}  // namespace gpuprobe::inline service
