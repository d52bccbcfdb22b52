// SPDX-License-Identifier: Apache-2.0

// Our declarations against the kernel's, as far as this machine has them: Debian's are in
// libdrm-dev below libdrm/, others' in the kernel headers' package below drm/. nouveau_drm.h is not
// C++.
#include "backends/drm/drm_abi.h"

#include <cstddef>

#include <gtest/gtest.h>

#if __has_include(<libdrm/amdgpu_drm.h>)
#define GPUPROBE_HAS_DRM 1
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <libdrm/i915_drm.h>
#include <libdrm/radeon_drm.h>
#include <libdrm/virtgpu_drm.h>
#elif __has_include(<drm/amdgpu_drm.h>)
#define GPUPROBE_HAS_DRM 1
#include <drm/amdgpu_drm.h>
#include <drm/drm.h>
#include <drm/i915_drm.h>
#include <drm/radeon_drm.h>
#include <drm/virtgpu_drm.h>
#endif
#if __has_include(<libdrm/xe_drm.h>)
#include <libdrm/xe_drm.h>
#elif __has_include(<drm/xe_drm.h>)
#include <drm/xe_drm.h>
#endif

namespace gpuprobe::backends::drm {
namespace {

TEST(DrmAbi, HasTheRequestNumbersOfThe64BitInterface) {
#if defined(__x86_64__) || defined(__aarch64__)
    // As strace prints them.
    EXPECT_EQ(kVersion, 0xc0406400UL);
    EXPECT_EQ(amdgpu::kInfo, 0x40206445UL);
    EXPECT_EQ(i915::kQuery, 0xc0106479UL);
    EXPECT_EQ(xe::kDeviceQuery, 0xc0286440UL);
    EXPECT_EQ(nouveau::kGetParameter, 0xc0106440UL);
    EXPECT_EQ(radeon::kGemInfo, 0xc018645cUL);
    EXPECT_EQ(radeon::kInfo, 0xc0106467UL);
    EXPECT_EQ(virtgpu::kGetParameter, 0xc0106443UL);
#else
    GTEST_SKIP() << "other word size, or another layout of request numbers";
#endif
}

#define EXPECT_SAME_PLACE(Ours, member, Theirs, their_member) \
    EXPECT_EQ(offsetof(Ours, member), offsetof(Theirs, their_member))

TEST(DrmAbi, MatchesTheInstalledHeaders) {
#ifdef GPUPROBE_HAS_DRM
    EXPECT_EQ(kVersion, DRM_IOCTL_VERSION);
    EXPECT_SAME_PLACE(Version, description, drm_version, desc);
    EXPECT_EQ(amdgpu::kInfo, DRM_IOCTL_AMDGPU_INFO);
    EXPECT_EQ(amdgpu::kQueryDevice, static_cast<unsigned>(AMDGPU_INFO_DEV_INFO));
    EXPECT_EQ(amdgpu::kQueryMemory, static_cast<unsigned>(AMDGPU_INFO_MEMORY));
    EXPECT_EQ(amdgpu::kFusion, static_cast<unsigned>(AMDGPU_IDS_FLAGS_FUSION));
    EXPECT_SAME_PLACE(amdgpu::Info, query, drm_amdgpu_info, query);
    using TheirDevice = drm_amdgpu_info_device;
    EXPECT_SAME_PLACE(amdgpu::DeviceInfo, max_engine_khz, TheirDevice, max_engine_clock);
    EXPECT_SAME_PLACE(amdgpu::DeviceInfo, compute_units, TheirDevice, cu_active_number);
    EXPECT_SAME_PLACE(amdgpu::DeviceInfo, flags, TheirDevice, ids_flags);
    EXPECT_SAME_PLACE(amdgpu::DeviceInfo, vram_type, TheirDevice, vram_type);
    EXPECT_SAME_PLACE(amdgpu::DeviceInfo, vram_bits, TheirDevice, vram_bit_width);
    EXPECT_EQ(sizeof(amdgpu::MemoryInfo), sizeof(drm_amdgpu_memory_info));
    EXPECT_SAME_PLACE(amdgpu::Heap, used, drm_amdgpu_heap_info, heap_usage);
    EXPECT_EQ(i915::kQuery, DRM_IOCTL_I915_QUERY);
    EXPECT_EQ(i915::kQueryMemoryRegions, static_cast<unsigned>(DRM_I915_QUERY_MEMORY_REGIONS));
    EXPECT_SAME_PLACE(i915::QueryItem, data, drm_i915_query_item, data_ptr);
    EXPECT_SAME_PLACE(i915::Query, item_pointer, drm_i915_query, items_ptr);
    EXPECT_EQ(sizeof(i915::RegionsHead), sizeof(drm_i915_query_memory_regions));
    EXPECT_EQ(sizeof(i915::Region), sizeof(drm_i915_memory_region_info));
    EXPECT_SAME_PLACE(i915::Region, unallocated_size, drm_i915_memory_region_info,
                      unallocated_size);
    EXPECT_EQ(sizeof(Parameter), sizeof(drm_virtgpu_getparam));
    EXPECT_EQ(radeon::kGemInfo, DRM_IOCTL_RADEON_GEM_INFO);
    EXPECT_EQ(radeon::kInfo, DRM_IOCTL_RADEON_INFO);
    EXPECT_EQ(radeon::kVramUsage, static_cast<unsigned>(RADEON_INFO_VRAM_USAGE));
    EXPECT_EQ(virtgpu::kGetParameter, DRM_IOCTL_VIRTGPU_GETPARAM);
    EXPECT_EQ(virtgpu::k3dFeatures, static_cast<unsigned>(VIRTGPU_PARAM_3D_FEATURES));
#else
    GTEST_SKIP() << "no DRM headers on this machine";
#endif
}

TEST(DrmAbi, MatchesTheInstalledHeadersOfXe) {
#ifdef DRM_IOCTL_XE_DEVICE_QUERY
    EXPECT_EQ(xe::kDeviceQuery, DRM_IOCTL_XE_DEVICE_QUERY);
    EXPECT_EQ(sizeof(xe::Region), sizeof(drm_xe_mem_region));
    EXPECT_EQ(sizeof(xe::Gt), sizeof(drm_xe_gt));
    EXPECT_SAME_PLACE(xe::Region, used, drm_xe_mem_region, used);
    EXPECT_EQ(xe::kQueryGts, static_cast<unsigned>(DRM_XE_DEVICE_QUERY_GT_LIST));
#else
    GTEST_SKIP() << "no DRM header of xe on this machine";
#endif
}

}  // namespace
}  // namespace gpuprobe::backends::drm
