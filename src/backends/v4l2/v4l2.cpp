// SPDX-License-Identifier: Apache-2.0
#include "backends/v4l2/v4l2.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include <linux/videodev2.h>

#include "backends/drm/drm.h"
#include "backends/texts.h"
#include "base/record.h"
#include "base/text.h"
#include "base/word_list.h"
#include "report/video.h"

namespace gpuprobe::backends {
namespace {

/// The profiles of a codec, in the order of the control's menu; null for profiles that aren't in
/// kVideoProfiles. Source: v4l2-controls.h of Linux 6.5.
struct Menu {
    std::uint32_t control = 0;
    std::array<const VideoProfile*, 18> profiles = {};
};
constexpr Menu kH264 = {
    V4L2_CTRL_CLASS_MPEG | (0x900 + 363),
    {&video_profile("h264", "baseline"), &video_profile("h264", "constrained-baseline"),
     &video_profile("h264", "main"), nullptr, &video_profile("h264", "high"),
     &video_profile("h264", "high10"), &video_profile("h264", "high422"),
     &video_profile("h264", "high444"), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
     nullptr, &video_profile("h264", "stereo-high"), &video_profile("h264", "multiview-high")}};
constexpr Menu kHevc{V4L2_CTRL_CLASS_MPEG | (0x900 + 615),
                     {&video_profile("hevc", "main"), nullptr, &video_profile("hevc", "main10")}};
constexpr Menu kVp9{V4L2_CTRL_CLASS_MPEG | (0x900 + 512),
                    {&video_profile("vp9", "profile0"), &video_profile("vp9", "profile1"),
                     &video_profile("vp9", "profile2"), &video_profile("vp9", "profile3")}};
constexpr Menu kAv1{V4L2_CTRL_CLASS_MPEG | (0x900 + 655),
                    {&video_profile("av1", "main"), &video_profile("av1", "high")}};
constexpr Menu kMpeg2{V4L2_CTRL_CLASS_MPEG | (0x900 + 271),
                      {&video_profile("mpeg2", "simple"), &video_profile("mpeg2", "main")}};
constexpr Menu kMpeg4 = {
    V4L2_CTRL_CLASS_MPEG | (0x900 + 406),
    {&video_profile("mpeg4", "simple"), &video_profile("mpeg4", "advanced-simple")}};

/// A coded format. Formats of stateless decoders contain parsed slices or frames.
struct Coded {
    std::string_view fourcc = {};
    std::string_view codec = {};
    const Menu* menu = nullptr;  ///< null if the codec has no profiles, or no control for them
};
constexpr auto kCoded = std::to_array<Coded>({
    {"H264", "h264", &kH264},
    {"AVC1", "h264", &kH264},
    {"S264", "h264", &kH264},
    {"HEVC", "hevc", &kHevc},
    {"S265", "hevc", &kHevc},
    {"VP80", "vp8"},
    {"VP8F", "vp8"},
    {"VP90", "vp9", &kVp9},
    {"VP9F", "vp9", &kVp9},
    {"AV01", "av1", &kAv1},
    {"AV1F", "av1", &kAv1},
    {"MPG1", "mpeg1"},
    {"MPG2", "mpeg2", &kMpeg2},
    {"MG2S", "mpeg2"},
    {"MPG4", "mpeg4", &kMpeg4},
    {"XVID", "mpeg4", &kMpeg4},
    {"H263", "h263"},
    {"VC1G", "vc1"},
    {"VC1L", "vc1"},
    {"MJPG", "jpeg"},
    {"JPEG", "jpeg"},
});
/// Formats of decoded pictures with 10 bits for each sample.
constexpr std::string_view kTenBits = "P010 T010 NV15 VT15 NV20 NC30 Q10C MT2T MT2R";

/// Formats of pictures that drivers mark as compressed, because the frame buffers are compressed or
/// tiled.
constexpr std::string_view kPackedPictures = "Q08C Q10C MT21 MT2T MT2R ST12";

/// The largest number of formats, sizes and menu items that are used from a driver's list.
constexpr std::uint32_t kMaxItems = 64;

template <class Structure>
bool is_answered(const DrmDevice& node, unsigned long request, Structure& question) {
    return node.ask(request, &question) == 0;
}

struct Format {
    std::uint32_t number = 0;
    std::string fourcc = {};
    bool is_coded = false;
};

std::vector<Format> formats_of(const DrmDevice& node, std::uint32_t queue) {
    std::vector<Format> formats;
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < kMaxItems; ++i) {
        v4l2_fmtdesc format{};
        format.index = i;
        format.type = queue;
        if (!is_answered(node, VIDIOC_ENUM_FMT, format))
            break;
        if (!seen.insert(format.pixelformat).second)
            continue;
        char letters[sizeof format.pixelformat];
        std::memcpy(letters, &format.pixelformat, sizeof letters);
        auto fourcc = clean_text({letters, sizeof letters}).value_or("?");
        const bool is_coded = ((format.flags & V4L2_FMT_FLAG_COMPRESSED) != 0 &&
                               !has_word(kPackedPictures, fourcc)) ||
                              std::ranges::find(kCoded, fourcc, &Coded::fourcc) != kCoded.end();
        formats.push_back({format.pixelformat, std::move(fourcc), is_coded});
    }
    return formats;
}

/// Sets the largest size of the format's pictures, if the driver reports sizes.
void add_size(const DrmDevice& node, std::uint32_t pixel_format, VideoEntry& entry) {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < kMaxItems; ++i) {
        v4l2_frmsizeenum size{};
        size.index = i;
        size.pixel_format = pixel_format;
        if (!is_answered(node, VIDIOC_ENUM_FRAMESIZES, size))
            return;
        const bool is_list = size.type == V4L2_FRMSIZE_TYPE_DISCRETE;
        const auto width = is_list ? size.discrete.width : size.stepwise.max_width;
        const auto height = is_list ? size.discrete.height : size.stepwise.max_height;
        const auto pixels = std::uint64_t{width} * height;
        if (pixels > most && video_side(width) && video_side(height)) {
            most = pixels;
            entry.max_width = width;
            entry.max_height = height;
        }
        if (!is_list)
            return;
    }
}

