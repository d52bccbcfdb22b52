// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "base/value.h"
#include "export/formats.h"
#include "export/subject.h"
#include "policy/fact.h"
#include "report/compute_view.h"
#include "report/video.h"

namespace gpuprobe::inline exports {

// Prometheus --------------------------------------------------------------------------------------
//
// Exports metrics in Prometheus' text format, with names and units that pass promtool's lint.
// Only gpuprobe_gpu_info contains the identity of a GPU. Queries join this metric with other
// metrics on the label `gpu`. Source: Prometheus, "Exposition formats", text-based format.

namespace {

/// The maximum number of series about variants. All other series are few: four for the machine, and
/// for each GPU the series for its identity, its memory, its codecs and at most three APIs.
constexpr std::size_t kMaxVerdictSeries = 64;

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// A label's value in quotes, with quotes and backslashes escaped.
std::string label_value(std::string_view value) {
    std::string text = "\"";
    for (const char character : scrubbed(value)) {
        if (character == '"' || character == '\\')
            text += '\\';
        text += character;
    }
    return text + "\"";
}

/// The lines of a metric with its series.
class GaugeText {
public:
    GaugeText(std::string_view name, std::string_view help) : name_{name} {
        text_ = "# HELP " + name_ + " " + std::string{help} + "\n# TYPE " + name_ + " gauge\n";
    }
    /// Adds a series.
    void add(const Labels& labels, std::uint64_t value) { add(labels, std::to_string(value)); }
    void add(const Labels& labels, const std::string& value) {
        text_ += name_;
        std::string inner;
        for (const auto& [label, content] : labels)
            inner += (inner.empty() ? "" : ",") + std::string{label} + "=" + label_value(content);
        text_ += (inner.empty() ? "" : "{" + inner + "}") + " " + value + "\n";
        ++count_;
    }
    [[nodiscard]] std::size_t count() const { return count_; }
    /// The text of the metric; empty if the metric has no series.
    [[nodiscard]] std::string text() const { return count_ == 0 ? "" : text_; }

private:
    std::string name_;
    std::string text_ = {};
    std::size_t count_ = 0;
};

/// A number in units of 1/10^digits, written as a decimal: if `digits` is six, 350500000 becomes
/// "350.5".
std::string decimal(std::int64_t number, int digits) {
    const bool is_negative = number < 0;
    auto text = std::to_string(is_negative ? -number : number);
    const auto places = static_cast<std::size_t>(digits);
    if (text.size() <= places)
        text.insert(0, places + 1 - text.size(), '0');
    const auto point = text.size() - places;
    auto fraction = text.substr(point);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return (is_negative ? "-" : "") + text.substr(0, point) +
           (fraction.empty() ? "" : "." + fraction);
}

std::string vulkan_text(const ExportedGpu& gpu) {
    const auto version = usable_vulkan(gpu);
    return version ? text_of(*version) : "";
}

/// The identity of each GPU.
GaugeText info_of(const std::vector<ExportedGpu>& gpus) {
    GaugeText metric{"gpuprobe_gpu_info",
                     "Identity of one GPU; join other metrics on instance and gpu, card or uuid."};
    for (const auto& gpu : gpus)
        metric.add({{"gpu", gpu.place},
                    {"card", gpu.card.value_or("")},
                    {"uuid", gpu.gpu->identity.nvidia_uuid.value_or("")},
                    {"vendor", gpu.vendor},
                    {"model", gpu.model.value_or("")},
                    {"arch", gpu.arch.value_or("")},
                    {"target", gpu.target.value_or("")},
                    {"kind", std::string{name_of(gpu.gpu->kind)}},
                    {"driver", gpu.gpu->driver.name.value_or("")},
                    {"driver_version", gpu.gpu->driver.version.value_or("")},
                    {"vulkan", vulkan_text(gpu)}},
                   1);
    return metric;
}

/// The codecs in one direction, separated by commas; "none" if the GPU is known to have no codecs,
/// and empty if the codecs are unknown.
std::string codecs_text(const Gpu& gpu, VideoDirection direction) {
    const auto codecs = codecs_of(gpu, direction);
    return codecs.empty() && is_without_video(gpu, direction) ? "none" : joined(codecs, ",");
}

/// The video codecs of each GPU whose codecs are known.
GaugeText video_info_of(const std::vector<ExportedGpu>& gpus) {
    GaugeText metric{"gpuprobe_gpu_video_info",
                     "Video codecs that programs can decode and encode on one GPU."};
    for (const auto& gpu : gpus) {
        const auto decode = codecs_text(*gpu.gpu, VideoDirection::Decode);
        const auto encode = codecs_text(*gpu.gpu, VideoDirection::Encode);
        if (!decode.empty() || !encode.empty())
            metric.add({{"gpu", gpu.place}, {"decode", decode}, {"encode", encode}}, 1);
    }
    return metric;
}

/// The metric with the identity of each partition. The label for the number of a MIG instance has
/// the same name as in NVIDIA's exporter. Source: NVIDIA/dcgm-exporter, README, metrics of MIG
/// devices.
GaugeText partitions_of(const std::vector<ExportedGpu>& gpus) {
    GaugeText metric{"gpuprobe_gpu_partition_info", "Identity of one partition of a GPU."};
    for (const auto& gpu : gpus)
        if (const auto* partition = partition_of(*gpu.gpu))
            metric.add({{"gpu", gpu.place},
                        {"whole", std::string{whole_id(gpu.place)}},
                        {"profile", partition->profile.value_or("")},
                        {"GPU_I_ID",
                         partition->gpu_instance ? std::to_string(*partition->gpu_instance) : ""}},
                       1);
    return metric;
}

/// The accelerator's PCI address; its id if the accelerator has no PCI address.
std::string accelerator_place(const Accelerator& accelerator) {
    const auto has_address = accelerator.pci && accelerator.pci->address;
    return has_address ? text_of(*accelerator.pci->address) : accelerator.id;
}

GaugeText info_of(const std::vector<Accelerator>& accelerators) {
    GaugeText metric{"gpuprobe_accelerator_info",
                     "Identity of one accelerator that is not a GPU; join other metrics on "
                     "instance and accelerator."};
    for (const auto& one : accelerators)
        metric.add({{"accelerator", accelerator_place(one)},
                    {"vendor", one.vendor.value_or("")},
                    {"model", one.name.value_or("")},
                    {"kind", one.kind.value_or("")},
                    {"driver", one.driver.name.value_or("")},
                    {"driver_version", one.driver.version.value_or("")},
                    {"firmware", one.firmware.value_or("")}},
                   1);
    return metric;
}

/// A metric with one series for each accelerator that has a known value. `value` returns the
/// accelerator's value, multiplied by 10^digits.
template <class Value>
std::string series_of(const std::vector<Accelerator>& accelerators,
                      GaugeText metric,
                      Value value,
                      int digits = 0) {
    for (const auto& one : accelerators)
        if (const auto known = value(one))
            metric.add({{"accelerator", accelerator_place(one)}},
                       decimal(static_cast<std::int64_t>(*known), digits));
    return metric.text();
}

/// All metrics about accelerators, sorted by the accelerator's place, so that two exports of the
/// same state are equal.
std::string accelerators_text(std::vector<Accelerator> all) {
    std::ranges::sort(all, {}, accelerator_place);
    const auto memory = [](const Accelerator& one) {
        return one.memory ? std::optional{one.memory->count} : std::nullopt;
    };
    constexpr int kMicro = 6;
    constexpr int kMilli = 3;
    return info_of(all).text() +
           series_of(all, {"gpuprobe_accelerator_memory_bytes", "Memory of the accelerator."},
                     memory) +
           series_of(
               all, {"gpuprobe_accelerator_power_limit_watts", "Power limit of the accelerator."},
               [](const Accelerator& one) { return one.power.limit; }, kMicro) +
           series_of(
               all, {"gpuprobe_accelerator_power_watts", "Power draw of the accelerator."},
               [](const Accelerator& one) { return one.power.draw; }, kMicro) +
           series_of(
               all,
               {"gpuprobe_accelerator_temperature_celsius",
                "Temperature of the accelerator's first sensor."},
               [](const Accelerator& one) { return one.power.temperature; }, kMilli);
}

/// The platform of the host.
GaugeText host_gauge(const ExportedHost& host) {
    GaugeText metric{"gpuprobe_host_info",
                     "CPU architecture and levels that programs for this machine can use."};
    const auto level = host.cpu_level;
    metric.add({{"arch", host.arch},
                {"libc", host.libc.value_or("")},
                {"glibc", host.glibc ? text_of(*host.glibc) : ""},
                {"cpu_level", level ? std::to_string(*level) : ""}},
               1);
    return metric;
}

/// The memory of each GPU, if the memory is known.
GaugeText memory_of(const std::vector<ExportedGpu>& gpus) {
    GaugeText metric{"gpuprobe_gpu_memory_bytes", "Memory that programs can allocate on one GPU."};
    for (const auto& gpu : gpus)
        if (memory_of(gpu))
            metric.add({{"gpu", gpu.place}}, memory_of(gpu)->count);
    return metric;
}

/// Whether each API works on each GPU.
GaugeText usable_of(const std::vector<ExportedGpu>& gpus) {
    GaugeText metric{"gpuprobe_gpu_usable",
                     "1 if this API works on this GPU, 0 if it does not work; absent if unknown."};
    for (const auto& gpu : gpus)
        for (const auto& [api, works] : gpu.apis)
            metric.add({{"gpu", gpu.place}, {"api", api}}, works ? 1 : 0);
    return metric;
}

/// The verdicts about all variants.
GaugeText variants_of(const std::vector<Verdicts>& verdicts) {
    GaugeText metric{"gpuprobe_variant_supported",
                     "1 if this machine can run this variant, 0 if it cannot."};
    for (const auto& application : verdicts) {
        for (const auto& variant : application.supported)
            metric.add({{"application", application.application}, {"variant", variant}}, 1);
        for (const auto& variant : application.unsupported)
            metric.add({{"application", application.application}, {"variant", variant}}, 0);
    }
    return metric;
}

/// The best variant of each application.
GaugeText best_of(const std::vector<Verdicts>& verdicts) {
    GaugeText metric{"gpuprobe_best_variant_info",
                     "The variant of an application that should be installed on this machine."};
    for (const auto& application : verdicts)
        if (application.best)
            metric.add({{"application", application.application}, {"variant", *application.best}},
                       1);
    return metric;
}

/// The findings, with the number of affected GPUs as the value: a machine has few kinds of
/// findings, but may have many GPUs.
GaugeText findings_of(const Value& findings) {
    GaugeText found{
        "gpuprobe_finding",
        "Number of GPUs with this finding of gpuprobectl doctor; 1 if the finding is about the "
        "machine."};
    std::map<std::pair<std::string, std::string>, std::size_t> gpus;
    for (const auto& finding : *findings.as_array())
        gpus[{*finding.at("id").as_string(), *finding.at("severity").as_string()}] +=
            std::max<std::size_t>(finding.at("gpus").as_array()->size(), 1);
    for (const auto& [what, count] : gpus)
        found.add({{"finding", what.first}, {"severity", what.second}}, count);
    return found;
}

/// The time of the last probe, and whether it succeeded.
std::string about_the_probe(const Report& report) {
    GaugeText time{"gpuprobe_last_probe_timestamp_seconds",
                   "Unix time at which the report for this file was completed."};
    if (report.created)
        time.add({}, static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(
                                                    report.created->time_since_epoch())
                                                    .count()));
    GaugeText success{"gpuprobe_last_probe_success",
                      "1 if every probe completed, 0 if a probe crashed or hung."};
    const bool is_whole = std::ranges::none_of(report.probes, [](const ProbeEntry& probe) {
        return probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut;
    });
    success.add({}, is_whole ? 1 : 0);
    return time.text() + success.text();
}

}  // namespace

