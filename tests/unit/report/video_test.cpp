// SPDX-License-Identifier: Apache-2.0
#include "report/video.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace video_test {

using Words = std::vector<std::string>;

TEST(VideoWords, NameTheCodecTheProfileAndTheBits) {
    VideoEntry entry{.codec = "av1", .profile = "main", .bits = 10U};
    EXPECT_EQ(video_words(entry), (Words{"av1", "av1-main", "av1-10bit", "av1-main-10bit"}));
    entry.profile.reset();
    EXPECT_EQ(video_words(entry), (Words{"av1", "av1-10bit"}));
    entry.bits.reset();
    EXPECT_EQ(video_words(entry), Words{"av1"});
    EXPECT_EQ(video_words(VideoEntry{.profile = "main", .bits = 8U}), Words{}) << "no codec";
}

TEST(VideoWords, AreKnownForEachRow) {
    const auto all = all_video_words();
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    for (const auto* word :
         {"av1-main-10bit", "hevc", "hevc-main10-10bit", "vp8-8bit", "vp9-12bit"})
        EXPECT_TRUE(std::ranges::binary_search(all, word)) << word;
    for (const auto* word : {"h265", "av1-12bit", "h264-main-10bit"})
        EXPECT_FALSE(std::ranges::binary_search(all, word)) << word;
}

TEST(VideoProfiles, AreDistinct) {
    for (const auto& row : kVideoProfiles)
        EXPECT_EQ(&video_profile(row.codec, row.profile), &row) << row.codec << row.profile;
}

}  // namespace video_test
}  // namespace gpuprobe
