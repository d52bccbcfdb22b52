// SPDX-License-Identifier: Apache-2.0
#include "report/api_device.h"

#include <gtest/gtest.h>

#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace api_device_test {

constexpr const char* kSerial = "1234567890abcdef";

struct DigitsCase {
    const char* name;
    const char* text;
    std::optional<std::string> want;
};
class UuidDigits : public testing::TestWithParam<DigitsCase> {};

TEST_P(UuidDigits, AreThoseOfWhatNamesOneDevice) {
    EXPECT_EQ(uuid_digits(GetParam().text), GetParam().want);
}

const std::string kDigits = "7e6110891272699d8985ab84fef4311e";
INSTANTIATE_TEST_SUITE_P(
    Table,
    UuidDigits,
    testing::Values(DigitsCase{"Plain", kUuid, kDigits},
                    DigitsCase{"Prefixed", "GPU-7E611089-1272-699d-8985-ab84fef4311e", kDigits},
                    DigitsCase{"Serial", kSerial, kSerial},
                    DigitsCase{"PrefixedSerial", "GPU-1234567890abcdef", kSerial},
                    DigitsCase{"AlmostZero", "0000000000000001", "0000000000000001"},
                    DigitsCase{"Empty", "", {}},
                    DigitsCase{"AllZero", "00000000-0000-0000-0000-000000000000", {}},
                    DigitsCase{"AllOne", "ffffffff-ffff-ffff-FFFF-ffffffffffff", {}},
                    DigitsCase{"SerialAllZero", "0000000000000000", {}},
                    DigitsCase{"SerialAllOne", "ffffffffffffffff", {}},
                    DigitsCase{"NotAvailable", "N/A", {}},
                    DigitsCase{"NotAvailableInBrackets", "[N/A]", {}},
                    DigitsCase{"Unknown", "Unknown", {}},
                    DigitsCase{"Unsupported", "GPU-XX", {}},
                    DigitsCase{"Masked", "GPU-XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX", {}},
                    DigitsCase{"HalfMasked", "GPU-7e611089-XXXX-XXXX-XXXX-XXXXXXXXXXXX", {}},
                    DigitsCase{"QuestionMarks", "GPU-????????", {}},
                    DigitsCase{"OneDigitShort", "7e611089-1272-699d-8985-ab84fef4311", {}},
                    DigitsCase{"OneDigitLong", "7e611089-1272-699d-8985-ab84fef4311e0", {}}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Software, IsKnownByTypeDriverAndName) {
    const auto vulkan = probe("vulkan", "", Outcome::Answered);
    const auto is_soft = [&](DeviceFacts facts) {
        return is_software(ApiDevice{.probe = &vulkan, .facts = &facts});
    };
    EXPECT_TRUE(is_soft({.type = DeviceType::Cpu}));
    EXPECT_TRUE(is_soft({.vendor_id = "10005"}));
    EXPECT_TRUE(is_soft({.name = "SwiftShader Device (LLVM 10.0.0)"}));
    EXPECT_TRUE(is_soft({.name = "Microsoft Basic Render Driver"}));
    EXPECT_TRUE(is_soft(pocl_facts()));
    EXPECT_FALSE(is_soft({.name = "Intel(R) Graphics", .type = DeviceType::Integrated}));
    auto pocl_gpu = pocl_facts();
    pocl_gpu.type = DeviceType::Discrete;
    EXPECT_FALSE(is_soft(pocl_gpu));
}

/// The device that listed_devices() returns on a machine without hardware.
ApiDevice device_of(const ProbeResult& probe) {
    return listed_devices(Machine{}, {&probe}).at(0);
}

ProbeResult listing(const char* api, const char* driver, DeviceFacts facts) {
    return probe(api, driver, Outcome::Answered, {std::move(facts)});
}

// Families of UUIDs -------------------------------------------------------------------------------

struct FamilyRow {
    const char* name;
    const char* api;
    const char* driver;
    const char* vendor;
    const char* uuid;
    std::optional<std::string> key;
};
class FamilyUuid : public testing::TestWithParam<FamilyRow> {};

TEST_P(FamilyUuid, IsComparableWithinOneDriverFamily) {
    const auto& row = GetParam();
    const auto probe = listing(row.api, row.driver, {.vendor_id = row.vendor, .uuid = row.uuid});
    EXPECT_EQ(device_of(probe).uuid, row.key);
}

constexpr const char* kNvkIcd = "/usr/share/vulkan/icd.d/nouveau_icd.x86_64.json";

INSTANTIATE_TEST_SUITE_P(
    Table,
    FamilyUuid,
    testing::Values(
        FamilyRow{"Nvidia", "vulkan", kNvidiaIcd, "10de", kUuid, "nvidia:" + kDigits},
        FamilyRow{"NvidiaInCuda", "cuda", "", "10de", "GPU-7e611089-1272-699d-8985-ab84fef4311e",
                  "nvidia:" + kDigits},
        FamilyRow{"Intel", "vulkan", kIntelIcd, "8086", kUuid, "intel:" + kDigits},
        FamilyRow{"AmdSerialNumber", "hip", "", "1002", "GPU-1234567890abcdef",
                  "amd:1234567890abcdef"},
        FamilyRow{"Nvk", "vulkan", kNvkIcd, "10de", kUuid, {}},
        FamilyRow{"Radv", "vulkan", kRadeonIcd, "1002", kUuid, {}},
        FamilyRow{"AmdUuidInHip", "hip", "", "1002", kUuid, {}},
        FamilyRow{"NvidiaSerialNumber", "vulkan", kNvidiaIcd, "10de", kSerial, {}},
        FamilyRow{"UnknownVendor", "vulkan", kNvidiaIcd, "beef", kUuid, {}},
        FamilyRow{
            "Zero", "vulkan", kNvidiaIcd, "10de", "00000000-0000-0000-0000-000000000000", {}}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(FamilyUuidOfHardware, IsTheOneOfItsApis) {
    auto card = nvidia_laptop();
    EXPECT_EQ(family_uuid(card), "nvidia:" + kDigits);
    card.driver = "nouveau";
    EXPECT_EQ(family_uuid(card), std::nullopt) << "another driver has other UUIDs";
    auto radeon = amd_card("0000:03:00.0", 0, 128);
    EXPECT_EQ(family_uuid(radeon), std::nullopt);
    radeon.uuid = kSerial;
    EXPECT_EQ(family_uuid(radeon), "amd:" + std::string{kSerial});
}

TEST(FamilyUuid, IsDroppedIfTwoDevicesOfAProbeShareIt) {
    auto twice = listing("vulkan", kNvidiaIcd, {.index = 0, .vendor_id = "10de", .uuid = kUuid});
    twice.devices.push_back({.index = 1, .vendor_id = "10de", .uuid = kUuid});
    for (const auto& device : listed_devices(Machine{}, {&twice}))
        EXPECT_EQ(device.uuid, std::nullopt);
    twice.devices[1].uuid = kOtherUuid;
    for (const auto& device : listed_devices(Machine{}, {&twice}))
        EXPECT_TRUE(device.uuid);
}

// Addresses in UUIDs ------------------------------------------------------------------------------

struct PackedRow {
    const char* name;
    const char* api;
    const char* vendor;
    const char* uuid;
    const char* address;  ///< null if the UUID has none
};
class PackedAddress : public testing::TestWithParam<PackedRow> {};

TEST_P(PackedAddress, IsReadFromTheLayoutOfTheVendor) {
    const auto& row = GetParam();
    const auto probe = listing(row.api, "", {.vendor_id = row.vendor, .uuid = row.uuid});
    EXPECT_EQ(device_of(probe).packed,
              row.address ? std::optional{address(row.address)} : std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    PackedAddress,
    testing::Values(
        PackedRow{"Amd", "vulkan", "1002", "00000000-0300-0000-0000-000000000000", "0000:03:00.0"},
        PackedRow{"AmdDomain", "vulkan", "1002", "00000100-e100-0000-1f00-000007000000",
                  "10000:e1:1f.7"},
        PackedRow{"AmdLastBus", "vulkan", "1002", "00000000-ff00-0000-0000-000000000000",
                  "0000:ff:00.0"},
        PackedRow{"AmdBusTooLarge", "vulkan", "1002", "00000000-0001-0000-0000-000000000000",
                  nullptr},
        PackedRow{"AmdDeviceTooLarge", "vulkan", "1002", "00000000-0300-0000-2000-000000000000",
                  nullptr},
        PackedRow{"AmdFunctionTooLarge", "vulkan", "1002", "00000000-0300-0000-0000-000008000000",
                  nullptr},
        PackedRow{"AmdInHip", "hip", "1002", "00000000-0300-0000-0000-000000000000", nullptr},
        PackedRow{"Intel", "vulkan", "8086", "868088a7-0400-0000-0002-000000000000",
                  "0000:00:02.0"},
        PackedRow{"IntelDomain", "level_zero", "8086", "8680a056-0800-0100-031f-070000000000",
                  "0001:03:1f.7"},
        PackedRow{"IntelTelemetryId", "level_zero", "8086", "1234a056-0800-0000-0300-000000000000",
                  nullptr},
        PackedRow{"IntelDeviceTooLarge", "vulkan", "8086", "868088a7-0400-0000-0020-000000000000",
                  nullptr},
        PackedRow{"IntelFunctionTooLarge", "vulkan", "8086", "868088a7-0400-0000-0002-080000000000",
                  nullptr},
        PackedRow{"Nvidia", "vulkan", "10de", "00000000-0300-0000-0000-000000000000", nullptr},
        PackedRow{"Short", "vulkan", "1002", "0000000003000000", nullptr},
        PackedRow{"Zero", "vulkan", "1002", "00000000-0000-0000-0000-000000000000", nullptr}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Address, OfZerosCountsOnlyIfHardwareOfTheVendorIsThere) {
    const auto zeros = listing("vulkan", kNvidiaIcd, {.vendor_id = "10de", .pci = PciAddress{}});
    EXPECT_EQ(device_of(zeros).address, std::nullopt);
    Machine machine{.devices = {pci_device("0000:00:00.0", "8086", "a788", "0600")}};
    EXPECT_EQ(listed_devices(machine, {&zeros}).at(0).address, std::nullopt);
    machine.devices = {pci_device("0000:00:00.0", "10de", "2684", "0300")};
    EXPECT_EQ(listed_devices(machine, {&zeros}).at(0).address, PciAddress{});
}

TEST(Luid, IsSixteenDigitsThatAreNotAllZero) {
    const auto luid_of = [](const char* text) {
        DeviceFacts facts;
        facts.extra["luid"] = text;
        return device_of(listing("vulkan", "", facts)).luid;
    };
    EXPECT_EQ(luid_of("0A1b000000000000"), "0a1b000000000000");
    EXPECT_EQ(luid_of("0000000000000000"), std::nullopt);
    EXPECT_EQ(luid_of("0a1b00000000000"), std::nullopt);
    EXPECT_EQ(luid_of(kUuid), std::nullopt);
}

// Drivers -----------------------------------------------------------------------------------------

struct DriverRow {
    const char* name;
    const char* driver;
    const char* driver_id;
    const char* device_name;
    bool is_nvk;
};
class Nvk : public testing::TestWithParam<DriverRow> {};

TEST_P(Nvk, IsRecognizedByFileDriverAndName) {
    DeviceFacts facts{.name = GetParam().device_name, .vendor_id = "10de"};
    facts.extra["driver_id"] = GetParam().driver_id;
    const auto probe = listing("vulkan", GetParam().driver, facts);
    EXPECT_EQ(is_nvk(device_of(probe)), GetParam().is_nvk);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Nvk,
    testing::Values(DriverRow{"ByFile", kNvkIcd, "", "", true},
                    DriverRow{"ByDriverId", "/x/any.json", "mesa-nvk", "", true},
                    DriverRow{"ByName", "/x/any.json", "", "NVK AD102", true},
                    DriverRow{"FolderDoesNotCount", "/nouveau/any.json", "", "", false},
                    DriverRow{"NvidiasDriver", kNvidiaIcd, "nvidia-proprietary", "RTX", false}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Preference, PutsTheUsualDriverOfAVendorFirst) {
    const auto rank = [](const char* driver, const char* driver_id) {
        DeviceFacts facts;
        facts.extra["driver_id"] = driver_id;
        const auto probe = listing("vulkan", driver, facts);
        return preference_of(device_of(probe));
    };
    const auto radv = rank(kRadeonIcd, "mesa-radv");
    const auto amdvlk = rank("/etc/vulkan/icd.d/amd_icd64.json", "amd-open-source");
    const auto proprietary = rank("/opt/amd_pro_icd64.json", "amd-proprietary");
    const auto nvidia = rank(kNvidiaIcd, "nvidia-proprietary");
    const auto nvk = rank(kNvkIcd, "mesa-nvk");
    const auto pocl = rank(kPoclIcd, "");
    const auto dozen = rank("/x/dzn_icd.x86_64.json", "mesa-dozen");
    EXPECT_LT(radv, amdvlk);
    EXPECT_LT(amdvlk, proprietary);
    EXPECT_LT(proprietary, nvidia) << "a driver without a row comes after those of a vendor";
    EXPECT_LT(nvidia, nvk);
    EXPECT_LT(nvk, pocl);
    EXPECT_LT(pocl, dozen);
    EXPECT_EQ(rank("/x/dzn_radeon.json", ""), dozen) << "the layer decides";
}

TEST(KnownDriver, IsFoundByApiElseByFileName) {
    EXPECT_EQ(known_driver("cuda", "/x/radeon.json").vendor, "nvidia");
    EXPECT_EQ(known_driver("vulkan", kRadeonIcd).vendor, "amd");
    EXPECT_EQ(known_driver("vulkan", "/x/RADEON_ICD.JSON").vendor, "amd");
    EXPECT_TRUE(known_driver("vulkan", kLavapipeIcd).is_software);
    EXPECT_EQ(known_driver("vulkan", "/radeon/other.json").vendor, "");
    EXPECT_EQ(known_driver("vulkan", "").vendor, "");
}

TEST(Vendor, OfADeviceIsNotTheOneOfAParavirtualDriver) {
    const auto vendor = [](const char* driver, DeviceFacts facts) {
        return device_of(listing("vulkan", driver, std::move(facts))).vendor;
    };
    EXPECT_EQ(vendor(kRadeonIcd, {}), "amd");
    EXPECT_EQ(vendor(kRadeonIcd, {.vendor_id = "10de"}), "nvidia") << "the PCI id decides";
    EXPECT_EQ(vendor("/x/virtio_icd.x86_64.json", {}), std::nullopt);
}

// Probes ------------------------------------------------------------------------------------------

TEST(SortedProbes, KeepTheNewestAnswerToEachQuestion) {
    auto old = probe("vulkan", kRadeonIcd, Outcome::Crashed);
    old.at = kProbed - std::chrono::hours{1};
    const auto fresh = probe("vulkan", kRadeonIcd, Outcome::Answered);
    const auto other = probe("cuda", "", Outcome::Absent);
    for (const auto& probes : {std::vector{old, fresh, other}, std::vector{other, fresh, old}}) {
        const auto sorted = sorted_probes(probes);
        ASSERT_EQ(sorted.size(), 2U);
        EXPECT_EQ(sorted[0]->api, "cuda");
        EXPECT_EQ(sorted[1]->outcome, Outcome::Answered);
    }
}

TEST(ListedDevices, AreThoseOfQueriesInAnOrderOfTheirContent) {
    auto trial = listing("vulkan", kRadeonIcd, {.index = 7});
    trial.stage = "verify";
    auto query = listing("vulkan", kRadeonIcd, {.index = 1});
    query.devices.push_back({.index = 0});
    const auto devices = listed_devices(Machine{}, {&trial, &query});
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[0].facts->index, 0U);
    EXPECT_EQ(devices[1].facts->index, 1U);
}

}  // namespace api_device_test
}  // namespace gpuprobe::test
