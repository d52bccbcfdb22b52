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

/// The requirements of a variant for one GPU, in the words of exports.
struct GpuNeed {
    std::optional<std::string> api = {};  ///< works; a fleet_word of report/api_table.h
    std::optional<std::set<std::string>> targets = {};  ///< one of these targets of ExportedGpu
    std::vector<std::string> vendors = {};              ///< one of these; empty: any
    std::optional<std::set<GpuKind>> kinds = {};        ///< one of these; nullopt: any
    std::optional<Version> driver = {};                 ///< minimum version of NVIDIA's driver
    std::optional<Version> vulkan = {};                 ///< minimum version
    std::optional<Bytes> memory = {};                   ///< minimum size
    bool operator==(const GpuNeed&) const = default;
};

/// The requirements of a variant for the host. Versions and level are minima.
struct HostNeed {
    std::string arch = {};  ///< as in uname -m
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<Version> kernel = {};
    std::optional<int> cpu_level = {};
    std::vector<std::string> cpu_features = {};
    bool operator==(const HostNeed&) const = default;
};

/// The requirements of a variant, as far as exports contain the facts.
struct FleetNeed {
    HostNeed host = {};
    std::vector<GpuNeed> gpus = {};  ///< alternatives, each for a single GPU; empty: no GPU
    /// Names and values of predicates about facts that no export contains. A query without them
    /// also finds machines on which the variant can't run.
    std::vector<std::string> beyond = {};
};

/// Translates the requirements of a variant. Errors: NoMatch for a variant that can't run on any
/// machine: it needs something unknown, or has kernels only for unknown GPUs.
Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules);

}  // namespace gpuprobe::inline exports
