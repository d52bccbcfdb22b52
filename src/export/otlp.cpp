// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/value_json.h"
#include "export/exported_gpu.h"
#include "export/formats.h"

/// OpenTelemetry's names of hardware, as one line of OTLP in JSON. What passes in a second is left
/// out, as everywhere: of hw.gpu.* only the size of the memory stays.
/// Sources: open-telemetry/semantic-conventions @ bc174579, docs/hardware/gpu.md (hw.gpu.*,
/// hw.status), docs/hardware/common.md (host attributes) and docs/registry/attributes/host.md and
/// service.md; prometheus/prometheus, docs/guides/opentelemetry.md; the specification's
/// "OpenTelemetry Protocol File Exporter" and "JSON Protobuf Encoding", where 64-bit numbers are
/// strings.
namespace gpuprobe::inline exports {
namespace {

constexpr std::uint64_t kCumulative = 2;  ///< AGGREGATION_TEMPORALITY_CUMULATIVE
constexpr auto kStates = std::to_array<std::string_view>({"ok", "degraded", "failed"});

Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
    Value made{Value::Object{}};
    for (const auto& [key, value] : members)
        made[key] = value;
    return made;
}

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

/// Failed: something is wrong with it, and nothing is known to work on it.
std::string_view state_of(const ExportedGpu& gpu) {
    if (gpu.gpu->health == "ok")
        return "ok";
    const bool works = std::ranges::any_of(gpu.apis, [](const auto& api) { return api.second; });
    return works ? "degraded" : "failed";
}

/// A sum that may fall, which is how OTLP writes an UpDownCounter.
class SumMetric {
public:
    SumMetric(std::string_view name, std::string_view unit, std::optional<WallTime> observed)
        : name_{name}, unit_{unit} {
        if (observed)
            time_ = std::to_string(std::chrono::nanoseconds{observed->time_since_epoch()}.count());
    }
    /// The time comes first: a collector knows a file by its first 1,000 bytes, and reads only what
    /// differs there. Source: open-telemetry/opentelemetry-collector-contrib @ 000d4c7c,
    /// pkg/stanza/fileconsumer/design.md, "Fingerprints".
    void add(Value::Array attributes, std::uint64_t value) {
        Value point{Value::Object{}};
        if (!time_.empty())
            point["timeUnixNano"] = time_;
        point["asInt"] = std::to_string(value);
        point["attributes"] = Value{std::move(attributes)};
        points_.push_back(std::move(point));
    }
    /// Nothing for a metric without points.
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

/// host.arch has words of its own for the two that most machines are.
std::string arch_value(const std::string& arch) {
    return arch == "x86_64" ? "amd64" : arch == "aarch64" ? "arm64" : arch;
}

/// An id of hardware is unique on its host, and readers that know no hosts tell sources apart by
/// service.instance.id: Prometheus makes its label "instance" of that.
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
