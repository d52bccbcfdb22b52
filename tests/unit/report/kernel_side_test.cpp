// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "report/identity.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace kernel_side_test {

constexpr const char* kCard = "pci:0000:00:06.0";

/// The H200 if /sys is hidden. NVML reports the driver's version and the device's minor number.
MachineFixture hidden_h200() {
    auto fixture = headless_h200();
    fixture.machine.devices.clear();
    auto& nvml = fixture.probes.at(1);
    nvml.runtime["driver_version"] = "580.159.04";
    nvml.devices.front().extra["minor_number"] = 3;
    nvml.devices.front().extra["subsystem_vendor_id"] = "10de";
    nvml.devices.front().extra["subsystem_device_id"] = "18be";
    return fixture;
}

std::vector<std::string> paths_of(const Gpu& gpu) {
    std::vector<std::string> paths;
    for (const auto& node : gpu.nodes) {
        paths.push_back(node.path);
        EXPECT_EQ(node.accessible, std::nullopt) << "nobody has looked";
    }
    return paths;
}

TEST(HiddenGpu, HasTheDriverThatItsApisNeed) {
    const auto gpu = gpu_at(assembled(hidden_h200()), kCard);
    EXPECT_EQ(gpu.kind, GpuKind::Discrete);
    EXPECT_EQ(gpu.driver, (DriverInfo{.name = "nvidia", .version = "580.159.04"}));
    EXPECT_EQ(paths_of(gpu), std::vector<std::string>{"/dev/nvidia3"});
    ASSERT_TRUE(gpu.pci);
    EXPECT_EQ(gpu.pci->subsystem_vendor_id, "10de");
    EXPECT_EQ(gpu.pci->subsystem_device_id, "18be");
    EXPECT_EQ(gpu.memory.kind, MemoryKind::Dedicated);
    EXPECT_EQ(gpu.health, "ok");
    EXPECT_TRUE(gpu.primary) << "there is no other";
}

TEST(HiddenGpu, HasNoKernelDriverOnWsl) {
    auto fixture = hidden_h200();
    fixture.machine.host.wsl = true;
    const auto gpu = gpu_at(assembled(fixture), kCard);
    EXPECT_EQ(gpu.driver, (DriverInfo{.version = "580.159.04"}));
    EXPECT_TRUE(gpu.nodes.empty());
}

TEST(HiddenGpu, OfAJetsonHasAnotherDriver) {
    auto fixture = hidden_h200();
    fixture.probes.at(0).devices.front().type = DeviceType::Integrated;
    EXPECT_EQ(gpu_at(assembled(fixture), kCard).driver, DriverInfo{});
}

TEST(HiddenGpu, OfAmdHasAmdgpuAndItsDrmNodes) {
    auto facts = DeviceFacts{.index = 0,
                             .vendor_id = "1002",
                             .pci = address("0000:03:00.0"),
                             .drm = DrmNodes{.primary = "226:1", .render = "226:129"}};
    const auto report = assemble(Machine{},
                                 {probe("hip", "", Outcome::Answered, {facts}),
                                  probe("vulkan", kRadeonIcd, Outcome::Answered, {facts})},
                                 {.now = kNow});
    const auto gpu = gpu_at(report, "pci:0000:03:00.0");
    EXPECT_EQ(gpu.driver, DriverInfo{.name = "amdgpu"});
    EXPECT_EQ(paths_of(gpu), (std::vector<std::string>{"/dev/dri/card1", "/dev/dri/renderD129"}));
}

TEST(HiddenGpu, NamesNoNodeByAnImpossibleNumber) {
    for (const auto* number : {"226:", "226:x", "1:3", "226:-1", "226:99999999999"}) {
        auto facts = DeviceFacts{.index = 0,
                                 .vendor_id = "1002",
                                 .pci = address("0000:03:00.0"),
                                 .drm = DrmNodes{.primary = number, .render = number}};
        const auto report = assemble(
            Machine{}, {probe("vulkan", kRadeonIcd, Outcome::Answered, {facts})}, {.now = kNow});
        EXPECT_TRUE(gpu_at(report, "pci:0000:03:00.0").nodes.empty()) << number;
    }
}

TEST(HiddenGpu, OfIntelIsKnownByItsAddress) {
    for (const auto& [where, kind] :
         {std::pair{"0000:00:02.0", GpuKind::Integrated}, {"0000:03:00.0", GpuKind::Discrete}}) {
        auto facts = DeviceFacts{.index = 0, .vendor_id = "8086", .pci = address(where)};
        const auto report = assemble(
            Machine{}, {probe("level_zero", "", Outcome::Answered, {facts})}, {.now = kNow});
        const auto gpu = gpu_at(report, "pci:" + std::string{where});
        EXPECT_EQ(gpu.kind, kind) << where;
        EXPECT_EQ(gpu.driver, DriverInfo{}) << "i915 or xe";
    }
}

TEST(KernelDriver, HasNvmlsVersionWhereSysfsHasNone) {
    auto fixture = headless_h200();
    fixture.machine.devices.front().driver_version.reset();
    fixture.probes.at(1).runtime["driver_version"] = "580.159.04";
    EXPECT_EQ(gpu_at(assembled(fixture), kCard).driver.version, "580.159.04");
    fixture.machine.devices.front().driver = "vfio-pci";
    EXPECT_EQ(gpu_at(assembled(fixture), kCard).driver.version, std::nullopt);
}

TEST(KernelDriver, HasTheVersionOfNvidiasVulkanDriver) {
    auto facts = vulkan_facts(0, "NVIDIA H200", "10de", "2335", "0000:00:06.0",
                              DeviceType::Discrete, gib(140));
    facts.extra["driver_id"] = "nvidia-proprietary";
    facts.extra["driver_version"] = "580.159.04";
    auto fixture = headless_h200();
    fixture.machine.devices.clear();
    fixture.probes = {fixture.probes.at(0),
                      probe("vulkan", kNvidiaIcd, Outcome::Answered, {facts})};
    EXPECT_EQ(gpu_at(assembled(fixture), kCard).driver,
              (DriverInfo{.name = "nvidia", .version = "580.159.04"}));
    fixture.probes.at(1).devices.front().extra["driver_id"] = "mesa-nvk";
    EXPECT_EQ(gpu_at(assembled(fixture), kCard).driver.version, std::nullopt);
}

}  // namespace kernel_side_test
}  // namespace gpuprobe::test
