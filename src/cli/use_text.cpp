// SPDX-License-Identifier: Apache-2.0
#include "cli/use_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {
namespace {

using watch::DeviceUse;
using watch::Doubt;

struct DoubtWords {
    Doubt doubt;
    std::string_view text;
};
constexpr std::array<DoubtWords, 4> kDoubts = {
    {{Doubt::NotReadable, "there is no permission to look into one of its processes"},
     {Doubt::NodeOpen, "the driver of a device does not say how much a process uses"},
     {Doubt::EndedTooSoon, "it ended before NVIDIA's library reported it"},
     {Doubt::TooMany, "it has more processes than are looked at"}}};

const Gpu* find_gpu(const Report& report, std::string_view id) {
    const auto found = std::ranges::find(report.gpus, id, &Gpu::id);
    return found == report.gpus.end() ? nullptr : &*found;
}

/// The devices that are GPUs; the others are accelerators.
std::vector<DeviceUse> gpus_in(const std::vector<DeviceUse>& devices, const Report& report) {
    std::vector<DeviceUse> gpus;
    std::ranges::copy_if(devices, std::back_inserter(gpus), [&report](const DeviceUse& use) {
        return find_gpu(report, use.device) != nullptr;
    });
    return gpus;
}

/// The device's name, followed by its id if another GPU has the same name.
std::string device_title(std::string_view id, const Report& report) {
    const auto whole = whole_id(id);
    const auto accelerator = std::ranges::find(report.accelerators, whole, &Accelerator::id);
    if (accelerator != report.accelerators.end())
        return scrubbed(accelerator->name.value_or(accelerator->id), 128);
    const auto* gpu = find_gpu(report, whole);
    if (!gpu)
        return scrubbed(id, 128);
    const auto title = gpu_title(*gpu);
    const auto alike = std::ranges::count_if(
        report.gpus, [&title](const Gpu& other) { return gpu_title(other) == title; });
    return scrubbed(alike > 1 ? fmt::format("{} ({})", title, id) : title, 128);
}

/// "CUDA or HIP"; nullopt if no API is known.
std::optional<std::string> api_labels(const std::vector<std::string>& apis) {
    std::vector<std::string> labels;
    for (const auto& word : apis) {
        const auto* api = find_api(word);
        labels.emplace_back(api ? api->label : std::string_view{word});
    }
    return labels.empty() ? std::nullopt : std::optional{joined_with_or(labels)};
}

/// "NVIDIA H200, 18.2 GiB".
std::string device_text(const DeviceUse& use, const Report& report) {
    return phrase("{device}[, {memory}]",
                  {{"device", device_title(use.device, report)},
                   {"memory", use.memory ? std::optional{size_text(*use.memory)} : std::nullopt}});
}

/// The choice, if it differs from the observed use; nullopt if it does not, or if that is unknown.
std::optional<std::string> contrast(const SeenUse& seen,
                                    const ChosenUse& chosen,
                                    const Report& report) {
    if (is_as_chosen(seen, chosen, report).value_or(true))
        return std::nullopt;
    // Name the GPUs only if they are the difference; otherwise the backend is enough.
    const auto ids_differ = std::ranges::any_of(seen.devices, [&chosen](const DeviceUse& use) {
        return std::ranges::none_of(chosen.gpus,
                                    [&use](const auto& id) { return whole_id(id) == use.device; });
    });
    return ids_differ ? chosen_text(chosen, report) : scrubbed(chosen.backend, 64);
}

/// The result if no GPU was seen: certain only without doubts.
std::optional<bool> none_is(bool wanted, const SeenUse& seen) {
    return seen.doubts.empty() ? std::optional{wanted} : std::nullopt;
}

/// Whether one of the GPUs may have been used through the API; nullopt if no API is known for any
/// of them.
std::optional<bool> is_through(const std::vector<DeviceUse>& gpus, std::string_view api) {
    bool is_known = false;
    for (const auto& use : gpus) {
        if (contains(use.apis, api))
            return true;
        is_known |= !use.apis.empty();
    }
    return is_known ? std::optional{false} : std::nullopt;
}

/// The API for a word of --expect: the word itself, or the API below that backend; "" for other
/// words.
std::string_view api_word(std::string_view word) {
    return find_api(word) && computes(*find_api(word)) ? word : api_below(word);
}

}  // namespace

bool is_expectable(std::string_view word) {
    return word == kCpu || !api_word(word).empty();
}

