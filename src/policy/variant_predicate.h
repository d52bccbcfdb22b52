// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/dotted_version.h"
#include "policy/cuda_code.h"
#include "policy/gfx.h"
#include "policy/machine_facts.h"
#include "policy/truth.h"

namespace gpuprobe {

/// What a manifest can ask of a host or a device (docs/variants.md). A predicate of several parts
/// is one of these for each part.
enum class PredicateKind {
    Unsupported,  ///< a word that is not known: false, so that newer manifests lose variants only
    // of the host
    Libc,
    GlibcMin,
    KernelMin,
    CpuLevelMin,
    CpuFeatures,
    Libs,
    L4t,
    HostMemoryMin,
    // of a device
    Backend,
    Vendor,
    Kinds,
    DriverMin,
    CudaDriver,
    CudaCode,
    CudaApi,
    Gfx,
    Rocm,
    VulkanInstanceMin,
    VulkanApiMin,
    VulkanFeatures,
    VulkanExtensions,
    LevelZeroIp,
    DeviceMemoryMin,
};
constexpr bool is_about_host(PredicateKind kind) {
    return kind < PredicateKind::Backend;
}

/// The driver that a CUDA build needs.
struct CudaDriverNeed {
    Version toolkit = {};
    std::optional<Version> min_driver = {};  ///< in place of the toolkit's floor
    bool operator==(const CudaDriverNeed&) const = default;
};

using PredicateNeed = std::variant<std::monostate,
                                   int,
                                   Bytes,
                                   Version,
                                   VersionRange,
                                   std::string,
                                   std::vector<std::string>,
                                   std::vector<Version>,
                                   Api,
                                   std::vector<VariantKind>,
                                   std::vector<GfxTarget>,
                                   CudaDriverNeed,
                                   CudaCode>;

struct Predicate {
    PredicateKind kind = PredicateKind::Unsupported;
    std::string name = {};  ///< as answers name it: "glibc_min", "cuda.code", an unknown word
    PredicateNeed need = {};
    bool operator==(const Predicate&) const = default;
};

/// All of them hold. On a device: all on the same one.
using Conjunction = std::vector<Predicate>;

Truth holds(const Predicate& predicate, const HostFacts& host, const Rules& rules);
Truth holds(const Predicate& predicate, const GpuFacts& gpu, const Rules& rules);

/// Stops at the first that is false.
Truth all_hold(const Conjunction& predicates, const HostFacts& host, const Rules& rules);
Truth all_hold(const Conjunction& predicates, const GpuFacts& gpu, const Rules& rules);

}  // namespace gpuprobe
