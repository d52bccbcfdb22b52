// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "base/files.h"

namespace gpuprobe::backends {

/// Visits the devices of one Vulkan driver. Creates no VkDevice; only opening a device creates one,
/// with one queue.
///
/// The environment must restrict the loader to that driver (VK_DRIVER_FILES, VK_ICD_FILENAMES) and
/// disable implicit layers. Without a driver in the target, only the loader is checked. Absent: no
/// loader, no manifest, or a driver that offers no device (reported by
/// VK_ERROR_INCOMPATIBLE_DRIVER, VK_ERROR_INITIALIZATION_FAILED or an empty list).
Answer visit_vulkan(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Like visit_vulkan(), with the file system from which the EGL fallback reads NVIDIA's kernel
/// driver and the manifest. The loader always reads its files from the running system.
Answer visit_vulkan_on(const FileSystem& files,
                       const ProbeTarget& target,
                       Sink& sink,
                       const VisitDevice& visit);

constexpr std::uint32_t kMaxVulkanDevices = 64;

}  // namespace gpuprobe::backends
