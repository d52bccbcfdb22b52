// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace gpuprobe::inline probe {

constexpr Bytes kMaxManifest = kib(64);

/// What a Vulkan driver manifest says. Source: Vulkan loader, LoaderDriverInterface.md, "Driver
/// Manifest File Format".
struct VulkanManifest {
    std::string library = {};           ///< a soname, or an absolute path
    std::optional<int> word_bits = {};  ///< library_arch: 32 or 64
};

/// `path` is the manifest's own, which a relative library path starts from. Errors: Malformed.
Result<VulkanManifest> parse_vulkan_manifest(std::string_view text, std::string_view path);

/// The library that an OpenCL .icd file names on its first line. Source: cl_khr_icd. Errors:
/// Malformed.
Result<std::string> parse_icd_file(std::string_view text);

/// Whether the name says that the manifest is for another processor than ours, as distributions
/// that install several do: "radeon_icd.i686.json".
bool is_for_another_processor(std::string_view name);

}  // namespace gpuprobe::inline probe
