// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/facts.h"

namespace gpuprobe::backends {

/// An opened DRM node: what ioctl(2) does with it.
class DrmDevice {
public:
    virtual ~DrmDevice() = default;
    /// 0, or the number that errno had. An interrupted call is repeated.
    [[nodiscard]] virtual int ask(unsigned long request, void* argument) const = 0;
};

/// Adds what the kernel's driver says: its name and version, and what that driver alone can be
/// asked. `error` in `extra` names the call that was refused, and why.
void add_drm_facts(const DrmDevice& device, DeviceFacts& facts);

/// The same for one driver, by the name that it gives itself; nothing for one that is not known.
void add_driver_facts(const DrmDevice& device, std::string_view driver, DeviceFacts& facts);

// Intel's two drivers (intel.cpp).
void add_i915_facts(const DrmDevice& device, DeviceFacts& facts);
void add_xe_facts(const DrmDevice& device, DeviceFacts& facts);

/// Sets `error` to "CALL: reason". The first one stands.
void note_drm_error(std::string_view call, int number, DeviceFacts& facts);

}  // namespace gpuprobe::backends
