// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/facts.h"

/// Parsers for the query replies of i915 and xe. The parsers check every count and length.

namespace gpuprobe::backends {

/// A memory region that a GPU uses.
struct MemoryRegion {
    bool is_on_device = false;  ///< whether the memory is on the device
    std::uint16_t instance = 0;
    std::uint64_t size = 0;
    /// The free memory; nullopt if unknown. To processes without CAP_PERFMON, the kernel reports
    /// that no memory is used; such a value is treated as unknown.
    std::optional<std::uint64_t> free = {};
    bool operator==(const MemoryRegion&) const = default;
};

/// The memory regions in a reply; nullopt if the reply is shorter than its header announces.
std::optional<std::vector<MemoryRegion>> i915_regions(std::span<const std::byte> reply);
std::optional<std::vector<MemoryRegion>> xe_regions(std::span<const std::byte> reply);
/// Whether the GPU has dedicated memory, according to xe's reply about its configuration; nullopt
/// if the reply lacks the flags.
std::optional<bool> xe_has_vram(std::span<const std::byte> reply);
/// The IP version of the first graphics GT ("20.4.4"); nullopt if the kernel does not report the
/// version.
std::optional<std::string> xe_ip_version(std::span<const std::byte> reply);

/// The total and free memory of all regions on the device together; nullopt if no region is on the
/// device.
std::optional<FactMemory> device_memory(std::span<const MemoryRegion> regions);
/// The regions as a list of objects: `[{"on_device", "instance", "size", "free"}]`
Value value_of(std::span<const MemoryRegion> regions);

/// An opened DRM node that accepts ioctl requests.
class DrmDevice {
public:
    virtual ~DrmDevice() = default;
    /// Calls ioctl(2), and repeats the call if a signal interrupts it. Returns 0 or the errno
    /// value.
    [[nodiscard]] virtual int ask(unsigned long request, void* argument) const = 0;
};

/// Adds the facts from the kernel driver: its name and version, and the driver-specific facts. If a
/// call fails, the member `error` of `extra` contains the call and the reason.
void add_drm_facts(const DrmDevice& device, DeviceFacts& facts);

}  // namespace gpuprobe::backends
