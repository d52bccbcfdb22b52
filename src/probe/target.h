// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/facts.h"

namespace gpuprobe {

/// One worker's job: one API, and for Vulkan and OpenCL one driver manifest of it.
struct ProbeTarget {
    std::string api = {};
    std::string driver =
        {};  ///< path of the ICD manifest or .icd file; "" for the API's only driver
    std::optional<std::string> library = {};  ///< what that manifest names
    std::string stage = "query";
    auto operator<=>(const ProbeTarget&) const = default;
};

struct TargetSearch {
    std::vector<ProbeTarget> targets = {};  ///< sorted
    std::vector<ProbeResult> unusable =
        {};  ///< manifests that can't be tried: unreadable, malformed
};

/// Every probe that this machine offers: `pci`, one per Vulkan ICD manifest, one per OpenCL .icd
/// file. An API without any manifest keeps one target without driver, so that its loader is still
/// looked for. Reads manifests, loads nothing. Source of the search paths: Vulkan loader,
/// LoaderDriverInterface.md; OpenCL ICD extension cl_khr_icd.
TargetSearch find_targets(const FileSystem& files);

}  // namespace gpuprobe
