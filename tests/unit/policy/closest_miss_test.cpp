// SPDX-License-Identifier: Apache-2.0
#include "policy/closest_miss.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace closest_miss_test {

Gpu gpu_of_kind(GpuKind kind) {
    Gpu gpu;
    gpu.id = "pci:0000:01:00.0";
    gpu.kind = kind;
    return gpu;
}

const Reason kCrashed = because("driver-crashed", {{"api", "cuda"}});
const Reason kOfOthers = because("vendor-mismatch");
const Reason kDenied = because("denied", {{"backend", "cuda"}});

const Reason kNoCode = because("arch-not-in-build");

Reason warning_of(const Gpu& gpu, const char* by, const Reason& reason) {
    return because(
        "gpu-unused",
        {{"gpu", gpu.id}, {"by", by}, {"reasons", to_value(std::vector<Reason>{reason})}});
}

TEST(UnusedGpu, HasTheReasonsOfTheClosestCandidate) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    UnusedGpu unused;
    unused.add(gpu, "rocm", {kOfOthers});
    unused.add(gpu, "sm_80", {kNoCode, kCrashed});
    EXPECT_EQ(unused.warning()->detail.at("by"), Value{"sm_80"});
    unused.add(gpu, "sm_90", {kCrashed});
    unused.add(gpu, "webgpu", {because("not-probed")});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "sm_90", kCrashed))
        << "the first of those that are as near";
    const auto closed = because("no-permission");
    unused.add(gpu, "vulkan", {closed});
    unused.add(gpu, "opencl", {because("loader-missing")});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "vulkan", closed));
}

TEST(UnusedGpu, IsTheOneOnWhichSomethingCanBeChanged) {
    const auto old = gpu_of_kind(GpuKind::Discrete);
    auto other = gpu_of_kind(GpuKind::Integrated);
    other.id = "pci:0000:00:02.0";
    UnusedGpu unused;
    unused.add(old, "cuda", {kNoCode});
    unused.add(other, "cuda", {kOfOthers});
    EXPECT_EQ(unused.warning(), warning_of(old, "cuda", kNoCode));
    unused.add(old, "vulkan", {kNoCode});
    unused.add(other, "vulkan", {kCrashed});
    EXPECT_EQ(unused.warning(), warning_of(other, "vulkan", kCrashed));
}

TEST(UnusedGpu, PrefersAKnownCauseToAnUnknownFact) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    const auto too_old = because("driver-too-old", {{"have", "535.216.01"}, {"need", "570"}});
    const auto unasked = because("not-probed", {{"api", "vulkan"}});
    UnusedGpu unused;
    unused.add(gpu, "vulkan", {unasked});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "vulkan", unasked));
    unused.add(gpu, "rocm", {kNoCode});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "vulkan", unasked))
        << "to ask comes before another build";
    unused.add(gpu, "cuda", {too_old});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "cuda", too_old));
}

TEST(UnusedGpu, PrefersTheLowestDriverRequirement) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    const auto needing = [](const char* need) {
        return because("driver-too-old", {{"have", "515.65.01"}, {"need", need}});
    };
    UnusedGpu unused;
    unused.add(gpu, "cuda13", {needing("580")});
    unused.add(gpu, "cuda12", {needing("550")});
    unused.add(gpu, "cuda12_8", {needing("570")});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "cuda12", needing("550")));
}

/// The memory of a GPU cannot be enlarged, so the first of the two reasons is reported.
TEST(UnusedGpu, IsTheFirstOfOneThatIsTooSmallAndOneThatWasNotAsked) {
    const auto first = gpu_of_kind(GpuKind::Discrete);
    auto second = gpu_of_kind(GpuKind::Integrated);
    second.id = "pci:0000:00:02.0";
    const auto unasked = because("not-probed", {{"api", "vulkan"}});
    const auto small = because("too-little-memory");
    for (const auto& [of_first, of_second] : {std::pair{unasked, small}, {small, unasked}}) {
        UnusedGpu unused;
        unused.add(first, "vulkan", {of_first});
        unused.add(second, "vulkan", {of_second});
        EXPECT_EQ(unused.warning(), warning_of(first, "vulkan", of_first));
    }
}