bool is_same_api(std::string_view word, std::string_view backend) {
    return !api_word(word).empty() && api_word(word) == api_below(backend);
}

std::optional<bool> is_as_expected(const SeenUse& seen,
                                   std::string_view word,
                                   const Report& report) {
    const auto gpus = gpus_in(seen.devices, report);
    if (word == kCpu)
        return gpus.empty() ? none_is(true, seen) : std::optional{false};
    return gpus.empty() ? none_is(false, seen) : is_through(gpus, api_word(word));
}

std::optional<bool> is_as_chosen(const SeenUse& seen,
                                 const ChosenUse& chosen,
                                 const Report& report) {
    // A backend without an API is the CPU.
    const auto word = api_below(chosen.backend).empty() ? kCpu : std::string_view{chosen.backend};
    const auto as_expected = is_as_expected(seen, word, report);
    if (!as_expected || !*as_expected || word == kCpu || chosen.gpus.empty())
        return as_expected;
    // The API is right; now check that no other GPU was used. Partitions count as their GPU.
    return std::ranges::all_of(gpus_in(seen.devices, report), [&chosen](const DeviceUse& use) {
        return std::ranges::any_of(chosen.gpus,
                                   [&use](const auto& id) { return whole_id(id) == use.device; });
    });
}

std::string doubts_text(const std::set<Doubt>& doubts) {
    std::vector<std::string_view> texts;
    for (const auto& words : kDoubts)
        if (doubts.contains(words.doubt))
            texts.push_back(words.text);
    return fmt::format("{}", fmt::join(texts, "; "));
}

std::string devices_text(const std::vector<DeviceUse>& devices, const Report& report) {
    std::vector<std::string> groups;
    std::vector<std::string> alike;  // devices used through the same APIs, which are named once
    // Devices that were used through the same APIs form a group, which ends where the APIs differ.
    for (std::size_t place = 0; place < devices.size(); ++place) {
        const auto& use = devices[place];
        alike.push_back(device_text(use, report));
        if (place + 1 < devices.size() && devices[place + 1].apis == use.apis)
            continue;
        groups.push_back(phrase("{devices}[ through {apis}]", {{"devices", joined_with_and(alike)},
                                                               {"apis", api_labels(use.apis)}}));
        alike.clear();
    }
    return joined_with_and(groups);
}

std::string chosen_text(const ChosenUse& chosen, const Report& report) {
    std::vector<std::string> titles;
    for (const auto& id : chosen.gpus)
        titles.push_back(device_title(id, report));
    return phrase(
        "{backend}[ on {gpus}]",
        {{"backend", scrubbed(chosen.backend, 64)},
         {"gpus", titles.empty() ? std::nullopt : std::optional{joined_with_and(titles)}}});
}

std::string outcome_text(const SeenUse& seen, const ChosenUse& chosen, const Report& report) {
    if (!seen.devices.empty())
        return phrase("took {devices}[ although {chosen} was chosen]",
                      {{"devices", devices_text(seen.devices, report)},
                       {"chosen", contrast(seen, chosen, report)}});
    if (!seen.doubts.empty())
        return phrase("it is not known whether a GPU was used: {doubts}",
                      {{"doubts", doubts_text(seen.doubts)}});
    if (api_below(chosen.backend).empty())
        return "took no GPU, as chosen";
    return phrase("took no GPU although {chosen} was chosen",
                  {{"chosen", scrubbed(chosen.backend, 64)}});
}

Value devices_document(const std::vector<DeviceUse>& devices, const Report& report) {
    Value document{Value::Array{}};
    for (const auto& use : devices) {
        Value entry;
        entry["device"] = use.device;
        entry["name"] = device_title(use.device, report);
        entry["memory"] = to_value(use.memory);
        entry["apis"] = to_value(use.apis);
        entry["processes"] = use.processes;
        document.push_back(std::move(entry));
    }
    return document;
}

Value apis_document(const std::set<Api>& apis) {
    std::vector<std::string_view> words;
    for (const auto api : apis)
        words.push_back(info_of(api).word);
    std::ranges::sort(words);
    Value document{Value::Array{}};
    for (const auto word : words)
        document.push_back(Value{word});
    return document;
}

Value doubts_document(const std::set<Doubt>& doubts) {
    Value document{Value::Array{}};
    for (const auto doubt : doubts)
        document.push_back(Value{name_of(doubt)});
    return document;
}

}  // namespace gpuprobe::inline cli
