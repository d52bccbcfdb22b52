// SPDX-License-Identifier: Apache-2.0
#include "report/video.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "report/report.h"

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

Value entry(const char* codec) {
    return to_value(VideoEntry{.direction = VideoDirection::Decode, .codec = codec, .name = "x"});
}

TEST(VideoOfAGpu, JoinsTheEntriesOfAllApis) {
    Gpu gpu;
    EXPECT_EQ(video_of(gpu), std::nullopt);
    gpu.apis["drm"].device["node"] = "/dev/dri/renderD128";
    EXPECT_EQ(video_of(gpu), std::nullopt) << "not an API of video engines";
    gpu.apis["vaapi"].device["video"] = Value{Value::Array{}};
    ASSERT_TRUE(video_of(gpu));
    EXPECT_TRUE(video_of(gpu)->empty()) << "known to have none";
    gpu.apis["vaapi"].device["video"].push_back(entry("av1"));
    gpu.apis["another"].device["video"].push_back(entry("hevc"));
    ASSERT_EQ(video_of(gpu)->size(), 2U);
    EXPECT_EQ(video_of(gpu)->front().codec, "hevc");
}

TEST(VideoOfAGpu, SkipsEntriesThatAreNone) {
    Gpu gpu;
    auto& list = gpu.apis["vaapi"].device["video"];
    list.push_back(Value{7});
    list.push_back(Value{Value::Object{{"direction", Value{"sideways"}}, {"name", Value{"x"}}}});
    list.push_back(entry("av1"));
    ASSERT_TRUE(video_of(gpu));
    ASSERT_EQ(video_of(gpu)->size(), 1U);
    EXPECT_EQ(video_of(gpu)->front().codec, "av1");
    gpu.apis["vaapi"].device["video"] = Value{"all"};
    EXPECT_EQ(video_of(gpu), std::nullopt);
}

TEST(VideoOfAGpu, MayBeMoreThanAVaDriverReports) {
    constexpr auto kDecode = VideoDirection::Decode;
    constexpr auto kEncode = VideoDirection::Encode;
    Gpu gpu{.vendor = "amd"};
    EXPECT_FALSE(may_lack_video(gpu, kDecode)) << "its vendor has no API of its own";
    gpu.vendor = "nvidia";
    EXPECT_TRUE(may_lack_video(gpu, kDecode)) << "not probed";
    gpu.driver.name = "nouveau";
    EXPECT_FALSE(may_lack_video(gpu, kDecode)) << "NVDEC works only with NVIDIA's driver";
    gpu.driver.name = "nvidia";
    auto& device = gpu.apis["nvcodec"].device;
    EXPECT_TRUE(may_lack_video(gpu, kDecode)) << "failed";
    device["video"] = Value{Value::Array{}};
    device["encode_error"] = "no library";
    EXPECT_FALSE(may_lack_video(gpu, kDecode));
    EXPECT_TRUE(may_lack_video(gpu, kEncode));
    EXPECT_EQ(video_errors(device).front().second, "no library");
}

TEST(VideoOfAGpu, IsNotCompleteIfOnlyVulkanReportsIt) {
    constexpr auto kDecode = VideoDirection::Decode;
    constexpr auto kEncode = VideoDirection::Encode;
    Gpu gpu{.vendor = "amd"};
    gpu.apis["vulkan"].device["video"].push_back(entry("av1"));
    EXPECT_EQ(codecs_of(gpu, kDecode), Words{"av1"});
    EXPECT_TRUE(may_lack_video(gpu, kDecode));
    EXPECT_TRUE(may_lack_video(gpu, kEncode));
    EXPECT_FALSE(is_without_video(gpu, kEncode));
    EXPECT_EQ(video_of(gpu, VideoApis::Engines), std::nullopt);
    gpu.apis["vaapi"].device["video"] = Value{Value::Array{}};
    EXPECT_FALSE(may_lack_video(gpu, kDecode));
    EXPECT_TRUE(is_without_video(gpu, kEncode));
    EXPECT_FALSE(is_without_video(gpu, kDecode));
    EXPECT_TRUE(is_without_video(gpu, kDecode, VideoApis::Engines));
}

