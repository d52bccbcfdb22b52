// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "export/fleet_label.h"
#include "export/formats.h"
#include "export/instant_text.h"

namespace gpuprobe::inline exports {
namespace {

/// The namespace of our labels, which NFD's defaults allow. Source: Node Feature Discovery,
/// "Customization guide", Local feature source and Label naming.
constexpr std::string_view kNamespace = "gpuprobe.feature.node.kubernetes.io/";
/// The size limit for a file: NFD ignores all of a larger one. Source: source/local/local.go,
/// MaxFeatureFileSize.
constexpr std::size_t kMaxFeatureFile = 65536;

/// A feature for NodeFeatureRule that does not become a label: it may be any text and change often.
std::string raw_feature(std::string_view name, std::string_view value) {
    return "# +no-label\ngpuprobe." + std::string{name} + "=" + scrubbed(value, 128) + "\n";
}

/// Schema, rules, drivers, models and places as raw features.
std::string raw_features(const ExportSubject& subject, const std::vector<ExportedGpu>& gpus) {
    auto text = raw_feature("schema", "1") + raw_feature("rules", subject.rules.serial());
    std::map<std::string, std::string> drivers;
    for (const auto& gpu : gpus)
        if (gpu.gpu->driver.name && gpu.gpu->driver.version &&
            is_label_value(*gpu.gpu->driver.name))
            drivers[*gpu.gpu->driver.name] = *gpu.gpu->driver.version;
    for (const auto& [name, version] : drivers)
        text += raw_feature("driver." + name, version);
    int index = 0;
    for (const auto& gpu : gpus) {
        const auto start = "gpu." + std::to_string(index++) + ".";
        if (gpu.model)
            text += raw_feature(start + "model", *gpu.model);
        text += raw_feature(start + "place", gpu.place);
    }
    return text;
}

}  // namespace

Exported write_nfd(const ExportSubject& subject) {
    Exported result;
    const auto gpus = exported_gpus(subject, result.left_out);
    const auto labels = within_budget(fact_labels(subject, gpus),
                                      verdict_labels(verdicts_of(subject, result.left_out)),
                                      kMaxFleetLabels, result.left_out);
    if (labels.empty())
        return result;
    // "# +" begins a directive, and NFD treats an unknown directive as an error: so a plain
    // comment.
    std::string text = "# gpuprobe " + subject.version + "\n";
    if (subject.expires)
        text += "# +expiry-time=" + instant_text(*subject.expires) + "\n";
    for (const auto& label : labels) {
        if (is_label_value(label.name) && is_label_value(label.value))
            text += std::string{kNamespace} + label.name + "=" + label.value + "\n";
        else
            result.left_out.push_back(
                {.code = "unfit-name",
                 .text = "'" + scrubbed(label.name, 128) + "' is no label that Kubernetes takes"});
    }
    text += raw_features(subject, gpus);
    if (text.size() > kMaxFeatureFile)
        return Exported::refused("over-budget", "over the 64 KiB that NFD reads of a file");
    result.text = std::move(text);
    return result;
}

}  // namespace gpuprobe::inline exports
