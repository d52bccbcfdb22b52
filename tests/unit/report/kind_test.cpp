// SPDX-License-Identifier: Apache-2.0
#include "report/kind.h"

#include <gtest/gtest.h>

#include "report/assemble.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace kind_test {

/// A device id that is in no table, so that only the rules apply.
constexpr const char* kUnlisted = "fff0";

TEST(RoleOf, TakesAListedFunctionOfUnknownClassForAGpu) {
    auto device = pci_device("0000:03:00.0", "1ed5", kUnlisted, "4000");
    ApiDevice listed;
    const auto vulkan = probe("vulkan", "", Outcome::Answered);
    listed.probe = &vulkan;
    Subject subject{.id = device.id, .hardware = &device};
    EXPECT_EQ(role_of(subject), Role::Dropped);
    subject.claims = {Claim{.device = listed}};
    EXPECT_EQ(role_of(subject), Role::Gpu);
}

GpuKind kind_of_hardware(const HardwareDevice& device) {
    return kind_of(Subject{.id = device.id, .hardware = &device});
}

TEST(KindOf, KnowsIntelsIntegratedGpuByItsAddress) {
    EXPECT_EQ(kind_of_hardware(pci_device("0000:00:02.0", "8086", "a788", "0300")),
              GpuKind::Integrated);
    EXPECT_EQ(kind_of_hardware(pci_device("0000:03:00.0", "8086", "56a0", "0300")),
              GpuKind::Discrete);
}

TEST(KindOf, KnowsTheDevicesOfTheTableWithoutAnyDriver) {
    struct Case {
        const char* vendor;
        const char* device;
        const char* pci_class;
        GpuKind want;
    };
    for (const auto& row : std::to_array<Case>(
             {{"8086", "a788", "0300", GpuKind::Integrated},  // at an address that only guests use
              {"10de", "087d", "0300", GpuKind::Integrated},  // ION
              {"10de", "2e12", "0302", GpuKind::Integrated},  // GB10
              {"10de", "2e02", "0302", GpuKind::Integrated},  // GB20B
              {"10de", "3400", "0302", GpuKind::Integrated},  // GB10B
              {"10de", "290a", "0302", GpuKind::Discrete},    // B200
              {"10de", "3183", "0302", GpuKind::Discrete},    // GB110
              {"10de", "3184", "0302", GpuKind::Discrete},
              {"10de", "2c09", "0300", GpuKind::Discrete},
              {"1002", "154c", "0300", GpuKind::Integrated},  // Radeon RX 350
              {"1002", "5e49", "0300", GpuKind::Discrete},    // Radeon X700
              {"1002", "1586", "0380", GpuKind::Integrated},  // Strix Halo
              {"1002", "74a0", "1200", GpuKind::Integrated},  // MI300A
              {"1002", "73bf", "0300", GpuKind::Discrete},    // bound to radeon, vfio or nothing
              {"1002", "6819", "0300", GpuKind::Discrete},
              {"1af4", "1050", "0380", GpuKind::DisplayOnly},  // without a driver
              {"1002", "74b5", "1200", GpuKind::Discrete}}))   // a virtual function
        EXPECT_EQ(
            kind_of_hardware(pci_device("0000:00:07.0", row.vendor, row.device, row.pci_class)),
            row.want)
            << row.vendor << ":" << row.device;
}

/// Cards that are not yet in any list of ids.
TEST(KindOf, IsTheFormOfWhatItsDriverIsFor) {
    for (const auto& [vendor, driver] :
         {std::pair{"1d94", "hydcu"}, {"1d94", "hycu"}, {"9999", "metax"}, {"1ed5", "mtgpu"}}) {
        auto card = pci_device("0000:33:00.0", vendor, kUnlisted, "0380");
        EXPECT_EQ(kind_of_hardware(card), GpuKind::Unknown) << driver;
        card.driver = driver;
        EXPECT_EQ(kind_of_hardware(card), GpuKind::Discrete) << driver;
        EXPECT_EQ(judge_kind(Subject{.id = card.id, .hardware = &card}).basis, Basis::Driver);
    }
}

TEST(KindOf, KnowsAmdsApuByItsMemory) {
    EXPECT_EQ(kind_of_hardware(amd_apu().machine.devices.front()), GpuKind::Integrated);
    auto card = amd_card("0000:03:00.0", 0, 128);
    EXPECT_EQ(kind_of_hardware(card), GpuKind::Discrete);
}

struct AmdCase {
    const char* name;
    const char* pci_class;
    std::vector<std::pair<const char*, Value>> extra;
    std::vector<MemoryReading> memory;
    GpuKind want;
};
class KindOfAmd : public testing::TestWithParam<AmdCase> {};

TEST_P(KindOfAmd, GoesByWhatCanBeSeenWithoutWaking) {
    auto device = pci_device("0000:c4:00.0", "1002", kUnlisted, GetParam().pci_class);
    device.driver = "amdgpu";
    device.memory = GetParam().memory;
    for (const auto& [key, value] : GetParam().extra)
        device.extra[key] = value;
    EXPECT_EQ(kind_of_hardware(device), GetParam().want);
}

std::vector<MemoryReading> amd_memory(Bytes vram, Bytes gtt) {
    return {{.source = "amdgpu-sysfs", .what = "total", .bytes = vram},
            {.source = "amdgpu-sysfs", .what = "gtt-total", .bytes = gtt}};
}

