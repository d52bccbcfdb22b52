// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/device_reply.h"

namespace gpuprobe::backends {

/// A core feature of Vulkan 1.0, with its name in the specification.
struct CoreFeature {
    std::string_view name = {};
    VkBool32 VkPhysicalDeviceFeatures::*member = nullptr;
};

/// The Vulkan 1.0 features that a WebGPU implementation checks.
std::span<const CoreFeature> webgpu_features();

enum class WebGpuLevel { None, Compatibility, Core };
std::string_view word_of(WebGpuLevel level);

struct WebGpuSupport {
    WebGpuLevel level = WebGpuLevel::None;
    std::vector<std::string> missing = {};  ///< features and limits that Core still needs
};

/// The WebGPU level that can be implemented on this device, with the requirements that Dawn has for
/// Core and Compatibility mode. The size of the largest buffer counts only if it is known. Source:
/// dawn 1e975e28f98a, src/dawn/native/vulkan/PhysicalDeviceVk.cpp (InitializeImpl and
/// InitializeSupportedLimitsInternal) and src/dawn/native/Limits.cpp (columns compat and tier0).
WebGpuSupport webgpu_support(const DeviceReply& reply);

}  // namespace gpuprobe::backends
