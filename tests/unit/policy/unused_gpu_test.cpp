// SPDX-License-Identifier: Apache-2.0
#include "policy/unused_gpu.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

Gpu gpu_of_kind(GpuKind kind) {
    Gpu gpu;
    gpu.id = "pci:0000:01:00.0";
    gpu.kind = kind;
    return gpu;
}

const Reason kCrashed = because("driver-crashed", {{"api", "cuda"}});
const Reason kOfOthers = because("vendor-mismatch");
const Reason kDenied = because("denied", {{"backend", "cuda"}});

TEST(UnusedGpu, HasTheFirstReasonsThatAreAboutIt) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    UnusedGpu unused;
    unused.add(gpu, {kOfOthers});
    EXPECT_FALSE(unused.is_told());
    unused.add(gpu, {kCrashed});
    unused.add(gpu, {because("no-permission")});
    EXPECT_TRUE(unused.is_told());
    EXPECT_EQ(unused.warning(),
              because("gpu-unused",
                      {{"gpu", gpu.id}, {"reasons", to_value(std::vector<Reason>{kCrashed})}}));
}

TEST(UnusedGpu, IsForOthersWhereNothingElseIsKnown) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    UnusedGpu unused;
    unused.add(gpu, {kOfOthers});
    EXPECT_EQ(unused.warning(),
              because("gpu-unused",
                      {{"gpu", gpu.id}, {"reasons", to_value(std::vector<Reason>{kOfOthers})}}));
}

TEST(UnusedGpu, IsSilentWhereItWasWantedSo) {
    const auto gpu = gpu_of_kind(GpuKind::Integrated);
    UnusedGpu unused;
    EXPECT_EQ(unused.warning(), std::nullopt);
    unused.add(gpu, {kOfOthers});
    unused.add(gpu, {kDenied});
    EXPECT_EQ(unused.warning(), std::nullopt);
    unused.add(gpu, {kCrashed});
    EXPECT_NE(unused.warning(), std::nullopt) << "another backend was not denied, and crashed";
}

TEST(UnusedGpu, IsNoneThatIsMadeUpOrShowsPixelsAlone) {
    for (const auto kind : {GpuKind::Virtual, GpuKind::DisplayOnly}) {
        const auto gpu = gpu_of_kind(kind);
        UnusedGpu unused;
        unused.add(gpu, {kCrashed});
        EXPECT_EQ(unused.warning(), std::nullopt);
    }
}

}  // namespace
}  // namespace gpuprobe