Exported write_prometheus(const ExportSubject& subject) {
    Exported result;
    const auto gpus = exported_gpus(subject, result.left_out);
    GaugeText build{"gpuprobe_build_info", "Version of the program that wrote this file."};
    build.add({{"version", subject.version}, {"rules", subject.rules.serial()}}, 1);
    auto text = build.text() + host_gauge(exported_host(subject.report)).text() +
                info_of(gpus).text() + partitions_of(gpus).text() + memory_of(gpus).text() +
                usable_of(gpus).text() + video_info_of(gpus).text() +
                accelerators_text(subject.report.accelerators) +
                findings_of(subject.findings).text();
    const auto verdicts = verdicts_of(subject, result.left_out);
    const auto variants = variants_of(verdicts);
    // Export all verdicts or none, because readers could not detect that some verdicts are missing.
    if (variants.count() > kMaxVerdictSeries)
        result.left_out.push_back(
            {.code = "over-budget",
             .text = "verdicts are left out: " + std::to_string(variants.count()) +
                     " exceed the limit of 64 for a machine; export fewer applications"});
    else
        text += variants.text() + best_of(verdicts).text();
    result.text = text + about_the_probe(subject.report);
    return result;
}

// OpenTelemetry -----------------------------------------------------------------------------------
//
// Exports OpenTelemetry's hardware metrics as one line of OTLP in JSON. Values that change within
// seconds are left out, as in all exports, so of the metrics hw.gpu.*, only the memory size
// remains. Sources: open-telemetry/semantic-conventions @ bc174579, docs/hardware/gpu.md (hw.gpu.*,
// hw.status), docs/hardware/common.md (host attributes) and docs/registry/attributes/host.md and
// service.md; prometheus/prometheus, docs/guides/opentelemetry.md; the specification's
// "OpenTelemetry Protocol File Exporter" and "JSON Protobuf Encoding", which writes 64-bit numbers
// as strings.

