// SPDX-License-Identifier: Apache-2.0
#include "report/video.h"

#include <algorithm>
#include <array>
#include <utility>

#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/report.h"

namespace gpuprobe::inline report {

std::vector<std::string> video_words(const VideoEntry& entry) {
    if (!entry.codec)
        return {};
    std::vector<std::string> words{*entry.codec};
    if (entry.profile)
        words.push_back(*entry.codec + "-" + *entry.profile);
    // Add each of these words again, with the bits of a sample at its end.
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

bool may_lack_video(const Gpu& gpu, VideoDirection direction) {
    const auto lacks = [&gpu, direction](const ApiInfo& api) {
        const bool is_for_the_gpu =
            api.reports_video && !api.vendor.empty() && api.vendor == gpu.vendor &&
            (!gpu.driver.name || works_with(api.kernel_drivers, *gpu.driver.name));
        if (!is_for_the_gpu)
            return false;
        const auto view = gpu.apis.find(std::string{api.word});
        return view == gpu.apis.end() || !fact(view->second.device, facts::kVideo) ||
               std::ranges::any_of(
                   video_errors(view->second.device),
                   [direction](const auto& error) { return error.first == direction; });
    };
    return std::ranges::any_of(kApis, lacks);
}

std::optional<std::vector<VideoEntry>> video_of(const Gpu& gpu) {
    std::optional<std::vector<VideoEntry>> found;
    for (const auto& [api, view] : gpu.apis) {
        const auto* entries = fact(view.device, facts::kVideo);
        if (!entries)
            continue;
        if (!found)
            found.emplace();
        // Malformed entries are skipped, because a capture can contain anything.
        for (const auto& item : *entries)
            if (auto entry = record_from<VideoEntry>(item))
                found->push_back(*std::move(entry));
    }
    return found;
}

}  // namespace gpuprobe::inline report
