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
    gpu.apis["vaapi"] = {.outcome = Outcome::Answered};
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
    const Report report{.gpus = {gpu_with(kEntries)}};
    const std::string gpu = "0  pci:0000:03:00.0  ";
    const std::string spaces(46, ' ');
    EXPECT_EQ(video_table(report, false, Screen{.is_unicode = false}),
              "#  GPU               CODEC  DECODE " + spaces + "ENCODE\n" + gpu + "av1    8 bit  " +
                  spaces + "-\n" + gpu +
                  "hevc   8 bit, up to 4096 x 4096; 10 bit, up to 8192 x 8192  8 bit\n");
}

TEST(VideoTable, ShowsEqualGpusOnce) {
    auto first = gpu_with(kEntries);
    first.name = "AMD Radeon RX 7600";
    auto second = first;
    second.id = "pci:0000:04:00.0";
    const Report report{
        .gpus = {first, second, {.id = "pci:0000:05:00.0"}, {.id = "pci:0000:06:00.0"}}};
    const auto text = video_table(report, false, Screen{});
    EXPECT_NE(text.find("0-1  pci:0000:03:00.0 …  av1"), std::string::npos) << text;
    EXPECT_EQ(text.find("pci:0000:04:00.0"), std::string::npos) << text;
    EXPECT_EQ(std::ranges::count(text, '\n'), 8) << "unnamed GPUs are not equal:\n" << text;
    EXPECT_NE(video_table(report, true, Screen{}).find("1  pci:0000:04:00.0  av1"),
              std::string::npos);
    auto named = report;
    named.gpus[2].name = named.gpus[3].name = "NVIDIA H200";
    EXPECT_NE(video_table(named, false, Screen{})
                  .find("\npci:0000:05:00.0 and 1 more: no API for video was probed\n"),
              std::string::npos);
}

TEST(VideoTable, JoinsBitsOnlyIfTheyHaveTheSameSize) {
    constexpr auto kDecode = VideoDirection::Decode;
    const Report report{
        .gpus = {gpu_with(
            {entry(kDecode, "hevc", "main12", 12, 0), entry(kDecode, "hevc", "main10", 10, 4096),
             entry(kDecode, "hevc", "main", 8, 2048), entry(kDecode, "hevc", "main10", 8, 4096)})}};
    EXPECT_NE(video_table(report, false, Screen{}).find("8, 10 bit, up to 4096 x 4096; 12 bit  "),
              std::string::npos)
        << video_table(report, false, Screen{});
}

TEST(VideoTable, NamesWhatIsMissingIfOnlyVulkanReportsFormats) {
    Gpu gpu{.id = "pci:0000:03:00.0"};
    gpu.apis["vaapi"] = {.outcome = Outcome::Absent, .reasons = {because("loader-missing")}};
    gpu.apis["vulkan"].device["video"] = to_value(kEntries);
    const auto text = video_table({.gpus = {gpu}}, false, Screen{.is_unicode = false});
    EXPECT_NE(text.find("av1    8 bit  "), std::string::npos) << text;
    EXPECT_NE(text.find("?\n"), std::string::npos) << "VA-API may encode AV1:\n" << text;
    EXPECT_NE(text.find("\npci:0000:03:00.0: VA-API: "), std::string::npos) << text;
}

