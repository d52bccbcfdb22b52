// SPDX-License-Identifier: Apache-2.0
#include "backends/vaapi/vaapi.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <link.h>
#include <va/va_drm.h>

#include "backends/drm/drm.h"
#include "backends/texts.h"
#include "base/files.h"
#include "base/record.h"
#include "base/word_list.h"

namespace gpuprobe::backends {

namespace va {
namespace {

/// A VAProfile. Source: va.h of libva 2.22; numbers that the headers of libva 2.17 (Debian 12) lack
/// are written out.
struct Profile {
    int number = 0;
    std::string_view name = {};
    const VideoProfile* row = nullptr;  ///< null for a profile without a codec
};
constexpr auto kProfiles = std::to_array<Profile>({
    {-1, "VAProfileNone", nullptr},
    {0, "VAProfileMPEG2Simple", &video_profile("mpeg2", "simple")},
    {1, "VAProfileMPEG2Main", &video_profile("mpeg2", "main")},
    {2, "VAProfileMPEG4Simple", &video_profile("mpeg4", "simple")},
    {3, "VAProfileMPEG4AdvancedSimple", &video_profile("mpeg4", "advanced-simple")},
    {4, "VAProfileMPEG4Main", &video_profile("mpeg4", "main")},
    {5, "VAProfileH264Baseline", &video_profile("h264", "baseline")},
    {6, "VAProfileH264Main", &video_profile("h264", "main")},
    {7, "VAProfileH264High", &video_profile("h264", "high")},
    {8, "VAProfileVC1Simple", &video_profile("vc1", "simple")},
    {9, "VAProfileVC1Main", &video_profile("vc1", "main")},
    {10, "VAProfileVC1Advanced", &video_profile("vc1", "advanced")},
    {11, "VAProfileH263Baseline", &video_profile("h263", "baseline")},
    {12, "VAProfileJPEGBaseline", &video_profile("jpeg", "baseline")},
    {13, "VAProfileH264ConstrainedBaseline", &video_profile("h264", "constrained-baseline")},
    {14, "VAProfileVP8Version0_3", &video_profile("vp8", "")},
    {15, "VAProfileH264MultiviewHigh", &video_profile("h264", "multiview-high")},
    {16, "VAProfileH264StereoHigh", &video_profile("h264", "stereo-high")},
    {17, "VAProfileHEVCMain", &video_profile("hevc", "main")},
    {18, "VAProfileHEVCMain10", &video_profile("hevc", "main10")},
    {19, "VAProfileVP9Profile0", &video_profile("vp9", "profile0")},
    {20, "VAProfileVP9Profile1", &video_profile("vp9", "profile1")},
    {21, "VAProfileVP9Profile2", &video_profile("vp9", "profile2")},
    {22, "VAProfileVP9Profile3", &video_profile("vp9", "profile3")},
    {23, "VAProfileHEVCMain12", &video_profile("hevc", "main12")},
    {24, "VAProfileHEVCMain422_10", &video_profile("hevc", "main422-10")},
    {25, "VAProfileHEVCMain422_12", &video_profile("hevc", "main422-12")},
    {26, "VAProfileHEVCMain444", &video_profile("hevc", "main444")},
    {27, "VAProfileHEVCMain444_10", &video_profile("hevc", "main444-10")},
    {28, "VAProfileHEVCMain444_12", &video_profile("hevc", "main444-12")},
    {29, "VAProfileHEVCSccMain", &video_profile("hevc", "scc-main")},
    {30, "VAProfileHEVCSccMain10", &video_profile("hevc", "scc-main10")},
    {31, "VAProfileHEVCSccMain444", &video_profile("hevc", "scc-main444")},
    {32, "VAProfileAV1Profile0", &video_profile("av1", "main")},
    {33, "VAProfileAV1Profile1", &video_profile("av1", "high")},
    {34, "VAProfileHEVCSccMain444_10", &video_profile("hevc", "scc-main444-10")},
    {35, "VAProfileProtected", nullptr},
    {36, "VAProfileH264High10", &video_profile("h264", "high10")},
    {37, "VAProfileVVCMain10", &video_profile("vvc", "main10")},
    {38, "VAProfileVVCMultilayerMain10", &video_profile("vvc", "multilayer-main10")},
});
static_assert(kProfiles[VAProfileProtected + 1].number == VAProfileProtected);

/// A VAEntrypoint. An entrypoint without a direction does only a part of the work, or work other
/// than decoding, encoding and processing.
struct Entrypoint {
    int number = 0;
    std::string_view name = {};
    std::optional<VideoDirection> direction = {};
};
constexpr auto kEntrypoints = std::to_array<Entrypoint>({
    {VAEntrypointVLD, "VAEntrypointVLD", VideoDirection::Decode},
    {VAEntrypointIZZ, "VAEntrypointIZZ", {}},
    {VAEntrypointIDCT, "VAEntrypointIDCT", {}},
    {VAEntrypointMoComp, "VAEntrypointMoComp", {}},
    {VAEntrypointDeblocking, "VAEntrypointDeblocking", {}},
    {VAEntrypointEncSlice, "VAEntrypointEncSlice", VideoDirection::Encode},
    {VAEntrypointEncPicture, "VAEntrypointEncPicture", VideoDirection::Encode},
    {VAEntrypointEncSliceLP, "VAEntrypointEncSliceLP", VideoDirection::Encode},
    {VAEntrypointVideoProc, "VAEntrypointVideoProc", VideoDirection::Process},
    {VAEntrypointFEI, "VAEntrypointFEI", {}},
    {VAEntrypointStats, "VAEntrypointStats", {}},
    {VAEntrypointProtectedTEEComm, "VAEntrypointProtectedTEEComm", {}},
    {VAEntrypointProtectedContent, "VAEntrypointProtectedContent", {}},
});

/// A surface format. RGB formats are left out, because `chroma` has no word for RGB.
struct Format {
    std::uint32_t bit = 0;
    std::string_view chroma = {};
    std::uint32_t bits = 0;
};
constexpr auto kFormats = std::to_array<Format>({
    {VA_RT_FORMAT_YUV420, "4:2:0", 8},
    {VA_RT_FORMAT_YUV422, "4:2:2", 8},
    {VA_RT_FORMAT_YUV444, "4:4:4", 8},
    {VA_RT_FORMAT_YUV411, "4:1:1", 8},
    {VA_RT_FORMAT_YUV400, "4:0:0", 8},
    {VA_RT_FORMAT_YUV420_10, "4:2:0", 10},
    {VA_RT_FORMAT_YUV422_10, "4:2:2", 10},
    {VA_RT_FORMAT_YUV444_10, "4:4:4", 10},
    {VA_RT_FORMAT_YUV420_12, "4:2:0", 12},
    {VA_RT_FORMAT_YUV422_12, "4:2:2", 12},
    {VA_RT_FORMAT_YUV444_12, "4:4:4", 12},
});

template <class Row, std::size_t Size>
const Row* find(const std::array<Row, Size>& rows, int number) {
    const auto* found = std::ranges::find(rows, number, &Row::number);
    return found == rows.end() ? nullptr : found;
}

/// Returns "VAProfileH264Main/VAEntrypointVLD", with numbers instead of unknown names.
std::string name_of(const Profile* profile,
                    const Entrypoint* entrypoint,
                    int profile_number,
                    int entrypoint_number) {
    return (profile ? std::string{profile->name} : std::to_string(profile_number)) + "/" +
           (entrypoint ? std::string{entrypoint->name} : std::to_string(entrypoint_number));
}

}  // namespace

std::vector<VideoEntry> entries_of(int profile, int entrypoint, const Limits& limits) {
    const auto* known = find(kProfiles, profile);
    const auto* action = find(kEntrypoints, entrypoint);
    const auto* row = known ? known->row : nullptr;
    VideoEntry entry{.max_width = limits.max_width,
                     .max_height = limits.max_height,
                     .name = name_of(known, action, profile, entrypoint)};
    if (action)
        entry.direction = action->direction;
    if (!row)
        return {entry};
    entry.codec = row->codec;
    if (!row->profile.empty())
        entry.profile = row->profile;
    std::vector<VideoEntry> entries;
    for (const auto& format : kFormats) {
        // Drivers also list formats that they convert to: 8-bit surfaces for a profile of 10 bits,
        // or 4:2:2 for a profile of 4:2:0.
        const bool is_of_profile = format.bits >= row->least_bits &&
                                   format.bits <= row->most_bits &&
                                   has_word(row->chroma, format.chroma);
        if ((limits.formats.value_or(0) & format.bit) == 0 || !is_of_profile)
            continue;
        entries.push_back(entry);
        entries.back().bits = format.bits;
        entries.back().chroma = format.chroma;
    }
    if (entries.empty() && row->least_bits == row->most_bits)
        entry.bits = row->least_bits;
    if (entries.empty())
        entries.push_back(std::move(entry));
    return entries;
}

namespace {

/// The largest number of items that are used from a driver's list, and the capacity of the list
/// that the driver fills. If a driver writes more items than it announced, the items go into the
/// unused capacity.
constexpr std::size_t kMaxProfiles = 256;
constexpr std::size_t kMaxEntrypoints = 64;
constexpr std::size_t kCapacity = 4096;

/// The error of a failed call.
Answer refusal(const Symbols& api, const char* call, VAStatus status) {
    const auto* words = api.error_text(status);
    return answer_of(refused_call("api-refused", call, words ? words : "unknown", status));
}

/// The list that `query` fills in, cut to `limit` items.
template <class Query>
Result<std::vector<int>, VAStatus> listed(const Query& query, std::size_t limit) {
    std::vector<int> items(kCapacity);
    int count = 0;
    if (const auto status = query(items.data(), &count); status != VA_STATUS_SUCCESS)
        return status;
    items.resize(std::min(limit, static_cast<std::size_t>(std::max(count, 0))));
    return items;
}

Limits limits_of(const Symbols& api, VADisplay display, int profile, int entrypoint) {
    std::array<VAConfigAttrib, 3> attributes = {};
    attributes[0].type = VAConfigAttribRTFormat;
    attributes[1].type = VAConfigAttribMaxPictureWidth;
    attributes[2].type = VAConfigAttribMaxPictureHeight;
    // A driver may leave the value of an attribute unchanged.
    for (auto& attribute : attributes)
        attribute.value = VA_ATTRIB_NOT_SUPPORTED;
    if (api.attributes(display, profile, entrypoint, attributes.data(),
                       static_cast<int>(attributes.size())) != VA_STATUS_SUCCESS)
        return {};
    const auto formats = attributes[0].value;
    const bool has_formats = formats != VA_ATTRIB_NOT_SUPPORTED && formats != 0;
    return {.formats = has_formats ? std::optional{formats} : std::nullopt,
            .max_width = video_side(attributes[1].value),
            .max_height = video_side(attributes[2].value)};
}

}  // namespace

Asked<std::vector<VideoEntry>> entries_of(const Symbols& api, VADisplay display) {
    const auto profiles = listed(
        [&](int* list, int* count) { return api.profiles(display, list, count); }, kMaxProfiles);
    if (!profiles)
        return refusal(api, api.profiles.name, profiles.error());
    std::vector<VideoEntry> entries;
    std::set<std::pair<int, int>> seen;
    for (const auto profile : *profiles) {
        const auto entrypoints = listed(
            [&](int* list, int* count) { return api.entrypoints(display, profile, list, count); },
            kMaxEntrypoints);
        // Some drivers list profiles that the chip does not have.
        if (!entrypoints && entrypoints.error() == VA_STATUS_ERROR_UNSUPPORTED_PROFILE)
            continue;
        if (!entrypoints)
            return refusal(api, api.entrypoints.name, entrypoints.error());
        for (const auto entrypoint : *entrypoints)
            if (seen.emplace(profile, entrypoint).second)
                std::ranges::move(
                    entries_of(profile, entrypoint, limits_of(api, display, profile, entrypoint)),
                    std::back_inserter(entries));
        if (entries.size() >= kMaxVideoEntries)
            break;
    }
    entries.resize(std::min(entries.size(), kMaxVideoEntries));
    return entries;
}

}  // namespace va

namespace {

constexpr const char* kLibva = "libva.so.2";
constexpr const char* kLibvaDrm = "libva-drm.so.2";

struct DrmSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<decltype(vaGetDisplayDRM)> display{*this, "vaGetDisplayDRM"};
};

/// A library of libva. If the library is missing, the answer has the reason `loader-missing`.
Asked<DynamicLibrary> open_libva(const char* name, Sink& sink) {
    auto library = open_library(name, sink);
    if (library)
        return library;
    auto answer = std::move(library).error();
    if (answer.outcome == Outcome::Absent)
        answer.reasons = {because("loader-missing", {{"note", to_value(answer.note)}})};
    return answer;
}

/// The suffix of the file names of VA drivers. Source: libva, va.c, DRIVER_EXTENSION.
constexpr std::string_view kDriverEnd = "_drv_video.so";

/// The name of the VA driver in this process, such as "i965" for "…/i965_drv_video.so"; nullopt if
/// no VA driver is loaded. libva tries iHD before i965, and a driver that libva refused stays
/// loaded, so the last driver counts.
std::optional<std::string> loaded_driver() {
    std::optional<std::string> found;
    const auto visit = [](dl_phdr_info* object, std::size_t, void* out) {
        const std::string_view path = object->dlpi_name ? object->dlpi_name : "";
        if (!path.ends_with(kDriverEnd))
            return 0;
        const auto name = path.substr(path.find_last_of('/') + 1);
        *static_cast<std::optional<std::string>*>(out) =
            clean_text(name.substr(0, name.size() - kDriverEnd.size()));
        return 0;
    };
    (void)::dl_iterate_phdr(visit, &found);
    return found;
}

/// A VAMessageCallback that appends the message to the string `collected`.
void collect_message(void* collected, const char* message) {
    constexpr std::size_t kMaxMessages = 1024;
    auto& all = *static_cast<std::string*>(collected);
    const auto text = clean_text(message ? message : "");
    if (text && all.size() < kMaxMessages)
        all += (all.empty() ? "" : "; ") + text->substr(0, kMaxMessages);
}

/// The answer if libva could not initialize a driver; `messages` are libva's error messages. libva
/// returns VA_STATUS_ERROR_UNKNOWN if it found no driver for the kernel driver, but also if it
/// could not load a driver or refused it; a message then names the driver's file. All other error
/// codes are from the driver. Source: libva 2.17, va.c, va_openDriver() and vaInitialize().
Answer not_initialized(const va::Symbols& api, VAStatus status, const std::string& messages) {
    const bool is_unknown =
        static_cast<unsigned>(status) == static_cast<unsigned>(VA_STATUS_ERROR_UNKNOWN);
    const auto* words = is_unknown && !messages.empty() ? messages.c_str() : api.error_text(status);
    auto refusal =
        refused_call("api-refused", api.initialize.name, words ? words : "unknown", status);
    if (!is_unknown || messages.find(kDriverEnd) != std::string::npos)
        return answer_of(refusal);
    refusal.code = "driver-missing";
    refusal.detail = Value{Value::Object{{"note", refusal.note}}};
    return answer_of(refusal, Outcome::Absent);
}

/// Queries the driver of an opened node. The display isn't terminated: this process ends soon, and
/// a driver's cleanup can only crash it.
Answer query_node(const va::Symbols& api, VADisplay display, DeviceFacts facts, Sink& sink) {
    sink.phase("instance");
    int major = 0;
    int minor = 0;
    std::string messages;
    if (api.on_error)
        (void)api.on_error(display, collect_message, &messages);  // returns the previous function
    const auto status = api.initialize(display, &major, &minor);
    if (api.on_error)
        (void)api.on_error(display, nullptr, nullptr);
    if (status != VA_STATUS_SUCCESS)
        return not_initialized(api, status, messages);
    sink.phase("query");
    facts.extra["api_version"] =
        dotted({static_cast<unsigned>(major), static_cast<unsigned>(minor)});
    facts.extra["driver_name"] = to_value(loaded_driver());
    const char* const vendor = api.vendor(display);
    facts.extra["driver_info"] = to_value(clean_text(vendor ? vendor : ""));
    facts.extra["video"] = to_value(TRY(va::entries_of(api, display)));
    sink.device(facts);
    return {};
}

}  // namespace

