// SPDX-License-Identifier: Apache-2.0
#include "report/kind.h"

#include <gtest/gtest.h>

#include "partition/report/machines.h"
#include "report/assemble.h"

namespace gpuprobe::test {
namespace {

/// A device id that no vendor of these tests has, for what the rules say.
constexpr const char* kUnlisted = "fff0";

struct RoleCase {
    const char* name;
    const char* vendor;
    const char* device;
    const char* pci_class;
    const char* driver;  ///< "" for none
    Role want;
};
class RoleOf : public testing::TestWithParam<RoleCase> {};

TEST_P(RoleOf, GoesByDriverVendorAndClass) {
    auto device =
        pci_device("0000:03:00.0", GetParam().vendor, GetParam().device, GetParam().pci_class);
    if (*GetParam().driver)
        device.driver = GetParam().driver;
    EXPECT_EQ(role_of(device), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    RoleOf,
    testing::Values(RoleCase{"NvidiaWithoutDriver", "10de", "2684", "0300", "", Role::Gpu},
                    RoleCase{"NvidiaPassedThrough", "10de", "2684", "0300", "vfio-pci", Role::Gpu},
                    RoleCase{"Headless3D", "10de", "2335", "0302", "nvidia", Role::Gpu},
                    RoleCase{"InstinctAsAccelerator", "1002", "74a1", "1200", "amdgpu", Role::Gpu},
                    RoleCase{"InstinctAsOther", "1002", "740f", "0380", "amdgpu", Role::Gpu},
                    RoleCase{"VmwareWith3D", "15ad", "0405", "0300", "vmwgfx", Role::Gpu},
                    RoleCase{"Virtio", "1af4", "1050", "0300", "virtio-pci", Role::Gpu},
                    RoleCase{"Ast", "1a03", "2000", "0300", "ast", Role::DisplayOnly},
                    RoleCase{"AstUnbound", "1a03", "2000", "0300", "", Role::DisplayOnly},
                    RoleCase{"Mgag200", "102b", "0536", "0300", "mgag200", Role::DisplayOnly},
                    RoleCase{"HisiliconBmc", "19e5", "1711", "0300", "", Role::DisplayOnly},
                    RoleCase{"OtherHuawei", "19e5", "d802", "1200", "", Role::Accelerator},
                    RoleCase{"QemuVga", "1234", "1111", "0300", "bochs-drm", Role::DisplayOnly},
                    RoleCase{"Vmware2D", "15ad", "0405", "0300", "", Role::DisplayOnly},
                    RoleCase{"OldVga", "1234", "0001", "0001", "", Role::DisplayOnly},
                    RoleCase{"Gaudi", "1da3", "1020", "1200", "habanalabs", Role::Accelerator},
                    RoleCase{"GaudiUnbound", "1da3", "1020", "1200", "", Role::Accelerator},
                    RoleCase{"IntelNpu", "8086", "7d1d", "1200", "intel_vpu", Role::Accelerator},
                    RoleCase{"AmdNpu", "1022", "1502", "1180", "amdxdna", Role::Accelerator},
                    RoleCase{"XeonPhi", "8086", "225c", "0b40", "", Role::Accelerator},
                    RoleCase{"QuickAssist", "8086", "37c8", "0b40", "c6xx", Role::Dropped},
                    RoleCase{"Sdxi", "1022", "1640", "1201", "", Role::Dropped},
                    RoleCase{"Vkms", "1234", "0000", "0300", "vkms", Role::Dropped},
                    RoleCase{"TestDevice", "1b36", "0005", "1200", "", Role::Dropped},
                    RoleCase{"Ec2", "1d0f", "1111", "0300", "", Role::DisplayOnly},
                    RoleCase{"Bhyve", "fb5d", "40fb", "0300", "", Role::DisplayOnly},
                    RoleCase{"Parallels", "1ab8", "4005", "0300", "", Role::DisplayOnly},
                    RoleCase{"Sis", "1039", "6330", "0300", "", Role::DisplayOnly},
                    RoleCase{"RageXl", "1002", "4752", "0300", "", Role::DisplayOnly},
                    RoleCase{"Loongson", "0014", "7a06", "0300", "loongson", Role::DisplayOnly},
                    RoleCase{"Phytium", "1db7", "dc22", "0380", "", Role::DisplayOnly},
                    RoleCase{"PowerPartition", "10de", "0aa3", "0b40", "", Role::Dropped},
                    RoleCase{"NobodyKnown", "beef", "0001", "0300", "", Role::DisplayOnly},
                    RoleCase{"NewOfAGpuVendor", "10de", kUnlisted, "0302", "", Role::Gpu},
                    RoleCase{"Trainium", "1d0f", "7164", "0880", "neuron", Role::Accelerator},
                    RoleCase{"Hailo", "1e60", "2864", "0b40", "hailo", Role::Accelerator},
                    RoleCase{"NewHailo", "1e60", kUnlisted, "0b40", "", Role::Accelerator},
                    RoleCase{"HygonAsCoprocessor", "1d94", "62b7", "0b40", "", Role::Gpu},
                    RoleCase{"NewHygonDriven", "1d94", kUnlisted, "0b40", "hydcu", Role::Gpu},
                    RoleCase{"MetaxDriven", "9999", kUnlisted, "1200", "metax", Role::Gpu},
                    RoleCase{"HeldByXen", "10de", "2684", "0300", "pciback", Role::Gpu}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Assemble, ListsAnNpuThatOnlyLevelZeroKnowsAsAnAccelerator) {
    DeviceFacts npu{.index = 1,
                    .name = "Intel(R) AI Boost",
                    .vendor_id = "8086",
                    .pci = PciAddress{.device = 11},
                    .type = DeviceType::Other};
    npu.extra["device_type"] = "npu";
    const ProbeResult probe{.api = "level_zero", .outcome = Outcome::Answered, .devices = {npu}};
    const auto report = assemble(Machine{}, {probe}, ReportContext{});
    EXPECT_TRUE(report.gpus.empty());
    ASSERT_EQ(report.accelerators.size(), 1u);
    EXPECT_EQ(report.accelerators[0].name, "Intel(R) AI Boost");
}

TEST(RoleOf, TakesWhatRendersForAGpuWhoeverMadeIt) {
    auto device = pci_device("0000:03:00.0", "beef", "0001", "0300");
    with_drm(device, 0, 128);
    EXPECT_EQ(judge_role(device).role, Role::Gpu);
    EXPECT_EQ(judge_role(device).basis, Basis::Rule);
}

TEST(RoleOf, SaysWhatItRestsOn) {
    EXPECT_EQ(judge_role(pci_device("0000:03:00.0", "10de", "2684", "0300")).basis, Basis::Table);
    EXPECT_EQ(judge_role(pci_device("0000:03:00.0", "10de", kUnlisted, "0300")).basis, Basis::Rule);
    auto bound = pci_device("0000:03:00.0", "1a03", "2000", "0300");
    bound.driver = "ast";
    EXPECT_EQ(judge_role(bound).basis, Basis::Driver);
}

/// Of what the table does not know, the scan has left it out where it saw the first function.
TEST(RoleOf, DropsTheSecondFunctionOfAnIntegratedGpu) {
    EXPECT_EQ(role_of(pci_device("0000:00:02.1", "8086", "2a43", "0380")), Role::Dropped);
    EXPECT_EQ(role_of(pci_device("0000:00:02.1", "8086", kUnlisted, "0380")), Role::Gpu);
}

TEST(RoleOf, TellsRenderAndDisplayControllersOfASocApart) {
    HardwareDevice display{.id = "platform:gpu", .bus = HardwareBus::Platform};
    display.driver = "vc4";
    display.is_drm = true;
    display.drm.primary = "226:0";
    EXPECT_EQ(role_of(display), Role::Dropped);
    HardwareDevice render{.id = "platform:v3d", .bus = HardwareBus::Platform};
    render.driver = "v3d";
    with_drm(render, 1, 128);
    EXPECT_EQ(role_of(render), Role::Gpu);
    HardwareDevice firmware{.id = "platform:simple-framebuffer.0", .bus = HardwareBus::Platform};
    firmware.driver = "simple-framebuffer";
    EXPECT_EQ(role_of(firmware), Role::DisplayOnly);
    HardwareDevice fake{.id = "platform:vgem", .bus = HardwareBus::Platform};
    fake.driver = "vgem";
    with_drm(fake, 2, 130);
    EXPECT_EQ(role_of(fake), Role::Dropped);
}

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
             {{"8086", "a788", "0300", GpuKind::Integrated},  // at an address of a guest
              {"10de", "087d", "0300", GpuKind::Integrated},  // ION
              {"10de", "2e12", "0302", GpuKind::Integrated},  // GB10
              {"1002", "1586", "0380", GpuKind::Integrated},  // Strix Halo
              {"1002", "74a0", "1200", GpuKind::Integrated},  // MI300A
              {"1002", "73bf", "0300", GpuKind::Discrete},    // bound to radeon, vfio or nothing
              {"1002", "6819", "0300", GpuKind::Discrete},
              {"1af4", "1050", "0380", GpuKind::DisplayOnly},  // with no driver
              {"1002", "74b5", "1200", GpuKind::Discrete}}))   // a virtual function
        EXPECT_EQ(
            kind_of_hardware(pci_device("0000:00:07.0", row.vendor, row.device, row.pci_class)),
            row.want)
            << row.vendor << ":" << row.device;
}

/// Cards that no list of ids names yet.
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

}  // namespace
}  // namespace gpuprobe::test
