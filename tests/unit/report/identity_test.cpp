// SPDX-License-Identifier: Apache-2.0
#include "report/identity.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/api_device.h"
#include "report/hardware.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace identity_test {

constexpr const char* kCard = "pci:0000:01:00.0";
constexpr const char* kSerial = "1234567890abcdef";

/// The identity in the report of a card whose kernel driver and APIs all report this UUID.
Identity identity_with(const char* vendor, const char* driver, const char* uuid) {
    auto card = pci_device("0000:01:00.0", vendor, "1234", "0300");
    card.driver = driver;
    card.uuid = uuid;
    DeviceFacts facts{.index = 0, .vendor_id = vendor, .pci = card.pci, .uuid = uuid};
    facts.extra["luid"] = "ffffffffffffffff";
    std::vector<ProbeResult> probes;
    for (const auto* api : {"cuda", "hip", "level_zero", "nvml", "opencl", "vulkan"})
        if (!vendor_of_api(api) || vendor_of_api(api) == vendor_word(vendor))
            probes.push_back(probe(api, "", Outcome::Answered, {facts}));
    return gpu_at(assemble(Machine{.devices = {card}}, probes, {.now = kNow}), kCard).identity;
}

TEST(IdentityOf, LeavesOutWhatNamesNothing) {
    for (const auto* uuid : {"GPU-00000000-0000-0000-0000-000000000000",
                             "ffffffff-ffff-ffff-ffff-ffffffffffff", "0000000000000000", "N/A",
                             "Unknown", "GPU-XX", "GPU-XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX"}) {
        EXPECT_EQ(identity_with("10de", "nvidia", uuid), Identity{}) << uuid;
        EXPECT_EQ(identity_with("1002", "amdgpu", uuid), Identity{}) << uuid;
        EXPECT_EQ(identity_with("8086", "xe", uuid), Identity{}) << uuid;
    }
}

TEST(IdentityOf, KeepsWhatNamesTheDevice) {
    const auto nvidia = identity_with("10de", "nvidia", kUuid);
    EXPECT_EQ(nvidia.nvidia_uuid, kUuid);
    EXPECT_EQ(nvidia.uuids[place_of(Api::Vulkan)], kUuid);
    EXPECT_EQ(nvidia.uuids[place_of(Api::OpenCl)], kUuid);
    EXPECT_EQ(identity_with("1002", "amdgpu", kSerial).hip_unique_id, kSerial);
    EXPECT_EQ(identity_with("8086", "xe", kUuid).uuids[place_of(Api::LevelZero)], kUuid);
}

TEST(IdentityOf, AsksTheNextSourceWhereOneIsMasked) {
    auto fixture = headless_h200();
    fixture.machine.devices.front().uuid = "GPU-00000000-0000-0000-0000-000000000000";
    const auto gpu = gpu_at(assembled(fixture), "pci:0000:00:06.0");
    EXPECT_EQ(gpu.identity.nvidia_uuid, "GPU-" + std::string{kUuid});
}

TEST(IdentityOf, GivesNoTwoGpusTheSameUuid) {
    auto first = amd_card("0000:03:00.0", 0, 128);
    auto second = amd_card("0000:0a:00.0", 1, 129);
    first.uuid = second.uuid = kSerial;
    DeviceFacts one{.index = 0, .vendor_id = "1002", .pci = first.pci, .uuid = kUuid};
    DeviceFacts other{.index = 1, .vendor_id = "1002", .pci = second.pci, .uuid = kUuid};
    const auto report =
        assemble(Machine{.devices = {first, second}},
                 {probe("vulkan", kRadeonIcd, Outcome::Answered, {one, other})}, {.now = kNow});
    for (const auto& gpu : report.gpus) {
        EXPECT_EQ(gpu.identity.hip_unique_id, std::nullopt) << gpu.id;
        EXPECT_EQ(gpu.identity.uuids[place_of(Api::Vulkan)], std::nullopt) << gpu.id;
    }
}

TEST(IdentityOf, MergesNoTwoCardsByAPackedAddressThatTheyShare) {
    DeviceFacts one{.index = 0, .vendor_id = "1002", .uuid = radv_uuid("0a")};
    auto other = one;
    other.index = 1;
    const auto report = assemble(
        Machine{.devices = {amd_card("0000:03:00.0", 0, 128), amd_card("0000:0a:00.0", 1, 129)}},
        {probe("vulkan", kRadeonIcd, Outcome::Answered, {one, other})}, {.now = kNow});
    EXPECT_EQ(gpu_at(report, "pci:0000:0a:00.0").apis.at("vulkan").joined_by, std::nullopt);
}

