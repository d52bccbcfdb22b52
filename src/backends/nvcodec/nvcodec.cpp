// SPDX-License-Identifier: Apache-2.0
#include "backends/nvcodec/nvcodec.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "backends/compute/device.h"
#include "backends/cuda/cuda.h"
#include "backends/texts.h"
#include "base/record.h"
#include "base/text.h"
#include "base/word_list.h"

namespace gpuprobe::backends {

namespace nvcodec {
namespace {

/// A cudaVideoCodec. H264_SVC (6) is left out, because no GPU decodes its enhancement layers.
struct Codec {
    int number = 0;
    std::string_view name = {};
    std::string_view word = {};
};
constexpr auto kCodecs = std::to_array<Codec>({{0, "MPEG1", "mpeg1"},
                                               {1, "MPEG2", "mpeg2"},
                                               {2, "MPEG4", "mpeg4"},
                                               {3, "VC1", "vc1"},
                                               {4, "H264", "h264"},
                                               {5, "JPEG", "jpeg"},
                                               {7, "H264_MVC", "h264"},
                                               {8, "HEVC", "hevc"},
                                               {9, "VP8", "vp8"},
                                               {10, "VP9", "vp9"},
                                               {11, "AV1", "av1"}});

/// The chroma formats, indexed by cudaVideoChromaFormat.
constexpr auto kChromas = std::to_array<std::string_view>({"4:0:0", "4:2:0", "4:2:2", "4:4:4"});
constexpr auto kBits = std::to_array<std::uint32_t>({8, 10, 12});

/// The profiles whose streams have these samples. NVDEC reports chroma formats and bit depths (the
/// samples), but no profiles. Words in a list are separated by spaces. Source: NVDEC Video Decoder
/// API Programming Guide, "Video Decoder Capabilities"; the specifications in report/video.h.
struct Samples {
    int codec = 0;
    std::string_view chromas = {};
    std::string_view bits = {};
    std::string_view profiles = {};
};
constexpr auto kSamples = std::to_array<Samples>({
    {1, "4:2:0", "8", "simple main"},
    {2, "4:2:0", "8", "simple advanced-simple"},
    {3, "4:2:0", "8", "simple main advanced"},
    {4, "4:2:0", "8", "baseline constrained-baseline main high"},
    {4, "4:0:0", "8", "high"},
    {4, "4:0:0 4:2:0", "10", "high10"},
    {4, "4:2:2", "8 10", "high422"},
    {5, "4:0:0 4:2:0 4:2:2 4:4:4", "8", "baseline"},
    {7, "4:2:0", "8", "multiview-high stereo-high"},
    {8, "4:2:0", "8", "main"},
    {8, "4:2:0", "10", "main10"},
    {8, "4:2:0", "12", "main12"},
    {8, "4:2:2", "8 10", "main422-10"},
    {8, "4:2:2", "12", "main422-12"},
    {8, "4:4:4", "8", "main444"},
    {8, "4:4:4", "10", "main444-10"},
    {8, "4:4:4", "12", "main444-12"},
    {10, "4:2:0", "8", "profile0"},
    {10, "4:2:2 4:4:4", "8", "profile1"},
    {10, "4:2:0", "10 12", "profile2"},
    {10, "4:2:2 4:4:4", "10 12", "profile3"},
    {11, "4:0:0 4:2:0", "8 10", "main"},
    {11, "4:4:4", "8 10", "high"},
});

/// Adds an entry for each profile of these samples, or a single entry without a profile if no
/// profile has these samples.
void add_samples(const Codec& codec, VideoEntry entry, std::vector<VideoEntry>& entries) {
    const auto bits = std::to_string(*entry.bits);
    const auto* const known = std::ranges::find_if(kSamples, [&](const Samples& row) {
        return row.codec == codec.number && has_word(row.chromas, *entry.chroma) &&
               has_word(row.bits, bits);
    });
    if (known == kSamples.end()) {
        entries.push_back(std::move(entry));
        return;
    }
    for (const auto profile : words(known->profiles)) {
        entry.profile = profile;
        entries.push_back(entry);
    }
}

/// The error codes for a codec that is newer than the driver. Source: CUDA Driver API, CUresult.
constexpr int kInvalidValue = 1;
constexpr int kNotSupported = 801;

Refusal refused(const char* function, std::string_view words, int code) {
    return refused_call("api-refused", function, words, code);
}

constexpr std::size_t k420 = 1;  // cudaVideoChromaFormat_420

/// Whether a profile of the codec has these samples. 4:2:0 with 8 bits is part of each codec.
bool is_in_a_profile(int codec, std::size_t chroma, std::uint32_t bits) {
    return (chroma == k420 && bits == kBits.front()) ||
           std::ranges::any_of(kSamples, [&](const Samples& row) {
               return row.codec == codec && has_word(row.chromas, kChromas[chroma]) &&
                      has_word(row.bits, std::to_string(bits));
           });
}

/// NVDEC's answer; nullopt if NVDEC does not decode these samples.
Attempt<std::optional<DecoderCaps>> caps_of(const DecodeSymbols& api,
                                            int codec,
                                            std::size_t chroma,
                                            std::uint32_t bits) {
    DecoderCaps caps{.codec = codec,
                     .chroma = static_cast<std::int32_t>(chroma),
                     .bits_above_8 = bits - kBits.front()};
    const int code = api.caps(&caps);
    if (code == kInvalidValue || code == kNotSupported)
        return std::optional<DecoderCaps>{};
    if (code != cuda::kSuccess)
        return refused(api.caps.name, "CUDA error " + std::to_string(code), code);
    return caps.is_supported == 0 ? std::nullopt : std::optional{caps};
}

}  // namespace

/// One query takes 7 ms (H200, driver 580), so NVDEC isn't queried about samples that no profile
/// has.
Attempt<std::vector<VideoEntry>> decoded_formats(const DecodeSymbols& api) {
    std::vector<VideoEntry> entries;
    for (const auto& codec : kCodecs)
        for (std::size_t chroma = 0; chroma < kChromas.size(); ++chroma)
            for (const auto bits : kBits) {
                if (!is_in_a_profile(codec.number, chroma, bits))
                    continue;
                const auto caps = TRY(caps_of(api, codec.number, chroma, bits));
                if (!caps)
                    continue;
                add_samples(codec,
                            {.direction = VideoDirection::Decode,
                             .codec = std::string{codec.word},
                             .bits = bits,
                             .chroma = std::string{kChromas[chroma]},
                             .max_width = video_side(caps->max_width),
                             .max_height = video_side(caps->max_height),
                             .name = "cudaVideoCodec_" + std::string{codec.name}},
                            entries);
            }
    return entries;
}

namespace {

/// The newest and the oldest version of the NVENC API whose layouts nvcodec.h describes.
constexpr std::pair<std::uint32_t, std::uint32_t> kNewest{13, 0};
constexpr std::pair<std::uint32_t, std::uint32_t> kOldest{8, 0};

/// Members of NVENCSTATUS. A driver gives NoEncoder or UnsupportedDevice for a GPU without NVENC.
enum : Status { kNoEncoder = 1, kUnsupportedDevice = 2 };
/// Members of NV_ENC_CAPS.
enum : std::int32_t { kWidth = 16, kHeight = 17, k444 = 33, k10Bit = 39, k422 = 59 };
constexpr std::uint32_t kCudaDevice = 1;  // NV_ENC_DEVICE_TYPE_CUDA

// The GUIDs of codecs and profiles.
constexpr Guid kH264 = {
    0x6bc82762, 0x4e63, 0x4ca4, {0xaa, 0x85, 0x1e, 0x50, 0xf3, 0x21, 0xf6, 0xbf}};
constexpr Guid kHevc = {
    0x790cdc88, 0x4522, 0x4d7b, {0x94, 0x25, 0xbd, 0xa9, 0x97, 0x5f, 0x76, 0x03}};
constexpr Guid kAv1 = {
    0x0a352289, 0x0aa7, 0x4759, {0x86, 0x2d, 0x5d, 0x15, 0xcd, 0x16, 0xd2, 0x54}};
constexpr Guid kAny = {
    0xbfd6f8e7, 0x233c, 0x4341, {0x8b, 0x3e, 0x48, 0x18, 0x52, 0x38, 0x03, 0xf4}};
constexpr Guid kH264ProgressiveHigh = {
    0xb405afac, 0xf32b, 0x417b, {0x89, 0xc4, 0x9a, 0xbe, 0xed, 0x3e, 0x59, 0x78}};
constexpr Guid kH264ConstrainedHigh = {
    0xaec1bd87, 0xe85b, 0x48f2, {0x84, 0xc3, 0x98, 0xbc, 0xa6, 0x28, 0x50, 0x72}};
constexpr Guid kH264Baseline = {
    0x0727bcaa, 0x78c4, 0x4c83, {0x8c, 0x2f, 0xef, 0x3d, 0xff, 0x26, 0x7c, 0x6a}};
constexpr Guid kH264Main = {
    0x60b5c1d4, 0x67fe, 0x4790, {0x94, 0xd5, 0xc4, 0x72, 0x6d, 0x7b, 0x6e, 0x6d}};
constexpr Guid kH264High = {
    0xe7cbc309, 0x4f7a, 0x4b89, {0xaf, 0x2a, 0xd5, 0x37, 0xc9, 0x2b, 0xe3, 0x10}};
constexpr Guid kH264High10 = {
    0x8f0c337e, 0x186c, 0x48e9, {0xa6, 0x9d, 0x7a, 0x83, 0x34, 0x08, 0x97, 0x58}};
constexpr Guid kH264High422 = {
    0xff3242e9, 0x613c, 0x4295, {0xa1, 0xe8, 0x2a, 0x7f, 0xe9, 0x4d, 0x81, 0x33}};
constexpr Guid kH264High444 = {
    0x7ac663cb, 0xa598, 0x4960, {0xb8, 0x44, 0x33, 0x9b, 0x26, 0x1a, 0x7d, 0x52}};
constexpr Guid kH264Stereo = {
    0x40847bf5, 0x33f7, 0x4601, {0x90, 0x84, 0xe8, 0xfe, 0x3c, 0x1d, 0xb8, 0xb7}};
constexpr Guid kHevcMain = {
    0xb514c39a, 0xb55b, 0x40fa, {0x87, 0x8f, 0xf1, 0x25, 0x3b, 0x4d, 0xfd, 0xec}};
constexpr Guid kHevcMain10 = {
    0xfa4d2b6c, 0x3a5b, 0x411a, {0x80, 0x18, 0x0a, 0x3f, 0x5e, 0x3c, 0x9b, 0xe5}};
constexpr Guid kHevcFrext = {
    0x51ec32b5, 0x1b4c, 0x453c, {0x9c, 0xbd, 0xb6, 0x16, 0xbd, 0x62, 0x13, 0x41}};
constexpr Guid kAv1Main = {
    0x5f2a39f5, 0xf14e, 0x4f95, {0x9a, 0x9e, 0xb7, 0x6d, 0x56, 0x8f, 0xcf, 0x97}};

/// A codec of NVENC.
struct EncodedCodec {
    Guid guid = {};
    std::string_view name = {};
    std::string_view word = {};
};
constexpr auto kEncodedCodecs =
    std::to_array<EncodedCodec>({{kH264, "NV_ENC_CODEC_H264_GUID", "h264"},
                                 {kHevc, "NV_ENC_CODEC_HEVC_GUID", "hevc"},
                                 {kAv1, "NV_ENC_CODEC_AV1_GUID", "av1"}});

/// A profile of NVENC, with one of its formats. A profile that only restricts another profile has
/// no format.
struct EncodedProfile {
    Guid guid = {};
    std::string_view name = {};
    std::string_view profile = {};
    std::string_view chroma = "4:2:0";
    std::uint32_t bits = 8;
};
constexpr auto kEncodedProfiles = std::to_array<EncodedProfile>({
    {kAny, "NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID"},
    {kH264ProgressiveHigh, "NV_ENC_H264_PROFILE_PROGRESSIVE_HIGH_GUID"},
    {kH264ConstrainedHigh, "NV_ENC_H264_PROFILE_CONSTRAINED_HIGH_GUID"},
    {kH264Baseline, "NV_ENC_H264_PROFILE_BASELINE_GUID", "baseline"},
    {kH264Main, "NV_ENC_H264_PROFILE_MAIN_GUID", "main"},
    {kH264High, "NV_ENC_H264_PROFILE_HIGH_GUID", "high"},
    {kH264High10, "NV_ENC_H264_PROFILE_HIGH_10_GUID", "high10", "4:2:0", 10},
    {kH264High422, "NV_ENC_H264_PROFILE_HIGH_422_GUID", "high422", "4:2:2"},
    {kH264High422, "NV_ENC_H264_PROFILE_HIGH_422_GUID", "high422", "4:2:2", 10},
    {kH264High444, "NV_ENC_H264_PROFILE_HIGH_444_GUID", "high444", "4:4:4"},
    {kH264Stereo, "NV_ENC_H264_PROFILE_STEREO_GUID", "stereo-high"},
    {kHevcMain, "NV_ENC_HEVC_PROFILE_MAIN_GUID", "main"},
    {kHevcMain10, "NV_ENC_HEVC_PROFILE_MAIN10_GUID", "main10", "4:2:0", 10},
    {kHevcFrext, "NV_ENC_HEVC_PROFILE_FREXT_GUID", "main422-10", "4:2:2"},
    {kHevcFrext, "NV_ENC_HEVC_PROFILE_FREXT_GUID", "main422-10", "4:2:2", 10},
    {kHevcFrext, "NV_ENC_HEVC_PROFILE_FREXT_GUID", "main444", "4:4:4"},
    {kHevcFrext, "NV_ENC_HEVC_PROFILE_FREXT_GUID", "main444-10", "4:4:4", 10},
    {kAv1Main, "NV_ENC_AV1_PROFILE_MAIN_GUID", "main"},
    {kAv1Main, "NV_ENC_AV1_PROFILE_MAIN_GUID", "main", "4:2:0", 10},
});

/// The usual form of a GUID, such as "6bc82762-4e63-4ca4-aa85-1e50f321f6bf".
std::string text_of(const Guid& guid) {
    std::array<std::uint8_t, 16> bytes = {
        static_cast<std::uint8_t>(guid.first >> 24U), static_cast<std::uint8_t>(guid.first >> 16U),
        static_cast<std::uint8_t>(guid.first >> 8U),  static_cast<std::uint8_t>(guid.first),
        static_cast<std::uint8_t>(guid.second >> 8U), static_cast<std::uint8_t>(guid.second),
        static_cast<std::uint8_t>(guid.third >> 8U),  static_cast<std::uint8_t>(guid.third)};
    std::ranges::copy(guid.rest, bytes.begin() + 8);
    return uuid_text(bytes);
}

/// The name of a status, or "NVENCSTATUS" for a status about which users can do nothing.
std::string_view words_of(Status status) {
    switch (status) {
        case 10:
            return "NV_ENC_ERR_OUT_OF_MEMORY";
        case 15:
            return "NV_ENC_ERR_INVALID_VERSION";
        case 21:
            return "NV_ENC_ERR_INCOMPATIBLE_CLIENT_KEY";
        default:
            return "NVENCSTATUS";
    }
}

Refusal refused(const char* function, Status status) {
    return refused(function, std::string{words_of(status)} + " (" + std::to_string(status) + ")",
                   status);
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> newest_version(const EncodeSymbols& api) {
    constexpr std::uint32_t kMinorBits = 4;
    std::uint32_t version = 0;
    if (api.newest_version(&version) != 0 || version == 0)
        return std::nullopt;
    return std::pair{version >> kMinorBits, version & ((1U << kMinorBits) - 1)};
}

/// An encode session, whose functions are called with structures of one version.
class Encoder {
public:
    explicit Encoder(std::pair<std::uint32_t, std::uint32_t> version)
        : version_{version.first | version.second << 24U} {}

    /// Opens the session; returns false for a GPU without NVENC.
    Attempt<bool> open(const EncodeSymbols& api, void* context) {
        functions_.version = version_of(2);
        if (const auto status = api.create(&functions_); status != 0)
            return refused(api.create.name, status);
        if (!functions_.open_session || !functions_.close_session || !functions_.codecs ||
            !functions_.profiles || !functions_.caps)
            return Refusal{.code = "api-refused", .note = "NVENC lacks a function"};
        SessionParameters parameters{.version = version_of(1),
                                     .device_type = kCudaDevice,
                                     .device = context,
                                     .api_version = version_};
        Session session = nullptr;
        const auto status = functions_.open_session(&parameters, &session);
        if (status == kNoEncoder || status == kUnsupportedDevice)
            return false;
        if (status != 0 || !session)
            return refused("NvEncOpenEncodeSessionEx", status);
        session_ = {session, functions_.close_session};
        return true;
    }

    [[nodiscard]] Attempt<std::vector<Guid>> codecs() const {
        return listed("NvEncGetEncodeGUIDs", [this](Guid* list, std::uint32_t* count) {
            return functions_.codecs(session_.get(), list, kCapacity, count);
        });
    }
    [[nodiscard]] Attempt<std::vector<Guid>> profiles(const Guid& codec) const {
        return listed("NvEncGetEncodeProfileGUIDs", [&](Guid* list, std::uint32_t* count) {
            return functions_.profiles(session_.get(), codec, list, kCapacity, count);
        });
    }
    /// A capability of the codec; 0 if the driver does not know it.
    [[nodiscard]] std::uint32_t caps(const Guid& codec, std::int32_t which) const {
        CapsParameter parameter{.version = version_of(1), .caps = which};
        int value = 0;
        const auto status = functions_.caps(session_.get(), codec, &parameter, &value);
        return status == 0 && value > 0 ? static_cast<std::uint32_t>(value) : 0;
    }

private:
    static constexpr std::uint32_t kCapacity = 64;

    /// NVENCAPI_STRUCT_VERSION
    [[nodiscard]] std::uint32_t version_of(std::uint32_t structure) const {
        return version_ | structure << 16U | 7U << 28U;
    }
    /// The list that `query` fills in, without duplicates.
    template <class Query>
    static Attempt<std::vector<Guid>> listed(const char* function, const Query& query) {
        std::vector<Guid> list(kCapacity);
        std::uint32_t count = 0;
        if (const auto status = query(list.data(), &count); status != 0)
            return refused(function, status);
        list.resize(std::min(count, kCapacity));
        std::vector<Guid> once;
        for (const auto& guid : list)
            if (std::ranges::find(once, guid) == once.end())
                once.push_back(guid);
        return once;
    }

    std::uint32_t version_ = 0;
    EncodeFunctions functions_ = {};
    Owned<Session> session_ = {};
};

/// What NVENC can do with one codec.
struct EncodeLimits {
    std::optional<std::uint32_t> max_width = {};
    std::optional<std::uint32_t> max_height = {};
    bool has_10_bit = false;
    bool has_422 = false;
    bool has_444 = false;

    [[nodiscard]] bool allow(const EncodedProfile& row) const {
        return !row.profile.empty() && (row.bits == 8 || has_10_bit) &&
               (row.chroma != "4:2:2" || has_422) && (row.chroma != "4:4:4" || has_444);
    }
};

/// Adds the formats of a codec's profile. A profile that gpuprobe does not know becomes an entry
/// without a format.
void add_profile(const Guid& profile,
                 const EncodeLimits& limits,
                 VideoEntry entry,
                 std::vector<VideoEntry>& entries) {
    const auto codec = entry.name + "/";
    bool is_known = false;
    for (const auto& row : kEncodedProfiles) {
        if (row.guid != profile)
            continue;
        is_known = true;
        if (!limits.allow(row))
            continue;
        entry.name = codec + std::string{row.name};
        entry.profile = row.profile;
        entry.chroma = row.chroma;
        entry.bits = row.bits;
        entries.push_back(entry);
    }
    entry.name = codec + text_of(profile);
    if (!is_known)
        entries.push_back(std::move(entry));
}

Attempt<Done> add_codec(const Encoder& encoder,
                        const Guid& codec,
                        std::vector<VideoEntry>& entries) {
    const auto* const known = std::ranges::find(kEncodedCodecs, codec, &EncodedCodec::guid);
    const EncodeLimits limits{.max_width = video_side(encoder.caps(codec, kWidth)),
                              .max_height = video_side(encoder.caps(codec, kHeight)),
                              .has_10_bit = encoder.caps(codec, k10Bit) != 0,
                              .has_422 = encoder.caps(codec, k422) != 0,
                              .has_444 = encoder.caps(codec, k444) != 0};
    VideoEntry entry{.direction = VideoDirection::Encode,
                     .max_width = limits.max_width,
                     .max_height = limits.max_height};
    if (known == kEncodedCodecs.end()) {
        entry.name = text_of(codec);
        entries.push_back(std::move(entry));
        return Done{};
    }
    entry.codec = known->word;
    entry.name = known->name;
    for (const auto& profile : TRY(encoder.profiles(codec)))
        add_profile(profile, limits, entry, entries);
    return Done{};
}

}  // namespace

Attempt<std::vector<VideoEntry>> encoded_formats(const EncodeSymbols& api, void* context) {
    const auto newest = newest_version(api);
    if (!newest || *newest < kOldest)
        return Refusal{.code = "api-refused",
                       .note = "the driver supports only NVENC " +
                               nvenc_version(api).value_or("of an unknown version")};
    Encoder encoder{std::min(*newest, kNewest)};
    std::vector<VideoEntry> entries;
    if (!TRY(encoder.open(api, context)))
        return entries;
    for (const auto& codec : TRY(encoder.codecs()))
        (void)TRY(add_codec(encoder, codec, entries));
    return entries;
}

std::optional<std::string> nvenc_version(const EncodeSymbols& api) {
    const auto newest = newest_version(api);
    return newest ? std::optional{dotted({newest->first, newest->second})} : std::nullopt;
}

}  // namespace nvcodec

namespace {

constexpr const char* kCuda = "libcuda.so.1";

struct ContextSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<int(void**)> current{*this, "cuCtxGetCurrent"};
    Symbol<int(void*)> set_current{*this, "cuCtxSetCurrent"};
};

/// The functions of a library, or the answer to report if the library is missing or unusable.
template <class Table>
Asked<Table> functions_of(std::string_view name, Sink& sink) {
    const auto library = TRY(open_library(std::string{name}, sink));
    return query_functions<Table>(library);
}

/// A reason for each library that isn't installed.
std::vector<Reason> missing_libraries(const Asked<nvcodec::DecodeSymbols>& decode,
                                      const Asked<nvcodec::EncodeSymbols>& encode) {
    std::vector<Reason> reasons;
    const auto add = [&reasons](const auto& asked, VideoDirection direction) {
        if (!asked && asked.error().outcome == Outcome::Absent)
            reasons.push_back(because("library-missing",
                                      {{"missing", std::string{nvidia_video_library(direction)}}}));
    };
    add(decode, VideoDirection::Decode);
    add(encode, VideoDirection::Encode);
    return reasons;
}

/// The reason why the probe must not create a context on the GPU: in every mode but 0, at most one
/// process can have a context, so the probe could make another program fail. Source: CUDA Driver
/// API, CUcomputemode.
Attempt<Done> may_create_context(const DeviceFacts& facts) {
    if (facts.extra.at("compute_mode").as_unsigned().value_or(0) == 0)
        return Done{};
    return Refusal{.code = "api-refused", .note = "the compute mode of the GPU is exclusive"};
}

/// The query of all GPUs, in two passes: first NVDEC, whose answers remain if NVENC crashes. The
/// contexts of the first pass exist until the end, because creating a context takes longer than all
/// other steps.
class VideoQuery {
public:
    VideoQuery(Asked<nvcodec::DecodeSymbols> decode,
               Asked<nvcodec::EncodeSymbols> encode,
               const ContextSymbols& context,
               Sink& sink)
        : decode_{std::move(decode)}, encode_{std::move(encode)}, context_{context}, sink_{sink} {}

