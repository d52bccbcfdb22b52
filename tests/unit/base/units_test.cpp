// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace units_test {

struct SizeCase {
    const char* text;
    std::optional<std::uint64_t> want;
};

TEST(Sizes, AreReadAsPeopleTypeThem) {
    const SizeCase good[] = {{"0", 0},
                             {"4096", 4096},
                             {"8GiB", gib(8).count},
                             {"8 GiB", gib(8).count},
                             {" 8g ", gib(8).count},
                             {"8GB", 8'000'000'000},
                             {"8192MiB", gib(8).count},
                             {"1.5GiB", gib(1).count + mib(512).count},
                             {"14.5gb", 14'500'000'000},
                             {"0.5k", 512},
                             {"1T", gib(1024).count},
                             {"18446744073709551615", UINT64_MAX}};
    for (const auto& row : good) {
        const auto size = parse_size(row.text);
        ASSERT_TRUE(size) << row.text;
        EXPECT_EQ(size->count, *row.want) << row.text;
    }
}

TEST(Sizes, AreRefusedWhereTheyAreNone) {
    for (const char* text : {"", " ", "GiB", "-1", "+1", "8 GiB GiB", "8XiB", "8.GiB", ".5GiB",
                             "1.5", "1.5B", "1..5G", "0x10", "1e9", "18446744073709551616",
                             "18446744073709551615K", "99999999T", "1.0000000001G", "8,5GiB"})
        EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Sizes, OfDocumentsAreExact) {
    const SizeCase good[] = {{"8GiB", gib(8).count},
                             {"8192 MiB", gib(8).count},
                             {"8GB", 8'000'000'000},
                             {"1 kB", 1'000},
                             {"2TiB", gib(2048).count},
                             {"8000000000", 8'000'000'000},
                             {"16777215TiB", gib(1024).count * 16'777'215}};
    for (const auto& row : good)
        EXPECT_EQ(size_from_text(row.text), Bytes{*row.want}) << row.text;
    for (const char* text : {"", "GiB", "8G", "8gib", "8KB", "1.5GiB", "-1", "16777216TiB"})
        EXPECT_FALSE(size_from_text(text)) << text;
}

}  // namespace units_test
}  // namespace gpuprobe
