// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/api_device.h"

/// What is known about user-space drivers by the names of their manifests and by what they call
/// themselves.
namespace gpuprobe::inline report {

/// What a manifest's name tells. An empty `vendor` is a driver for any GPU, or one nobody knows.
struct KnownDriver {
    std::string_view prefix = {};          ///< of the manifest's file name
    std::string_view vendor = {};          ///< the word of report/vendor.h
    std::string_view kernel_drivers = {};  ///< that it works with, separated by spaces
    bool is_software = false;
};

/// The entry for a probe's driver; APIs that one vendor alone serves have theirs without manifest.
KnownDriver known_driver(std::string_view api, std::string_view manifest);
KnownDriver known_driver(const ProbeResult& probe);

/// The last component of a path.
std::string_view file_name(std::string_view path);

/// Mesa's Vulkan driver for NVIDIA GPUs, whose UUIDs are its own.
bool is_nvk(const ApiDevice& device);

/// An implementation on the CPU: by type, by driver or by what stands behind a virtual device.
/// Source: VkDriverId in the Vulkan registry; Mesa's vendor id VK_VENDOR_ID_MESA.
bool is_software(const ApiDevice& device);

/// Among several drivers of one API for the same GPU: less is better. A vendor's usual driver comes
/// before its others (RADV before AMDVLK before AMD's proprietary one; NVIDIA's before NVK), native
/// before layered (pocl, clvk, dozen).
int preference_of(const ApiDevice& device);

}  // namespace gpuprobe::inline report