namespace {

constexpr std::uint64_t kCumulative = 2;  ///< AGGREGATION_TEMPORALITY_CUMULATIVE
constexpr auto kStates = std::to_array<std::string_view>({"ok", "degraded", "failed"});

/// Makes an object from members, and keeps their order.
Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
    Value made{Value::Object{}};
    for (const auto& [key, value] : members)
        made[key] = value;
    return made;
}

/// Adds an attribute, unless its value is missing or empty.
void add_attribute(Value::Array& attributes,
                   std::string_view key,
                   const std::optional<std::string>& text) {
    if (text && !text->empty())
        attributes.push_back(
            object({{"key", Value{key}}, {"value", object({{"stringValue", Value{*text}}})}}));
}

Value::Array gpu_attributes(const ExportedGpu& gpu) {
    Value::Array attributes;
    add_attribute(attributes, "hw.id", gpu.place);
    add_attribute(attributes, "hw.type", "gpu");
    add_attribute(attributes, "hw.name", gpu.card);
    add_attribute(attributes, "hw.model", gpu.model);
    add_attribute(attributes, "hw.vendor", gpu.gpu->vendor);
    add_attribute(attributes, "hw.driver_version", gpu.gpu->driver.version);
    return attributes;
}

/// The value of hw.state, which is "failed" if the GPU has a problem and no API is known to work on
/// the GPU.
std::string_view state_of(const ExportedGpu& gpu) {
    if (gpu.gpu->health == "ok")
        return "ok";
    const bool works = std::ranges::any_of(gpu.apis, [](const auto& api) { return api.second; });
    return works ? "degraded" : "failed";
}

