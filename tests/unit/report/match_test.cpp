// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "report/hardware.h"
#include "report/join.h"
#include "unit/report/machines.h"

/// Tests of src/report/match.cpp, which decides whether a record of an API can belong to a device.
namespace gpuprobe::test {
namespace match_test {

/// The record, as if a Vulkan driver had listed it.
ApiDevice by_driver(const DeviceFacts& facts) {
    static const auto kVulkan = probe("vulkan", kRadeonIcd, Outcome::Answered);
    ApiDevice device{.probe = &kVulkan, .facts = &facts};
    if (facts.vendor_id)
        device.vendor = vendor_word(*facts.vendor_id);
    device.address = facts.pci;
    return device;
}

struct NamedCard {
    const char* device_id;
    const char* listed;  ///< the name in pci.ids
    const char* reported;
    bool may_be;
};
class WeakJoin : public testing::TestWithParam<NamedCard> {};

TEST_P(WeakJoin, IsRefutedByTheNumbersOfAnotherModel) {
    auto card = pci_device("0000:03:00.0", "1002", GetParam().device_id, "0300");
    card.driver = "amdgpu";
    const auto pci = probe("pci", "", Outcome::Answered);
    const DeviceFacts by_libpci{.name = GetParam().listed, .vendor_id = "1002"};
    const DeviceFacts by_vulkan{.index = 0, .name = GetParam().reported, .vendor_id = "1002"};
    const Subject subject{.id = card.id,
                          .hardware = &card,
                          .claims = {{.device = {.probe = &pci, .facts = &by_libpci}}}};
    EXPECT_EQ(may_be(by_driver(by_vulkan), subject), GetParam().may_be);
}

/// Names as pci.ids and Mesa have them.
INSTANTIATE_TEST_SUITE_P(
    Names,
    WeakJoin,
    testing::Values(
        NamedCard{"73ff", "Navi 23 [Radeon RX 6600/6600 XT/6600M]", "AMD Radeon RX 6600", true},
        NamedCard{"73ff", "Navi 23 [Radeon RX 6600/6600 XT/6600M]", "AMD Radeon RX 7900 XTX",
                  false},
        NamedCard{"73ff", "Navi 23 [Radeon RX 6600/6600 XT/6600M]",
                  "AMD Radeon RX 7900 XTX (RADV NAVI31)", false},
        NamedCard{"73ff", "Navi 23", "AMD Radeon Graphics (RADV NAVI31)", false},
        NamedCard{"73ff", "Navi 23", "AMD Radeon Graphics (RADV NAVI23)", true},
        NamedCard{"7340", "Navi 14 [Radeon RX 5500/5500M / Pro 5500M]", "AMD Radeon RX 5300M",
                  true},
        NamedCard{"67df", "Ellesmere [Radeon RX 470/480/570/570X/580/580X/590]",
                  "AMD Radeon RX 580 Series (RADV POLARIS10)", true},
        NamedCard{"67df", "Ellesmere [Radeon RX 470/480/570/570X/580/580X/590]",
                  "AMD RADV POLARIS10 (LLVM 9.0.1)", true},
        NamedCard{"164e", "Raphael", "AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO)", true}));

struct ArchitectureRow {
    const char* name;
    const char* vendor;
    const char* key;
    const char* own;  ///< the value of the record that is already joined
    const char* other;
    bool may_be;
};
class Generations : public testing::TestWithParam<ArchitectureRow> {};

TEST_P(Generations, OfOneDeviceAreEqual) {
    const auto& row = GetParam();
    DeviceFacts own{.index = 0, .vendor_id = row.vendor};
    own.extra[row.key] = row.own;
    DeviceFacts other{.index = 0, .vendor_id = row.vendor};
    other.extra[row.key] = row.other;
    const auto joined = probe("opencl", "", Outcome::Answered);
    const Subject subject{.id = "opencl:0",
                          .claims = {{.device = {.probe = &joined, .facts = &own}}}};
    EXPECT_EQ(may_be(by_driver(other), subject), row.may_be);
    EXPECT_EQ(may_be(by_driver(DeviceFacts{.vendor_id = row.vendor}), subject), true)
        << "an unknown architecture contradicts nothing";
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Generations,
    testing::Values(
        ArchitectureRow{"OneGfxTarget", "1002", "gfx_target", "gfx1100", "gfx1100", true},
        ArchitectureRow{"OtherStepping", "1002", "gfx_target", "gfx1100", "gfx1103", true},
        ArchitectureRow{"OtherMinorVersion", "1002", "gfx_target", "gfx1030", "gfx1010", true},
        ArchitectureRow{"WithFeatures", "1002", "gfx_target", "gfx90a:xnack-", "gfx906", true},
        ArchitectureRow{"OneIntelIp", "8086", "intel_ip", "20.4.4", "20.1.0", true},
        ArchitectureRow{"OneCapability", "10de", "compute_capability", "8.9", "8.9", true},
        ArchitectureRow{"OtherMajorVersion", "1002", "gfx_target", "gfx1030", "gfx1100", false},
        ArchitectureRow{"ShorterTarget", "1002", "gfx_target", "gfx90a", "gfx1100", false},
        ArchitectureRow{"OtherIntelIp", "8086", "intel_ip", "12.71.4", "20.1.0", false},
        // Nothing overrides a compute capability, so the minor version counts.
        ArchitectureRow{"OtherCapability", "10de", "compute_capability", "8.9", "8.6", false}),
    [](const auto& row) { return std::string{row.param.name}; });

struct ModelRow {
    const char* name;
    const char* own;
    const char* other;
    bool may_be;
};
class ModelNumbers : public testing::TestWithParam<ModelRow> {};

TEST_P(ModelNumbers, OfOneDeviceAreOfOneSeries) {
    const DeviceFacts own{.index = 0, .name = GetParam().own};
    const DeviceFacts other{.index = 0, .name = GetParam().other};
    const auto joined = probe("opencl", "", Outcome::Answered);
    const Subject subject{.id = "opencl:0",
                          .claims = {{.device = {.probe = &joined, .facts = &own}}}};
    EXPECT_EQ(may_be(by_driver(other), subject), GetParam().may_be);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ModelNumbers,
    testing::Values(ModelRow{"Equal", "NVIDIA H200", "NVIDIA H200", true},
                    ModelRow{"OneSeries", "Radeon RX 5500", "Radeon RX 5300M", true},
                    ModelRow{"WithoutANumber", "AMD Radeon Graphics", "Radeon RX 6600", true},
                    ModelRow{"TwoDigits", "Quadro 12", "Quadro 34", true},
                    ModelRow{"DriverInParentheses", "Radeon RX 6600 (LLVM 17)",
                             "Radeon RX 6600 (DRM 3.49, 6.1.0-700)", true},
                    ModelRow{"OtherSeries", "Radeon RX 6600", "Radeon RX 7900 XTX", false},
                    ModelRow{"OtherLength", "GeForce GTX 650", "GeForce RTX 6500", false},
                    ModelRow{"ModelInBrackets", "GA102 [GeForce RTX 3090]", "GeForce RTX 4090",
                             false}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(MayBe, TakesNoSecondRecordOfOneProbe) {
    const DeviceFacts facts{.index = 0};
    const auto device = by_driver(facts);
    Subject subject{.id = "vulkan:0"};
    EXPECT_TRUE(may_be(device, subject));
    subject.claims = {{.device = device}};
    EXPECT_FALSE(may_be(device, subject));
}

TEST(MayBe, ComparesAddressesNodesAndIds) {
    auto card = amd_card("0000:03:00.0", 0, 128);
    const Subject subject{.id = card.id, .hardware = &card};
    const auto fits = [&subject](DeviceFacts facts) { return may_be(by_driver(facts), subject); };
    EXPECT_TRUE(fits({.vendor_id = "1002", .device_id = "744c"}));
    EXPECT_TRUE(fits({.pci = address("0000:03:00.0")}));
    EXPECT_TRUE(fits({.drm = DrmNodes{.render = "226:128"}}));
    EXPECT_FALSE(fits({.vendor_id = "10de"}));
    EXPECT_FALSE(fits({.vendor_id = "1002", .device_id = "73ff"}));
    EXPECT_FALSE(fits({.pci = address("0000:04:00.0")}));
    EXPECT_FALSE(fits({.drm = DrmNodes{.render = "226:129"}}));
}

TEST(MayBe, GivesNoRecordToDisplaysAndAccelerators) {
    auto display = pci_device("0000:03:00.0", "1a03", "2000", "0300");
    auto npu = pci_device("0000:00:0b.0", "8086", "7d1d", "1200");
    for (const auto* hardware : {&display, &npu}) {
        const Subject subject{.id = hardware->id, .hardware = hardware};
        EXPECT_FALSE(may_be(by_driver({}), subject)) << hardware->id;
    }
}

TEST(MayBe, ComparesOnlyTheTypeWithAParavirtualGpu) {
    auto virtio = pci_device("0000:00:01.0", "1af4", "1050", "0300");
    virtio.driver = "virtio-pci";
    const Subject subject{.id = virtio.id, .hardware = &virtio};
    EXPECT_TRUE(may_be(by_driver({.vendor_id = "8086", .type = DeviceType::Virtual}), subject));
    EXPECT_FALSE(may_be(by_driver({.vendor_id = "1af4", .type = DeviceType::Discrete}), subject));
    EXPECT_FALSE(contradicts(by_driver({.vendor_id = "8086"}), virtio));
}

TEST(Memory, DecidesOnlyForDiscreteGpus) {
    const auto apu = amd_apu().machine.devices.front();
    const Subject integrated{.id = apu.id, .hardware = &apu};
    const auto card = amd_card("0000:03:00.0", 0, 128);  // 24 GiB
    const Subject discrete{.id = card.id, .hardware = &card};
    const auto sized = [](Bytes total) {
        return DeviceFacts{.memory = FactMemory{.total = total}};
    };
    const auto half = sized(mib(512));
    EXPECT_TRUE(memory_agrees(by_driver(half), integrated));
    EXPECT_FALSE(has_size_of(by_driver(half), integrated)) << "equal by chance";
    EXPECT_FALSE(memory_agrees(by_driver(half), discrete));
    EXPECT_FALSE(has_size_of(by_driver(half), discrete));
    const auto same = sized(gib(24));
    EXPECT_TRUE(memory_agrees(by_driver(same), discrete));
    EXPECT_TRUE(has_size_of(by_driver(same), discrete));
    const DeviceFacts unknown;
    EXPECT_TRUE(memory_agrees(by_driver(unknown), discrete));
    EXPECT_FALSE(has_size_of(by_driver(unknown), discrete));
}

TEST(SameNode, NeedsOneEqualNode) {
    const DrmNodes card{.primary = "226:0", .render = "226:128"};
    EXPECT_TRUE(same_node(card, {.render = "226:128"}));
    EXPECT_TRUE(same_node(card, {.primary = "226:0"}));
    EXPECT_FALSE(same_node(card, {.primary = "226:1", .render = "226:129"}));
    EXPECT_FALSE(same_node({}, {})) << "two unknown nodes are not equal";
}

TEST(SimilarSizes, AllowFivePercentOrHalfAGibibyte) {
    EXPECT_TRUE(similar_sizes(gib(4), Bytes{gib(4).count - mib(512).count}));
    EXPECT_FALSE(similar_sizes(gib(4), Bytes{gib(4).count - mib(512).count - 1}));
    EXPECT_TRUE(similar_sizes(gib(100), gib(95)));
    EXPECT_FALSE(similar_sizes(gib(100), gib(94)));
}

}  // namespace match_test
}  // namespace gpuprobe::test