/// Whether it is known that programs can neither decode nor encode with the GPU.
std::pair<bool, bool> is_without(const Gpu& gpu) {
    return {is_without_video(gpu, VideoDirection::Decode),
            is_without_video(gpu, VideoDirection::Encode)};
}

Gpu nvidia() {
    return Gpu{.vendor = "nvidia", .driver = {.name = "nvidia"}};
}

TEST(VideoOfAGpu, IsNoneIfTheChipHasNoEngine) {
    auto gpu = nvidia();
    gpu.lacks_video = {VideoDirection::Encode};
    EXPECT_EQ(is_without(gpu), std::pair(false, true)) << "not probed";
    EXPECT_FALSE(may_lack_video(gpu, VideoDirection::Encode));
    gpu.apis["nvcodec"].device["video"].push_back(
        to_value(VideoEntry{.direction = VideoDirection::Encode, .codec = "av1", .name = "x"}));
    EXPECT_EQ(is_without(gpu), std::pair(true, false)) << "the API knows better than the table";
}

TEST(VideoOfAGpu, IsNoneIfItsApiIsMissing) {
    auto gpu = nvidia();
    auto& view = gpu.apis["nvcodec"];
    for (const auto* code : {"loader-missing", "driver-missing", "not-listed"}) {
        view = {.outcome = Outcome::Absent, .reasons = {because(*find_reason(code))}};
        EXPECT_EQ(is_without(gpu), std::pair(true, true)) << code;
        view.reasons.push_back(because("inconclusive"));
        EXPECT_EQ(is_without(gpu), std::pair(false, false)) << code;
    }
    view.reasons = {because("not-listed"), because("one-instance-listed")};
    EXPECT_EQ(is_without(gpu), std::pair(false, false)) << "a MIG instance";
    view = {.outcome = Outcome::Crashed, .reasons = {because("driver-crashed")}};
    EXPECT_EQ(is_without(gpu), std::pair(false, false));
    gpu.driver.name = "nouveau";
    EXPECT_EQ(is_without(gpu), std::pair(false, false)) << "its VA driver was not probed";
}

TEST(VideoOfAGpu, IsNoneIfTheLibraryOfTheDirectionIsMissing) {
    auto gpu = nvidia();
    auto& view = gpu.apis["nvcodec"];
    view = {.outcome = Outcome::Answered};
    view.device["video"].push_back(entry("av1"));
    view.device["encode_error"] = "libnvidia-encode.so.1: cannot open shared object file";
    EXPECT_EQ(is_without(gpu), std::pair(false, false)) << "the reason is unknown";
    view.reasons = {because("library-missing", {{"missing", "libnvcuvid.so.1"}})};
    EXPECT_EQ(is_without(gpu), std::pair(false, false));
    view.reasons = {because("library-missing", {{"missing", "libnvidia-encode.so.1"}})};
    EXPECT_EQ(is_without(gpu), std::pair(false, true));
    EXPECT_FALSE(may_lack_video(gpu, VideoDirection::Encode));
    EXPECT_EQ(missing_video_library(gpu, VideoDirection::Encode), "libnvidia-encode.so.1");
    EXPECT_EQ(missing_video_library(gpu, VideoDirection::Decode), std::nullopt);
}

TEST(VideoOfAGpu, ListsTheMainCodecsFirst) {
    Gpu gpu;
    for (const auto* codec : {"vp8", "av1", "jpeg", "h264", "av1"})
        gpu.apis["vaapi"].device["video"].push_back(entry(codec));
    EXPECT_EQ(codecs_of(gpu, VideoDirection::Decode), (Words{"h264", "av1", "jpeg", "vp8"}));
    EXPECT_EQ(codecs_of(gpu, VideoDirection::Encode), Words{});
}

TEST(VideoSide, IsUnknownIfItIsAbsurd) {
    EXPECT_EQ(video_side(0), std::nullopt);
    EXPECT_EQ(video_side(1U << 20U), 1U << 20U);
    EXPECT_EQ(video_side((1U << 20U) + 1), std::nullopt);
}

}  // namespace video_test
}  // namespace gpuprobe