/// A non-monotonic sum, which is OTLP's form of an UpDownCounter.
class SumMetric {
public:
    SumMetric(std::string_view name, std::string_view unit, std::optional<WallTime> observed)
        : name_{name}, unit_{unit} {
        if (observed)
            time_ = std::to_string(std::chrono::nanoseconds{observed->time_since_epoch()}.count());
    }
    /// Adds a data point. The member with the time comes first, because a collector recognizes a
    /// file by its first 1,000 bytes and skips a file whose beginning is already known. Source:
    /// open-telemetry/opentelemetry-collector-contrib @ 000d4c7c,
    /// pkg/stanza/fileconsumer/design.md, "Fingerprints".
    void add(Value::Array attributes, std::uint64_t value) {
        Value point{Value::Object{}};
        if (!time_.empty())
            point["timeUnixNano"] = time_;
        point["asInt"] = std::to_string(value);
        point["attributes"] = Value{std::move(attributes)};
        points_.push_back(std::move(point));
    }
    /// Adds the metric to `metrics`, unless it has no points.
    void put_into(Value::Array& metrics) {
        if (points_.empty())
            return;
        metrics.push_back(object({{"name", Value{name_}},
                                  {"unit", Value{unit_}},
                                  {"sum", object({{"aggregationTemporality", Value{kCumulative}},
                                                  {"isMonotonic", Value{false}},
                                                  {"dataPoints", Value{std::move(points_)}}})}}));
    }

private:
    std::string name_;
    std::string unit_;
    std::string time_ = {};
    Value::Array points_ = {};
};