TEST(NameOf, PassesOverWhatIsNoText) {
    auto fixture = headless_h200();
    for (auto& result : fixture.probes)
        if (result.api == "nvml" || result.api == "cuda")
            for (auto& device : result.devices)
                device.name = scrubbed("NVIDIA\x1b[2J");
    const auto gpu = gpu_at(assembled(fixture), "pci:0000:00:06.0");
    ASSERT_TRUE(gpu.name);
    EXPECT_EQ(gpu.name->find("\xef\xbf\xbd"), std::string::npos) << *gpu.name;
}

/// The name in the report of a Radeon for which the APIs, pci.ids and libdrm's table have these
/// names.
std::optional<std::string> radeon_name(const char* device,
                                       const char* revision,
                                       const char* by_hip,
                                       const char* by_pci_ids,
                                       const std::optional<std::string>& model = {}) {
    auto card = amd_card("0000:03:00.0", 0, 128);
    card.device_id = device;
    card.revision = revision;
    card.model = model;
    DeviceFacts hip{.index = 0, .vendor_id = "1002", .pci = card.pci};
    auto listed = hip;
    hip.name = by_hip;
    listed.name = by_pci_ids;
    const auto report = assemble(
        Machine{.devices = {card}},
        {probe("hip", "", Outcome::Answered, {hip}), probe("pci", "", Outcome::Answered, {listed})},
        {.now = kNow});
    return gpu_at(report, "pci:0000:03:00.0").name;
}

TEST(NameOf, IsTheOneOfTheRevision) {
    constexpr auto* kNavi31 = "Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]";
    constexpr auto* kAny = "AMD Radeon Graphics";
    EXPECT_EQ(radeon_name("744c", "c8", kAny, kNavi31), "AMD Radeon RX 7900 XTX");
    EXPECT_EQ(radeon_name("744c", "cc", kAny, kNavi31), "AMD Radeon RX 7900 XT");
    EXPECT_EQ(radeon_name("744c", "01", kAny, kNavi31), kNavi31);
    EXPECT_EQ(radeon_name("744c", "c8", "AMD Radeon PRO X", kNavi31), "AMD Radeon PRO X");
    EXPECT_EQ(radeon_name("744c", "c8", kAny, kNavi31, "From libdrm"), "From libdrm");
}

TEST(NameOf, IsTheOneForAnyRadeonOnlyIfNothingElseNamesTheProduct) {
    constexpr auto* kStrix = "Strix [Radeon 880M / 890M]";
    EXPECT_EQ(radeon_name("150e", "ff", "AMD Radeon Graphics", kStrix), kStrix);
    EXPECT_EQ(radeon_name("150e", "ff", "AMD Radeon(TM) Graphics", kStrix), kStrix);
    EXPECT_EQ(radeon_name("164e", "ff", "AMD Radeon Graphics", "Raphael"), "AMD Radeon Graphics");
    EXPECT_EQ(radeon_name("164e", "ff", "AMD Radeon Graphics", ""), "AMD Radeon Graphics");
}

struct CanonicalCase {
    const char* name;
    const char* vendor;
    const char* driver;
    const char* uuid;
    std::optional<std::string> want;
};
class CanonicalUuid : public testing::TestWithParam<CanonicalCase> {};

