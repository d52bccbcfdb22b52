// SPDX-License-Identifier: Apache-2.0
#include "cli/video_text.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "report/api_table.h"
#include "report/video.h"

namespace gpuprobe::inline cli {
namespace {

using Entries = std::vector<VideoEntry>;

/// The entries of a codec in a direction, in the order of the report.
using Groups = std::map<std::string, std::map<VideoDirection, Entries>>;

/// Groups the entries that have a codec and a direction.
Groups groups_of(const Entries& entries) {
    Groups groups;
    for (const auto& entry : entries)
        if (entry.codec && entry.direction)
            groups[*entry.codec][*entry.direction].push_back(entry);
    return groups;
}

/// The size of an entry, such as "8192 x 4320"; nullopt if the size is unknown.
std::optional<std::string> size_of(const VideoEntry& entry) {
    if (!entry.max_width || !entry.max_height)
        return std::nullopt;
    return phrase("{width} x {height}", {{"width", std::to_string(*entry.max_width)},
                                         {"height", std::to_string(*entry.max_height)}});
}

std::uint64_t pixels_of(const VideoEntry& entry) {
    return std::uint64_t{entry.max_width.value_or(0)} * entry.max_height.value_or(0);
}

/// The size of the entry with the most pixels, such as "8192 x 4320"; nullopt if no size is known.
std::optional<std::string> largest_size(const Entries& entries) {
    const auto most = std::ranges::max_element(entries, {}, pixels_of);
    return most == entries.end() ? std::nullopt : size_of(*most);
}

/// The largest size for each bit depth, such as "8, 10 bit, up to 8192 x 4320; 12 bit, up to 4096 x
/// 4096"; "yes" if neither sizes nor bit depths are known.
std::string samples_text(const Entries& entries) {
    // Entries with an unknown bit depth are shown only if there are no other entries.
    std::map<std::uint32_t, Entries> by_bits;
    for (const auto& entry : entries)
        if (entry.bits)
            by_bits[*entry.bits].push_back(entry);
    if (by_bits.empty()) {
        const auto size = largest_size(entries);
        return size ? phrase("up to {size}", {{"size", size}}) : "yes";
    }
    // Bit depths with the same size are listed together.
    std::vector<std::pair<std::optional<std::string>, std::vector<std::string>>> by_size;
    for (const auto& [bits, group] : by_bits) {
        auto size = largest_size(group);
        if (by_size.empty() || by_size.back().first != size)
            by_size.emplace_back(std::move(size), std::vector<std::string>{});
        by_size.back().second.push_back(std::to_string(bits));
    }
    std::vector<std::string> texts;
    for (const auto& [size, numbers] : by_size)
        texts.push_back(phrase("{bits} bit[, up to {size}]",
                               {{"bits", base::joined(numbers, ", ")}, {"size", size}}));
    return base::joined(texts, "; ");
}

/// The formats, such as "main10 8 bit 4:2:0, main10 10 bit 4:2:0, up to 8192 x 8192"; if the sizes
/// differ, each format has a size, as in "main 8 bit 4:2:0 up to 4096 x 4096, …".
std::string profiles_text(const Entries& entries) {
    std::set<std::optional<std::string>> sizes;
    for (const auto& entry : entries)
        sizes.insert(size_of(entry));
    const bool do_differ = sizes.size() > 1;
    std::vector<std::string> formats;
    for (const auto& entry : entries) {
        std::vector<std::string> words;
        if (entry.profile)
            words.push_back(*entry.profile);
        if (entry.bits)
            words.push_back(phrase("{bits} bit", {{"bits", std::to_string(*entry.bits)}}));
        if (entry.chroma)
            words.push_back(*entry.chroma);
        if (const auto size = size_of(entry); size && do_differ && !words.empty())
            words.push_back(phrase("up to {size}", {{"size", size}}));
        auto text = base::joined(words, " ");
        // Two entry points of a driver may offer the same format.
        if (!text.empty() && std::ranges::find(formats, text) == formats.end())
            formats.push_back(std::move(text));
    }
    if (formats.empty())
        return samples_text(entries);
    return phrase("{formats}[, up to {size}]",
                  {{"formats", base::joined(formats, ", ")},
                   {"size", do_differ ? std::nullopt : *sizes.begin()}});
}

/// Whether the view comes from an API for the GPUs of other vendors.
bool is_for_others(const ApiView& view) {
    return std::ranges::any_of(view.reasons,
                               [](const Reason& reason) { return reason.is("vendor-mismatch"); });
}

/// The reason why an API reports no formats of this GPU.
std::string why_without(const ApiView& view) {
    auto why = view.reasons.empty() ? std::string{} : explained(view.reasons.front()).text;
    return !why.empty()                        ? why
           : view.outcome == Outcome::Answered ? "the driver reports no video formats"
                                               : std::string{name_of(view.outcome)};
}

std::string lack_text(VideoDirection direction) {
    return direction == VideoDirection::Decode ? "this chip has no video decoder"
                                               : "this chip has no video encoder";
}

/// What is unknown or missing about the GPU's video engines, and why, such as "VA-API: the driver
/// crashed …". Empty if an API reports all formats.
std::vector<std::string> gaps_of(const Gpu& gpu) {
    const bool has_formats =
        !groups_of(video_of(gpu, VideoApis::Engines).value_or(Entries{})).empty();
    std::vector<std::string> gaps;
    for (const auto& api : kApis) {
        const auto view = gpu.apis.find(std::string{api.word});
        if (!api.reports_video || view == gpu.apis.end() || is_for_others(view->second))
            continue;
        const auto& device = view->second.device;
        for (const auto& [direction, problem] : video_errors(device)) {
            const auto library = missing_video_library(gpu, direction);
            gaps.push_back(phrase(
                "{api}, {direction}: {problem}",
                {{"api", std::string{api.label}},
                 {"direction", std::string{name_of(direction)}},
                 {"problem",
                  library ? phrase("not installed: {library}", {{"library", std::string{*library}}})
                          : problem}}));
        }
        if (!has_formats && video_errors(device).empty())
            gaps.push_back(phrase("{api}: {why}", {{"api", std::string{api.label}},
                                                   {"why", why_without(view->second)}}));
    }
    if (gaps.empty() && !has_formats)
        gaps.emplace_back("no API for video was probed");
    for (const auto direction : gpu.lacks_video)
        if (is_without_video(gpu, direction))
            gaps.push_back(lack_text(direction));
    return gaps;
}

/// The cell about a direction in which no format of a codec is known.
std::string none_text(const Gpu& gpu, VideoDirection direction, const Screen& screen) {
    const bool is_complete = video_of(gpu) && !may_lack_video(gpu, direction);
    return std::string{is_complete || is_without_video(gpu, direction) ? screen.dash() : kUnknown};
}

}  // namespace

namespace {

/// A row of the table: the codec, and descriptions of decoding and encoding.
struct VideoRow {
    std::string codec = {};
    std::string decode = {};
    std::string encode = {};
    bool operator==(const VideoRow&) const = default;
};

/// A group of GPUs or accelerators with the same name, rows and gaps.
struct VideoGroup {
    std::string title = {};
    std::vector<VideoRow> rows = {};
    std::vector<std::string> gaps = {};
    std::vector<std::string> ids = {};
    std::vector<std::size_t> indices = {};  ///< empty for accelerators

