// SPDX-License-Identifier: Apache-2.0
#include "service/bus_objects.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"

namespace gpuprobe {
namespace bus_objects_test {

Gpu radeon() {
    Gpu gpu{.id = "pci:0000:03:00.0", .kind = GpuKind::Discrete, .vendor = "amd", .name = "Navi"};
    gpu.pci = PciInfo{.address = PciAddress{.bus = 3}, .vendor_id = "1002", .device_id = "73bf"};
    gpu.driver.name = "amdgpu";
    gpu.identity.drm.render = "226:128";
    gpu.memory.physical = gib(16);
    return gpu;
}

/// The value of one property of the GPU.
Value value_of(std::string_view property, const Gpu& gpu, const Report& open_to_all = {}) {
    const auto values = property_values(gpu, open_to_all);
    const auto& properties = gpu_properties();
    EXPECT_EQ(values.size(), properties.size());
    const auto found = std::ranges::find(properties, property, &bus::BusProperty::name);
    EXPECT_NE(found, properties.end()) << property;
    return found == properties.end()
               ? Value{}
               : values.at(static_cast<std::size_t>(found - properties.begin()));
}

/// The properties whose values differ.
std::vector<std::string> differing(const Gpu& before, const Gpu& after) {
    const auto old_values = property_values(before, {});
    const auto new_values = property_values(after, {});
    std::vector<std::string> names;
    for (std::size_t i = 0; i < old_values.size(); ++i)
        if (old_values[i] != new_values[i])
            names.push_back(gpu_properties()[i].name);
    return names;
}

TEST(GpuProperties, HoldWhatTheReportKnows) {
    EXPECT_EQ(value_of("Id", radeon()), Value{"pci:0000:03:00.0"});
    EXPECT_EQ(value_of("Kind", radeon()), Value{"discrete"});
    EXPECT_EQ(value_of("PciAddress", radeon()), Value{"0000:03:00.0"});
    EXPECT_EQ(value_of("VendorId", radeon()), Value{0x1002});
    EXPECT_EQ(value_of("DeviceId", radeon()), Value{0x73bf});
    EXPECT_EQ(value_of("Driver", radeon()), Value{"amdgpu"});
    EXPECT_EQ(value_of("MemoryTotal", radeon()), Value{gib(16).count});
}

/// D-Bus has no null, so an unknown value is empty or 0.
TEST(GpuProperties, AreEmptyIfTheReportKnowsNothing) {
    const Gpu unknown{.id = "platform:gpu"};
    for (const char* property : {"Vendor", "Name", "PciAddress", "Driver"})
        EXPECT_EQ(value_of(property, unknown), Value{""}) << property;
    for (const char* property : {"VendorId", "DeviceId", "MemoryTotal"})
        EXPECT_EQ(value_of(property, unknown), Value{0}) << property;
    for (const char* property : {"Backends", "Apis", "Environment", "Partitions"})
        EXPECT_EQ(json_line(value_of(property, unknown)), "{}") << property;
    for (const auto& value : property_values(unknown, {}))
        EXPECT_FALSE(value.is_null());
}

TEST(GpuProperties, HaveATitleForPeople) {
    auto gpu = radeon();
    gpu.name = "Navi 21 [Radeon RX 6800/6800 XT]";
    EXPECT_EQ(value_of("Name", gpu), Value{*gpu.name});
    EXPECT_EQ(value_of("Title", gpu), Value{"AMD Radeon RX 6800/6800 XT"});
    EXPECT_EQ(value_of("Title", Gpu{.id = "platform:gpu"}), Value{"platform:gpu"});
}

TEST(GpuProperties, HaveNoControlCharacters) {
    auto gpu = radeon();
    gpu.name = "Radeon\x1b[2J";
    EXPECT_EQ(value_of("Name", gpu).as_string()->find('\x1b'), std::string::npos);
}

TEST(GpuProperties, HaveTheOutcomeAndTheReasonsOfApisAndNoFacts) {
    auto gpu = radeon();
    gpu.apis["vulkan"] = {.outcome = Outcome::Absent,
                          .device = Value{Value::Object{{"uuid", "secret"}}},
                          .reasons = {because("not-listed")}};
    EXPECT_EQ(json_line(value_of("Apis", gpu)),
              R"({"vulkan":{"outcome":"absent","reasons":[{"code":"not-listed","detail":{}}]}})");
}

TEST(GpuProperties, DifferOnlyIfTheirValuesDo) {
    EXPECT_EQ(differing(radeon(), radeon()), std::vector<std::string>{});
    auto gpu = radeon();
    gpu.driver.name = "vfio-pci";
    gpu.backends["vulkan"].usable = true;
    gpu.apis["vulkan"].reasons = {because("not-listed")};
    gpu.apis["vulkan"].age = std::chrono::seconds{1};
    EXPECT_EQ(differing(radeon(), gpu), (std::vector<std::string>{"Driver", "Backends", "Apis"}));
    auto older = gpu;
    older.apis["vulkan"].age = std::chrono::seconds{2};
    EXPECT_EQ(differing(gpu, older), std::vector<std::string>{});
}

TEST(GpuProperties, SignalTheirChangesExceptThePowerState) {
    using Change = bus::BusProperty::Change;
    for (const auto& property : gpu_properties()) {
        const bool is_constant = property.name == "Id" || property.name == "PciAddress";
        const bool has_words = property.name == "Backends" || property.name == "Apis";
        const auto want = is_constant                     ? Change::Const
                          : has_words                     ? Change::Invalidated
                          : property.name == "PowerState" ? Change::Silent
                                                          : Change::Signaled;
        EXPECT_EQ(property.change, want) << property.name;
    }
}

TEST(OpenToAll, NamesNoGpuByWhatOnlySomeMaySee) {
    auto gpu = radeon();
    gpu.vendor = "nvidia";
    gpu.identity.nvidia_uuid = "GPU-00000000-0000-4000-8000-000000000001";
    gpu.nodes = {{.path = "/dev/nvidia0", .mode = 0660, .uid = 0, .gid = 7, .accessible = true}};
    const auto is_named = [](const Gpu& one) {
        const auto environment = value_of("Environment", one, open_to_all({.gpus = {one}}));
        return environment.find("CUDA_VISIBLE_DEVICES") != nullptr;
    };
    EXPECT_FALSE(is_named(gpu));
    gpu.nodes.front().mode = 0666;
    EXPECT_TRUE(is_named(gpu));
}

TEST(GpuProperties, HavePartitionsWithoutWhatOnlySomeMaySee) {
    auto gpu = radeon();
    gpu.partitions = {{.name = "xcp-1",
                       .id = gpu.id + "/xcp-1",
                       .uuid = "GPU-0123456789abcdef",
                       .memory = FactMemory{.total = gib(48), .free = gib(40)}}};
    gpu.nodes = {{.path = "/dev/dri/renderD128", .mode = 0660, .uid = 0, .gid = 7}};
    const auto partitions = value_of("Partitions", gpu, open_to_all({.gpus = {gpu}}));
    const auto& partition = partitions.at(gpu.id + "/xcp-1");
    EXPECT_EQ(partition.at("name"), Value{"xcp-1"});
    EXPECT_TRUE(partition.at("uuid").is_null());
    EXPECT_EQ(partition.at("memory").at("total"), Value{gib(48).count});
    // Free memory changes all the time and must not cause signals.
    EXPECT_TRUE(partition.at("memory").at("free").is_null());
}

TEST(PathElement, HoldsOnlyWhatAPathMay) {
    EXPECT_EQ(path_element("pci:0000:03:00.0"), "pci_0000_03_00_0");
    EXPECT_EQ(path_element("platform:gpu-\xC3\xA9/.."), "platform_gpu______");
    EXPECT_EQ(path_element(""), "_");
    EXPECT_EQ(path_element(std::string(1000, 'x')).size(), 200U);
    EXPECT_EQ(partition_path("/gpu/pci_0000_03_00_0", "mig-1.1"), "/gpu/pci_0000_03_00_0/mig_1_1");
}

}  // namespace bus_objects_test
}  // namespace gpuprobe