TEST_P(CanonicalUuid, IsOneSpellingOfWhatNamesTheDevice) {
    const auto& row = GetParam();
    EXPECT_EQ(identity_with(row.vendor, row.driver, row.uuid).canonical_uuid, row.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    CanonicalUuid,
    testing::Values(
        CanonicalCase{"Nvidia", "10de", "nvidia", "GPU-7E611089-1272-699d-8985-AB84FEF4311e",
                      kUuid},
        CanonicalCase{"WithoutDashes", "8086", "xe", "7e6110891272699d8985ab84fef4311e", kUuid},
        CanonicalCase{"Radeon", "1002", "amdgpu", kUuid, kUuid},
        CanonicalCase{"SerialIsNone", "1002", "amdgpu", kSerial, {}},
        CanonicalCase{"Zero", "10de", "nvidia", "00000000-0000-0000-0000-000000000000", {}},
        CanonicalCase{"Masked", "10de", "nvidia", "GPU-XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX", {}},
        CanonicalCase{"OneDigitShort", "8086", "xe", "7e611089-1272-699d-8985-ab84fef4311", {}}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(CanonicalUuidOf, IsNoneWhereTwoGpusShareTheirs) {
    DeviceFacts one{.index = 0, .vendor_id = "10de", .pci = address("0000:01:00.0"), .uuid = kUuid};
    auto other = one;
    other.pci = address("0000:02:00.0");
    const auto report = assemble(
        Machine{}, {probe("vulkan", kNvidiaIcd, Outcome::Answered, {one, other})}, {.now = kNow});
    ASSERT_EQ(report.gpus.size(), 2U);
    for (const auto& gpu : report.gpus)
        EXPECT_EQ(gpu.identity.canonical_uuid, std::nullopt) << gpu.id;
}

TEST(IdentityOf, HasTheNodeOfTheKernelsTopologyOrElseOfHsa) {
    auto card = amd_card("0000:03:00.0", 0, 128);
    card.extra["kfd_node"] = 2;
    DeviceFacts hidden{.index = 0, .vendor_id = "1002", .pci = address("0000:0a:00.0")};
    hidden.extra["kfd_node"] = 4294967295;
    auto beyond = hidden;
    beyond.pci = address("0000:0b:00.0");
    beyond.extra["kfd_node"] = 4294967296;
    const auto report =
        assemble(Machine{.devices = {card}},
                 {probe("hip", "", Outcome::Answered, {hidden, beyond})}, {.now = kNow});
    EXPECT_EQ(gpu_at(report, "pci:0000:03:00.0").identity.kfd_node, 2U);
    EXPECT_EQ(gpu_at(report, "pci:0000:0a:00.0").identity.kfd_node, 4294967295U);
    EXPECT_EQ(gpu_at(report, "pci:0000:0b:00.0").identity.kfd_node, std::nullopt);
}

struct TitleCase {
    const char* test;
    const char* name;
    const char* vendor;
    const char* want;
    const char* listed_vendor = nullptr;
    GpuKind kind = GpuKind::Discrete;
};
class Title : public testing::TestWithParam<TitleCase> {};

TEST_P(Title, IsWhatPeopleSay) {
    Gpu gpu{.kind = GetParam().kind, .vendor = GetParam().vendor, .name = GetParam().name};
    if (GetParam().listed_vendor)
        gpu.apis["pci"].device = Value{Value::Object{{"vendor_name", GetParam().listed_vendor}}};
    EXPECT_EQ(title_of(gpu), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Title,
    testing::Values(
        TitleCase{"Bracket", "Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT]",
                  "amd", "AMD Radeon RX 7900 XT"},
        TitleCase{"NoBracket", "Advanced Micro Devices, Inc. [AMD/ATI] Phoenix1", "amd",
                  "AMD Phoenix1", "Advanced Micro Devices, Inc. [AMD/ATI]"},
        TitleCase{"Company", "NVIDIA Corporation AD103 [GeForce RTX 4080]", "nvidia",
                  "NVIDIA GeForce RTX 4080"},
        TitleCase{"VendorIsThere", "NVIDIA H200", "nvidia", "NVIDIA H200"},
        TitleCase{"Signs", "AMD Radeon (TM) RX 480 Graphics", "amd", "AMD Radeon RX 480 Graphics"},
        TitleCase{"TwoSigns", "Intel(R) Arc(TM) A770 Graphics", "intel", "Intel Arc A770 Graphics"},
        TitleCase{"VendorIsMissing", "Tesla T4", "nvidia", "NVIDIA Tesla T4"},
        TitleCase{"EmptyBracket", "Thing []", "amd", "Thing []"},
        TitleCase{"UnknownVendor", "Some GPU", "acme", "Some GPU"},
        TitleCase{"Matrox", "Matrox Electronics Systems Ltd. G200eR2", "matrox", "Matrox G200eR2",
                  "Matrox Electronics Systems Ltd.", GpuKind::DisplayOnly},
        TitleCase{"Aspeed", "ASPEED Technology, Inc. ASPEED Graphics Family", "aspeed",
                  "ASPEED Graphics Family", "ASPEED Technology, Inc.", GpuKind::DisplayOnly},
        TitleCase{"OfTheHost", "GPU of the host", "microsoft", "GPU of the host", nullptr,
                  GpuKind::Virtual}),
    [](const auto& one) { return std::string{one.param.test}; });

TEST(TitleOfIds, IsNone) {
    Gpu gpu{.vendor = "amd",
            .name = "1002:744c",
            .pci = PciInfo{.vendor_id = "1002", .device_id = "744c"}};
    EXPECT_EQ(title_of(gpu), std::nullopt);
}

}  // namespace identity_test
}  // namespace gpuprobe::test
