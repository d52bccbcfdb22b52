// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The loaded NVIDIA kernel module.
struct NvidiaModule {
    std::optional<std::string> version = {};  ///< "580.159.04"
    std::optional<std::string> flavour = {};  ///< "open" or "proprietary"
    bool operator==(const NvidiaModule&) const = default;
};

/// The text of /proc/driver/nvidia/version.
/// Source: open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c and the NVRM version string.
NvidiaModule parse_nvidia_version(std::string_view text);
/// /sys/module/nvidia/version, then /proc/driver/nvidia/version. Empty when nothing is loaded.
NvidiaModule nvidia_module(const Sysfs& sysfs);

/// /proc/driver/nvidia/gpus/<address>/information.
struct NvidiaInformation {
    std::optional<std::string> model = {};
    /// Missing, or question marks, until the GPU was initialised once.
    std::optional<std::string> uuid = {};
    std::optional<std::uint32_t> minor = {};  ///< of /dev/nvidia<minor>; not an index of any API
    bool operator==(const NvidiaInformation&) const = default;
};
NvidiaInformation parse_nvidia_information(std::string_view text);

/// Model, UUID, device minor and MIG instances (/proc/driver/nvidia/capabilities) of a GPU that the
/// nvidia driver holds. `power` beside it is not read: it takes the driver's locks and can block.
void add_nvidia_facts(const Sysfs& sysfs, HardwareDevice& device);

}  // namespace gpuprobe::inline inventory
