// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/value.h"

/// The capabilities of a GPU's video engines. Each API for video engines (VA-API, NVDEC and NVENC),
/// and Vulkan (Vulkan Video), reports the capabilities as the fact `video`, with the words that
/// this file defines.

namespace gpuprobe::inline report {

struct Gpu;

enum class VideoDirection { Decode, Encode, Process };
constexpr std::array<EnumName<VideoDirection>, 3> names_of(VideoDirection) {
    return {{{VideoDirection::Decode, "decode"},
             {VideoDirection::Encode, "encode"},
             {VideoDirection::Process, "process"}}};
}

/// One capability of a video engine: one format of one codec in one direction.
struct VideoEntry {
    /// Null for another kind of capability, such as content protection.
    std::optional<VideoDirection> direction = {};
    std::optional<std::string> codec = {};         ///< "h264", "av1" …; null without a codec
    std::optional<std::string> profile = {};       ///< "main10"; null if the codec has no profiles
    std::optional<std::uint32_t> bits = {};        ///< number of bits in a sample; null if unknown
    std::optional<std::string> chroma = {};        ///< "4:2:0" …; null if unknown
    std::optional<std::uint32_t> max_width = {};   ///< maximum width in pixels; null if unknown
    std::optional<std::uint32_t> max_height = {};  ///< maximum height in pixels; null if unknown
    std::string name = {};                         ///< the API's name for the capability
    auto operator<=>(const VideoEntry&) const = default;
};
RECORD_MEMBERS(VideoEntry, direction, codec, profile, bits, chroma, max_width, max_height, name)

/// The maximum number of entries that an API reports about a GPU. A list with this number of
/// entries may be incomplete.
constexpr std::size_t kMaxVideoEntries = 512;

/// The width or height that a driver reports; nullopt if it is 0 or implausibly large.
constexpr std::optional<std::uint32_t> video_side(std::uint32_t pixels) {
    constexpr std::uint32_t kMax = 1U << 20U;
    return pixels != 0 && pixels <= kMax ? std::optional{pixels} : std::nullopt;
}

/// A profile of a codec, and the samples that its streams can have.
struct VideoProfile {
    std::string_view codec = {};
    std::string_view profile = {};  ///< empty for a codec without profiles
    std::uint32_t least_bits = 8;   ///< smallest number of bits in a sample
    std::uint32_t most_bits = 8;
    std::string_view chroma = "4:2:0";  ///< chroma formats of the profile, separated by spaces
};

/// Lists of chroma formats that several profiles share.
inline constexpr std::string_view kUpTo420 = "4:0:0 4:2:0";
inline constexpr std::string_view kUpTo422 = "4:0:0 4:2:0 4:2:2";
inline constexpr std::string_view kUpTo444 = "4:0:0 4:2:0 4:2:2 4:4:4";

/// All profiles, by codec. Sources: ISO/IEC 13818-2 and 14496-2; ITU-T H.263, H.264, H.265 and
/// H.266, "Profiles"; SMPTE 421M; RFC 6386; VP9 and AV1 bitstream specifications, "Profiles"; ITU-T
/// T.81 with the sampling factors that decoders support.
inline constexpr auto kVideoProfiles = std::to_array<VideoProfile>({
    {"mpeg1", ""},
    {"mpeg2", "simple"},
    {"mpeg2", "main"},
    {"mpeg4", "simple"},
    {"mpeg4", "advanced-simple"},
    {"mpeg4", "main"},
    {"h263", "baseline"},
    {"h264", "baseline"},
    {"h264", "constrained-baseline"},
    {"h264", "main"},
    {"h264", "high", 8, 8, kUpTo420},
    {"h264", "high10", 8, 10, kUpTo420},
    {"h264", "high422", 8, 10, kUpTo422},
    {"h264", "high444", 8, 14, kUpTo444},
    {"h264", "multiview-high", 8, 8, kUpTo420},
    {"h264", "stereo-high", 8, 8, kUpTo420},
    {"hevc", "main"},
    {"hevc", "main10", 8, 10},
    {"hevc", "main12", 8, 12, kUpTo420},
    {"hevc", "main422-10", 8, 10, kUpTo422},
    {"hevc", "main422-12", 8, 12, kUpTo422},
    {"hevc", "main444", 8, 8, kUpTo444},
    {"hevc", "main444-10", 8, 10, kUpTo444},
    {"hevc", "main444-12", 8, 12, kUpTo444},
    {"hevc", "scc-main", 8, 8, kUpTo420},
    {"hevc", "scc-main10", 8, 10, kUpTo420},
    {"hevc", "scc-main444", 8, 8, kUpTo444},
    {"hevc", "scc-main444-10", 8, 10, kUpTo444},
    {"vvc", "main10", 8, 10, kUpTo420},
    {"vvc", "multilayer-main10", 8, 10, kUpTo420},
    {"vc1", "simple"},
    {"vc1", "main"},
    {"vc1", "advanced"},
    {"vp8", ""},
    {"vp9", "profile0"},
    {"vp9", "profile1", 8, 8, "4:2:2 4:4:4"},
    {"vp9", "profile2", 10, 12},
    {"vp9", "profile3", 10, 12, "4:2:2 4:4:4"},
    {"av1", "main", 8, 10, kUpTo420},
    {"av1", "high", 8, 10, "4:0:0 4:2:0 4:4:4"},
    {"jpeg", "baseline", 8, 8, "4:0:0 4:1:1 4:2:0 4:2:2 4:4:4"},
});

/// The row of a profile. For constant arguments, a profile without a row does not compile.
constexpr const VideoProfile& video_profile(std::string_view codec, std::string_view profile) {
    const VideoProfile* found = nullptr;
    for (const auto& row : kVideoProfiles)
        if (row.codec == codec && row.profile == profile)
            found = &row;
    return *found;
}

/// The words by which a term can name the format: "av1", "av1-main", "av1-10bit" and
/// "av1-main-10bit". Empty without a codec.
std::vector<std::string> video_words(const VideoEntry& entry);
/// Replaces the codec's name in a word of a term with the name that reports use: "hevc-main" for
/// "h265-main".
std::string video_word(std::string_view word);
/// The words that terms can use for the formats in kVideoProfiles, sorted.
std::vector<std::string> all_video_words();

/// The directions for which an API could not query its driver about the GPU, with the reasons.
/// `device`: ApiView::device.
std::vector<std::pair<VideoDirection, std::string>> video_errors(const Value& device);

/// The library of NVIDIA's driver through which programs decode or encode.
constexpr std::string_view nvidia_video_library(VideoDirection direction) {
    return direction == VideoDirection::Decode ? "libnvcuvid.so.1" : "libnvidia-encode.so.1";
}

/// The library of NVIDIA's driver that is known to be missing, so that programs cannot use the GPU
/// in the given direction; nullopt if no library is known to be missing.
std::optional<std::string_view> missing_video_library(const Gpu& gpu, VideoDirection direction);

/// The entries in a list of values. Malformed entries are skipped, because a capture can contain
/// anything.
std::vector<VideoEntry> video_entries(const Value::Array& list);

/// The APIs whose formats count. Only a few programs use Vulkan Video.
enum class VideoApis {
    All,
    Engines,  ///< without Vulkan: the APIs with ApiInfo::reports_video
};
/// The APIs whose formats programs with the backend can use; all APIs for an empty word.
constexpr VideoApis video_apis_of(std::string_view backend) {
    return backend.empty() || backend == "vulkan" ? VideoApis::All : VideoApis::Engines;
}

/// Whether it is known that programs on this machine cannot use the GPU in the given direction: no
/// API reports a format, and either the chip has no engine, or the APIs for the GPU's engines have
/// answered or aren't installed.
bool is_without_video(const Gpu& gpu, VideoDirection direction, VideoApis apis = VideoApis::All);

/// Whether the GPU may have formats in the given direction that no API reports, because the API of
/// the GPU's vendor did not report this direction, or because only Vulkan reports formats. VA
/// drivers for NVIDIA GPUs report only a part of the formats.
bool may_lack_video(const Gpu& gpu, VideoDirection direction);

/// The capabilities that the APIs report about a GPU; nullopt if no API reports any. An empty list
/// means that the GPU has no video engines, unless only Vulkan reported the list.
std::optional<std::vector<VideoEntry>> video_of(const Gpu& gpu, VideoApis apis = VideoApis::All);

/// The codecs that most programs use, in the order in which messages list them.
inline constexpr auto kMainCodecs = std::to_array<std::string_view>({"h264", "hevc", "vp9", "av1"});
/// The codecs that the APIs report about a GPU in the given direction: kMainCodecs, then the other
/// codecs by name.
std::vector<std::string> codecs_of(const Gpu& gpu, VideoDirection direction);

}  // namespace gpuprobe::inline report