/// The value of host.arch, which differs from uname's name for the two usual architectures.
std::string arch_value(const std::string& arch) {
    return arch == "x86_64" ? "amd64" : arch == "aarch64" ? "arm64" : arch;
}

/// The attributes of the host. Hardware ids are unique only on one host, and readers that do not
/// know hosts distinguish sources by service.instance.id (Prometheus' label "instance").
Value resource_of(const ExportSubject& subject) {
    Value::Array attributes;
    add_attribute(attributes, "host.name", subject.node);
    add_attribute(attributes, "host.arch", arch_value(exported_host(subject.report).arch));
    add_attribute(attributes, "service.name", "gpuprobe");
    add_attribute(attributes, "service.instance.id", subject.node);
    add_attribute(attributes, "service.version", std::string{subject.version});
    return object({{"attributes", Value{std::move(attributes)}}});
}

}  // namespace

Exported write_otlp(const ExportSubject& subject) {
    Exported result;
    SumMetric limit{"hw.gpu.memory.limit", "By", subject.observed};
    SumMetric status{"hw.status", "1", subject.observed};
    for (const auto& gpu : exported_gpus(subject, result.left_out)) {
        const auto& physical = gpu.gpu->memory.physical;
        if (const auto size = physical ? physical : memory_of(gpu))
            limit.add(gpu_attributes(gpu), size->count);
        // hw.status has a series for each state: 1 for the current state, 0 for all other states.
        for (const auto state : kStates) {
            auto attributes = gpu_attributes(gpu);
            add_attribute(attributes, "hw.state", std::string{state});
            status.add(std::move(attributes), state_of(gpu) == state ? 1 : 0);
        }
    }
    Value::Array metrics;
    limit.put_into(metrics);
    status.put_into(metrics);
    const auto scope = object(
        {{"scope", object({{"name", Value{"gpuprobe"}}})}, {"metrics", Value{std::move(metrics)}}});
    const auto resource =
        object({{"resource", resource_of(subject)}, {"scopeMetrics", Value{Value::Array{scope}}}});
    result.text = json_line(object({{"resourceMetrics", Value{Value::Array{resource}}}})) + "\n";
    return result;
}

}  // namespace gpuprobe::inline exports
