// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/vulkan/api.h"

namespace gpuprobe::backends {
namespace vulkan_api_test {

TEST(VulkanNames, NamesResultsAndNumbersTheOthers) {
    EXPECT_EQ(result_name(VK_ERROR_INCOMPATIBLE_DRIVER), "VK_ERROR_INCOMPATIBLE_DRIVER");
    EXPECT_EQ(result_name(static_cast<VkResult>(-77)), "VkResult -77");
}

TEST(VulkanNames, NamesDriversAndNumbersNewerOnes) {
    EXPECT_EQ(driver_word(4), "nvidia-proprietary");
    EXPECT_EQ(driver_word(24), "mesa-nvk");
    EXPECT_EQ(driver_word(9999), "9999");
}

struct VersionCase {
    const char* name;
    std::uint32_t version;
    std::uint32_t vendor;
    std::optional<std::uint32_t> driver;
    const char* want;
};
void PrintTo(const VersionCase& row, std::ostream* out) {
    *out << row.name;
}
class DriverVersionText : public testing::TestWithParam<VersionCase> {};

TEST_P(DriverVersionText, UnpacksTheVendorsBits) {
    const auto& row = GetParam();
    EXPECT_EQ(driver_version_text(row.version, row.vendor, row.driver), row.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    DriverVersionText,
    testing::Values(
        VersionCase{"Nvidia", 580U << 22 | 159U << 14 | 4U << 6, 0x10de, 4, "580.159.04"},
        VersionCase{"NvidiaTwoParts", 390U << 22 | 77U << 14, 0x10de, 4, "390.77"},
        VersionCase{"NvidiaBeta", 550U << 22 | 40U << 14 | 7U << 6 | 2U, 0x10de, 4, "550.40.07.02"},
        VersionCase{
            "NvidiaWithoutDriverId", 535U << 22 | 183U << 14 | 1U << 6, 0x10de, {}, "535.183.01"},
        VersionCase{"Nvk", VK_MAKE_API_VERSION(0, 24, 1, 3), 0x10de, 24, "24.1.3"},
        VersionCase{"Radv", VK_MAKE_API_VERSION(0, 22, 3, 6), 0x1002, 3, "22.3.6"},
        VersionCase{"Zero", 0, 0x1002, 3, "0.0.0"}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(VulkanNames, ReportsTheVariantOfAVersion) {
    EXPECT_EQ(api_version_text(VK_MAKE_API_VERSION(0, 1, 3, 277)), "1.3.277");
    EXPECT_EQ(api_version_text(VK_MAKE_API_VERSION(1, 1, 0, 0)), "1:1.0.0");
    EXPECT_EQ(api_version_text(0xffffffff), "7:127.1023.4095");
}

TEST(VulkanNames, KnowsNoTypeOfAnUnknownNumber) {
    EXPECT_EQ(device_type(VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU), DeviceType::Virtual);
    EXPECT_EQ(device_type(static_cast<VkPhysicalDeviceType>(5)), std::nullopt);
    EXPECT_EQ(device_type(VK_PHYSICAL_DEVICE_TYPE_MAX_ENUM), std::nullopt);
}

TEST(VulkanNames, LeavesOutBitsWithoutAWord) {
    EXPECT_EQ(queue_flag_words(VK_QUEUE_COMPUTE_BIT | 0x80000000),
              (Value{Value::Array{Value{"compute"}}}));
    EXPECT_EQ(queue_flag_words(0), (Value{Value::Array{}}));
}

}  // namespace vulkan_api_test
}  // namespace gpuprobe::backends
