// SPDX-License-Identifier: Apache-2.0
#include "report/join.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/value.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace join_test {

/// The machine and the probes of a test, and the report that is assembled from them.
struct Inputs {
    std::vector<HardwareDevice> hardware = {};
    std::vector<ProbeResult> probes = {};

    Report report() const { return assemble(Machine{.devices = hardware}, probes, {.now = kNow}); }
};

std::vector<std::string> ids_of(const Report& report) {
    std::vector<std::string> ids;
    for (const auto& gpu : report.gpus)
        ids.push_back(gpu.id);
    std::ranges::sort(ids);
    return ids;
}

bool has_note(const Report& report, std::string_view code) {
    return std::ranges::find(report.notes, code, &Reason::code) != report.notes.end();
}

std::optional<std::string> joined_by(const Report& report, const char* id, const char* api) {
    const auto gpu = gpu_at(report, id);
    const auto view = gpu.apis.find(api);
    return view == gpu.apis.end() ? std::nullopt : view->second.joined_by;
}

HardwareDevice nvidia_card(const char* where) {
    auto device = pci_device(where, "10de", "2684", "0300");
    device.driver = "nvidia";
    return device;
}

DeviceFacts keyless(std::uint32_t index, const char* vendor, const char* device) {
    return DeviceFacts{.index = index, .vendor_id = vendor, .device_id = device};
}

ProbeResult vulkan(std::vector<DeviceFacts> devices) {
    return probe("vulkan", kNvidiaIcd, Outcome::Answered, std::move(devices));
}

