// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/facts.h"

/// What i915 and xe answer to a query, taken apart. None of these trusts a count or a length.
namespace gpuprobe::backends {

/// A stretch of memory that a GPU uses.
struct MemoryRegion {
    bool is_on_device = false;  ///< else the system's
    std::uint16_t instance = 0;
    std::uint64_t size = 0;
    /// nullopt where the kernel did not count: without CAP_PERFMON it says that nothing is used.
    std::optional<std::uint64_t> free = {};
    bool operator==(const MemoryRegion&) const = default;
};

/// nullopt when the bytes end before what they announce.
std::optional<std::vector<MemoryRegion>> i915_regions(std::span<const std::byte> reply);
std::optional<std::vector<MemoryRegion>> xe_regions(std::span<const std::byte> reply);
/// nullopt when the flags are not there.
std::optional<bool> xe_has_vram(std::span<const std::byte> reply);
/// "20.4.4" of the first graphics GT; nullopt when the kernel does not say.
std::optional<std::string> xe_ip_version(std::span<const std::byte> reply);

/// Sums over the regions on the device; nullopt without one.
std::optional<FactMemory> device_memory(std::span<const MemoryRegion> regions);
/// `[{"on_device", "instance", "size", "free"}]`
Value value_of(std::span<const MemoryRegion> regions);

}  // namespace gpuprobe::backends