TEST(UnusedGpu, IsForOthersWhereNothingElseIsKnown) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    UnusedGpu unused;
    unused.add(gpu, "cuda", {kOfOthers});
    EXPECT_EQ(unused.warning(),
              because("gpu-unused",
                      {{"gpu", gpu.id}, {"reasons", to_value(std::vector<Reason>{kOfOthers})}}));
}

/// "Works only on NVIDIA GPUs" would be wrong about an application that also supports Intel.
TEST(UnusedGpu, HasNoReasonIfTheBackendsAreForDifferentGpus) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    UnusedGpu unused;
    unused.add(gpu, "nvenc", {kOfOthers});
    unused.add(gpu, "cuda", {kOfOthers});
    EXPECT_FALSE(unused.warning()->detail.at("reasons").is_null());
    unused.add(gpu, "qsv", {because("not-in-profile-for-vendor", {{"vendor", "amd"}})});
    unused.add(gpu, "vaapi", {kOfOthers});
    EXPECT_EQ(unused.warning(), because("gpu-unused", {{"gpu", gpu.id}}));
    unused.add(gpu, "vulkan", {kCrashed});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "vulkan", kCrashed));
}

TEST(UnusedGpu, IsSilentWhereItWasWantedSo) {
    const auto gpu = gpu_of_kind(GpuKind::Integrated);
    UnusedGpu unused;
    EXPECT_EQ(unused.warning(), std::nullopt);
    unused.add(gpu, "rocm", {kOfOthers});
    unused.add(gpu, "cuda", {kDenied});
    unused.add(gpu, "vulkan", {kNoCode});
    EXPECT_EQ(unused.warning(), std::nullopt);
    unused.add(gpu, "sycl", {kCrashed});
    EXPECT_NE(unused.warning(), std::nullopt) << "another backend was not denied, and crashed";
}

/// If access is denied for another vendor's backend, nothing follows for this GPU.
TEST(UnusedGpu, IsReportedIfAnotherVendorsBackendIsDenied) {
    const auto gpu = gpu_of_kind(GpuKind::Integrated);
    UnusedGpu unused;
    unused.add(gpu, "rocm", {kOfOthers, kDenied});
    EXPECT_NE(unused.warning(), std::nullopt);
}

TEST(UnusedGpu, IsNoneThatAnAdministratorGaveToVirtualMachines) {
    const auto gpu = gpu_of_kind(GpuKind::Discrete);
    auto other = gpu_of_kind(GpuKind::Integrated);
    other.id = "pci:0000:00:02.0";
    UnusedGpu unused;
    unused.add(gpu, "vulkan", {because("passthrough", {{"driver", "vfio-pci"}})});
    EXPECT_EQ(unused.warning(), std::nullopt);
    unused.add(other, "vulkan", {kNoCode});
    EXPECT_EQ(unused.warning(), warning_of(other, "vulkan", kNoCode));
}

TEST(UnusedGpu, IsACardOfTheHostsUnderWsl) {
    auto gpu = gpu_of_kind(GpuKind::Virtual);
    gpu.driver.name = "dxgkrnl";
    UnusedGpu unused;
    unused.add(gpu, "cuda", {kCrashed});
    EXPECT_EQ(unused.warning(), warning_of(gpu, "cuda", kCrashed));
}

TEST(UnusedGpu, IsNeverFakeOrDisplayOnly) {
    for (const auto kind : {GpuKind::Virtual, GpuKind::DisplayOnly}) {
        const auto gpu = gpu_of_kind(kind);
        UnusedGpu unused;
        unused.add(gpu, "cuda", {kCrashed});
        EXPECT_EQ(unused.warning(), std::nullopt);
    }
}

}  // namespace closest_miss_test
}  // namespace gpuprobe
