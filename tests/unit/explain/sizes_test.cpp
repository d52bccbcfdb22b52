// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain/phrase.h"

namespace gpuprobe {
namespace sizes_test {

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

}  // namespace sizes_test
}  // namespace gpuprobe
