// SPDX-License-Identifier: Apache-2.0
#include "export/formats.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace gpuprobe::inline exports {
namespace {

/// Sources of the paths: the documentation of each orchestrator, see docs/fleet.md.
const ExportFormat kFormats[] = {
    {.name = "json",
     .summary = "what all others are made of",
     .write = write_json,
     .suffix = ".json"},
    {.name = "prometheus",
     .summary = "metrics for node_exporter's textfile collector",
     .write = write_prometheus,
     .suffix = ".prom",
     .usual = "/var/lib/prometheus/node-exporter/gpuprobe.prom",
     .marker = "gpuprobe_build_info"},
    {.name = "otlp",
     .summary = "OpenTelemetry's hw.gpu metrics, for a collector that reads files",
     .write = write_otlp,
     .suffix = ".jsonl"},
    {.name = "ansible",
     .summary = "ansible_local.gpuprobe",
     .write = write_ansible,
     .suffix = ".fact",
     .usual = "/etc/ansible/facts.d/gpuprobe.fact"},
    {.name = "facter",
     .summary = "the fact gpuprobe, for Puppet",
     .write = write_facter,
     .suffix = ".json",
     .usual = "/etc/facter/facts.d/gpuprobe.json",
     .marker = "\"gpuprobe\": {"},
    {.name = "nfd",
     .summary = "node labels through Kubernetes' Node Feature Discovery",
     .write = write_nfd,
     .written_first = WrittenFirst::FolderAbove,
     .usual = "/etc/kubernetes/node-feature-discovery/features.d/gpuprobe",
     .marker = "gpuprobe.feature.node.kubernetes.io/"},
    {.name = "slurm-gres",
     .summary = "gres.conf",
     .write = write_slurm_gres,
     .written_first = WrittenFirst::NoFile,
     .usual = "gres.conf"},
    {.name = "slurm-node",
     .summary = "Gres= and Feature= of the node's line in slurm.conf",
     .write = write_slurm_node,
     .written_first = WrittenFirst::NoFile,
     .usual = "slurm.conf"},
    {.name = "cdi",
     .summary = "device nodes for containers, of GPUs that no vendor's tool names",
     .write = write_cdi,
     .suffix = ".json",
     .usual = "/var/run/cdi/gpuprobe.json",
     .marker = "gpuprobe.org/gpu"},
    {.name = "nomad-meta",
     .summary = "client meta for Nomad",
     .write = write_nomad_meta,
     .written_first = WrittenFirst::NoFile},
    {.name = "ray-labels",
     .summary = "a file for ray start --labels-file",
     .write = write_ray_labels,
     .suffix = ".yaml"},
};

/// True for a line of any format that contains a time or a reading of that moment.
bool is_dated(std::string_view line) {
    constexpr auto kStarts = std::to_array<std::string_view>(
        {"# +expiry-time=", "gpuprobe_last_probe_timestamp_seconds ",
         "gpuprobe_accelerator_power_watts{", "gpuprobe_accelerator_temperature_celsius{",
         "\"probed_at\":", "\"generation\":", "GpuprobeGeneration="});
    const auto text = trimmed(line);
    return std::ranges::any_of(kStarts, [text](auto start) { return text.starts_with(start); });
}

/// The lines of an export without those that contain a time. In OTLP, which is one line, the time
/// of each data point is removed.
std::vector<std::string> undated_lines(std::string_view text) {
    constexpr std::string_view kTime = "\"timeUnixNano\":\"";
    std::vector<std::string> lines;
    for (const auto line : split(text, '\n')) {
        if (is_dated(line))
            continue;
        auto& kept = lines.emplace_back(line);
        for (auto at = kept.find(kTime); at != std::string::npos; at = kept.find(kTime, at))
            kept.erase(at, kept.find("\",", at + kTime.size()) - at);
    }
    return lines;
}

}  // namespace

std::span<const ExportFormat> export_formats() {
    return kFormats;
}

const ExportFormat* export_format(std::string_view name) {
    const auto* found = std::ranges::find(kFormats, name, &ExportFormat::name);
    return found == std::end(kFormats) ? nullptr : found;
}

bool says_the_same(std::string_view left, std::string_view right) {
    return undated_lines(left) == undated_lines(right);
}

std::vector<std::string> lost_lines(std::string_view before, std::string_view after) {
    auto lost = undated_lines(before);
    const auto kept = undated_lines(after);
    const std::set<std::string_view> there{kept.begin(), kept.end()};
    std::erase_if(lost, [&there](const std::string& line) { return there.contains(line); });
    return lost;
}

bool is_unsettled(const Report& report) {
    if (report.state == ReportState::Starting || report.state == ReportState::Probing)
        return true;
    return std::ranges::any_of(report.probes, [&report](const ProbeEntry& probe) {
        const bool was_cut_short =
            probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut;
        // A driver in quarantine will not be probed again for now.
        const bool is_given_up =
            std::ranges::any_of(report.quarantine, [&probe](const QuarantinedProbe& held) {
                return held.api == probe.api && held.driver == probe.driver;
            });
        return was_cut_short && !is_given_up;
    });
}

}  // namespace gpuprobe::inline exports