std::vector<const VideoProfile*> profiles_of(const DrmDevice& node, const Menu& menu) {
    std::vector<const VideoProfile*> profiles;
    v4l2_queryctrl control{};
    control.id = menu.control;
    if (!is_answered(node, VIDIOC_QUERYCTRL, control) ||
        (control.flags & V4L2_CTRL_FLAG_DISABLED) != 0)
        return profiles;
    for (std::size_t i = 0; i < menu.profiles.size(); ++i) {
        v4l2_querymenu item{};
        item.id = menu.control;
        item.index = static_cast<std::uint32_t>(i);
        const auto index = static_cast<std::int64_t>(i);
        if (menu.profiles[i] && index >= control.minimum && index <= control.maximum &&
            is_answered(node, VIDIOC_QUERYMENU, item))
            profiles.push_back(menu.profiles[i]);
    }
    return profiles;
}

/// The sample bit depths that the codec certainly supports with that profile. Except for AV1, the
/// name of a profile with more than 8 bits contains the bit depth.
std::vector<std::uint32_t> bits_of(const VideoProfile& profile, bool has_ten_bits) {
    constexpr std::uint32_t kTen = 10;
    if (profile.profile.find("10") != std::string_view::npos)
        return {kTen};
    if (has_ten_bits && profile.least_bits < kTen && profile.most_bits >= kTen)
        return {profile.least_bits, kTen};
    return {profile.least_bits};
}

/// Whether a decoder of the codec outputs pictures with 10 bits. Drivers list only the picture
/// formats of the current stream, which has 8 bits at first, but each decoder for AV1 must support
/// 8 and 10 bits. Source: AV1 specification, annex A.2.
bool gives_ten_bits(const std::vector<Format>& pictures, std::string_view codec) {
    return codec == "av1" || std::ranges::any_of(pictures, [](const Format& format) {
               return has_word(kTenBits, format.fourcc);
           });
}

void add_format(const DrmDevice& node,
                const Format& format,
                VideoDirection direction,
                const std::vector<Format>& pictures,
                std::vector<VideoEntry>& entries) {
    VideoEntry entry{.direction = direction, .name = format.fourcc};
    add_size(node, format.number, entry);
    const auto* coded = std::ranges::find(kCoded, format.fourcc, &Coded::fourcc);
    if (coded != kCoded.end())
        entry.codec = coded->codec;
    if (entry.codec == "vp8")
        entry.bits = 8U;
    const auto profiles = coded != kCoded.end() && coded->menu ? profiles_of(node, *coded->menu)
                                                               : std::vector<const VideoProfile*>{};
    if (profiles.empty()) {
        entries.push_back(entry);
        return;
    }
    const bool has_ten_bits =
        direction == VideoDirection::Decode && gives_ten_bits(pictures, coded->codec);
    for (const auto* profile : profiles)
        for (const auto bits : bits_of(*profile, has_ten_bits)) {
            entries.push_back(entry);
            entries.back().profile = profile->profile;
            entries.back().bits = bits;
            entries.back().chroma = words(profile->chroma).back();
        }
}

