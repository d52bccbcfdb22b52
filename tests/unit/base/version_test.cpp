// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

#include <gtest/gtest.h>

#include "support/case_name.h"

namespace gpuprobe {
namespace version_test {

std::optional<Version> version(std::string_view text) {
    return parse_text(text, std::type_identity<Version>{});
}

struct Row {
    const char* name;
    const char* older;
    const char* newer;
};
class OlderVersion : public ::testing::TestWithParam<Row> {};

TEST_P(OlderVersion, ComesBeforeTheNewer) {
    ASSERT_TRUE(version(GetParam().older) && version(GetParam().newer));
    EXPECT_LT(*version(GetParam().older), *version(GetParam().newer));
    EXPECT_FALSE(*version(GetParam().newer) < *version(GetParam().older));
}

INSTANTIATE_TEST_SUITE_P(Table,
                         OlderVersion,
                         ::testing::Values(Row{"ByNumberNotByText", "450.80.02", "450.119.03"},
                                           Row{"ShorterMajor", "9.2", "10.0"},
                                           Row{"MissingPartIsZero", "580", "580.0.1"},
                                           Row{"FourthPart", "1.2.3.4", "1.2.3.5"},
                                           Row{"LastNumber", "1.2.999999998", "1.2.999999999"}),
                         support::case_name);

TEST(Version, IgnoresTrailingAndLeadingZeros) {
    EXPECT_EQ(version("13"), version("13.0.0"));
    EXPECT_EQ(version("525.60.13"), version("525.060.013"));
}

class NoVersion : public ::testing::TestWithParam<const char*> {};

TEST_P(NoVersion, IsRefused) {
    EXPECT_EQ(version(GetParam()), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Table,
                         NoVersion,
                         ::testing::Values("",
                                           ".",
                                           "1.",
                                           ".1",
                                           "1..2",
                                           "-1",
                                           "+1",
                                           "NaN",
                                           "inf",
                                           "1e9",
                                           "1.2.3.4.5",
                                           "1.x",
                                           " 1",
                                           "1 ",
                                           "0x10",
                                           "1000000000",
                                           "99999999999999999999999"));

TEST(Version, IsWrittenWithAtLeastTwoParts) {
    EXPECT_EQ(text_of(*version("580")), "580.0");
    EXPECT_EQ(text_of(*version("580.65.06")), "580.65.6");
    EXPECT_EQ(text_of(*version("0")), "0.0");
}

struct Prefix {
    const char* name;
    const char* text;
    std::optional<Version> wanted;
};
class LeadingVersion : public ::testing::TestWithParam<Prefix> {};

TEST_P(LeadingVersion, IsAtTheStartOfTheText) {
    EXPECT_EQ(leading_version(GetParam().text), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    LeadingVersion,
    ::testing::Values(Prefix{"Kernel", "6.8.0-45-generic", Version{{6, 8, 0, 0}}},
                      Prefix{"Driver", "580.159.04", Version{{580, 159, 4, 0}}},
                      Prefix{"FiveParts", "1.2.3.4.5", Version{{1, 2, 3, 4}}},
                      Prefix{"DotBehind", "22.", Version{{22, 0, 0, 0}}},
                      Prefix{"Letters", "v1.2", std::nullopt},
                      Prefix{"Empty", "", std::nullopt},
                      Prefix{"TooLong", "1234567890", std::nullopt}),
    support::case_name);

TEST(PythonVersion, HasTwoNumbers) {
    for (const auto* text : {"3.9", "3.12", "4.0"})
        EXPECT_TRUE(is_python_version(text)) << text;
    for (const auto* text : {"", "3", "3.", ".9", "3.12.1", "3.x", "cp312", "3.12t", " 3.9"})
        EXPECT_FALSE(is_python_version(text)) << text;
}

TEST(VersionRange, IncludesItsLowerAndExcludesItsUpperBound) {
    const VersionRange range{.min = version("12.0"), .below = version("13.0")};
    EXPECT_FALSE(range.contains(*version("11.9")));
    EXPECT_TRUE(range.contains(*version("12.0")));
    EXPECT_TRUE(range.contains(*version("12.9")));
    EXPECT_FALSE(range.contains(*version("13.0")));
    const VersionRange closed{.max = version("7.2")};
    EXPECT_TRUE(closed.contains(*version("7.2")));
    EXPECT_FALSE(closed.contains(*version("7.2.1")));
}

}  // namespace version_test
}  // namespace gpuprobe
