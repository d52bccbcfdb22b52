// SPDX-License-Identifier: Apache-2.0
#include "cli/sizes.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

TEST(Sizes, AreRoundedDownToOneDigit) {
    EXPECT_EQ(size_text(Bytes{0}), "0 B");
    EXPECT_EQ(size_text(Bytes{1023}), "1023 B");
    EXPECT_EQ(size_text(kib(1)), "1 KiB");
    EXPECT_EQ(size_text(mib(512)), "512 MiB");
    EXPECT_EQ(size_text(Bytes{gib(1).count - 1}), "1023 MiB");
    EXPECT_EQ(size_text(gib(8)), "8.0 GiB");
    EXPECT_EQ(size_text(Bytes{gib(8).count - 1}), "7.9 GiB");
    EXPECT_EQ(size_text(Bytes{150'754'820'096}), "140.4 GiB");
    EXPECT_EQ(size_text(gib(2048)), "2.0 TiB");
    EXPECT_EQ(size_text(Bytes{UINT64_MAX}), "16777215.9 TiB");
}

struct SizeCase {
    const char* text;
    std::optional<std::uint64_t> want;
};

TEST(Sizes, AreReadAsPeopleWriteThem) {
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

TEST(Sizes, RefusesWhatIsNoSize) {
    for (const char* text : {"", " ", "GiB", "-1", "+1", "8 GiB GiB", "8XiB", "8.GiB", ".5GiB",
                             "1.5", "1.5B", "1..5G", "0x10", "1e9", "18446744073709551616",
                             "18446744073709551615K", "99999999T", "1.0000000001G", "8,5GiB"})
        EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Sizes, DurationsPickAUnit) {
    using std::chrono::microseconds;
    EXPECT_EQ(duration_text(microseconds{850}, "µ"), "850 µs");
    EXPECT_EQ(duration_text(microseconds{850}, "u"), "850 us");
    EXPECT_EQ(duration_text(microseconds{31'400}, "µ"), "31 ms");
    EXPECT_EQ(duration_text(microseconds{2'450'000}, "µ"), "2.4 s");
    EXPECT_EQ(duration_text(std::chrono::minutes{3}, "µ"), "3 min");
}

TEST(Sizes, AgesPickAUnitAndOldOnesTheirDay) {
    using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
    const WallTime at{seconds{1'700'000'000}};  // 2023-11-14 22:13:20 UTC
    EXPECT_EQ(age_text(at, at - hours{9}), "just now");
    EXPECT_EQ(age_text(at, at + std::chrono::milliseconds{999}), "just now");
    EXPECT_EQ(age_text(at, at + seconds{2}), "2 s ago");
    EXPECT_EQ(age_text(at, at + seconds{119}), "119 s ago");
    EXPECT_EQ(age_text(at, at + seconds{120}), "2 min ago");
    EXPECT_EQ(age_text(at, at + minutes{119}), "119 min ago");
    EXPECT_EQ(age_text(at, at + hours{2}), "2 h ago");
    EXPECT_EQ(age_text(at, at + hours{47}), "47 h ago");
    EXPECT_EQ(age_text(at, at + hours{48}), "on 2023-11-14");
}

}  // namespace
}  // namespace gpuprobe
