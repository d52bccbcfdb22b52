// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace gpuprobe::backends {

/// An opened DRM node: what ioctl(2) does with it.
class DrmDevice {
public:
    virtual ~DrmDevice() = default;
    /// 0, or the number that errno had. An interrupted call is repeated.
    [[nodiscard]] virtual int ask(unsigned long request, void* argument) const = 0;
};

/// Opens a character device, and only if it is the one that sysfs speaks of ("226:128"): a
/// container may have put another thing there. Errors: PermissionDenied, NotFound, also for another
/// thing, Io.
Result<std::unique_ptr<DrmDevice>> open_drm_device(const std::string& path,
                                                   const std::string& device_number);

}  // namespace gpuprobe::backends
