// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <libdrm/i915_drm.h>
#include <libdrm/radeon_drm.h>
#include <libdrm/virtgpu_drm.h>
#include <sys/ioctl.h>

#include "report/facts.h"

/// The parts of the DRM interface for which libdrm-dev 2.4.114 (Debian 12) cannot be used: this
/// version has no header for xe, and nouveau's header does not compile as C++. gpuprobe defines the
/// names, so they do not conflict with any version of the headers. All layouts and numbers are from
/// Linux, include/uapi/drm/; the comment on each namespace names the file.
namespace gpuprobe::backends::drm {

/// A pointer as an integer, as DRM structures contain it.
inline std::uint64_t address_of(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

/// The request number of a driver-specific ioctl that reads and writes a structure of `size` bytes.
constexpr unsigned long read_write(unsigned number, std::size_t size) {
    return _IOC(_IOC_READ | _IOC_WRITE, 'd', DRM_COMMAND_BASE + number, size);
}

namespace xe {  // xe_drm.h
struct DeviceQuery {
    std::uint64_t extensions = 0;
    std::uint32_t query = 0;
    std::uint32_t size = 0;  ///< size of the buffer; if 0, the kernel returns the needed size
    std::uint64_t data = 0;
    std::uint64_t reserved[2] = {};
};
constexpr unsigned long kDeviceQuery = read_write(0x00, sizeof(DeviceQuery));
constexpr std::uint32_t kQueryMemoryRegions = 1;
constexpr std::uint32_t kQueryConfig = 2;
constexpr std::uint32_t kQueryGts = 3;

/// The common header of drm_xe_query_mem_regions, drm_xe_query_config and drm_xe_query_gt_list.
struct Head {
    std::uint32_t count = 0;
    std::uint32_t padding = 0;
};
struct Region {
    std::uint16_t memory_class = 0;  ///< the class: 0 for system memory, 1 for VRAM
    std::uint16_t instance = 0;
    std::uint32_t min_page_size = 0;
    std::uint64_t total_size = 0;
    std::uint64_t used = 0;
    std::uint64_t cpu_visible_size = 0;
    std::uint64_t cpu_visible_used = 0;
    std::uint64_t reserved[6] = {};
};
constexpr std::size_t kConfigFlags = 1;  ///< index of DRM_XE_QUERY_CONFIG_FLAGS
constexpr std::uint64_t kHasVram = 1;

struct Gt {
    std::uint16_t type = 0;  ///< the type: 0 for the main GT, 1 for the media GT
    std::uint16_t tile = 0;
    std::uint16_t id = 0;
    std::uint16_t padding[3] = {};
    std::uint32_t reference_clock = 0;
    std::uint64_t near_regions = 0;
    std::uint64_t far_regions = 0;
    /// The major IP version; 0 on hardware without GMD_ID, and on kernels without this member.
    std::uint16_t ip_major = 0;
    std::uint16_t ip_minor = 0;
    std::uint16_t ip_revision = 0;
    std::uint16_t padding_2 = 0;
    std::uint64_t reserved[7] = {};
};
static_assert(sizeof(DeviceQuery) == 40 && sizeof(Region) == 88 && sizeof(Gt) == 96);
}  // namespace xe

namespace amdgpu {                                  // amdgpu_drm.h
constexpr std::uint32_t kSchedulerFirmware = 0x1a;  ///< AMDGPU_INFO_FW_MES
}  // namespace amdgpu

namespace nouveau {  // nouveau_drm.h
/// drm_nouveau_getparam
struct Parameter {
    std::uint64_t parameter = 0;
    std::uint64_t value = 0;
};
constexpr unsigned long kGetParameter = read_write(0x00, sizeof(Parameter));
constexpr std::uint64_t kFrameBufferSize = 8;
constexpr std::uint64_t kChipset = 11;
}  // namespace nouveau

namespace virtgpu {  // virtgpu_drm.h, VIRTGPU_PARAM_*
constexpr std::uint64_t kHostVisible = 4;
constexpr std::uint64_t kContextInit = 6;
constexpr std::uint64_t kCapsetIds = 7;
}  // namespace virtgpu

}  // namespace gpuprobe::backends::drm

/// Parsers for the query replies of i915 and xe. The parsers check every count and length.

namespace gpuprobe::backends {

/// A memory region that a GPU uses.
struct MemoryRegion {
    bool is_on_device = false;  ///< whether the memory is on the device
    std::uint16_t instance = 0;
    std::uint64_t size = 0;
    /// The free memory; nullopt if unknown. The kernel reports to processes without CAP_PERFMON
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
/// The regions as a list of objects, `[{"on_device", "instance", "size", "free"}]`
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
