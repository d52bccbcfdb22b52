// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/drm_device.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backends/denied_node.h"
#include "base/files.h"
#include "base/handle.h"

namespace gpuprobe::backends {
namespace {

constexpr int kMaxRepeats = 64;

class OpenedDevice final : public DrmDevice {
public:
    explicit OpenedDevice(UniqueFd fd) : fd_{std::move(fd)} {}

    [[nodiscard]] int ask(unsigned long request, void* argument) const override {
        for (int repeat = 0; repeat < kMaxRepeats; ++repeat) {
            if (::ioctl(fd_.get(), request, argument) >= 0)
                return 0;
            if (errno != EINTR && errno != EAGAIN)
                return errno;
        }
        return EINTR;
    }

private:
    UniqueFd fd_ = {};
};

bool is_the_device(const struct stat& info, const std::string& device_number) {
    return S_ISCHR(info.st_mode) &&
           std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev)) ==
               device_number;
}

Error open_error(const std::string& path, int number) {
    if (is_denied(path, number))
        return Error{ErrorCode::NotAuthorized, path + ": denied by the device control group"};
    return errno_error(path, number);
}

}  // namespace

Result<std::unique_ptr<DrmDevice>> open_drm_device(const std::string& path,
                                                   const std::string& device_number) {
    // Looked at before it is opened: opening may wake another device or hang on a pipe.
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0)
        return errno_error(path, errno);
    if (!is_the_device(info, device_number))
        return Error{ErrorCode::NotFound, path + ": not the device " + device_number};
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
    if (!fd)
        return open_error(path, errno);
    return std::unique_ptr<DrmDevice>{std::make_unique<OpenedDevice>(std::move(fd))};
}

}  // namespace gpuprobe::backends
