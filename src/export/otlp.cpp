// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/value.h"
#include "export/formats.h"
#include "export/subject.h"

/// Exports OpenTelemetry's hardware metrics as one line of OTLP in JSON. Values that change within
/// seconds are left out, as in all exports: of the metrics hw.gpu.*, only the memory size remains.
/// Sources: open-telemetry/semantic-conventions @ bc174579, docs/hardware/gpu.md (hw.gpu.*,
/// hw.status), docs/hardware/common.md (host attributes) and docs/registry/attributes/host.md and
/// service.md; prometheus/prometheus, docs/guides/opentelemetry.md; the specification's
/// "OpenTelemetry Protocol File Exporter" and "JSON Protobuf Encoding", which writes 64-bit numbers
/// as strings.
namespace gpuprobe::inline exports {
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

/// Adds an attribute, unless the text is missing or empty.
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

/// The value of hw.state. "failed": the GPU has a problem and no API is known to work on it.
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
    /// Adds a data point. The time comes first, because a collector recognizes a file by its first
    /// 1,000 bytes and skips a file whose beginning it has seen. Source:
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

/// The value of host.arch, which has other words than uname for the two usual architectures.
std::string arch_value(const std::string& arch) {
    return arch == "x86_64" ? "amd64" : arch == "aarch64" ? "arm64" : arch;
}

/// The attributes of the host. Hardware ids are unique only on one host, and readers without the
/// concept of a host distinguish sources by service.instance.id (Prometheus' label "instance").
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