TEST(VideoTable, HasTheCodecsOfAnSoc) {
    Report report{.gpus = {gpu_with(kEntries)}};
    report.accelerators = {
        {.id = "platform:a.video-codec",
         .name = "rkvdec",
         .video = std::vector{entry(VideoDirection::Decode, "vp9", "profile0", 8, 4096)}},
        {.id = "platform:b.video-codec",
         .nodes = {{.path = "/dev/video10"}},
         .video = std::nullopt},
        {.id = "pci:0000:00:0b.0", .kind = "npu", .video = std::nullopt}};
    report.probes = {{.api = "v4l2",
                      .driver = "/dev/video10",
                      .outcome = Outcome::Failed,
                      .note = "b is suspended"}};
    const auto text = video_table(report, false, Screen{.is_unicode = false});
    EXPECT_NE(text.find("\n-  platform:a.video-codec  vp9    8 bit, up to 4096 x 4096 "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\n-  platform:b.video-codec  -      ? "), std::string::npos) << text;
    EXPECT_NE(text.find("\nplatform:b.video-codec: V4L2: b is suspended\n"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("pci:0000:00:0b.0"), std::string::npos) << "not a codec";
}

TEST(VideoTable, NamesTheReasonForAGpuWithoutFormats) {
    Gpu asleep{.id = "pci:0000:04:00.0"};
    asleep.apis["vaapi"] = {.outcome = Outcome::Skipped, .reasons = {because("asleep")}};
    Gpu another{.id = "pci:0000:05:00.0", .vendor = "nvidia"};
    another.apis["vaapi"] = {.outcome = Outcome::Absent, .reasons = {because("vendor-mismatch")}};
    const Report report{.gpus = {gpu_with({}), asleep, another}};
    EXPECT_EQ(video_table(report, false, Screen{.is_unicode = false}),
              "#  GPU               CODEC  DECODE  ENCODE\n"
              "0  pci:0000:03:00.0  -      -       -\n"
              "1  pci:0000:04:00.0  -      ?       ?\n"
              "2  pci:0000:05:00.0  -      ?       ?\n"
              "\n"
              "pci:0000:03:00.0: VA-API: the driver reports no video formats\n"
              "pci:0000:04:00.0: VA-API: not probed, because a probe would wake a suspended GPU\n"
              "pci:0000:05:00.0: no API for video was probed\n");
    EXPECT_EQ(video_table(Report{}, false, Screen{}), "");
}

TEST(VideoTable, DistinguishesUnknownFromNone) {
    auto gpu = gpu_with({entry(VideoDirection::Decode, "vp8", "", 8, 0)});
    gpu.vendor = "nvidia";
    gpu.apis["nvcodec"] = gpu.apis.extract("vaapi").mapped();
    const auto text = [&gpu] {
        return video_table({.gpus = {gpu}}, false, Screen{.is_unicode = false});
    };
    EXPECT_NE(text().find("vp8    8 bit   -\n"), std::string::npos) << text();
    gpu.apis["nvcodec"].device["encode_error"] = "no library";
    EXPECT_NE(text().find("vp8    8 bit   ?\n\n"
                          "pci:0000:03:00.0: NVDEC and NVENC, encode: no library\n"),
              std::string::npos)
        << text();
}

TEST(VideoTable, NamesEnginesAndLibrariesThatAreMissing) {
    auto gpu = gpu_with({});
    gpu.vendor = "nvidia";
    gpu.lacks_video = {VideoDirection::Encode};
    gpu.apis.clear();
    const auto text = [&gpu] {
        return video_table({.gpus = {gpu}}, false, Screen{.is_unicode = false});
    };
    EXPECT_NE(text().find("-      ?       -\n\n"
                          "pci:0000:03:00.0: no API for video was probed\n"
                          "pci:0000:03:00.0: this chip has no video encoder\n"),
              std::string::npos)
        << text();
    gpu.lacks_video.clear();
    auto& view = gpu.apis["nvcodec"];
    view = {.outcome = Outcome::Answered,
            .reasons = {because("library-missing", {{"missing", "libnvidia-encode.so.1"}})}};
    view.device["video"] = to_value(std::vector{entry(VideoDirection::Decode, "vp8", "", 8, 0)});
    view.device["encode_error"] = "libnvidia-encode.so.1: cannot open shared object file";
    EXPECT_NE(text().find("vp8    8 bit   -\n\n"
                          "pci:0000:03:00.0: NVDEC and NVENC, encode: not installed: "
                          "libnvidia-encode.so.1\n"),
              std::string::npos)
        << text();
}

TEST(VideoParts, NameTheMainCodecs) {
    using Parts = std::vector<std::string>;
    constexpr auto kDecode = VideoDirection::Decode;
    const std::vector<VideoEntry> main{entry(kDecode, "av1", "main", 8, 0),
                                       entry(kDecode, "h264", "high", 8, 0),
                                       entry(kDecode, "jpeg", "baseline", 8, 0),
                                       entry(VideoDirection::Encode, "hevc", "main", 8, 0)};
    EXPECT_EQ(video_parts(gpu_with(main)), (Parts{"video decode h264 av1", "encode hevc"}));
    EXPECT_EQ(video_parts(gpu_with({main[2]})), (Parts{"video decode jpeg", "encode none"}));
    auto gpu = gpu_with({main[3]});
    gpu.vendor = "nvidia";
    EXPECT_EQ(video_parts(gpu), Parts{"video encode hevc"}) << "NVDEC was not probed";
    EXPECT_EQ(video_parts(Gpu{}), Parts{});
}

TEST(VideoFacts, NameEachProfileAndFormatOnce) {
    auto twice = kEntries;
    twice.push_back(kEntries.front());
    const auto text = video_facts(gpu_with(twice)).text(Screen{});
    EXPECT_NE(text.find("decode hevc  main10 8 bit 4:2:0 up to 4096 x 4096, "
                        "main10 10 bit 4:2:0 up to 8192 x 8192\n"),
              std::string::npos)
        << text;
    const auto same = video_facts(gpu_with({kEntries[0], kEntries[0]})).text(Screen{});
    EXPECT_NE(same.find("decode hevc  main10 8 bit 4:2:0, up to 4096 x 4096\n"), std::string::npos)
        << same;
    EXPECT_NE(text.find("encode hevc  main 8 bit 4:2:0\n"), std::string::npos) << text;
    EXPECT_NE(text.find("also         VAProfileNone/VAEntrypointVideoProc\n"), std::string::npos)
        << text;
}

TEST(VideoFacts, AreNotShownIfNoApiReportsAny) {
    EXPECT_TRUE(video_facts(Gpu{}).empty());
    EXPECT_TRUE(video_facts(gpu_with({})).empty());
    Gpu gpu{.lacks_video = {VideoDirection::Encode}};
    EXPECT_NE(video_facts(gpu).text(Screen{}).find("encode  this chip has no video encoder\n"),
              std::string::npos);
}

}  // namespace video_text_test
}  // namespace gpuprobe
