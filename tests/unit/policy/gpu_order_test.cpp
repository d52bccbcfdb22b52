// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/gpu_selection.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace gpu_order_test {

using support::report_of;

Gpu sized(std::string id, GpuKind kind, std::optional<Bytes> size) {
    Gpu gpu{.id = std::move(id), .kind = kind};
    gpu.memory.allocatable = size;
    return gpu;
}

std::vector<std::string> ids_in_order(std::vector<Gpu> gpus) {
    std::vector<std::string> ids;
    const auto report = report_of(std::move(gpus));
    for (const auto* gpu : in_order(report))
        ids.push_back(gpu->id);
    return ids;
}

TEST(GpuOrder, GoesByKindThenMemoryThenId) {
    EXPECT_EQ(
        ids_in_order(
            {sized("h", GpuKind::DisplayOnly, gib(90)), sized("g", GpuKind::Unknown, gib(80)),
             sized("f", GpuKind::Virtual, gib(70)), sized("e", GpuKind::Integrated, gib(60)),
             sized("d", GpuKind::Discrete, std::nullopt), sized("c", GpuKind::Discrete, gib(8)),
             sized("b", GpuKind::Discrete, gib(8)), sized("a", GpuKind::Discrete, gib(16))}),
        (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h"}));
}

TEST(GpuOrder, ComparesPhysicalMemoryWhereItIsKnown) {
    auto first = sized("z", GpuKind::Discrete, gib(7));
    first.memory.physical = gib(12);
    EXPECT_EQ(ids_in_order({sized("a", GpuKind::Discrete, gib(8)), first}),
              (std::vector<std::string>{"z", "a"}));
}

TEST(GpuOrder, TakesTheNewerOfTwoThatAreAsLargeButForWhatTheirDriversKeep) {
    auto older = sized("a", GpuKind::Discrete, mib(24576));
    older.architecture.cuda_compute_capability = "8.6";
    auto newer = sized("b", GpuKind::Discrete, mib(24564));
    newer.architecture.cuda_compute_capability = "8.9";
    EXPECT_EQ(ids_in_order({older, newer}), (std::vector<std::string>{"b", "a"}));
    newer.memory.allocatable = mib(16 * 1024);
    EXPECT_EQ(ids_in_order({older, newer}), (std::vector<std::string>{"a", "b"}));
}

TEST(DefaultGpu, IsWhatWasChosenElseTheBestThatIsNoMereDisplay) {
    const auto display = sized("a", GpuKind::DisplayOnly, std::nullopt);
    const Report report{.gpus = {display, sized("b", GpuKind::Integrated, gib(8)),
                                 sized("c", GpuKind::Discrete, gib(4))}};
    EXPECT_EQ(default_gpu(report, {}), &report.gpus[2]);
    EXPECT_EQ(default_gpu(report, {"b"}), &report.gpus[1]);
    EXPECT_EQ(default_gpu({.gpus = {display}}, {}), nullptr);
    EXPECT_EQ(default_gpu({}, {}), nullptr);
}

Gpu like(std::string id,
         std::optional<std::string> vendor,
         std::optional<std::string> arch,
         std::optional<std::string> device) {
    Gpu gpu{.id = std::move(id), .vendor = std::move(vendor)};
    gpu.architecture.gfx_target = std::move(arch);
    gpu.pci = PciInfo{.device_id = std::move(device)};
    return gpu;
}

TEST(AlikeGpus, HaveOneVendorAndArchitecture) {
    const auto gpu = like("a", "amd", "gfx1100", "744c");
    EXPECT_TRUE(is_alike(gpu, gpu));
    EXPECT_TRUE(is_alike(gpu, like("b", "amd", "gfx1100", "7480")));
    EXPECT_FALSE(is_alike(gpu, like("b", "amd", "gfx1101", "744c")));
    EXPECT_FALSE(is_alike(gpu, like("b", "nvidia", "gfx1100", "744c")));
}

TEST(AlikeGpus, HaveOneDeviceIdWhereAnArchitectureIsUnknown) {
    const auto gpu = like("a", "amd", "gfx803", "67df");
    EXPECT_TRUE(is_alike(gpu, like("b", "amd", std::nullopt, "67df")));
    EXPECT_FALSE(is_alike(gpu, like("b", "amd", std::nullopt, "699f")));
    EXPECT_FALSE(is_alike(gpu, like("b", "amd", std::nullopt, std::nullopt)));
    EXPECT_FALSE(is_alike(like("a", "amd", std::nullopt, std::nullopt),
                          like("b", "amd", std::nullopt, std::nullopt)));
}

TEST(AlikeGpus, HaveAKnownVendor) {
    EXPECT_FALSE(
        is_alike(like("a", std::nullopt, "x", "67df"), like("b", std::nullopt, "x", "67df")));
    EXPECT_TRUE(
        is_alike(like("a", std::nullopt, "x", "67df"), like("a", std::nullopt, "x", "67df")));
}

}  // namespace gpu_order_test
}  // namespace gpuprobe
