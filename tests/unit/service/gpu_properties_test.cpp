// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_properties.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

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
    const auto properties = properties_of(radeon());
    EXPECT_EQ(properties.kind, "discrete");
    EXPECT_EQ(properties.pci_address, "0000:03:00.0");
    EXPECT_EQ(properties.vendor_id, 0x1002U);
    EXPECT_EQ(properties.device_id, 0x73bfU);
    EXPECT_EQ(properties.memory_total, gib(16).count);
}

TEST(GpuProperties, AreEmptyWhereTheReportKnowsNothing) {
    const auto properties = properties_of(Gpu{.id = "platform:gpu"});
    EXPECT_EQ(properties.name, "");
    EXPECT_EQ(properties.pci_address, "");
    EXPECT_EQ(properties.vendor_id, 0U);
    EXPECT_EQ(properties.memory_total, 0U);
    EXPECT_EQ(properties.environment, Environment{});
}

TEST(GpuProperties, HoldNoTextThatTheBusRefuses) {
    auto gpu = radeon();
    gpu.name = "Radeon\xff";
    EXPECT_EQ(properties_of(gpu).name, "Radeon\xEF\xBF\xBD");
    gpu.name = "Radeon\xEF\xBF\xBF";  // U+FFFF: UTF-8, and refused all the same
    EXPECT_EQ(properties_of(gpu).name, "Radeon\xEF\xBF\xBD");
}

TEST(ChangedProperties, NameWhatDiffersAndNothingElse) {
    const auto before = properties_of(radeon());
    EXPECT_EQ(changed_properties(before, before), std::vector<std::string>{});
    auto gpu = radeon();
    gpu.driver.name = "vfio-pci";
    gpu.backends["vulkan"].usable = true;
    const std::vector<std::string> want{"Driver", "Backends"};
    EXPECT_EQ(changed_properties(before, properties_of(gpu)), want);
}

TEST(LaunchEnvironment, SelectsByAddressWithMesa) {
    EXPECT_EQ(launch_environment(radeon()), (Environment{{"DRI_PRIME", "pci-0000_03_00_0"}}));
}

TEST(LaunchEnvironment, OffloadsWithNvidia) {
    auto gpu = radeon();
    gpu.driver.name = "nvidia";
    EXPECT_EQ(launch_environment(gpu).at("__NV_PRIME_RENDER_OFFLOAD"), "1");
}

TEST(LaunchEnvironment, IsEmptyForWhatCannotRender) {
    auto display = radeon();
    display.kind = GpuKind::DisplayOnly;
    EXPECT_EQ(launch_environment(display), Environment{});
    auto without_node = radeon();
    without_node.identity.drm.render.reset();
    EXPECT_EQ(launch_environment(without_node), Environment{});
}

TEST(PathElement, HoldsWhatAPathMay) {
    EXPECT_EQ(path_element("pci:0000:03:00.0"), "pci_0000_03_00_0");
    EXPECT_EQ(path_element("platform:gpu-\xC3\xA9/.."), "platform_gpu______");
    EXPECT_EQ(path_element(""), "_");
    EXPECT_EQ(path_element(std::string(1000, 'x')).size(), 200U);
}

TEST(DefaultGpu, IsTheBestThatIsNoMereDisplay) {
    auto display = radeon();
    display.kind = GpuKind::DisplayOnly;
    const std::vector<Gpu> both{display, radeon()};
    EXPECT_EQ(default_gpu(both), &both[1]);
    EXPECT_EQ(default_gpu({display}), nullptr);
    EXPECT_EQ(default_gpu({}), nullptr);
}

}  // namespace
}  // namespace gpuprobe
