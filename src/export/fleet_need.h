// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/manifest.h"
#include "policy/rules.h"
#include "report/report.h"

namespace gpuprobe::inline exports {

/// What a variant needs of one GPU, in the words of exports.
struct GpuNeed {
    std::optional<std::string> api = {};  ///< that works; a fleet_word of report/api_table.h
    std::optional<std::set<std::string>> targets = {};  ///< of ExportedGpu; one of them
    std::vector<std::string> vendors = {};              ///< one of them; empty: any
    std::optional<std::set<GpuKind>> kinds = {};        ///< likewise
    std::optional<Version> driver = {};                 ///< NVIDIA's, or newer
    std::optional<Version> vulkan = {};                 ///< or newer
    std::optional<Bytes> memory = {};                   ///< or more
    bool operator==(const GpuNeed&) const = default;
};

struct HostNeed {
    std::string arch = {};  ///< as uname -m
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<Version> kernel = {};
    std::optional<int> cpu_level = {};
    std::vector<std::string> cpu_features = {};
    bool operator==(const HostNeed&) const = default;
};

/// A variant's requirement as far as machines tell of themselves.
struct FleetNeed {
    HostNeed host = {};
    std::vector<GpuNeed> gpus = {};  ///< alternatives, all of one on the same GPU; none: no GPU
    /// Predicates that no export tells of, by name with what they want. A query without them finds
    /// machines on which the variant may not run.
    std::vector<std::string> beyond = {};
};

/// Errors: NoMatch for a variant that runs nowhere: a word that is not known here, or code for no
/// GPU that there is.
Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules);

}  // namespace gpuprobe::inline exports