    bool is_like(const VideoGroup& other) const {
        return title == other.title && rows == other.rows && gaps == other.gaps &&
               indices.empty() == other.indices.empty();
    }
};

/// The rows for one GPU.
VideoGroup videos_of(const Gpu& gpu, std::size_t index, const Screen& screen) {
    auto groups = groups_of(video_of(gpu).value_or(Entries{}));
    VideoGroup videos{
        .title = gpu_title(gpu), .gaps = gaps_of(gpu), .ids = {gpu.id}, .indices = {index}};
    if (groups.empty())
        groups[std::string{screen.dash()}];
    for (const auto& [codec, directions] : groups) {
        const auto text = [&, &found = directions](VideoDirection direction) {
            const auto entries = found.find(direction);
            return entries == found.end() ? none_text(gpu, direction, screen)
                                          : samples_text(entries->second);
        };
        videos.rows.push_back({codec, text(VideoDirection::Decode), text(VideoDirection::Encode)});
    }
    return videos;
}

/// The rows about a V4L2 codec; no rows for any other accelerator. If the formats are unknown, the
/// notes of the codec's probes give the reasons.
VideoGroup videos_of(const Accelerator& accelerator, const Report& report, const Screen& screen) {
    VideoGroup videos{.title = accelerator.name.value_or(accelerator.id), .ids = {accelerator.id}};
    for (const auto& probe : report.probes)
        if (probe.api == info_of(Api::V4l2).word && probe.note &&
            std::ranges::find(accelerator.nodes, probe.driver, &DeviceNode::path) !=
                accelerator.nodes.end())
            videos.gaps.push_back(phrase("V4L2: {note}", {{"note", *probe.note}}));
    if (!accelerator.video && !videos.gaps.empty())
        videos.rows.push_back(
            {std::string{screen.dash()}, std::string{kUnknown}, std::string{kUnknown}});
    for (const auto& [codec, directions] : groups_of(accelerator.video.value_or(Entries{}))) {
        const auto text = [&, &found = directions](VideoDirection direction) {
            const auto entries = found.find(direction);
            return entries == found.end() ? std::string{screen.dash()}
                                          : samples_text(entries->second);
        };
        videos.rows.push_back({codec, text(VideoDirection::Decode), text(VideoDirection::Encode)});
    }
    return videos;
}

}  // namespace

std::string video_table(const Report& report, bool shows_all, const Screen& screen) {
    std::vector<VideoGroup> groups;
    const auto add = [&](VideoGroup videos) {
        const auto same = std::ranges::find_if(
            groups, [&](const VideoGroup& known) { return !shows_all && known.is_like(videos); });
        if (same == groups.end())
            return groups.push_back(std::move(videos));
        std::ranges::move(videos.ids, std::back_inserter(same->ids));
        std::ranges::move(videos.indices, std::back_inserter(same->indices));
    };
    for (std::size_t i = 0; i < report.gpus.size(); ++i)
        add(videos_of(report.gpus[i], i, screen));
    for (const auto& accelerator : report.accelerators)
        add(videos_of(accelerator, report, screen));
    Table table{{{.title = "#", .is_right_aligned = true},
                 {.title = "GPU"},
                 {.title = "CODEC"},
                 {.title = "DECODE", .may_shrink = true},
                 {.title = "ENCODE", .may_shrink = true}}};
    std::string gaps;
    for (const auto& group : groups) {
        const auto& ids = group.ids;
        for (const auto& row : group.rows)
            table.add({{.text = group.indices.empty() ? std::string{screen.dash()}
                                                      : index_text(group.indices),
                        .tone = Tone::Faint},
                       {.text = first_of(ids.front(), ids.size(), screen)},
                       {.text = scrubbed(row.codec), .tone = Tone::Strong},
                       {.text = row.decode},
                       {.text = row.encode}});
        const auto lead = first_and_more(ids) + ": ";
        for (const auto& one : group.gaps)
            gaps += hanging(screen, lead, lead.size(), scrubbed(one));
    }
    if (table.empty())
        return "";
    return table.text(screen) + (gaps.empty() ? "" : "\n" + gaps);
}

FactList video_facts(const Gpu& gpu) {
    FactList facts{"Video"};
    const auto entries = video_of(gpu).value_or(Entries{});
    for (const auto& [codec, directions] : groups_of(entries))
        for (const auto& [direction, group] : directions)
            facts.add(std::string{name_of(direction)} + " " + codec, profiles_text(group));
    for (const auto direction : gpu.lacks_video)
        if (is_without_video(gpu, direction))
            facts.add(name_of(direction), lack_text(direction));
    // Capabilities without a codec have only the name that the API gives them.
    std::vector<std::string> names;
    for (const auto& entry : entries)
        if (!entry.codec || !entry.direction)
            names.push_back(entry.name);
    if (!names.empty())
        facts.add("also", base::joined(names, ", "));
    return facts;
}

std::vector<std::string> video_parts(const Gpu& gpu) {
    std::vector<std::string> parts;
    for (const auto direction : {VideoDirection::Decode, VideoDirection::Encode}) {
        auto codecs = codecs_of(gpu, direction);
        const auto is_rare = [](const std::string& codec) {
            return std::ranges::find(kMainCodecs, codec) == kMainCodecs.end();
        };
        // Show other codecs only if there are no main codecs.
        if (!std::ranges::all_of(codecs, is_rare))
            std::erase_if(codecs, is_rare);
        if (codecs.empty() && !is_without_video(gpu, direction))
            continue;
        parts.push_back(phrase("{direction} {codecs}",
                               {{"direction", std::string{name_of(direction)}},
                                {"codecs", codecs.empty() ? "none" : base::joined(codecs, " ")}}));
    }
    if (!video_of(gpu) || parts.empty())
        return {};
    parts.front() = phrase("video {what}", {{"what", parts.front()}});
    return parts;
}

}  // namespace gpuprobe::inline cli
