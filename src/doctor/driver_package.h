// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace gpuprobe {

/// Debian's package with the GPU's driver: for an API ("vulkan", "opencl"), or for the kernel
/// ("kernel"), which for AMD and Intel is the firmware that the kernel's own drivers load.
/// nullopt where there is none.
/// Source: Debian 12's and 13's package index (main, contrib, non-free, non-free-firmware).
std::optional<std::string> driver_package(const Gpu& gpu, std::string_view api);

}  // namespace gpuprobe