    Answer run(const ProbeTarget& target) {
        auto answer = visit_cuda(target, sink_, [this](const auto& cuda, const auto& open) {
            report_decoder(cuda, open);
            return true;
        });
        if (answer.outcome != Outcome::Answered || !encode_)
            return answer;
        sink_.known();
        for (auto& gpu : gpus_)
            if (context_.set_current(gpu.context) == cuda::kSuccess)
                report_encoder(gpu);
        return answer;
    }

private:
    /// A GPU with a context.
    struct OpenedGpu {
        DeviceFacts facts = {};
        std::vector<VideoEntry> entries = {};
        std::unique_ptr<ComputeDevice> device = {};
        void* context = nullptr;
    };

    Attempt<OpenedGpu> opened(const DeviceFacts& cuda, const OpenDevice& open) {
        (void)TRY(may_create_context(cuda));
        OpenedGpu gpu{.device = TRY(open())};
        (void)context_.current(&gpu.context);  // on failure, gpu.context stays null
        return gpu;
    }

    /// Errors: the reason why the formats are unknown.
    [[nodiscard]] Result<std::vector<VideoEntry>, std::optional<std::string>> decoded_formats()
        const {
        if (!decode_)
            return decode_.error().note;
        auto decoded = nvcodec::decoded_formats(*decode_);
        if (!decoded)
            return std::optional{decoded.error().note};
        return *std::move(decoded);
    }

