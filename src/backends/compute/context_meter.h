// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/files.h"
#include "probe/target.h"

namespace gpuprobe::backends {

/// How a target names its device (ProbeTarget::device), before an address or a UUID.
constexpr std::string_view kPci = "pci:";
constexpr std::string_view kUuid = "uuid:";

/// How much less of a device's memory is free than when the meter was made: what a driver's context
/// takes. Who else takes memory meanwhile is counted too, and so a GPU that others use is not
/// measured.
class ContextMeter {
public:
    /// Free memory of the whole device; nullopt where nobody tells.
    using Free = std::function<std::optional<Bytes>()>;

    /// One that cannot tell.
    ContextMeter() = default;
    explicit ContextMeter(Free free);

    /// nullopt where nobody tells, or nothing was taken.
    [[nodiscard]] std::optional<Bytes> taken() const;

private:
    Free free_ = {};
    std::optional<Bytes> before_ = {};
};

/// For the GPU that a later stage is about. NVML tells it of NVIDIA's and of a MIG instance,
/// amdgpu's files of AMD's, nobody of others: i915 and xe keep it from those without privileges. To
/// be made before the driver is loaded, since an instance of Vulkan takes memory too. `files` has
/// to live on. Source: Documentation/gpu/amdgpu/driver-misc.rst of Linux (mem_info_vram_total,
/// _used).
ContextMeter context_meter_of(const FileSystem& files, const ProbeTarget& target);

}  // namespace gpuprobe::backends
