// SPDX-License-Identifier: Apache-2.0
#include "backends/texts.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuprobe::backends {
namespace texts_test {

TEST(Texts, WritePciIdsOfFourDigitsOnly) {
    EXPECT_EQ(pci_id_text(0x10de), "10de");
    EXPECT_EQ(pci_id_text(0x1), "0001");
    EXPECT_EQ(pci_id_text(0xffff), "ffff");
    EXPECT_EQ(pci_id_text(0x10000), std::nullopt);
    EXPECT_EQ(pci_id_text(0), std::nullopt);
}

TEST(Texts, WriteUuidsInByteOrderAndNoZeroes) {
    std::uint8_t bytes[16] = {};
    EXPECT_EQ(canonical_uuid(bytes), std::nullopt);
    for (std::uint8_t i = 0; i < 16; ++i)
        bytes[i] = static_cast<std::uint8_t>(0xa0 + i);
    EXPECT_EQ(canonical_uuid(bytes), "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
    const std::uint8_t luid[8] = {0, 0, 0, 1, 0, 0, 0, 0xff};
    EXPECT_EQ(hexadecimal_unless_zero(luid), "00000001000000ff");
}

TEST(Texts, JoinVersionsWithDots) {
    EXPECT_EQ(dotted({1, 3, 277}), "1.3.277");
    EXPECT_EQ(dotted({0}), "0");
    EXPECT_EQ(cuda_version_text(12040), "12.4");
    EXPECT_EQ(cuda_version_text(13000), "13.0");
}

TEST(IntelIp, IsUnpackedAsItIsPacked) {
    EXPECT_EQ(intel_ip_text(0x0300dc00 | 8U), "12.3.8");
    EXPECT_EQ(intel_ip_text(0x030dc008), "12.55.8");
    EXPECT_EQ(intel_ip_text(0x05004000), "20.1.0");
    EXPECT_EQ(intel_ip_text(0xffffffff), "1023.255.63");
    EXPECT_EQ(intel_ip_text(0), std::nullopt);
}

struct TargetCase {
    const char* name;
    const char* text;
    std::optional<std::string> want;
};
void PrintTo(const TargetCase& row, std::ostream* out) {
    *out << row.name;
}
class ReadAGfxTarget : public testing::TestWithParam<TargetCase> {};
TEST_P(ReadAGfxTarget, FromADevicesName) {
    EXPECT_EQ(gfx_target_in(GetParam().text), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(Table,
                         ReadAGfxTarget,
                         testing::Values(TargetCase{"Navi", "gfx1100", "gfx1100"},
                                         TargetCase{"Aldebaran", "gfx90a", "gfx90a"},
                                         TargetCase{"WithFeatures", "gfx90a:sramecc+:xnack-",
                                                    "gfx90a"},
                                         TargetCase{"Processor", "AMD Ryzen 9", std::nullopt},
                                         TargetCase{"NoDigits", "gfx", std::nullopt},
                                         TargetCase{"Generic", "gfx11-generic", std::nullopt},
                                         TargetCase{"TooFewDigits", "gfx9", std::nullopt},
                                         TargetCase{"TooManyDigits", "gfx1100000", std::nullopt},
                                         TargetCase{"Dash", "gfx-1100", std::nullopt},
                                         TargetCase{"UpperCase", "gfxABC", std::nullopt},
                                         TargetCase{"OtherVendor", "NVIDIA H200", std::nullopt},
                                         TargetCase{"Empty", "", std::nullopt}),
                         [](const auto& row) { return row.param.name; });

TEST(PciAddressOfNumbers, RefusesThoseThatDoNotFit) {
    EXPECT_EQ(pci_address(0x10000, 0xff, 0x1f, 7),
              (PciAddress{.domain = 0x10000, .bus = 0xff, .device = 0x1f, .function = 7}));
    EXPECT_EQ(pci_address(0, 0x100, 0, 0), std::nullopt);
    EXPECT_EQ(pci_address(0, 0, 0x20, 0), std::nullopt);
    EXPECT_EQ(pci_address(0, 0, 0, 8), std::nullopt);
    EXPECT_EQ(pci_address(0, 0, 0, 0), PciAddress{});
    EXPECT_EQ(pci_address_unless_zero(0, 0, 0, 0), std::nullopt);
    EXPECT_EQ(pci_address_unless_zero(1, 0, 0, 0), (PciAddress{.domain = 1}));
    EXPECT_EQ(pci_address_unless_zero(0, 256, 0, 0), std::nullopt);
}

TEST(CleanText, EndsAtItsNulOrItsArray) {
    EXPECT_EQ(clean_text(std::string_view{"Arc\0rubbish", 11}), "Arc");
    EXPECT_EQ(clean_text("Arc"), "Arc");
    EXPECT_EQ(clean_text(std::string_view{"\0\0", 2}), std::nullopt);
    EXPECT_EQ(clean_text(""), std::nullopt);
    EXPECT_EQ(clean_text(" Arc \t"), "Arc");
}

TEST(FirstLine, IsCutAndScrubbed) {
    EXPECT_EQ(first_line("\n  error: no\nmore"), "error: no");
    EXPECT_EQ(first_line(std::string(5000, 'x')).size(), 200U);
    EXPECT_EQ(first_line(""), "");
}

TEST(WrittenText, IsNoneWhereTheWriterRefuses) {
    const auto write = [](int code) {
        return written_text([code](char* buffer, int size) {
            std::fill_n(buffer, size, 'x');  // without a terminating NUL
            return code;
        });
    };
    EXPECT_EQ(write(0), std::string(255, 'x'));
    EXPECT_EQ(write(3), std::nullopt);
}

TEST(Words, FallBackToTheNumber) {
    constexpr NumberWord kWords[] = {{1, "one"}, {2, "two"}, {4, "four"}};
    EXPECT_EQ(word_for(kWords, 2), "two");
    EXPECT_EQ(word_for(kWords, 3), std::nullopt);
    EXPECT_EQ(word_or_number(kWords, 3), "3");
    EXPECT_EQ(words_of_bits(kWords, 4 | 1 | 8), (Value{Value::Array{"one", "four"}}));
    EXPECT_EQ(unless_zero(0), Value{});
    EXPECT_EQ(unless_zero(7), Value{7});
}

}  // namespace texts_test
}  // namespace gpuprobe::backends
