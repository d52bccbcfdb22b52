// SPDX-License-Identifier: Apache-2.0
#include "base/value.h"
#include "export/fleet_label.h"
#include "export/formats.h"

/// Exports the labels for schedulers that read them from a configuration file.
namespace gpuprobe::inline exports {
namespace {

std::vector<FleetLabel> labels_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out) {
    return within_budget(fact_labels(subject, exported_gpus(subject, left_out)),
                         verdict_labels(verdicts_of(subject, left_out)), kMaxFleetLabels, left_out);
}

std::string quoted(const std::string& text) {
    return json_line(Value{text});
}

}  // namespace

/// Values are strings. Keys must be identifiers, because jobs read them as ${meta.KEY}. Source:
/// Nomad, "client" block, meta.
Exported write_nomad_meta(const ExportSubject& subject) {
    Exported result;
    std::map<std::string, std::string> meanings;
    std::string text = "client {\n  meta {\n";
    for (const auto& label : labels_of(subject, result.left_out)) {
        const auto key = "gpuprobe_" + identifier_of(label.name);
        const auto [at, is_new] = meanings.emplace(key, label.name);
        if (!is_new)
            return Exported::refused("collision",
                                     at->second + " and " + label.name + " are both " + key);
        text += "    " + key + " = " + quoted(label.value) + "\n";
    }
    if (!meanings.empty())
        result.text = text + "  }\n}\n";
    return result;
}

/// Flat YAML, with the syntax of Kubernetes' labels. Source: Ray, "Use labels to control
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