TEST(Join, ADriverThatListsDevicesWithoutEndCostsItsOwnAnswerAlone) {
    constexpr std::uint32_t kMany = 256;
    std::vector<DeviceFacts> made_up;
    for (std::uint32_t i = 0; i < kMany; ++i) {
        auto facts = keyless(i, "10de", "2684");
        facts.name = std::string(256, 'x');
        facts.pci = PciAddress{.bus = static_cast<std::uint8_t>(i), .device = 3};
        made_up.push_back(facts);
    }
    auto card = keyless(0, "10de", "2684");
    card.pci = address("0000:01:00.0");
    const auto report = Inputs{
        {nvidia_card("0000:01:00.0")},
        {vulkan({card}), probe("vulkan", "/x/a.json", Outcome::Answered, made_up),
         probe("vulkan", "/x/b.json", Outcome::Answered, made_up),
         probe("opencl", "/x/c.icd", Outcome::Answered,
               made_up)}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:01:00.0", "vulkan"), "pci");
    EXPECT_LE(report.gpus.size(), 1 + most_devices_of_a_driver(1));
    const auto excess = std::ranges::find(report.notes, "too-many-devices", &Reason::code);
    ASSERT_NE(excess, report.notes.end());
    EXPECT_EQ(excess->detail.at("listed").as_unsigned(), kMany);
    EXPECT_EQ(excess->detail.at("left_out").as_unsigned(), kMany - most_devices_of_a_driver(1));
    EXPECT_LT(json_line(to_value(report)).size(), kib(256).count);  // Describe can send this
}

TEST(Join, IsOfTheCardWithItsMemoryWhereTheOthersHaveAnother) {
    const auto large = amd_card("0000:03:00.0", 0, 128);  // 24 GiB
    auto small = amd_card("0000:04:00.0", 1, 129);
    for (auto& reading : small.memory)
        reading.bytes = gib(8);
    auto first = DeviceFacts{.index = 0, .vendor_id = "1002"};
    first.memory = FactMemory{.total = gib(24)};
    auto second = DeviceFacts{.index = 1, .vendor_id = "1002"};
    second.memory = FactMemory{.total = gib(8)};
    for (const auto& devices : {std::vector{first, second}, std::vector{second, first}}) {
        const auto report = Inputs{{large, small}, {vulkan(devices)}}.report();
        EXPECT_EQ(gpu_at(report, "pci:0000:03:00.0").apis.at("vulkan").index, 0U);
        EXPECT_EQ(gpu_at(report, "pci:0000:04:00.0").apis.at("vulkan").index, 1U);
    }
    second.memory = FactMemory{.total = gib(24)};  // either of the two cards may have this size
    const auto report = Inputs{{large, small}, {vulkan({first, second})}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:03:00.0", "vulkan"), std::nullopt);
}

/// Eight MI300X in CPX mode, if neither KFD nor sysfs reports partitions. In some kernels, the PCI
/// function is the number of the partition.
TEST(Join, TakesEightPartitionsOfEachGpu) {
    for (const bool has_functions : {true, false})
        for (const bool has_hardware : {true, false}) {
            Inputs inputs;
            std::vector<DeviceFacts> partitions;
            for (std::uint32_t i = 0; i < 64; ++i) {
                auto facts = keyless(i, "1002", "74a1");
                facts.pci = PciAddress{.bus = static_cast<std::uint8_t>(1 + i / 8)};
                if (has_hardware && i % 8 == 0)
                    inputs.hardware.push_back(
                        pci_device(text_of(*facts.pci).c_str(), "1002", "74a1", "1200"));
                facts.pci->function = static_cast<std::uint8_t>(has_functions ? i % 8 : 0);
                partitions.push_back(facts);
            }
            inputs.probes = {probe("hip", "/lib/libamdhip64.so.7", Outcome::Answered, partitions)};
            const auto report = inputs.report();
            EXPECT_FALSE(has_note(report, "too-many-devices"));
            if (!has_functions) {
                EXPECT_EQ(report.gpus.size(), 8U);
            }
        }
}

TEST(Join, GivesAVirtualFunctionsRecordsToItsCard) {
    auto card = pci_device("0000:03:00.0", "8086", "e223", "0300");
    card.driver = "xe";
    card.partitions = {{.name = "vf-0000:03:00.1", .pci = address("0000:03:00.1"), .state = "xe"}};
    auto whole = keyless(1, "8086", "e223");
    whole.pci = address("0000:03:00.0");
    auto function = keyless(0, "8086", "e223");
    function.pci = address("0000:03:00.1");
    const auto report =
        Inputs{{card},
               {probe("level-zero", "/lib/libze.so.1", Outcome::Answered, {function, whole})}}
            .report();
    ASSERT_EQ(report.gpus.size(), 1U);
    EXPECT_EQ(report.gpus.front().apis.at("level-zero").index, 1U);
    EXPECT_EQ(report.gpus.front().partitions.size(), 1U);
    EXPECT_FALSE(is_divided(report.gpus.front()));
}

/// Hygon's runtime is based on AMD's and reports AMD as its vendor.
TEST(Join, GivesHipsRecordToHygonsGpu) {
    auto card = pci_device("0000:33:00.0", "1d94", "6210", "1200");
    card.driver = "hycu";
    auto facts = keyless(0, "1002", "6210");
    facts.pci = address("0000:33:00.0");
    const auto report = Inputs{
        {card},
        {probe("hip", "/opt/dtk/lib/libamdhip64.so", Outcome::Answered,
               {facts})}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:33:00.0", "hip"), "pci");
    EXPECT_EQ(report.gpus.front().backends.at("rocm").usable, true);
    EXPECT_EQ(report.gpus.front().vendor, "hygon");
    EXPECT_FALSE(has_note(report, "conflict"));
}

TEST(Join, ReplacesTheFunctionOfWslThatLibpciListsToo) {
    auto transport = pci_device("fe50:00:00.0", "1414", "008e", "0302");
    transport.driver = "dxgkrnl";
    auto listed = keyless(0, "1414", "008e");
    listed.pci = address("fe50:00:00.0");
    auto gpu = keyless(0, "10de", "2684");
    gpu.pci = address("0000:01:00.0");
    for (const auto& pci : {std::vector<DeviceFacts>{}, std::vector{listed}}) {
        const auto report = Inputs{
            {transport},
            {probe("pci", "", Outcome::Answered, pci),
             probe("cuda", "/lib/libcuda.so.1", Outcome::Answered,
                   {gpu})}}.report();
        EXPECT_EQ(ids_of(report), (std::vector<std::string>{"pci:0000:01:00.0"}));
    }
}

TEST(Join, TakesTwoDevicesOfADriverForEachFunction) {
    EXPECT_EQ(most_devices_of_a_driver(0), 16U);
    EXPECT_EQ(most_devices_of_a_driver(64), 128U);
}

TEST(Join, IgnoresAnAllZeroAddress) {
    auto facts = keyless(0, "10de", "2684");
    facts.pci = PciAddress{};
    const auto report = Inputs{{nvidia_card("0000:01:00.0")}, {vulkan({facts})}}.report();
    EXPECT_EQ(ids_of(report), std::vector<std::string>{"pci:0000:01:00.0"});
    EXPECT_EQ(joined_by(report, "pci:0000:01:00.0", "vulkan"), "weak");
}

TEST(Join, TakesAnAllZeroAddressWhereHardwareOfThatVendorSits) {
    auto facts = keyless(0, "10de", "2684");
    facts.pci = PciAddress{};
    const auto report = Inputs{
        {nvidia_card("0000:00:00.0"), nvidia_card("0000:01:00.0")},
        {vulkan({facts})}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:00:00.0", "vulkan"), "pci");
}

TEST(Join, RefusesAnAddressOfAnotherVendor) {
    auto facts = keyless(0, "1002", "744c");
    facts.pci = address("0000:01:00.0");
    const auto report = Inputs{{nvidia_card("0000:01:00.0")}, {vulkan({facts})}}.report();
    EXPECT_EQ(ids_of(report), std::vector<std::string>{"pci:0000:01:00.0"});
    EXPECT_TRUE(has_note(report, "conflict"));
    EXPECT_EQ(joined_by(report, "pci:0000:01:00.0", "vulkan"), std::nullopt);
}

TEST(Join, UsesTheRenderNodeWhereThereIsNoAddress) {
    HardwareDevice mali{.id = "platform:fb000000.gpu", .bus = HardwareBus::Platform};
    mali.driver = "panthor";
    with_drm(mali, 1, 129);
    auto facts = keyless(0, "13b5", "a867");
    facts.drm = DrmNodes{.render = "226:129"};
    facts.type = DeviceType::Integrated;
    const auto report = Inputs{{mali}, {vulkan({facts})}}.report();
    ASSERT_EQ(report.gpus.size(), 1U);
    EXPECT_EQ(joined_by(report, "platform:fb000000.gpu", "vulkan"), "drm");
    EXPECT_EQ(report.gpus.front().vendor, "arm");
    EXPECT_EQ(report.gpus.front().kind, GpuKind::Integrated);
}

TEST(Join, TellsIdenticalCardsApartByNvidiasUuid) {
    auto first = nvidia_card("0000:01:00.0");
    auto second = nvidia_card("0000:02:00.0");
    first.uuid = "GPU-" + std::string{kUuid};
    second.uuid = "GPU-" + std::string{kOtherUuid};
    auto facts = keyless(0, "10de", "2684");
    facts.uuid = kOtherUuid;
    const auto report = Inputs{{first, second}, {vulkan({facts})}}.report();
    EXPECT_EQ(ids_of(report).size(), 2U);
    EXPECT_EQ(joined_by(report, "pci:0000:02:00.0", "vulkan"), "uuid");
    EXPECT_EQ(joined_by(report, "pci:0000:01:00.0", "vulkan"), std::nullopt);
}

TEST(Join, IgnoresAUuidThatTwoDevicesOfOneApiShare) {
    auto first = keyless(0, "10de", "2684");
    auto second = keyless(1, "10de", "2684");
    first.uuid = second.uuid = kUuid;
    auto card = nvidia_card("0000:01:00.0");
    card.uuid = "GPU-" + std::string{kUuid};
    const auto report =
        Inputs{{card, nvidia_card("0000:02:00.0")}, {vulkan({first, second})}}.report();
    EXPECT_EQ(ids_of(report).size(), 2U);
    EXPECT_TRUE(has_note(report, "ambiguous"));
}

TEST(Join, IgnoresAZeroUuid) {
    auto card = nvidia_card("0000:01:00.0");
    card.uuid = "GPU-00000000-0000-0000-0000-000000000000";
    auto facts = keyless(0, "10de", "2684");
    facts.uuid = "00000000-0000-0000-0000-000000000000";
    const auto report = Inputs{{card, nvidia_card("0000:02:00.0")}, {vulkan({facts})}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:01:00.0", "vulkan"), std::nullopt);
}

TEST(Join, ReadsTheAddressThatIntelPacksIntoItsUuid) {
    auto facts = keyless(0, "8086", "a788");
    facts.uuid = "868088a7-0400-0000-0002-000000000000";
    const auto report = Inputs{{intel_integrated()}, {vulkan({facts})}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:00:02.0", "vulkan"), "uuid");
}

TEST(Join, NeverMergesTwoIdenticalRecordsOfOneProbe) {
    // Two cards of one model, listed without any key and with equal names.
    auto first = keyless(0, "1002", "744c");
    auto second = keyless(1, "1002", "744c");
    first.name = second.name = "Radeon RX 7900 XTX";
    const auto hidden = Inputs{{}, {vulkan({first, second})}}.report();
    EXPECT_EQ(ids_of(hidden), (std::vector<std::string>{"vulkan:0", "vulkan:1"}));
    const auto seen = Inputs{{amd_card("0000:03:00.0", 0, 128), amd_card("0000:0a:00.0", 1, 129)},
                             {vulkan({first, second})}}
                          .report();
    EXPECT_EQ(ids_of(seen).size(), 2U);
    EXPECT_TRUE(has_note(seen, "ambiguous"));
}

TEST(Join, KnowsTheVendorOfARecordByItsDriver) {
    // The records contain no vendor, address or UUID, but AMD's driver lists no NVIDIA GPU.
    const DeviceFacts bare{.index = 0};
    for (const auto* driver : {"/etc/OpenCL/vendors/amdocl64.icd", "intel.icd", "rocm.icd"}) {
        const auto report = Inputs{
            {},
            {probe("cuda", "", Outcome::Answered, {bare}),
             probe("opencl", driver, Outcome::Answered,
                   {bare})}}.report();
        EXPECT_EQ(ids_of(report), (std::vector<std::string>{"cuda:0", "opencl:0"})) << driver;
        EXPECT_FALSE(has_note(report, "ambiguous")) << driver;
    }
    const auto nvidia = Inputs{
        {nvidia_card("0000:01:00.0"), amd_card("0000:03:00.0", 0, 128)},
        {probe("opencl", kNvidiaOpenCl, Outcome::Answered,
               {bare})}}.report();
    EXPECT_EQ(joined_by(nvidia, "pci:0000:01:00.0", "opencl"), "weak");
    EXPECT_FALSE(has_note(nvidia, "ambiguous"));
}

TEST(Join, TakesNoVendorFromADriverForAnyGpu) {
    const DeviceFacts bare{.index = 0};
    const auto report = Inputs{
        {nvidia_card("0000:01:00.0"), amd_card("0000:03:00.0", 0, 128)},
        {probe("opencl", "rusticl.icd", Outcome::Answered,
               {bare})}}.report();
    EXPECT_TRUE(has_note(report, "ambiguous"));
}

TEST(Join, DoesNotMatchWeaklyWhenMemoryDiffers) {
    auto card = amd_card("0000:03:00.0", 0, 128);
    auto facts = keyless(0, "1002", "744c");
    facts.memory = FactMemory{.total = gib(24)};
    EXPECT_EQ(joined_by(Inputs{{card}, {vulkan({facts})}}.report(), "pci:0000:03:00.0", "vulkan"),
              "weak");
    facts.memory = FactMemory{.total = gib(8)};
    EXPECT_EQ(joined_by(Inputs{{card}, {vulkan({facts})}}.report(), "pci:0000:03:00.0", "vulkan"),
              std::nullopt);
}

TEST(Join, DoesNotMatchWeaklyAgainstAnAddress) {
    auto facts = keyless(0, "10de", "2684");
    facts.pci = address("0000:09:00.0");
    const auto report = Inputs{{nvidia_card("0000:01:00.0")}, {vulkan({facts})}}.report();
    EXPECT_EQ(ids_of(report), (std::vector<std::string>{"pci:0000:01:00.0", "pci:0000:09:00.0"}));
}

TEST(Join, GivesParavirtualGpusTheHostsVendor) {
    auto device = pci_device("0000:00:01.0", "1af4", "1050", "0300");
    device.driver = "virtio-pci";
    with_drm(device, 0, 128);
    auto facts = keyless(0, "8086", "a788");
    facts.drm = device.drm;
    facts.type = DeviceType::Virtual;
    const auto report = Inputs{{device}, {vulkan({facts})}}.report();
    EXPECT_EQ(joined_by(report, "pci:0000:00:01.0", "vulkan"), "drm");
    EXPECT_EQ(report.gpus.front().kind, GpuKind::Virtual);
}

TEST(Join, ListsAVirtualDeviceOverLlvmpipeAsSoftware) {
    auto facts = keyless(0, "10005", "0000");
    facts.name = "Virtio-GPU Venus (llvmpipe (LLVM 15.0.6, 256 bits))";
    facts.type = DeviceType::Virtual;
    const auto report = Inputs{{}, {vulkan({facts})}}.report();
    EXPECT_TRUE(report.gpus.empty());
    EXPECT_EQ(report.software.size(), 1U);
}

TEST(Join, KeepsOtherDriversOfAnApiAsAlternatives) {
    const auto report = assembled(two_identical());
    EXPECT_EQ(report.gpus.size(), 2U);
    const auto gpu = gpu_at(report, "pci:0000:0a:00.0");
    const auto& view = gpu.apis.at("vulkan");
    EXPECT_EQ(view.driver, kRadeonIcd);
    ASSERT_NE(view.device.at("alternatives").as_array(), nullptr);
    EXPECT_EQ(view.device.at("alternatives").as_array()->size(), 1U);
    EXPECT_TRUE(
        gpu_at(report, "pci:0000:03:00.0").apis.at("vulkan").device.at("alternatives").is_null());
}

TEST(Join, TakesNoDriversWordForAlternatives) {
    auto machine = two_identical();
    for (auto& probe : machine.probes)
        for (auto& facts : probe.devices)
            facts.extra["alternatives"] = "none";
    const auto report = assembled(machine);
    const auto gpu = gpu_at(report, "pci:0000:0a:00.0");
    ASSERT_NE(gpu.apis.at("vulkan").device.at("alternatives").as_array(), nullptr);
    EXPECT_TRUE(
        gpu_at(report, "pci:0000:03:00.0").apis.at("vulkan").device.at("alternatives").is_null());
}

TEST(Join, JoinsHiddenRecordsAcrossApis) {
    // CUDA and two OpenCL platforms without any address: a GTX 1650, an AMD iGPU and the CPU.
    DeviceFacts cuda{.index = 0, .name = "GeForce GTX 1650", .memory = FactMemory{mib(3911)}};
    DeviceFacts amd{.index = 0, .name = "gfx902", .vendor_id = "1002"};
    DeviceFacts nvidia{.index = 0,
                       .name = "GeForce GTX 1650",
                       .vendor_id = "10de",
                       .memory = FactMemory{mib(3911)}};
    const auto report = Inputs{{},
                               {probe("cuda", "", Outcome::Answered, {cuda}),
                                probe("opencl", "amdocl64.icd", Outcome::Answered, {amd}),
                                probe("opencl", "nvidia.icd", Outcome::Answered, {nvidia}),
                                probe("opencl", "pocl.icd", Outcome::Answered, {pocl_facts()})}}
                            .report();
    EXPECT_EQ(ids_of(report), (std::vector<std::string>{"cuda:0", "opencl:0"}));
    EXPECT_EQ(joined_by(report, "cuda:0", "opencl"), "weak");
    EXPECT_EQ(report.software.size(), 1U);
}

TEST(Join, KeepsHiddenGpusApartThatDifferInMemory) {
    // CUDA lists a card without its address, and OpenCL lists another card with its address.
    DeviceFacts small{.index = 0, .name = "GeForce GTX 1650", .memory = FactMemory{mib(3911)}};
    DeviceFacts large{.index = 0,
                      .name = "NVIDIA GeForce RTX 5070 Ti",
                      .vendor_id = "10de",
                      .pci = address("0000:01:00.0"),
                      .memory = FactMemory{mib(15839)}};
    const auto report = Inputs{
        {},
        {probe("cuda", "", Outcome::Answered, {small}),
         probe("opencl", "nvidia.icd", Outcome::Answered,
               {large})}}.report();
    EXPECT_EQ(ids_of(report), (std::vector<std::string>{"cuda:0", "pci:0000:01:00.0"}));
    EXPECT_FALSE(has_note(report, "ambiguous"));
}

TEST(Join, FollowsAddressesWhereDrmCountsTheOtherWayRound) {
    const Inputs inputs{{amd_card("0000:03:00.0", 1, 129), amd_card("0000:0a:00.0", 0, 128)},
                        {vulkan({[] {
                                     auto facts = keyless(0, "1002", "744c");
                                     facts.drm = DrmNodes{.render = "226:128"};
                                     return facts;
                                 }(),
                                 [] {
                                     auto facts = keyless(1, "1002", "744c");
                                     facts.drm = DrmNodes{.render = "226:129"};
                                     return facts;
                                 }()})}};
    const auto report = inputs.report();
    EXPECT_EQ(gpu_at(report, "pci:0000:0a:00.0").apis.at("vulkan").index, 0U);
    EXPECT_EQ(gpu_at(report, "pci:0000:03:00.0").apis.at("vulkan").index, 1U);
}

TEST(Join, NotesARecordWhoseKeysNameTwoGpus) {
    auto facts = keyless(0, "1002", "744c");
    facts.pci = address("0000:03:00.0");
    facts.drm = DrmNodes{.render = "226:128"};
    const auto report = Inputs{
        {amd_card("0000:03:00.0", 1, 129), amd_card("0000:0a:00.0", 0, 128)},
        {vulkan({facts})}}.report();
    EXPECT_EQ(ids_of(report).size(), 2U);
    EXPECT_TRUE(has_note(report, "conflict"));
    EXPECT_EQ(joined_by(report, "pci:0000:03:00.0", "vulkan"), "pci");
    EXPECT_EQ(joined_by(report, "pci:0000:0a:00.0", "vulkan"), std::nullopt);
}

TEST(Join, TakesNoGpuFromLibpciAlone) {
    DeviceFacts facts{.name = "NVIDIA Corporation AD102", .pci = address("0000:09:00.0")};
    const auto report = Inputs{{}, {probe("pci", "", Outcome::Answered, {facts})}}.report();
    EXPECT_TRUE(report.gpus.empty());
}

TEST(Join, KeepsALostGpuOffTheList) {
    DeviceFacts facts{.index = 1};
    facts.extra["error"] = "nvmlDeviceGetHandleByIndex_v2: GPU is lost";
    const auto report = Inputs{{}, {probe("nvml", "", Outcome::Answered, {facts})}}.report();
    EXPECT_TRUE(report.gpus.empty());
    EXPECT_TRUE(has_note(report, "device-error"));
}

TEST(Join, IsNotWeakAgainstAnotherArchitecture) {
    auto card = pci_device("0000:03:00.0", "1002", "744c", "0300");  // gfx1100
    card.driver = "amdgpu";
    for (const auto& [value, is_it] :
         {std::pair{"gfx1032", false}, {"gfx1100", true}, {"gfx1101", true}}) {
        DeviceFacts facts{.index = 0, .vendor_id = "1002"};
        facts.extra["gfx_target"] = value;
        const auto report = Inputs{{card}, {probe("hip", "", Outcome::Answered, {facts})}}.report();
        EXPECT_EQ(joined_by(report, "pci:0000:03:00.0", "hip") == "weak", is_it) << value;
    }
}

TEST(Join, IsNotWeakAgainstAnotherComputeCapability) {
    for (const auto& [value, is_it] : {std::pair{"8.9", true}, {"8.6", false}}) {
        DeviceFacts facts{.index = 0, .vendor_id = "10de"};
        facts.extra["compute_capability"] = value;
        const auto report = Inputs{
            {nvidia_card("0000:01:00.0")},  // an RTX 4090
            {probe("cuda", "", Outcome::Answered,
                   {facts})}}.report();
        EXPECT_EQ(joined_by(report, "pci:0000:01:00.0", "cuda") == "weak", is_it) << value;
    }
}

}  // namespace join_test
}  // namespace gpuprobe::test