    void report_decoder(const DeviceFacts& cuda, const OpenDevice& open) {
        DeviceFacts facts{.index = cuda.index,
                          .name = cuda.name,
                          .vendor_id = cuda.vendor_id,
                          .pci = cuda.pci,
                          .uuid = cuda.uuid};
        auto gpu = opened(cuda, open);
        if (!gpu) {
            facts.extra = Value{Value::Object{{"decode_error", to_value(gpu.error().note)},
                                              {"encode_error", to_value(gpu.error().note)}}};
            return sink_.device(facts);
        }
        auto decoded = decoded_formats();
        facts.extra["decode_error"] = decoded ? Value{} : to_value(decoded.error());
        if (decoded)
            gpu->entries = *std::move(decoded);
        facts.extra["video"] = to_value(gpu->entries);
        // This message remains if the driver crashes in the second pass.
        facts.extra["encode_error"] =
            encode_ ? "NVENC did not answer" : to_value(encode_.error().note);
        sink_.device(facts);
        gpu->facts = std::move(facts);
        gpus_.push_back(*std::move(gpu));
    }

    void report_encoder(OpenedGpu& gpu) {
        auto& extra = gpu.facts.extra;
        extra["nvenc_version"] = to_value(nvcodec::nvenc_version(*encode_));
        auto encoded = nvcodec::encoded_formats(*encode_, gpu.context);
        extra["encode_error"] = encoded ? Value{} : to_value(encoded.error().note);
        if (encoded)
            std::ranges::move(*encoded, std::back_inserter(gpu.entries));
        gpu.entries.resize(std::min(gpu.entries.size(), kMaxVideoEntries));
        extra["video"] = to_value(gpu.entries);
        sink_.device(gpu.facts);
    }

    Asked<nvcodec::DecodeSymbols> decode_;
    Asked<nvcodec::EncodeSymbols> encode_;
    ContextSymbols context_;
    Sink& sink_;
    std::vector<OpenedGpu> gpus_ = {};
};

}  // namespace

Answer query_nvcodec(const ProbeTarget& target, Sink& sink) {
    // A driver without NVDEC's and NVENC's libraries can neither decode nor encode, so CUDA stays
    // unloaded.
    auto decode =
        functions_of<nvcodec::DecodeSymbols>(nvidia_video_library(VideoDirection::Decode), sink);
    auto encode =
        functions_of<nvcodec::EncodeSymbols>(nvidia_video_library(VideoDirection::Encode), sink);
    auto missing = missing_libraries(decode, encode);
    if (!decode && !encode) {
        auto answer = decode.error();
        answer.reasons = std::move(missing);
        return answer;
    }
    const auto context = TRY(functions_of<ContextSymbols>(kCuda, sink));
    auto answer = VideoQuery{std::move(decode), std::move(encode), context, sink}.run(target);
    std::ranges::move(missing, std::back_inserter(answer.reasons));
    return answer;
}

}  // namespace gpuprobe::backends
