// SPDX-License-Identifier: Apache-2.0
#include "report/pci_address.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace pci_address_test {

std::optional<PciAddress> parsed(std::string_view text) {
    return parse_text(text, std::type_identity<PciAddress>{});
}

struct GoodRow {
    const char* name = "";
    const char* text = "";
    PciAddress address = {};
};
class PciAddressSpelling : public testing::TestWithParam<GoodRow> {};

TEST_P(PciAddressSpelling, IsRead) {
    EXPECT_EQ(parsed(GetParam().text), GetParam().address) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    PciAddressSpelling,
    testing::Values(GoodRow{"Sysfs", "0000:00:06.0", {0, 0, 6, 0}},
                    GoodRow{"EightDigitsOfDomain", "00000000:01:00.0", {0, 1, 0, 0}},
                    GoodRow{"SixteenDigitsOfDomain", "0000000000000001:01:00.0", {1, 1, 0, 0}},
                    GoodRow{"UpperCase", "0000:C3:00.0", {0, 0xc3, 0, 0}},
                    GoodRow{"NoDomain", "43:00.0", {0, 0x43, 0, 0}},
                    GoodRow{"SignExtendedBus", "0000:ffffffc1:00.0", {0, 0xc1, 0, 0}},
                    GoodRow{"SignExtendedBusInUpperCase", "FFFFFF83:00.0", {0, 0x83, 0, 0}},
                    GoodRow{"BusTypePrefix", "PCI-E, 0000:0a:00.0", {0, 0x0a, 0, 0}},
                    GoodRow{"PciPrefix", "pci:0000:65:00.0", {0, 0x65, 0, 0}},
                    GoodRow{"AllZero", "0000:00:00.0", {0, 0, 0, 0}},
                    GoodRow{"FiveDigitsOfDomain", "10000:e1:00.0", {0x10000, 0xe1, 0, 0}},
                    GoodRow{"LargestDomain", "ffffffff:ff:1f.7", {0xffffffff, 0xff, 0x1f, 7}},
                    GoodRow{"InventedFunction", "0000:05:00.7", {0, 5, 0, 7}},
                    GoodRow{"TwoDigitsOfFunction", "0000:05:00.01", {0, 5, 0, 1}},
                    GoodRow{"NoFunction", "0000:05:1f", {0, 5, 0x1f, 0}},
                    GoodRow{"SpaceAround", "  0000:05:00.0\n", {0, 5, 0, 0}}),
    [](const auto& row) { return std::string{row.param.name}; });

struct BadRow {
    const char* name = "";
    const char* text = "";
};
class PciAddressMistake : public testing::TestWithParam<BadRow> {};

TEST_P(PciAddressMistake, IsRefused) {
    EXPECT_EQ(parsed(GetParam().text), std::nullopt) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Table,
                         PciAddressMistake,
                         testing::Values(BadRow{"Empty", ""},
                                         BadRow{"OnlyThePrefix", "PCI-E, "},
                                         BadRow{"OnlyColons", "::"},
                                         BadRow{"NoBus", "0000::00.0"},
                                         BadRow{"NoDomainBeforeItsColon", ":01:00.0"},
                                         BadRow{"FourParts", "0:0000:01:00.0"},
                                         BadRow{"DomainOverThirtyTwoBits", "100000000:01:00.0"},
                                         BadRow{"NegativeDomain", "-1:01:00.0"},
                                         BadRow{"BusOfThreeDigits", "0000:101:00.0"},
                                         BadRow{"BusOfOneDigit", "0000:1:00.0"},
                                         BadRow{"SignExtendedSmallBus", "0000:ffffff41:00.0"},
                                         BadRow{"DeviceThirtyTwo", "0000:01:20.0"},
                                         BadRow{"DeviceOfOneDigit", "0000:01:0.0"},
                                         BadRow{"FunctionEight", "0000:01:00.8"},
                                         BadRow{"NoFunctionAfterTheDot", "0000:01:00."},
                                         BadRow{"WrongSeparator", "0000:01-00.0"},
                                         BadRow{"NotHexadecimal", "0000:0g:00.0"},
                                         BadRow{"Prefixed", "0x0000:0x01:0x00.0"},
                                         BadRow{"TrailingText", "0000:01:00.0 (rev a1)"},
                                         BadRow{"NotAvailable", "N/A"}),
                         [](const auto& row) { return std::string{row.param.name}; });

TEST(PciAddress, IsWrittenAsSysfsWritesIt) {
    EXPECT_EQ(text_of(PciAddress{0, 0, 6, 0}), "0000:00:06.0");
    EXPECT_EQ(text_of(PciAddress{0, 0xc3, 0x1f, 7}), "0000:c3:1f.7");
    EXPECT_EQ(text_of(PciAddress{0x10000, 0xe1, 0, 0}), "10000:e1:00.0");
    EXPECT_EQ(text_of(PciAddress{0xffffffff, 0xff, 0x1f, 7}), "ffffffff:ff:1f.7");
}

TEST(PciAddress, SurvivesARoundTrip) {
    for (std::uint32_t bus = 0; bus < 256; ++bus)
        for (std::uint8_t device = 0; device < 32; ++device) {
            const PciAddress address{bus << 12, static_cast<std::uint8_t>(bus), device,
                                     static_cast<std::uint8_t>(device % 8)};
            EXPECT_EQ(parsed(text_of(address)), address);
        }
}

/// A part of an address is never parsed as another address. Only the function may be missing.
TEST(PciAddress, CutAtAnyByteIsRefusedOrTheSameSlot) {
    const std::string whole = "00000000:c1:1f.5";
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto cut = parsed(whole.substr(0, length));
        EXPECT_EQ(cut.value_or(PciAddress{0, 0xc1, 0x1f, 0}), (PciAddress{0, 0xc1, 0x1f, 0}))
            << length;
    }
    EXPECT_TRUE(parsed("00000000:c1:1f"));
}

TEST(PciAddress, OrdersByDomainThenBusThenDeviceThenFunction) {
    EXPECT_LT((PciAddress{0, 0xff, 0x1f, 7}), (PciAddress{1, 0, 0, 0}));
    EXPECT_LT((PciAddress{0, 1, 0x1f, 7}), (PciAddress{0, 2, 0, 0}));
    EXPECT_LT((PciAddress{0, 1, 0, 0}), (PciAddress{0, 1, 0, 1}));
}

}  // namespace pci_address_test
}  // namespace gpuprobe
