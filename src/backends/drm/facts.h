// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/facts.h"

namespace gpuprobe::backends {

/// An opened DRM node, which accepts ioctl requests.
class DrmDevice {
public:
    virtual ~DrmDevice() = default;
    /// Calls ioctl(2). Returns 0 or the errno. Repeats interrupted calls.
    [[nodiscard]] virtual int ask(unsigned long request, void* argument) const = 0;
};

/// Adds the facts from the kernel driver: its name and version, and the driver-specific facts. If a
/// call fails, `error` in `extra` has the call and the reason.
void add_drm_facts(const DrmDevice& device, DeviceFacts& facts);

/// Adds only the driver-specific facts. `driver` is the name that the driver reports; unknown
/// drivers add nothing.
void add_driver_facts(const DrmDevice& device, std::string_view driver, DeviceFacts& facts);

// Facts from Intel's two drivers (intel.cpp).
void add_i915_facts(const DrmDevice& device, DeviceFacts& facts);
void add_xe_facts(const DrmDevice& device, DeviceFacts& facts);

/// Sets `error` to "CALL: reason", unless there is an earlier error. `number` is an errno.
void note_drm_error(std::string_view call, int number, DeviceFacts& facts);

}  // namespace gpuprobe::backends