Answer query_vaapi(const ProbeTarget& target, Sink& sink) {
    const RootedFiles files;
    const auto nodes = render_nodes(files);
    const auto node = std::ranges::find(nodes, target.driver, &RenderNode::path);
    if (node == nodes.end())
        return without_devices("no render node '" + target.driver + "'", {{"api", "vaapi"}});
    const auto library = TRY(open_libva(kLibva, sink));
    const auto drm_library = TRY(open_libva(kLibvaDrm, sink));
    const auto api = TRY(query_functions<va::Symbols>(library));
    const auto drm = TRY(query_functions<DrmSymbols>(drm_library));
    sink.runtime(runtime_of(library));
    // The engine probes no sleeping GPU, but this GPU may have fallen asleep since the engine
    // checked its state.
    if (is_asleep(files, *node))
        return Answer{.outcome = Outcome::Failed,
                      .note = node->id + " is suspended",
                      .reasons = {because("asleep", {{"device", node->id}})}};
    const auto opened = open_node(node->path, node->device_number);
    if (!opened)
        return Answer{.outcome = Outcome::Failed,
                      .note = opened.error().text,
                      .reasons = {not_opened(*node, opened.error())}};
    auto* const display = drm.display(opened->get());
    if (!display)
        return answer_of(refused_call("api-refused", drm.display.name, "no display", 0));
    const auto index = static_cast<std::uint32_t>(node - nodes.begin());
    return query_node(api, display, facts_from_sysfs(*node, index), sink);
}

}  // namespace gpuprobe::backends
