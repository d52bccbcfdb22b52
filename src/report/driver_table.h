// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/api_device.h"

/// User-space drivers, recognized by the names of their manifests and by the names that they
/// report.
namespace gpuprobe::inline report {

/// The information in a manifest's file name. An empty `vendor` means a driver for any GPU, or an
/// unknown driver.
struct KnownDriver {
    std::string_view prefix = {};  ///< prefix of the file name
    std::string_view vendor = {};  ///< vendor name as in report/vendor.h
    /// Kernel drivers that it works with, separated by spaces.
    std::string_view kernel_drivers = {};
    bool is_software = false;
};

/// The entry for a probe's driver. Drivers of an API that only one vendor provides are known
/// without a manifest.
KnownDriver known_driver(std::string_view api, std::string_view manifest);
/// The entry for the driver that was probed.
KnownDriver known_driver(const ProbeResult& probe);

/// The last component of a path.
std::string_view file_name(std::string_view path);

/// Whether the driver is NVK, Mesa's Vulkan driver for NVIDIA GPUs. Its UUIDs differ from NVIDIA's.
bool is_nvk(const ApiDevice& device);

/// Whether the device is an implementation on the CPU, judged by type, driver, or the renderer
/// behind a virtual device. Source: VkDriverId in the Vulkan registry; Mesa's vendor id
/// VK_VENDOR_ID_MESA.
bool is_software(const ApiDevice& device);

/// Rank among several drivers of one API for the same GPU; lower is better. A vendor's usual driver
/// comes first (RADV before AMDVLK before AMD's proprietary driver; NVIDIA's before NVK), and
/// native drivers come before layered ones (pocl, clvk, dozen).
int preference_of(const ApiDevice& device);

}  // namespace gpuprobe::inline report
