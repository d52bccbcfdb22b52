// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace gpuprobe {

constexpr const char* kMesaVulkan = "mesa-vulkan-drivers";

/// Debian's package with the GPU's driver: for an API ("vulkan", "opencl"), or for the kernel
/// ("kernel"), which for AMD is the firmware that the kernel's own driver loads. nullopt where
/// there is none.
/// Source: package indices of Debian 12 and 13; Jetson Linux Developer Guide, "Packages".
std::optional<std::string> driver_package(const Gpu& gpu, std::string_view api);

/// Why nvidia-driver of Debian 12 (535) and 13 (550) is nothing for this NVIDIA GPU: "legacy", of
/// Kepler and before, or "newest", of Blackwell. "" where it is, or where that is not known.
/// Source: NVIDIA driver README, "Supported NVIDIA GPU Products" and "Legacy"; PCI device ids.
std::string_view nvidia_support(const Gpu& gpu);

}  // namespace gpuprobe
