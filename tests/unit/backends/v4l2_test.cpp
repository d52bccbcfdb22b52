// SPDX-License-Identifier: Apache-2.0
#include "backends/v4l2/v4l2.h"

#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>
#include <linux/videodev2.h>

#include "base/record.h"
#include "fake_drm.h"
#include "recording_sink.h"
#include "report/video.h"

namespace gpuprobe::backends {
namespace v4l2_test {

constexpr std::uint32_t kCodec = V4L2_CAP_VIDEO_M2M_MPLANE;

/// A format in a driver's list, with the largest size; 0 if the driver reports no sizes.
struct Format {
    const char* fourcc;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
};

std::uint32_t number_of(const char* fourcc) {
    std::uint32_t number = 0;
    std::memcpy(&number, fourcc, sizeof number);
    return number;
}

/// A codec that lists these formats, and profiles by the control and the indices in its menu.
struct Codec {
    std::vector<Format> taken = {};
    std::vector<Format> given = {};
    std::map<std::uint32_t, std::set<std::uint32_t>> profiles = {};
    std::uint32_t capabilities = kCodec;
};

FakeDrm node_of(const Codec& codec) {
    FakeDrm node;
    node.on<v4l2_capability>(VIDIOC_QUERYCAP, [codec](v4l2_capability& device) {
        std::memcpy(device.driver, "hantro-vpu", 11);
        std::memcpy(device.card, "rockchip,rk3568-vpu-dec", 24);
        device.capabilities = V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE;
        device.device_caps = codec.capabilities;
        return 0;
    });
    node.on<v4l2_fmtdesc>(VIDIOC_ENUM_FMT, [codec](v4l2_fmtdesc& format) {
        const bool is_taken = format.type == V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE ||
                              format.type == V4L2_BUF_TYPE_VIDEO_OUTPUT;
        const auto& list = is_taken ? codec.taken : codec.given;
        if (format.index >= list.size())
            return EINVAL;
        format.pixelformat = number_of(list[format.index].fourcc);
        return 0;
    });
    node.on<v4l2_frmsizeenum>(VIDIOC_ENUM_FRAMESIZES, [codec](v4l2_frmsizeenum& size) {
        for (const auto* list : {&codec.taken, &codec.given})
            for (const auto& format : *list)
                if (number_of(format.fourcc) == size.pixel_format && format.width != 0) {
                    size.type = V4L2_FRMSIZE_TYPE_STEPWISE;
                    size.stepwise.max_width = format.width;
                    size.stepwise.max_height = format.height;
                    return 0;
                }
        return ENOTTY;
    });
    node.on<v4l2_queryctrl>(VIDIOC_QUERYCTRL, [codec](v4l2_queryctrl& control) {
        const auto menu = codec.profiles.find(control.id);
        if (menu == codec.profiles.end() || menu->second.empty())
            return EINVAL;
        control.minimum = static_cast<std::int32_t>(*menu->second.begin());
        control.maximum = static_cast<std::int32_t>(*menu->second.rbegin());
        return 0;
    });
    node.on<v4l2_querymenu>(VIDIOC_QUERYMENU, [codec](v4l2_querymenu& item) {
        return codec.profiles.at(item.id).contains(item.index) ? 0 : EINVAL;
    });
    return node;
}

/// The entries of the answer.
std::vector<VideoEntry> entries_of(const DrmDevice& node) {
    RecordingSink sink;
    const auto answer = ask_v4l2(node, {.index = 0U}, sink);
    EXPECT_EQ(answer.outcome, Outcome::Answered);
    if (sink.devices.size() != 1)
        return {};
    const auto* list = sink.devices.front().extra.at("video").as_array();
    return list ? video_entries(*list) : std::vector<VideoEntry>{};
}

using Row = std::tuple<std::string, std::string, std::uint32_t, std::string>;

/// Codec, profile, bits and chroma format of each entry, and its name.
std::set<Row> rows_of(const Codec& codec, VideoDirection direction = VideoDirection::Decode) {
    std::set<Row> rows;
    for (const auto& entry : entries_of(node_of(codec)))
        if (entry.direction == direction)
            rows.emplace(entry.codec.value_or("?"), entry.profile.value_or("-"),
                         entry.bits.value_or(0), entry.name);
    return rows;
}

constexpr std::uint32_t kH264 = V4L2_CID_MPEG_VIDEO_H264_PROFILE;
constexpr std::uint32_t kHevc = 0x00990900 + 615;
constexpr std::uint32_t kVp9 = 0x00990900 + 512;
constexpr std::uint32_t kAv1 = 0x00990900 + 655;

/// Source: ayufan/camera-streamer#27, v4l2-ctl of bcm2835-codec-decode.
TEST(V4l2Codec, DecodesItsCodedOutputFormats) {
    const Codec pi{.taken = {{"H264", 1920, 1920}, {"MJPG", 1920, 1920}},
                   .given = {{"YU12", 1920, 1920}, {"NV12", 1920, 1920}},
                   .profiles = {{kH264, {0, 1, 2, 4}}}};
    EXPECT_EQ(rows_of(pi), (std::set<Row>{{"h264", "baseline", 8, "H264"},
                                          {"h264", "constrained-baseline", 8, "H264"},
                                          {"h264", "main", 8, "H264"},
                                          {"h264", "high", 8, "H264"},
                                          {"jpeg", "-", 0, "MJPG"}}));
    EXPECT_TRUE(rows_of(pi, VideoDirection::Encode).empty());
    for (const auto& entry : entries_of(node_of(pi)))
        EXPECT_EQ(std::pair(entry.max_width, entry.max_height),
                  std::pair(std::optional{1920U}, std::optional{1920U}));
}

/// Source: warpme/miniarch#97, v4l2-ctl of rockchip,rk3588-vepu121-enc.
TEST(V4l2Codec, EncodesItsCodedCaptureFormats) {
    const Codec encoder{.taken = {{"YM12"}, {"NM12"}, {"YUYV"}, {"UYVY"}},
                        .given = {{"JPEG", 8192, 8192}}};
    EXPECT_TRUE(rows_of(encoder).empty());
    EXPECT_EQ(rows_of(encoder, VideoDirection::Encode), (std::set<Row>{{"jpeg", "-", 0, "JPEG"}}));
}

/// Source: warpme/miniarch#98, v4l2-ctl of rockchip,rk3588-av1-vpu-dec. Before the first stream,
/// the driver lists only pictures with 8 bits.
TEST(V4l2Codec, KnowsTenBitsFromTheProfileOrTheCaptureFormats) {
    const Codec av1{
        .taken = {{"AV1F", 4096, 2304}}, .given = {{"VT12"}, {"NV12"}}, .profiles = {{kAv1, {0}}}};
    EXPECT_EQ(rows_of(av1),
              (std::set<Row>{{"av1", "main", 8, "AV1F"}, {"av1", "main", 10, "AV1F"}}));
    const Codec rockchip{.taken = {{"S264"}, {"S265"}, {"VP9F"}},
                         .given = {{"NV12"}, {"NV15"}},
                         .profiles = {{kH264, {4, 5, 6}}, {kHevc, {0, 1, 2}}, {kVp9, {0, 2}}}};
    EXPECT_EQ(rows_of(rockchip), (std::set<Row>{{"h264", "high", 8, "S264"},
                                                {"h264", "high10", 10, "S264"},
                                                {"h264", "high422", 8, "S264"},
                                                {"h264", "high422", 10, "S264"},
                                                {"hevc", "main", 8, "S265"},
                                                {"hevc", "main10", 10, "S265"},
                                                {"vp9", "profile0", 8, "VP9F"},
                                                {"vp9", "profile2", 10, "VP9F"}}));
}

/// Qualcomm's decoders mark pictures in compressed frame buffers as compressed.
TEST(V4l2Codec, EncodesNoPackedPictures) {
    auto node = node_of({});
    node.on<v4l2_fmtdesc>(VIDIOC_ENUM_FMT, [](v4l2_fmtdesc& format) {
        const bool is_taken = format.type == V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE;
        const std::vector<const char*> list =
            is_taken ? std::vector{"HEVC"} : std::vector{"NV12", "Q08C", "Q10C", "MT21"};
        if (format.index >= list.size())
            return EINVAL;
        format.pixelformat = number_of(list[format.index]);
        format.flags = format.index > 0 || is_taken ? V4L2_FMT_FLAG_COMPRESSED : 0U;
        return 0;
    });
    const auto entries = entries_of(node);
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries.front().name, "HEVC");
}

TEST(V4l2Codec, NamesAFormatThatItDoesNotKnow) {
    auto node = node_of({});
    node.on<v4l2_fmtdesc>(VIDIOC_ENUM_FMT, [](v4l2_fmtdesc& format) {
        if (format.index > 0 || format.type != V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE)
            return EINVAL;
        format.pixelformat = number_of("NEW1");
        format.flags = V4L2_FMT_FLAG_COMPRESSED;
        return 0;
    });
    const auto entries = entries_of(node);
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries.front(), (VideoEntry{.direction = VideoDirection::Decode, .name = "NEW1"}));
}

