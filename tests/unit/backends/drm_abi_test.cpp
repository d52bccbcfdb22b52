// SPDX-License-Identifier: Apache-2.0

// Compares our declarations of the kernel's interface with the kernel's header, if this machine has
// the header: in libdrm/ from a newer libdrm-dev, or in drm/ from the package of kernel headers.
#include <cstddef>

#include <gtest/gtest.h>

#include "backends/drm/facts.h"

#if __has_include(<libdrm/xe_drm.h>)
#include <libdrm/xe_drm.h>
#elif __has_include(<drm/xe_drm.h>)
#include <drm/xe_drm.h>
#endif

namespace gpuprobe::backends::drm {
namespace drm_abi_test {

TEST(DrmAbi, HasTheRequestNumbersOfThe64BitInterface) {
#if defined(__x86_64__) || defined(__aarch64__)
    // These are the values that strace prints.
    EXPECT_EQ(DRM_IOCTL_VERSION, 0xc0406400UL);
    EXPECT_EQ(DRM_IOCTL_AMDGPU_INFO, 0x40206445UL);
    EXPECT_EQ(DRM_IOCTL_I915_QUERY, 0xc0106479UL);
    EXPECT_EQ(xe::kDeviceQuery, 0xc0286440UL);
    EXPECT_EQ(nouveau::kGetParameter, 0xc0106440UL);
    EXPECT_EQ(DRM_IOCTL_RADEON_GEM_INFO, 0xc018645cUL);
    EXPECT_EQ(DRM_IOCTL_RADEON_INFO, 0xc0106467UL);
    EXPECT_EQ(DRM_IOCTL_VIRTGPU_GETPARAM, 0xc0106443UL);
#else
    GTEST_SKIP() << "other word size, or another layout of request numbers";
#endif
}

#define EXPECT_SAME_PLACE(Ours, member, Theirs, their_member) \
    EXPECT_EQ(offsetof(Ours, member), offsetof(Theirs, their_member))

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

}  // namespace drm_abi_test
}  // namespace gpuprobe::backends::drm
