// SPDX-License-Identifier: Apache-2.0
#include "export/formats.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/value.h"
#include "export/subject.h"
#include "policy/fact.h"

/// Exports facts as a JSON document. All users may read the document, so it contains neither UUIDs
/// nor serial numbers.

namespace gpuprobe::inline exports {
namespace {

Value working_apis(const ExportedGpu& gpu) {
    Value::Array words;
    for (const auto& [api, works] : gpu.apis)
        if (works)
            words.emplace_back(api);
    return Value{std::move(words)};
}

/// The facts about a GPU that all JSON formats have.
Value gpu_document(const ExportedGpu& gpu) {
    Value document{Value::Object{}};
    document["id"] = gpu.place;
    document["vendor"] = gpu.vendor;
    document["model"] = to_value(gpu.model);
    document["kind"] = to_value(gpu.gpu->kind);
    if (const auto partition = partition_word(gpu))
        document["partition"] = *partition;
    document["arch"] = to_value(gpu.arch);
    document["memory_bytes"] = to_value(memory_of(gpu));
    document["driver"] = to_value(gpu.gpu->driver.name);
    document["driver_version"] = to_value(gpu.gpu->driver.version);
    document["apis"] = working_apis(gpu);
    return document;
}

/// Whether an API works on a GPU; if not, the reasons, as codes from docs/reasons.md.
Value api_document(const ExportedGpu& gpu, const ApiInfo& api) {
    Value document{Value::Object{}};
    document["usable"] = to_value(gpu.facts.usable(api.id));
    const auto view = gpu.gpu->backends.find(std::string{api.backend});
    document["verified"] = view != gpu.gpu->backends.end() && view->second.verified;
    Value::Array codes;
    if (view != gpu.gpu->backends.end())
        for (const auto& reason : view->second.reasons)
            codes.emplace_back(reason.code);
    document["reasons"] = Value{std::move(codes)};
    return document;
}

/// The facts about a GPU that all JSON formats have, with details that only programs need.
Value full_gpu_document(const ExportedGpu& gpu) {
    auto document = gpu_document(gpu);
    Value apis{Value::Object{}};
    for (const auto* api : computing_apis())
        apis[api->fleet_word] = api_document(gpu, *api);
    document["apis"] = std::move(apis);
    document["card"] = to_value(gpu.card);
    Value::Array nodes;
    for (const auto& path : nodes_of(*gpu.gpu, "/dev/"))
        nodes.emplace_back(path);
    document["nodes"] = Value{std::move(nodes)};
    document["health"] = gpu.gpu->health;
    return document;
}

Value host_document(const ExportedHost& host) {
    Value document{Value::Object{}};
    document["arch"] = host.arch;
    document["libc"] = to_value(host.libc);
    document["glibc"] = host.glibc ? Value{text_of(*host.glibc)} : Value{};
    document["cpu_level"] = to_value(host.cpu_level);
    return document;
}

/// The members that all JSON formats begin with. Times are strings, because both Ansible and
/// Facter can read strings.
Value header(const ExportSubject& subject) {
    Value document{Value::Object{}};
    document["schema"] = 1;
    document["generation"] = to_value(subject.report.generation);
    const auto& made = subject.report.created;
    document["probed_at"] = made ? Value{instant_text(*made)} : Value{};
    return document;
}

/// The facts for Ansible and Facter: the header, "gpus", "findings", "best_variant" and "variants".
Value facts_document(const ExportSubject& subject, std::vector<ExportRemark>& left_out) {
    auto document = header(subject);
    Value::Array gpus;
    for (const auto& gpu : exported_gpus(subject, left_out))
        gpus.push_back(gpu_document(gpu));
    document["gpus"] = Value{std::move(gpus)};
    document["findings"] = subject.findings;
    Value best{Value::Object{}};
    Value variants{Value::Object{}};
    for (const auto& verdicts : verdicts_of(subject, left_out)) {
        if (verdicts.best)
            best[verdicts.application] = *verdicts.best;
        variants[verdicts.application] = to_value(verdicts.supported);
    }
    document["best_variant"] = std::move(best);
    document["variants"] = std::move(variants);
    return document;
}

/// The verdicts about the variants of each application, for the format json.
Value applications_document(const ExportSubject& subject, std::vector<ExportRemark>& left_out) {
    Value applications{Value::Object{}};
    for (const auto& verdicts : verdicts_of(subject, left_out)) {
        auto& application = applications[verdicts.application];
        application["best"] = to_value(verdicts.best);
        application["supported"] = to_value(verdicts.supported);
        application["unsupported"] = to_value(verdicts.unsupported);
    }
    return applications;
}

}  // namespace

Exported write_json(const ExportSubject& subject) {
    Exported result;
    auto document = header(subject);
    document["version"] = subject.version;
    document["rules"] = subject.rules.serial();
    document["settled"] = !is_unsettled(subject.report);
    document["host"] = host_document(exported_host(subject.report));
    Value::Array gpus;
    for (const auto& gpu : exported_gpus(subject, result.left_out))
        gpus.push_back(full_gpu_document(gpu));
    document["gpus"] = Value{std::move(gpus)};
    document["findings"] = subject.findings;
    document["applications"] = applications_document(subject, result.left_out);
    result.text = json_pretty(document);
    return result;
}

Exported write_ansible(const ExportSubject& subject) {
    Exported result;
    result.text = json_pretty(facts_document(subject, result.left_out));
    return result;
}

Exported write_facter(const ExportSubject& subject) {
    Exported result;
    Value document{Value::Object{}};
    document["gpuprobe"] = facts_document(subject, result.left_out);
    result.text = json_pretty(document);
    return result;
}

namespace {

/// For the paths, see the documentation of each orchestrator, which docs/fleet.md lists.
constexpr ExportFormat kFormats[] = {
    {.name = "json",
     .summary = "the data from which gpuprobe generates all other formats",
     .write = write_json,
     .suffix = ".json"},
    {.name = "prometheus",
     .summary = "metrics that node_exporter's textfile collector reads",
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
     .summary = "the custom fact gpuprobe for Puppet",
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
     .summary = "CDI device nodes for containers, for GPUs without a vendor's CDI tool",
     .write = write_cdi,
     .suffix = ".json",
     .usual = "/var/run/cdi/gpuprobe.json",
     .marker = "gpuprobe/gpu"},
    {.name = "nomad-meta",
     .summary = "client metadata for Nomad",
     .write = write_nomad_meta,
     .written_first = WrittenFirst::NoFile},
    {.name = "ray-labels",
     .summary = "labels for ray start --labels-file",
     .write = write_ray_labels,
     .suffix = ".yaml"},
};

/// True for a line that contains a time, or a value that was measured when the export was made.
/// Works for lines of all formats.
bool is_dated(std::string_view line) {
    constexpr auto kStarts = std::to_array<std::string_view>(
        {"# +expiry-time=", "gpuprobe_last_probe_timestamp_seconds ",
         "gpuprobe_accelerator_power_watts{", "gpuprobe_accelerator_temperature_celsius{",
         "\"probed_at\":", "\"generation\":", "GpuprobeGeneration="});
    const auto text = trimmed(line);
    return std::ranges::any_of(kStarts, [text](auto start) { return text.starts_with(start); });
}

/// The lines of an export that do not contain a time. An OTLP export is a single line; the time of
/// each data point is removed from this line.
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

bool is_same_export(std::string_view left, std::string_view right) {
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
        // A driver in quarantine isn't probed again soon, so the report counts as complete.
        const bool is_given_up =
            std::ranges::any_of(report.quarantine, [&probe](const QuarantinedProbe& held) {
                return held.api == probe.api && held.driver == probe.driver;
            });
        return was_cut_short && !is_given_up;
    });
}

}  // namespace gpuprobe::inline exports
