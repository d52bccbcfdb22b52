// SPDX-License-Identifier: Apache-2.0
#include "export/fleet_label.h"

#include <algorithm>

#include "base/value.h"
#include "export/formats.h"
#include "policy/fact.h"
#include "report/video.h"

namespace gpuprobe::inline exports {
namespace {

/// Adds a label for each counter.
void add_counts(std::string_view start,
                const std::map<std::string, int>& counts,
                std::vector<FleetLabel>& labels) {
    for (const auto& [word, count] : counts)
        labels.push_back({.name = std::string{start} + word, .value = std::to_string(count)});
}

/// The end of the label's name for a kind of GPU, such as "discrete.count" for discrete GPUs.
std::optional<std::string> kind_word(const ExportedGpu& gpu) {
    return std::string{name_of(gpu.gpu->kind)} + ".count";
}

/// The smallest memory among the GPUs that `counts` selects, in whole GiB; nullopt if the memory of
/// one of these GPUs is unknown, because that GPU may have the smallest memory.
template <class Counts>
std::optional<std::uint64_t> least_gib(const std::vector<ExportedGpu>& gpus, Counts counts) {
    std::optional<std::uint64_t> least;
    for (const auto& gpu : gpus) {
        if (!counts(gpu))
            continue;
        if (!memory_of(gpu))
            return std::nullopt;
        const auto whole = memory_of(gpu)->count / gib(1).count;
        least = least ? std::min(*least, whole) : whole;
    }
    return least;
}

void add_memory(const std::vector<ExportedGpu>& gpus, std::vector<FleetLabel>& labels) {
    const auto is_discrete = [](const ExportedGpu& gpu) {
        return gpu.gpu->kind == GpuKind::Discrete;
    };
    if (const auto least = least_gib(gpus, is_discrete))
        labels.push_back({.name = "gpu.discrete.memory.min-gib", .value = std::to_string(*least)});
    for (const auto& [target, count] :
         counted(gpus, [](const ExportedGpu& gpu) { return gpu.target; }))
        if (const auto least = least_gib(
                gpus, [&target = target](const ExportedGpu& gpu) { return gpu.target == target; }))
            labels.push_back(
                {.name = "memory." + target + ".min-gib", .value = std::to_string(*least)});
}

/// The lowest version of an API on the machine's GPUs, such as "13.0"; "true" if no version is
/// known.
std::string version_text(const std::vector<ExportedGpu>& gpus, Api api) {
    const bool has_version = api == Api::Cuda || api == Api::Hip || api == Api::Vulkan;
    const auto version = has_version ? least_version(gpus, api) : std::nullopt;
    if (!version)
        return "true";
    return std::to_string(version->parts[0]) + "." + std::to_string(version->parts[1]);
}

void add_api(const std::vector<ExportedGpu>& gpus, Api api, std::vector<FleetLabel>& labels) {
    const std::string word{info_of(api).fleet_word};
    const auto works = [&word](const ExportedGpu& gpu) { return works_with(gpu, word); };
    if (std::ranges::none_of(gpus, works))
        return;
    const auto version = version_text(gpus, api);
    labels.push_back({.name = "api." + word, .value = version});
    if (api == Api::Cuda && version != "true")
        labels.push_back({.name = "api.cuda.major", .value = version.substr(0, version.find('.'))});
    add_counts("api." + word + ".",
               counted(gpus,
                       [&](const ExportedGpu& gpu) {
                           const bool is_own = own_api(gpu.vendor) == word;
                           return is_own && works(gpu) ? gpu.target : std::nullopt;
                       }),
               labels);
}

/// Adds the lowest major version of NVIDIA's driver.
void add_driver(const std::vector<ExportedGpu>& gpus, std::vector<FleetLabel>& labels) {
    std::optional<Version> least;
    for (const auto& gpu : gpus)
        if (const auto& version = gpu.facts.version(FactId::Driver).value;
            gpu.vendor == "nvidia" && version)
            least = least ? std::min(*least, *version) : *version;
    if (least)
        labels.push_back({.name = "driver.nvidia.major", .value = std::to_string(least->major())});
}

/// Adds the labels of the host, with only the minor version of glibc, because the major version has
/// been 2 since 1997.
void add_host_labels(const ExportedHost& host, std::vector<FleetLabel>& labels) {
    if (host.libc)
        labels.push_back({.name = "host.libc", .value = *host.libc});
    if (host.glibc && host.glibc->major() == 2)
        labels.push_back(
            {.name = "host.glibc.minor", .value = std::to_string(host.glibc->parts[1])});
    if (host.cpu_level)
        labels.push_back({.name = "host.cpu.level", .value = std::to_string(*host.cpu_level)});
}

}  // namespace

std::vector<FleetLabel> fact_labels(const ExportSubject& subject,
                                    const std::vector<ExportedGpu>& gpus) {
    std::vector<FleetLabel> labels{{.name = "gpu.count", .value = std::to_string(gpus.size())}};
    add_counts("gpu.", counted(gpus, kind_word), labels);
    add_counts("gpu.vendor.",
               counted(gpus, [](const ExportedGpu& gpu) { return std::optional{gpu.vendor}; }),
               labels);
    add_counts("gpu.partition.", counted(gpus, partition_word), labels);
    add_counts("gpu.arch.", counted(gpus, [](const ExportedGpu& gpu) { return gpu.arch; }), labels);
    add_memory(gpus, labels);
    for (const auto* api : computing_apis())
        add_api(gpus, api->id, labels);
    add_driver(gpus, labels);
    add_host_labels(exported_host(subject.report), labels);
    return labels;
}

namespace {

/// The labels video.decode.<codec> and video.encode.<codec> for each of kMainCodecs: the number of
/// GPUs on which programs can decode or encode the codec.
std::vector<FleetLabel> video_labels(const std::vector<ExportedGpu>& gpus) {
    std::vector<FleetLabel> labels;
    for (const auto direction : {VideoDirection::Decode, VideoDirection::Encode})
        for (const auto codec : kMainCodecs) {
            const auto count = std::ranges::count_if(gpus, [&](const ExportedGpu& gpu) {
                const auto codecs = codecs_of(*gpu.gpu, direction);
                return std::ranges::find(codecs, codec) != codecs.end();
            });
            if (count > 0)
                labels.push_back(
                    {.name = "video." + std::string{name_of(direction)} + "." + std::string{codec},
                     .value = std::to_string(count)});
        }
    return labels;
}

/// The labels variant.<application>.<variant> = "true" for variants that can run, and
/// best.<application> with the name of the variant to install.
std::vector<FleetLabel> verdict_labels(const std::vector<Verdicts>& verdicts) {
    std::vector<FleetLabel> labels;
    for (const auto& application : verdicts)
        if (application.best)
            labels.push_back(
                {.name = "best." + application.application, .value = *application.best});
    for (const auto& application : verdicts)
        for (const auto& variant : application.supported)
            labels.push_back(
                {.name = "variant." + application.application + "." + variant, .value = "true"});
    return labels;
}

}  // namespace

bool is_label_value(std::string_view text) {
    constexpr std::size_t kMaxLabel = 63;
    const auto is_alphanumeric = [](char character) {
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               (character >= '0' && character <= '9');
    };
    return !text.empty() && text.size() <= kMaxLabel && is_alphanumeric(text.front()) &&
           is_alphanumeric(text.back()) && std::ranges::all_of(text, [&](char character) {
               return is_alphanumeric(character) || character == '.' || character == '_' ||
                      character == '-';
           });
}

std::vector<FleetLabel> within_budget(std::vector<FleetLabel> facts,
                                      const std::vector<FleetLabel>& verdicts,
                                      std::size_t limit,
                                      std::vector<ExportRemark>& left_out) {
    const auto over_budget = [limit](std::string_view what, std::size_t count) {
        return ExportRemark{.code = "over-budget",
                            .text = std::string{what} + ": " + std::to_string(count) +
                                    " more than the " + std::to_string(limit) +
                                    " labels that a machine may have"};
    };
    if (facts.size() > limit) {
        left_out.push_back(
            over_budget("labels about the hardware are omitted", facts.size() - limit));
        return {};
    }
    // In `verdicts`, the best variants come first, so they are dropped last.
    const auto room = std::min(limit - facts.size(), verdicts.size());
    const auto last = verdicts.begin() + static_cast<std::ptrdiff_t>(room);
    facts.insert(facts.end(), verdicts.begin(), last);
    if (last != verdicts.end())
        left_out.push_back(
            over_budget("verdicts are omitted", static_cast<std::size_t>(verdicts.end() - last)));
    return facts;
}

std::vector<FleetLabel> machine_labels(const ExportSubject& subject,
                                       const std::vector<ExportedGpu>& gpus,
                                       std::vector<ExportRemark>& left_out) {
    auto labels =
        within_budget(fact_labels(subject, gpus), verdict_labels(verdicts_of(subject, left_out)),
                      kMaxFleetLabels, left_out);
    if (!labels.empty())
        std::ranges::move(video_labels(gpus), std::back_inserter(labels));
    return labels;
}

// Exports labels for schedulers that read labels from their configuration file.

namespace {

/// The labels of the machine and its GPUs.
std::vector<FleetLabel> labels_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out) {
    return machine_labels(subject, exported_gpus(subject, left_out), left_out);
}

std::string quoted(const std::string& text) {
    return json_line(Value{text});
}

}  // namespace

