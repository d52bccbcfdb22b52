// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/ioctl.h>

/// The part of the kernel's DRM interface that is called. Declared here because distributions keep
/// the headers in different packages and folders, and xe's are newer than many of them. Source of
/// every layout and number: Linux, include/uapi/drm/, the file named at each; a unit test compares
/// them with the installed headers.
namespace gpuprobe::backends::drm {

constexpr unsigned kDriverCommands = 0x40;  ///< drm.h, DRM_COMMAND_BASE

constexpr unsigned long read_write(unsigned number, std::size_t size) {
    return _IOC(_IOC_READ | _IOC_WRITE, 'd', number, size);
}
constexpr unsigned long write_only(unsigned number, std::size_t size) {
    return _IOC(_IOC_WRITE, 'd', number, size);
}

/// drm.h, drm_version. Each length is the buffer's on the way in and the text's on the way out.
struct Version {
    int major = 0;
    int minor = 0;
    int patch = 0;
    std::size_t name_length = 0;
    char* name = nullptr;
    std::size_t date_length = 0;
    char* date = nullptr;
    std::size_t description_length = 0;
    char* description = nullptr;
};
constexpr unsigned long kVersion = read_write(0x00, sizeof(Version));

/// What getparam takes in nouveau_drm.h and virtgpu_drm.h.
struct Parameter {
    std::uint64_t parameter = 0;
    std::uint64_t value = 0;  ///< virtgpu: address of an int
};

namespace amdgpu {  // amdgpu_drm.h
/// drm_amdgpu_info; the members that some queries add are left zero.
struct Info {
    std::uint64_t return_pointer = 0;
    std::uint32_t return_size = 0;  ///< the kernel writes no more
    std::uint32_t query = 0;
    std::uint32_t arguments[4] = {};
};
constexpr unsigned long kInfo = write_only(kDriverCommands + 0x05, sizeof(Info));
constexpr std::uint32_t kQueryDevice = 0x16;
constexpr std::uint32_t kQueryMemory = 0x19;
constexpr std::uint64_t kFusion = 1;  ///< AMDGPU_IDS_FLAGS_FUSION: an APU

/// drm_amdgpu_info_device up to what is used.
struct DeviceInfo {
    std::uint32_t device_id = 0;
    std::uint32_t chip_revision = 0;
    std::uint32_t external_revision = 0;
    std::uint32_t pci_revision = 0;
    std::uint32_t family = 0;
    std::uint32_t shader_engines = 0;
    std::uint32_t shader_arrays_per_engine = 0;
    std::uint32_t counter_khz = 0;
    std::uint64_t max_engine_khz = 0;
    std::uint64_t max_memory_khz = 0;
    std::uint32_t compute_units = 0;
    std::uint32_t reserved[17] = {};
    std::uint32_t render_backend_mask = 0;
    std::uint32_t render_backends = 0;
    std::uint32_t graphics_contexts = 0;
    std::uint32_t padding = 0;
    std::uint64_t flags = 0;
    std::uint64_t virtual_addresses[2] = {};
    std::uint32_t virtual_alignment = 0;
    std::uint32_t fragment_size = 0;
    std::uint32_t page_size = 0;
    std::uint32_t constant_engine_size = 0;
    std::uint32_t vram_type = 0;
    std::uint32_t vram_bits = 0;
};

/// drm_amdgpu_heap_info, bytes
struct Heap {
    std::uint64_t total = 0;
    std::uint64_t usable = 0;
    std::uint64_t used = 0;
    std::uint64_t max_allocation = 0;
};
/// drm_amdgpu_memory_info
struct MemoryInfo {
    Heap vram = {};
    Heap visible_vram = {};
    Heap gtt = {};
};
}  // namespace amdgpu

namespace i915 {  // i915_drm.h
struct QueryItem {
    std::uint64_t query = 0;
    std::int32_t length = 0;  ///< 0 asks for it; negative is an error
    std::uint32_t flags = 0;
    std::uint64_t data = 0;
};
struct Query {
    std::uint32_t items = 0;
    std::uint32_t flags = 0;
    std::uint64_t item_pointer = 0;
};
constexpr unsigned long kQuery = read_write(kDriverCommands + 0x39, sizeof(Query));
constexpr std::uint64_t kQueryMemoryRegions = 4;

/// drm_i915_query_memory_regions, followed by the regions
struct RegionsHead {
    std::uint32_t count = 0;
    std::uint32_t reserved[3] = {};
};
struct Region {
    std::uint16_t memory_class = 0;  ///< 0 system, 1 device
    std::uint16_t instance = 0;
    std::uint32_t reserved = 0;
    std::uint64_t probed_size = 0;
    std::uint64_t unallocated_size = 0;
    std::uint64_t cpu_visible[8] = {};
};
}  // namespace i915

namespace xe {  // xe_drm.h
struct DeviceQuery {
    std::uint64_t extensions = 0;
    std::uint32_t query = 0;
    std::uint32_t size = 0;  ///< 0 asks for it
    std::uint64_t data = 0;
    std::uint64_t reserved[2] = {};
};
constexpr unsigned long kDeviceQuery = read_write(kDriverCommands + 0x00, sizeof(DeviceQuery));
constexpr std::uint32_t kQueryMemoryRegions = 1;
constexpr std::uint32_t kQueryConfig = 2;
constexpr std::uint32_t kQueryGts = 3;

/// Heads of drm_xe_query_mem_regions, drm_xe_query_config and drm_xe_query_gt_list.
struct Head {
    std::uint32_t count = 0;
    std::uint32_t padding = 0;
};
struct Region {
    std::uint16_t memory_class = 0;  ///< 0 system, 1 VRAM
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
    std::uint16_t type = 0;  ///< 0 main, 1 media
    std::uint16_t tile = 0;
    std::uint16_t id = 0;
    std::uint16_t padding[3] = {};
    std::uint32_t reference_clock = 0;
    std::uint64_t near_regions = 0;
    std::uint64_t far_regions = 0;
    std::uint16_t ip_major =
        0;  ///< 0 on hardware without GMD_ID, and on kernels that had no such member
    std::uint16_t ip_minor = 0;
    std::uint16_t ip_revision = 0;
    std::uint16_t padding_2 = 0;
    std::uint64_t reserved[7] = {};
};
static_assert(sizeof(DeviceQuery) == 40 && sizeof(Region) == 88 && sizeof(Gt) == 96);
}  // namespace xe

namespace nouveau {  // nouveau_drm.h
constexpr unsigned long kGetParameter = read_write(kDriverCommands + 0x00, sizeof(Parameter));
constexpr std::uint64_t kFrameBufferSize = 8;
constexpr std::uint64_t kChipset = 11;
}  // namespace nouveau

namespace radeon {  // radeon_drm.h
/// drm_radeon_gem_info, bytes
struct GemInfo {
    std::uint64_t gart_size = 0;
    std::uint64_t vram_size = 0;
    std::uint64_t visible_vram_size = 0;
};
constexpr unsigned long kGemInfo = read_write(kDriverCommands + 0x1c, sizeof(GemInfo));
/// drm_radeon_info
struct Info {
    std::uint32_t request = 0;
    std::uint32_t padding = 0;
    std::uint64_t value = 0;  ///< address of the answer
};
constexpr unsigned long kInfo = read_write(kDriverCommands + 0x27, sizeof(Info));
constexpr std::uint32_t kVramUsage = 0x1e;
}  // namespace radeon

namespace virtgpu {  // virtgpu_drm.h
constexpr unsigned long kGetParameter = read_write(kDriverCommands + 0x03, sizeof(Parameter));
constexpr std::uint64_t k3dFeatures = 1;
constexpr std::uint64_t kHostVisible = 4;
constexpr std::uint64_t kContextInit = 6;
constexpr std::uint64_t kCapsetIds = 7;
}  // namespace virtgpu

}  // namespace gpuprobe::backends::drm
