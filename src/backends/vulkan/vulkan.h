// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "base/files.h"

namespace gpuprobe::backends {

/// Asks one Vulkan driver about its devices. Creates no VkDevice; what opens a
/// device makes one with one queue.
///
/// The environment must name that driver alone (VK_DRIVER_FILES, VK_ICD_FILENAMES) and switch
/// implicit layers off; without a driver in the target, only the loader is looked at.
/// Absent: no loader, no manifest, or a driver that offers no device (it says so with
/// VK_ERROR_INCOMPATIBLE_DRIVER, VK_ERROR_INITIALIZATION_FAILED or an empty list).
Answer visit_vulkan(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// The same, with the files from which the probe learns that NVIDIA's kernel driver is loaded and
/// what the manifest says. The loader reads its own files from the running system.
Answer visit_vulkan_on(const FileSystem& files,
                       const ProbeTarget& target,
                       Sink& sink,
                       const VisitDevice& visit);

constexpr std::uint32_t kMaxVulkanDevices = 64;

}  // namespace gpuprobe::backends