TEST(V4l2Codec, IsNoCamera) {
    const Codec camera{.given = {{"MJPG", 1920, 1080}, {"H264", 1920, 1080}},
                       .capabilities = V4L2_CAP_VIDEO_CAPTURE};
    EXPECT_TRUE(rows_of(camera, VideoDirection::Encode).empty());
}

TEST(V4l2Codec, EndsEndlessListsAndBelievesNoAbsurdSize) {
    auto node = node_of({.profiles = {{kH264, {4}}}});
    int asked = 0;
    node.on<v4l2_fmtdesc>(VIDIOC_ENUM_FMT, [&asked](v4l2_fmtdesc& format) {
        ++asked;
        format.pixelformat = number_of("H264");
        return 0;
    });
    node.on<v4l2_frmsizeenum>(VIDIOC_ENUM_FRAMESIZES, [&asked](v4l2_frmsizeenum& size) {
        ++asked;
        size.type = V4L2_FRMSIZE_TYPE_DISCRETE;
        size.discrete.width = size.index == 7 ? 640 : 0xffffffff;
        size.discrete.height = 480;
        return 0;
    });
    node.on<v4l2_queryctrl>(VIDIOC_QUERYCTRL, [](v4l2_queryctrl& control) {
        control.minimum = -2147483647;
        control.maximum = 2147483647;
        return 0;
    });
    const auto entries = entries_of(node);
    ASSERT_EQ(entries.size(), 2U) << "one in each direction";
    EXPECT_EQ(entries.front().max_width, 640U);
    EXPECT_LE(asked, 64 * 4);
}

TEST(V4l2Codec, ReportsARefusedQuestion) {
    auto node = node_of({});
    node.refuse(VIDIOC_QUERYCAP, ENOTTY);
    RecordingSink sink;
    const auto answer = ask_v4l2(node, {.index = 0U}, sink);
    EXPECT_EQ(answer.outcome, Outcome::Failed);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons.front().code, "api-refused");
    EXPECT_TRUE(sink.devices.empty());
}

TEST(V4l2Codec, IsOpenedAsleepOnlyWithSomeDrivers) {
    EXPECT_TRUE(opens_asleep("rkvdec"));
    for (const auto* driver : {"qcom-venus", "coda", "", "vdec", "unknown"})
        EXPECT_FALSE(opens_asleep(driver)) << driver;
}

}  // namespace v4l2_test
}  // namespace gpuprobe::backends