/// Exports labels for Nomad. Values are strings. Keys must be identifiers, because jobs read them
/// as ${meta.KEY}. Source: Nomad, "client" block, meta.
Exported write_nomad_meta(const ExportSubject& subject) {
    Exported result;
    std::map<std::string, std::string> meanings;
    std::string text = "client {\n  meta {\n";
    for (const auto& label : labels_of(subject, result.left_out)) {
        const auto key = "gpuprobe_" + identifier_of(label.name);
        const auto [at, is_new] = meanings.emplace(key, label.name);
        if (!is_new)
            return Exported::refused("collision", at->second + " and " + label.name +
                                                      " would both become the label " + key);
        text += "    " + key + " = " + quoted(label.value) + "\n";
    }
    if (!meanings.empty())
        result.text = text + "  }\n}\n";
    return result;
}

/// Exports labels for Ray as YAML without nesting. Labels have the syntax of Kubernetes' labels.
/// Source: Ray, "Use labels to control
/// scheduling".
Exported write_ray_labels(const ExportSubject& subject) {
    Exported result;
    std::string text;
    for (const auto& label : labels_of(subject, result.left_out))
        text += quoted("gpuprobe." + label.name) + ": " + quoted(label.value) + "\n";
    if (!text.empty())
        result.text = std::move(text);
    return result;
}

}  // namespace gpuprobe::inline exports
