// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "service/answers.h"

namespace gpuprobe {
namespace gpu_properties_test {

Gpu radeon() {
    Gpu gpu{.id = "pci:0000:03:00.0", .kind = GpuKind::Discrete, .vendor = "amd", .name = "Navi"};
    gpu.pci = PciInfo{.address = PciAddress{.bus = 3}, .vendor_id = "1002", .device_id = "73bf"};
    gpu.driver.name = "amdgpu";
    gpu.identity.drm.render = "226:128";
    gpu.memory.physical = gib(16);
    return gpu;
}

using Environment = std::map<std::string, std::string>;

TEST(GpuProperties, HoldWhatTheReportKnows) {
    const auto properties = properties_of(radeon(), {});
    EXPECT_EQ(properties.kind, "discrete");
    EXPECT_EQ(properties.pci_address, "0000:03:00.0");
    EXPECT_EQ(properties.vendor_id, 0x1002U);
    EXPECT_EQ(properties.device_id, 0x73bfU);
    EXPECT_EQ(properties.memory_total, gib(16).count);
}

TEST(GpuProperties, AreEmptyWhereTheReportKnowsNothing) {
    const auto properties = properties_of(Gpu{.id = "platform:gpu"}, {});
    EXPECT_EQ(properties.name, "");
    EXPECT_EQ(properties.pci_address, "");
    EXPECT_EQ(properties.vendor_id, 0U);
    EXPECT_EQ(properties.memory_total, 0U);
    EXPECT_EQ(properties.environment, Environment{});
}

TEST(GpuProperties, HaveATitleForPeople) {
    auto gpu = radeon();
    gpu.vendor = "amd";
    gpu.name = "Navi 21 [Radeon RX 6800/6800 XT]";
    EXPECT_EQ(properties_of(gpu, {}).name, gpu.name);
    EXPECT_EQ(properties_of(gpu, {}).title, "AMD Radeon RX 6800/6800 XT");
    EXPECT_EQ(properties_of(Gpu{.id = "platform:gpu"}, {}).title, "platform:gpu");
}

TEST(GpuProperties, HoldNoTextThatTheBusRefuses) {
    auto gpu = radeon();
    gpu.name = "Radeon\xff";
    EXPECT_EQ(properties_of(gpu, {}).name, "Radeon\xEF\xBF\xBD");
    gpu.name = "Radeon\xEF\xBF\xBF";  // U+FFFF: UTF-8, and refused all the same
    EXPECT_EQ(properties_of(gpu, {}).name, "Radeon\xEF\xBF\xBD");
}

TEST(ChangedProperties, NameWhatDiffersAndNothingElse) {
    const auto before = properties_of(radeon(), {});
    EXPECT_EQ(changed_properties(before, before, false), std::vector<std::string>{});
    const std::vector<std::string> in_words{"Backends", "Apis"};
    EXPECT_EQ(changed_properties(before, before, true), in_words);
    auto gpu = radeon();
    gpu.driver.name = "vfio-pci";
    gpu.backends["vulkan"].usable = true;
    gpu.apis["vulkan"].reasons = {because("not-listed")};
    gpu.apis["vulkan"].age = std::chrono::seconds{1};
    const std::vector<std::string> want{"Driver", "Backends", "Apis"};
    EXPECT_EQ(changed_properties(before, properties_of(gpu, {}), false), want);
}

TEST(PathElement, HoldsWhatAPathMay) {
    EXPECT_EQ(path_element("pci:0000:03:00.0"), "pci_0000_03_00_0");
    EXPECT_EQ(path_element("platform:gpu-\xC3\xA9/.."), "platform_gpu______");
    EXPECT_EQ(path_element(""), "_");
    EXPECT_EQ(path_element(std::string(1000, 'x')).size(), 200U);
}

TEST(OpenToAll, NamesNoGpuByWhatOnlySomeMaySee) {
    auto gpu = radeon();
    gpu.vendor = "nvidia";
    gpu.identity.nvidia_uuid = "GPU-00000000-0000-4000-8000-000000000001";
    gpu.nodes = {{.path = "/dev/nvidia0", .mode = 0660, .uid = 0, .gid = 7, .accessible = true}};
    const auto named = [](const Gpu& one) {
        const auto seen = open_to_all({.gpus = {one}});
        return properties_of(one, seen).environment.contains("CUDA_VISIBLE_DEVICES");
    };
    EXPECT_FALSE(named(gpu));
    gpu.nodes.front().mode = 0666;
    EXPECT_TRUE(named(gpu));
}

TEST(GpuProperties, HaveUnitsWithoutWhatOnlySomeMaySee) {
    auto gpu = radeon();
    gpu.partitions = {{.name = "xcp-1",
                       .id = gpu.id + "/xcp-1",
                       .uuid = "GPU-0123456789abcdef",
                       .memory = FactMemory{.total = gib(48), .free = gib(40)}}};
    gpu.nodes = {{.path = "/dev/dri/renderD128", .mode = 0660, .uid = 0, .gid = 7}};
    const auto partitions = properties_of(gpu, open_to_all({.gpus = {gpu}})).partitions;
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_EQ(partitions[0].id, gpu.id + "/xcp-1");
    EXPECT_EQ(partitions[0].uuid, std::nullopt);
    EXPECT_EQ(partitions[0].memory, FactMemory{.total = gib(48)});
    EXPECT_EQ(changed_properties(properties_of(gpu, {.gpus = {gpu}}), {}, false).back(),
              "Partitions");
    EXPECT_EQ(partition_path("/gpu/pci_0000_03_00_0", "mig-1.1"), "/gpu/pci_0000_03_00_0/mig_1_1");
}

}  // namespace gpu_properties_test
}  // namespace gpuprobe