constexpr auto kIntegrated = GpuKind::Integrated;
constexpr auto kDiscrete = GpuKind::Discrete;
INSTANTIATE_TEST_SUITE_P(
    Table,
    KindOfAmd,
    testing::Values(
        AmdCase{"SensorOfAnApu", "0300", {{"has_vddnb", true}}, {}, kIntegrated},
        AmdCase{"SensorsWithoutIt", "0300", {{"has_vddnb", false}}, {}, kDiscrete},
        AmdCase{"LargeCarveOut",
                "0380",
                {{"has_vddnb", true}},
                amd_memory(gib(96), gib(16)),
                kIntegrated},
        AmdCase{"SmallCardBesideMuchMemory",
                "0300",
                {{"has_vddnb", false}},
                amd_memory(gib(2), gib(32)),
                kDiscrete},
        AmdCase{"KfdNodeWithCores",
                "0300",
                {{"kfd_cpu_cores", 8}, {"simd_count", 32}},
                amd_memory(gib(8), gib(16)),
                kIntegrated},
        AmdCase{"KfdNodeOfACpuAlone",
                "0300",
                {{"kfd_cpu_cores", 8}, {"simd_count", 0}},
                {},
                GpuKind::Unknown},
        AmdCase{"MemoryOfAnApu", "0300", {}, amd_memory(gib(4), gib(16)), kIntegrated},
        AmdCase{"CarveOutOverFourGibibytes",
                "0300",
                {},
                amd_memory(Bytes{gib(4).count + 1}, gib(32)),
                kDiscrete},
        AmdCase{"LittleGtt", "0300", {}, amd_memory(gib(1), Bytes{gib(8).count - 1}), kDiscrete},
        AmdCase{"VendorOfItsMemory",
                "0300",
                {{"vram_vendor", "samsung"}},
                amd_memory(gib(4), gib(16)),
                kDiscrete},
        AmdCase{"VendorAlone", "0300", {{"vram_vendor", "samsung"}}, {}, kDiscrete},
        AmdCase{"BoardInfo",
                "0300",
                {{"has_board_info", true}},
                amd_memory(gib(4), gib(16)),
                kDiscrete},
        AmdCase{"Instinct", "1200", {}, {}, kDiscrete},
        AmdCase{"NothingKnown", "0300", {}, {}, GpuKind::Unknown}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(KindOf, BelievesVulkanBeforeOpenCl) {
    auto device = pci_device("0000:03:00.0", "1002", kUnlisted, "0300");
    const auto vulkan =
        probe("vulkan", "", Outcome::Answered, {DeviceFacts{.type = DeviceType::Discrete}});
    const auto opencl =
        probe("opencl", "", Outcome::Answered, {DeviceFacts{.type = DeviceType::Integrated}});
    const auto claim = [](const ProbeResult& from) {
        return Claim{.device = ApiDevice{.probe = &from, .facts = &from.devices.front()}};
    };
    EXPECT_EQ(kind_of(Subject{.hardware = &device, .claims = {claim(opencl), claim(vulkan)}}),
              GpuKind::Discrete);
    EXPECT_EQ(kind_of(Subject{.hardware = &device, .claims = {claim(opencl)}}),
              GpuKind::Integrated);
}

TEST(KindOf, TellsMi300aFromTheCardsOfItsFamily) {
    const auto apu = pci_device("0000:01:00.0", "1002", "74a0", "1200");
    const auto card = pci_device("0000:01:00.0", "1002", "74a1", "1200");
    EXPECT_EQ(kind_of(Subject{.hardware = &apu}), GpuKind::Integrated);
    EXPECT_EQ(kind_of(Subject{.hardware = &card}), GpuKind::Discrete);
}

struct NvidiaCase {
    const char* name;
    std::optional<std::string> device_name;
    std::optional<Bytes> nvml_total;
    std::optional<DeviceType> cuda_type;
    GpuKind want;
};
class KindOfHiddenNvidia : public testing::TestWithParam<NvidiaCase> {};

TEST_P(KindOfHiddenNvidia, GoesByItsOwnMemory) {
    DeviceFacts nvml{.index = 0, .name = GetParam().device_name, .pci = address("0000:01:00.0")};
    nvml.memory = FactMemory{.total = GetParam().nvml_total};
    auto cuda = nvml;
    cuda.type = GetParam().cuda_type;
    const auto report = assemble(Machine{},
                                 {probe("nvml", "", Outcome::Answered, {nvml}),
                                  probe("cuda", "", Outcome::Answered, {cuda})},
                                 {.now = kNow});
    ASSERT_EQ(report.gpus.size(), 1U);
    EXPECT_EQ(report.gpus.front().kind, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    KindOfHiddenNvidia,
    testing::Values(NvidiaCase{"Card", "NVIDIA GeForce RTX 3080", gib(10), {}, kDiscrete},
                    NvidiaCase{"NoName", {}, gib(10), {}, kDiscrete},
                    NvidiaCase{"CudaWins", "NVIDIA Device", gib(10), DeviceType::Integrated,
                               kIntegrated},
                    NvidiaCase{"NoMemory", "NVIDIA Device", {}, {}, GpuKind::Unknown},
                    NvidiaCase{"ZeroMemory", "NVIDIA Device", Bytes{}, {}, GpuKind::Unknown},
                    NvidiaCase{"Spark", "NVIDIA GB10", gib(119), {}, kIntegrated},
                    NvidiaCase{"SparkWithoutMemory", "NVIDIA GB10", {}, {}, kIntegrated},
                    NvidiaCase{"Jetson", "Orin (nvgpu)", {}, {}, kIntegrated},
                    NvidiaCase{"NotEveryNameThatBeginsSo", "NVIDIA GB100", gib(96), {}, kDiscrete}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(KindOf, NeverCallsAHypervisorsDeviceReal) {
    auto device = pci_device("0000:00:0f.0", "15ad", "0405", "0300");
    device.driver = "vmwgfx";
    EXPECT_EQ(kind_of_hardware(device), GpuKind::Virtual);
}

}  // namespace kind_test
}  // namespace gpuprobe::test
