// SPDX-License-Identifier: Apache-2.0
#include "cli/video_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "explain/phrase.h"
#include "report/video.h"

namespace gpuprobe::inline cli {
namespace {

using Entries = std::vector<VideoEntry>;

/// The entries of a codec in a direction, in the order of the report.
using Groups = std::map<std::string, std::map<VideoDirection, Entries>>;

/// The entries that have a codec and a direction.
Groups groups_of(const Entries& entries) {
    Groups groups;
    for (const auto& entry : entries)
        if (entry.codec && entry.direction)
            groups[*entry.codec][*entry.direction].push_back(entry);
    return groups;
}

/// "8192 x 4320": the entry with the most pixels; nullopt if no size is known.
std::optional<std::string> largest_size(const Entries& entries) {
    std::uint64_t most = 0;
    std::optional<std::string> text;
    for (const auto& entry : entries) {
        const auto pixels =
            std::uint64_t{entry.max_width.value_or(0)} * entry.max_height.value_or(0);
        if (pixels <= most)
            continue;
        most = pixels;
        text = phrase("{width} x {height}", {{"width", std::to_string(*entry.max_width)},
                                             {"height", std::to_string(*entry.max_height)}});
    }
    return text;
}

/// "8, 10 bit, up to 8192 x 4320"; "yes" if neither is known.
std::string samples_text(const Entries& entries) {
    std::set<std::uint32_t> bits;
    for (const auto& entry : entries)
        if (entry.bits)
            bits.insert(*entry.bits);
    std::vector<std::string> numbers;
    for (const auto one : bits)
        numbers.push_back(std::to_string(one));
    const auto size = largest_size(entries);
    if (numbers.empty())
        return size ? phrase("up to {size}", {{"size", size}}) : "yes";
    return phrase("{bits} bit[, up to {size}]",
                  {{"bits", base::joined(numbers, ", ")}, {"size", size}});
}

/// "main10 8 bit 4:2:0, main10 10 bit 4:2:0, up to 8192 x 4320"
std::string profiles_text(const Entries& entries) {
    std::vector<std::string> formats;
    for (const auto& entry : entries) {
        std::vector<std::string> words;
        if (entry.profile)
            words.push_back(*entry.profile);
        if (entry.bits)
            words.push_back(phrase("{bits} bit", {{"bits", std::to_string(*entry.bits)}}));
        if (entry.chroma)
            words.push_back(*entry.chroma);
        auto text = base::joined(words, " ");
        // Two entry points of a driver may offer the same format.
        if (!text.empty() && std::ranges::find(formats, text) == formats.end())
            formats.push_back(std::move(text));
    }
    const auto size = largest_size(entries);
    if (formats.empty())
        return samples_text(entries);
    return phrase("{formats}[, up to {size}]",
                  {{"formats", base::joined(formats, ", ")}, {"size", size}});
}

}  // namespace

std::string video_table(const Report& report, const Screen& screen) {
    Table table{{{.title = "#", .is_right_aligned = true},
                 {.title = "GPU"},
                 {.title = "CODEC"},
                 {.title = "DECODE", .may_shrink = true},
                 {.title = "ENCODE", .may_shrink = true}}};
    for (std::size_t i = 0; i < report.gpus.size(); ++i) {
        const auto& gpu = report.gpus[i];
        for (const auto& [codec, directions] : groups_of(video_of(gpu).value_or(Entries{}))) {
            const auto cell = [&, &found = directions](VideoDirection direction) {
                const auto entries = found.find(direction);
                return entries == found.end() ? Cell{.text = std::string{screen.dash()}}
                                              : Cell{.text = samples_text(entries->second)};
            };
            table.add({{.text = std::to_string(i), .tone = Tone::Faint},
                       {.text = gpu.id},
                       {.text = scrubbed(codec), .tone = Tone::Strong},
                       cell(VideoDirection::Decode),
                       cell(VideoDirection::Encode)});
        }
    }
    return table.empty() ? "" : table.text(screen);
}

FactList video_facts(const Gpu& gpu) {
    FactList facts{"Video"};
    const auto entries = video_of(gpu).value_or(Entries{});
    for (const auto& [codec, directions] : groups_of(entries))
        for (const auto& [direction, group] : directions)
            facts.add(std::string{name_of(direction)} + " " + codec, profiles_text(group));
    // Capabilities without a codec have only the name that the API gives them.
    std::vector<std::string> names;
    for (const auto& entry : entries)
        if (!entry.codec || !entry.direction)
            names.push_back(entry.name);
    if (!names.empty())
        facts.add("also", base::joined(names, ", "));
    return facts;
}

}  // namespace gpuprobe::inline cli
