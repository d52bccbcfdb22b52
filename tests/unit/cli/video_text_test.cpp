// SPDX-License-Identifier: Apache-2.0
#include "cli/video_text.h"

#include <gtest/gtest.h>

#include "report/video.h"

namespace gpuprobe {
namespace video_text_test {

VideoEntry entry(VideoDirection direction,
                 const char* codec,
                 const char* profile,
                 std::uint32_t bits,
                 std::uint32_t side) {
    VideoEntry made{.direction = direction,
                    .codec = codec,
                    .profile = profile,
                    .bits = bits,
                    .chroma = "4:2:0",
                    .name = "x"};
    if (side != 0)
        made.max_width = made.max_height = side;
    return made;
}

Gpu gpu_with(const std::vector<VideoEntry>& entries) {
    Gpu gpu{.id = "pci:0000:03:00.0"};
    gpu.apis["vaapi"].device["video"] = to_value(entries);
    return gpu;
}

const std::vector<VideoEntry> kEntries{
    entry(VideoDirection::Decode, "hevc", "main10", 8, 4096),
    entry(VideoDirection::Decode, "hevc", "main10", 10, 8192),
    entry(VideoDirection::Encode, "hevc", "main", 8, 0),
    entry(VideoDirection::Decode, "av1", "main", 8, 0),
    VideoEntry{.direction = VideoDirection::Process, .name = "VAProfileNone/VAEntrypointVideoProc"},
};

TEST(VideoTable, HasARowForEachCodec) {
    const Report report{.gpus = {gpu_with(kEntries), Gpu{.id = "pci:0000:04:00.0"}}};
    EXPECT_EQ(video_table(report, Screen{.is_unicode = false}),
              "#  GPU               CODEC  DECODE                        ENCODE\n"
              "0  pci:0000:03:00.0  av1    8 bit                         -\n"
              "0  pci:0000:03:00.0  hevc   8, 10 bit, up to 8192 x 8192  8 bit\n");
}

TEST(VideoTable, IsEmptyWithoutFactsAboutVideos) {
    EXPECT_EQ(video_table(Report{.gpus = {Gpu{.id = "pci:0000:04:00.0"}}}, Screen{}), "");
    EXPECT_EQ(video_table(Report{.gpus = {gpu_with({})}}, Screen{}), "");
}

TEST(VideoFacts, NameEachProfileAndFormatOnce) {
    auto twice = kEntries;
    twice.push_back(kEntries.front());
    const auto text = video_facts(gpu_with(twice)).text(Screen{});
    EXPECT_NE(
        text.find("decode hevc  main10 8 bit 4:2:0, main10 10 bit 4:2:0, up to 8192 x 8192\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("encode hevc  main 8 bit 4:2:0\n"), std::string::npos) << text;
    EXPECT_NE(text.find("also         VAProfileNone/VAEntrypointVideoProc\n"), std::string::npos)
        << text;
}

TEST(VideoFacts, AreNotShownIfNoApiReportsAny) {
    EXPECT_TRUE(video_facts(Gpu{}).empty());
    EXPECT_TRUE(video_facts(gpu_with({})).empty());
}

}  // namespace video_text_test
}  // namespace gpuprobe