/// Coded formats that the driver accepts as input can be decoded, and coded formats that it
/// produces can be encoded.
std::vector<VideoEntry> entries_of(const DrmDevice& node, std::uint32_t capabilities) {
    const bool has_planes =
        (capabilities & (V4L2_CAP_VIDEO_M2M_MPLANE | V4L2_CAP_VIDEO_OUTPUT_MPLANE)) != 0;
    const bool is_codec = (capabilities & (V4L2_CAP_VIDEO_M2M_MPLANE | V4L2_CAP_VIDEO_M2M)) != 0 ||
                          (capabilities & V4L2_CAP_VIDEO_OUTPUT_MPLANE) != 0;
    std::vector<VideoEntry> entries;
    if (!is_codec)
        return entries;
    const auto taken = formats_of(
        node, has_planes ? V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE : V4L2_BUF_TYPE_VIDEO_OUTPUT);
    const auto given = formats_of(
        node, has_planes ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE);
    for (const auto& format : taken)
        if (format.is_coded)
            add_format(node, format, VideoDirection::Decode, given, entries);
    for (const auto& format : given)
        if (format.is_coded)
            add_format(node, format, VideoDirection::Encode, {}, entries);
    entries.resize(std::min(entries.size(), kMaxVideoEntries));
    return entries;
}

template <std::size_t size>
Value text_in(const std::uint8_t (&array)[size]) {
    std::string text{array, array + size};
    return to_value(clean_text(text.substr(0, text.find('\0'))));
}

}  // namespace

bool opens_asleep(std::string_view driver) {
    // In these drivers, the functions for open() and for the ioctls above do not resume the device.
    // Source: Linux 6.1, drivers/media/platform and drivers/staging/media.
    constexpr std::string_view kDrivers =
        "allegro cedrus hantro-vpu meson-vdec mtk-jpeg mxc-jpeg rkvdec tegra-vde";
    return has_word(kDrivers, driver);
}

Answer ask_v4l2(const DrmDevice& node, DeviceFacts facts, Sink& sink) {
    sink.phase("query");
    v4l2_capability device{};
    if (const auto code = node.ask(VIDIOC_QUERYCAP, &device); code != 0)
        return answer_of(
            refused_call("api-refused", "VIDIOC_QUERYCAP", errno_error("", code).text, code));
    facts.extra["driver_name"] = text_in(device.driver);
    facts.extra["driver_info"] = text_in(device.card);
    facts.extra["video"] = to_value(
        entries_of(node, (device.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? device.device_caps
                                                                           : device.capabilities));
    sink.device(facts);
    return {};
}

Answer query_v4l2(const ProbeTarget& target, Sink& sink) {
    const RootedFiles files;
    const auto node = node_in_sysfs(files, "/sys/class/video4linux", target.driver);
    if (!node)
        return without_devices("no node '" + target.driver + "'", {{"api", "v4l2"}});
    // Since the machine was scanned, the number of the node may have been given to a camera.
    if (node->folders.front().find("/usb") != std::string::npos)
        return without_devices("node '" + target.driver + "' is on USB", {{"api", "v4l2"}});
    const auto driver = files.link_target(node->folders.front() + "/driver").value_or("");
    // The engine does not check for sleep, because most drivers can be queried while the device
    // sleeps.
    if (is_asleep(files, *node) && !opens_asleep(driver.substr(driver.find_last_of('/') + 1)))
        return Answer{.outcome = Outcome::Failed,
                      .note = node->id + " is suspended",
                      .reasons = {because("asleep", {{"device", node->id}})}};
    const auto opened = open_drm_device(node->path, node->device_number);
    if (!opened) {
        auto reason = not_opened(*node, opened.error());
        // The systemd unit of the workers allows no V4L2 nodes, because most V4L2 nodes are
        // cameras.
        if (reason.is("device-denied"))
            return without_devices("a device control group denies access to " + node->path,
                                   {{"api", "v4l2"}, {"node", node->path}});
        return Answer{.outcome = Outcome::Failed,
                      .note = opened.error().text,
                      .reasons = {std::move(reason)}};
    }
    return ask_v4l2(**opened, facts_from_sysfs(*node, 0), sink);
}

}  // namespace gpuprobe::backends
