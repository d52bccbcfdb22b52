// SPDX-License-Identifier: Apache-2.0
#include "report/video.h"

#include <algorithm>
#include <array>
#include <utility>

#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/outcome.h"
#include "report/reason_table.h"
#include "report/report.h"

namespace gpuprobe::inline report {

std::vector<std::string> video_words(const VideoEntry& entry) {
    if (!entry.codec)
        return {};
    std::vector<std::string> words{*entry.codec};
    if (entry.profile)
        words.push_back(*entry.codec + "-" + *entry.profile);
    // Add each of these words again, with the number of bits per sample appended.
    for (std::size_t i = 0, plain = words.size(); entry.bits && i < plain; ++i)
        words.push_back(words[i] + "-" + std::to_string(*entry.bits) + "bit");
    return words;
}

std::string video_word(std::string_view word) {
    // Other names of the codecs, which standards and FFmpeg use.
    constexpr auto kNames =
        std::to_array<std::pair<std::string_view, std::string_view>>({{"avc", "h264"},
                                                                      {"h265", "hevc"},
                                                                      {"h266", "vvc"},
                                                                      {"mjpeg", "jpeg"},
                                                                      {"mpeg2video", "mpeg2"}});
    const auto codec = word.substr(0, word.find_first_of("-*"));
    const auto* found =
        std::ranges::find(kNames, codec, &std::pair<std::string_view, std::string_view>::first);
    return std::string{found == kNames.end() ? codec : found->second}.append(
        word.substr(codec.size()));
}

std::vector<std::string> all_video_words() {
    std::vector<std::string> all;
    for (const auto& row : kVideoProfiles)
        for (auto bits = row.least_bits; bits <= row.most_bits; bits += 2) {
            VideoEntry entry{.codec = std::string{row.codec}, .bits = bits};
            if (!row.profile.empty())
                entry.profile = row.profile;
            std::ranges::move(video_words(entry), std::back_inserter(all));
        }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::vector<std::pair<VideoDirection, std::string>> video_errors(const Value& device) {
    std::vector<std::pair<VideoDirection, std::string>> errors;
    if (const auto problem = fact(device, facts::kDecodeError))
        errors.emplace_back(VideoDirection::Decode, *problem);
    if (const auto problem = fact(device, facts::kEncodeError))
        errors.emplace_back(VideoDirection::Encode, *problem);
    return errors;
}

namespace {

/// The API for the video engines of the GPU's vendor that works with the bound kernel driver; null
/// if there is none.
const ApiInfo* own_video_api(const Gpu& gpu) {
    const auto* found = std::ranges::find_if(kApis, [&gpu](const ApiInfo& api) {
        return api.reports_video && !api.vendor.empty() && api.vendor == gpu.vendor &&
               (!gpu.driver.name || works_with(api.kernel_drivers, *gpu.driver.name));
    });
    return found == kApis.end() ? nullptr : found;
}

/// The API's view of the GPU; null if the API wasn't probed.
const ApiView* view_of(const Gpu& gpu, const ApiInfo* api) {
    const auto found = api ? gpu.apis.find(std::string{api->word}) : gpu.apis.end();
    return found == gpu.apis.end() ? nullptr : &found->second;
}

/// Whether an API that does not list the GPU will never list it: the API isn't installed, or the
/// API answered without listing the GPU. A MIG instance is listed only for programs that name it.
bool is_settled(const ApiView& view) {
    return view.outcome == Outcome::Absent && !view.reasons.empty() &&
           std::ranges::none_of(view.reasons, [](const Reason& reason) {
               const auto* info = find_reason(reason.code);
               return (info && info->effect == ReasonEffect::LeavesOpen) ||
                      reason.is("one-instance-listed");
           });
}

/// Whether the API of the GPU's vendor may support formats in the given direction that the API has
/// not reported. `view` is null if the API wasn't probed.
bool is_open(const Gpu& gpu, const ApiView* view, VideoDirection direction) {
    if (!view)
        return true;
    if (view->device.is_null())
        return !is_settled(*view);
    const auto errors = video_errors(view->device);
    const bool has_failed = std::ranges::any_of(
        errors, [direction](const auto& error) { return error.first == direction; });
    return (has_failed || !fact(view->device, facts::kVideo)) &&
           !missing_video_library(gpu, direction);
}

bool has_direction(const std::optional<std::vector<VideoEntry>>& entries,
                   VideoDirection direction) {
    return entries &&
           std::ranges::find(*entries, direction, &VideoEntry::direction) != entries->end();
}

}  // namespace

std::optional<std::string_view> missing_video_library(const Gpu& gpu, VideoDirection direction) {
    const auto library = nvidia_video_library(direction);
    const auto* view = view_of(gpu, own_video_api(gpu));
    const auto is_missing = [library](const Reason& reason) {
        const auto* named = reason.detail.at("missing").as_string();
        return reason.is("library-missing") && named && *named == library;
    };
    return view && std::ranges::any_of(view->reasons, is_missing) ? std::optional{library}
                                                                  : std::nullopt;
}

std::vector<VideoEntry> video_entries(const Value::Array& list) {
    std::vector<VideoEntry> entries;
    for (const auto& item : list)
        if (auto entry = record_from<VideoEntry>(item))
            entries.push_back(*std::move(entry));
    return entries;
}

bool is_without_video(const Gpu& gpu, VideoDirection direction, VideoApis apis) {
    // An API's answer takes precedence over the chip table.
    if (has_direction(video_of(gpu, apis), direction))
        return false;
    if (std::ranges::find(gpu.lacks_video, direction) != gpu.lacks_video.end())
        return true;
    const auto entries = video_of(gpu, VideoApis::Engines);
    if (entries && entries->size() >= kMaxVideoEntries)
        return false;
    const auto* api = own_video_api(gpu);
    return api ? !is_open(gpu, view_of(gpu, api), direction) : entries.has_value();
}

bool may_lack_video(const Gpu& gpu, VideoDirection direction) {
    const auto* api = own_video_api(gpu);
    const bool is_partial = api ? is_open(gpu, view_of(gpu, api), direction)
                                : video_of(gpu) && !video_of(gpu, VideoApis::Engines);
    return is_partial && !is_without_video(gpu, direction);
}

std::optional<std::vector<VideoEntry>> video_of(const Gpu& gpu, VideoApis apis) {
    std::optional<std::vector<VideoEntry>> found;
    for (const auto& [api, view] : gpu.apis) {
        const auto* entries = fact(view.device, facts::kVideo);
        if (!entries || (apis == VideoApis::Engines && !reports_video(api)))
            continue;
        if (!found)
            found.emplace();
        std::ranges::move(video_entries(*entries), std::back_inserter(*found));
    }
    return found;
}

std::vector<std::string> codecs_of(const Gpu& gpu, VideoDirection direction) {
    std::vector<std::string> codecs;
    for (const auto& entry : video_of(gpu).value_or(std::vector<VideoEntry>{}))
        if (entry.direction == direction && entry.codec)
            codecs.push_back(*entry.codec);
    std::ranges::sort(codecs, {}, [](const std::string& codec) {
        return std::pair{std::ranges::find(kMainCodecs, codec), std::string_view{codec}};
    });
    codecs.erase(std::unique(codecs.begin(), codecs.end()), codecs.end());
    return codecs;
}

}  // namespace gpuprobe::inline report
