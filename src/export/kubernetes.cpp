// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/value.h"
#include "export/fleet_label.h"
#include "export/formats.h"
#include "export/selector.h"
#include "export/subject.h"

namespace gpuprobe::inline exports {
namespace {

/// The namespace of our labels; NFD accepts this namespace by default. Source: Node Feature
/// Discovery, "Customization guide", Local feature source and Label naming.
constexpr std::string_view kNamespace = "gpuprobe.feature.node.kubernetes.io/";
/// The maximum size of a file for NFD. NFD ignores larger files completely. Source:
/// source/local/local.go, MaxFeatureFileSize.
constexpr std::size_t kMaxFeatureFile = 65536;

/// A feature that NodeFeatureRule can use and that does not become a label. Unlike a label, such a
/// feature can have any value and can change often.
std::string raw_feature(std::string_view name, std::string_view value) {
    return "# +no-label\ngpuprobe." + std::string{name} + "=" + scrubbed(value, 128) + "\n";
}

/// The features that do not become labels: schema, rules, drivers, models and places.
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
    const auto labels = machine_labels(subject, gpus, result.left_out);
    if (labels.empty())
        return result;
    // A comment must not begin with "# +", because NFD interprets such a line as a directive, and
    // treats an unknown directive as an error.
    std::string text = "# gpuprobe " + subject.version + "\n";
    if (subject.expires)
        text += "# +expiry-time=" + instant_text(*subject.expires) + "\n";
    for (const auto& label : labels) {
        if (is_label_value(label.name) && is_label_value(label.value))
            text += std::string{kNamespace} + label.name + "=" + label.value + "\n";
        else
            result.left_out.push_back(
                {.code = "unfit-name",
                 .text = "'" + scrubbed(label.name, 128) + "' is not a valid Kubernetes label"});
    }
    text += raw_features(subject, gpus);
    if (text.size() > kMaxFeatureFile)
        return Exported::refused("over-budget",
                                 "larger than 64 KiB, the most that NFD reads from a file");
    result.text = std::move(text);
    return result;
}

// Queries for Kubernetes' node affinity. An expression compares a label with the operator In,
// Exists, DoesNotExist or Gt. A node matches if all expressions of at least one term are true.
// Source: Kubernetes, NodeSelectorRequirement.

namespace {

constexpr std::string_view kOurs = "gpuprobe.feature.node.kubernetes.io/";

/// Collects the expressions of one term.
class NodeTerm {
public:
    void add(const std::string& key, const char* operation, std::vector<std::string> values = {}) {
        Value expression{Value::Object{}};
        expression["key"] = key;
        expression["operator"] = operation;
        if (!values.empty())
            expression["values"] = to_value(values);
        expressions_.push_back(std::move(expression));
    }
    /// Adds an expression about a label that gpuprobe exports.
    void ours(const std::string& name,
              const char* operation,
              std::vector<std::string> values = {}) {
        add(std::string{kOurs} + name, operation, std::move(values));
    }
    /// Requires that the label's value is an integer >= `floor`. Kubernetes has only the operator
    /// "greater than" for numbers.
    void at_least(const std::string& name, std::uint64_t floor) {
        if (floor > 0)
            ours(name, "Gt", {std::to_string(floor - 1)});
        else
            ours(name, "Exists");
    }
    [[nodiscard]] Value take() const {
        Value term{Value::Object{}};
        term["matchExpressions"] = Value{expressions_};
        return term;
    }

private:
    Value::Array expressions_ = {};
};

/// Kubernetes' name for an architecture.
std::string kubernetes_arch(const std::string& arch) {
    if (arch == "x86_64")
        return "amd64";
    return arch == "aarch64" ? "arm64" : arch;
}

struct CpuLabel {
    std::string_view feature;
    const char* label;
};
/// The CPU features for which NFD makes labels by default. Source: NFD, "Feature labels",
/// cpu-cpuid.
constexpr CpuLabel kCpuLabels[] = {
    {"avx", "AVX"},           {"avx2", "AVX2"},         {"avx512f", "AVX512F"},
    {"avx512bw", "AVX512BW"}, {"avx512cd", "AVX512CD"}, {"avx512dq", "AVX512DQ"},
    {"avx512vl", "AVX512VL"}, {"fma", "FMA3"},
};

/// Adds the requirements for the host.
void add_host(const HostNeed& host, NodeTerm& term, FleetQuery& query) {
    term.add("kubernetes.io/arch", "In", {kubernetes_arch(host.arch)});
    if (host.libc)
        term.ours("host.libc", "In", {*host.libc});
    if (host.glibc && host.glibc->major() == 2)
        term.at_least("host.glibc.minor", host.glibc->parts[1]);
    else if (host.glibc)
        query.weaker.push_back(not_asked("glibc_min: " + text_of(*host.glibc)));
    if (host.kernel)
        query.weaker.push_back(not_asked("kernel_min: " + text_of(*host.kernel)));
    if (host.cpu_level)
        term.at_least("host.cpu.level", static_cast<std::uint64_t>(*host.cpu_level));
    for (const auto& feature : host.cpu_features) {
        const auto* known = std::ranges::find(kCpuLabels, feature, &CpuLabel::feature);
        if (known == std::end(kCpuLabels))
            query.weaker.push_back(not_asked("cpu_features: " + feature));
        else
            term.add(std::string{"feature.node.kubernetes.io/cpu-cpuid."} + known->label, "Exists");
    }
}

/// Excludes machines with other kinds of GPUs. Labels describe machines, not single GPUs. If a
/// machine had other kinds of GPUs too, each condition might be satisfied by a different GPU.
void no_others(const std::set<GpuKind>& kinds, NodeTerm& term) {
    for (const auto kind :
         {GpuKind::Discrete, GpuKind::Integrated, GpuKind::Virtual, GpuKind::Unknown})
        if (!kinds.contains(kind))
            term.ours("gpu." + std::string{name_of(kind)} + ".count", "DoesNotExist");
}

/// Excludes GPUs from other vendors, unless the API already implies the vendor.
void add_vendors(const GpuNeed& gpu, NodeTerm& term, FleetQuery& query) {
    const bool is_implied = gpu.vendors.size() == 1 && gpu.api == own_api(gpu.vendors.front());
    if (gpu.vendors.empty() || is_implied)
        return;
    for (const auto* vendor : {"nvidia", "amd", "intel", "other"})
        if (std::ranges::find(gpu.vendors, vendor) == gpu.vendors.end())
            term.ours(std::string{"gpu.vendor."} + vendor, "DoesNotExist");
    query.stronger.push_back(asked_more("machines that also have a GPU from another vendor"));
}

void add_kinds(const GpuNeed& gpu, NodeTerm& term, FleetQuery& query) {
    if (!gpu.kinds)
        return;
    no_others(*gpu.kinds, term);
    query.stronger.push_back(asked_more("machines that also have another kind of GPU"));
}

/// Adds the memory, rounded up to whole GiB.
void add_memory(const GpuNeed& gpu, const std::string& target, NodeTerm& term, FleetQuery& query) {
    if (!gpu.memory)
        return;
    const auto whole = (gpu.memory->count + gib(1).count - 1) / gib(1).count;
    if (gpu.memory->count % gib(1).count != 0)
        query.stronger.push_back(asked_more(
            "machines whose GPU memory becomes too small when it is rounded down to whole GiB"));
    if (!target.empty())
        return term.at_least("memory." + target + ".min-gib", whole);
    term.at_least("gpu.discrete.memory.min-gib", whole);
    no_others({GpuKind::Discrete}, term);
    query.stronger.push_back(
        asked_more("machines with a GPU that is not discrete, because labels contain the memory of "
                   "discrete GPUs only"));
}

/// Adds the minimum version of the driver. Labels contain only the major version, so a minimum such
/// as 550.54 is rounded up to 551.
void add_driver(const GpuNeed& gpu, NodeTerm& term, FleetQuery& query) {
    if (!gpu.driver)
        return;
    const bool is_whole = *gpu.driver == Version{{gpu.driver->major()}};
    term.at_least("driver.nvidia.major", gpu.driver->major() + (is_whole ? 0 : 1));
    if (!is_whole)
        query.stronger.push_back(
            asked_more("drivers of branch " + std::to_string(gpu.driver->major()) +
                       ", because labels contain only the number of the branch"));
}

/// Adds all Vulkan versions from the minimum to 1.9. Vulkan 2 does not exist.
void add_vulkan(const GpuNeed& gpu, NodeTerm& term) {
    if (!gpu.vulkan)
        return;
    std::vector<std::string> versions;
    for (auto minor = gpu.vulkan->parts[1]; minor < 10; ++minor)
        versions.push_back("1." + std::to_string(minor));
    term.ours("api.vulkan", "In", versions);
}

/// The node selector term for one alternative of the requirements and one target.
Value term_for(const FleetNeed& need,
               const GpuNeed& gpu,
               const std::string& target,
               FleetQuery& query) {
    NodeTerm term;
    add_host(need.host, term, query);
    if (gpu.api)
        term.ours("api." + *gpu.api + (target.empty() ? "" : "." + target), "Exists");
    else
        term.ours("gpu.count", "Gt", {"0"});
    add_driver(gpu, term, query);
    if (gpu.vulkan)
        add_vulkan(gpu, term);
    add_vendors(gpu, term, query);
    add_kinds(gpu, term, query);
    add_memory(gpu, target, term, query);
    return term.take();
}

}  // namespace

Result<FleetQuery> nfd_query(const FleetNeed& need,
                             const Rules& /*rules*/,
                             const std::vector<std::string>& /*known*/) {
    auto query = query_for(need);
    Value::Array terms;
    for (const auto& gpu : need.gpus) {
        // Each target needs a separate term, because all expressions of a term must be true.
        const auto targets = gpu.targets.value_or(std::set<std::string>{""});
        for (const auto& target : targets)
            terms.push_back(term_for(need, gpu, target, query));
    }
    // A variant for the CPU has only requirements for the host.
    if (need.gpus.empty()) {
        NodeTerm term;
        add_host(need.host, term, query);
        terms.push_back(term.take());
    }
    unite(query.weaker);
    unite(query.stronger);
    Value document{Value::Object{}};
    document["nodeSelectorTerms"] = Value{std::move(terms)};
    query.text = json_pretty(document);
    return query;
}

// Container Device Interface ----------------------------------------------------------------------
//
// Exports a specification for the Container Device Interface (CDI), for GPUs whose vendor has no
// tool that writes one. The specification has version 0.5.0, which is the newest version that
// podman 4.3 in Debian 12 reads, and the oldest version in which device names may begin with a
// digit. Source: Container Device Interface, SPEC.md.

namespace {

constexpr const char* kKind = "gpuprobe/gpu";

/// The name of a device, such as "0000-c5-00.0". Device names cannot contain a colon.
std::string device_name(const std::string& place) {
    std::string name;
    for (const char character : place) {
        const bool fits = (character >= 'a' && character <= 'z') ||
                          (character >= '0' && character <= '9') || character == '.' ||
                          character == '_';
        name += fits ? character : '-';
    }
    return name;
}

Value node_of(const std::string& path) {
    Value node{Value::Object{}};
    node["path"] = path;
    return node;
}

/// True if the machine has AMD's compute node, /dev/kfd.
bool has_kfd(const Report& report) {
    return std::ranges::any_of(report.nodes, [](const DeviceNode& node) {
        return node.path == "/dev/kfd" && node.reason != "missing";
    });
}

/// An environment variable that describes the GPU to programs in the container, such as
/// "GPUPROBE_GPU_0000_C5_00_0=amd:gfx1100".
std::string variable_of(const ExportedGpu& gpu) {
    auto name = identifier_of(gpu.place);
    for (auto& character : name)
        if (character >= 'a' && character <= 'z')
            character = static_cast<char>(character - 'a' + 'A');
    return "GPUPROBE_GPU_" + name + "=" + gpu.vendor + ":" + gpu.arch.value_or("");
}

/// The device nodes and the environment variable of a GPU. AMD's compute stack also needs /dev/kfd.
Value device_of(const ExportedGpu& gpu, const Report& report) {
    Value::Array nodes;
    for (const auto* start : {"/dev/dri/card", "/dev/dri/renderD"})
        for (const auto& path : nodes_of(*gpu.gpu, start))
            nodes.push_back(node_of(path));
    if (gpu.vendor == "amd" && has_kfd(report))
        nodes.push_back(node_of("/dev/kfd"));
    Value edits{Value::Object{}};
    edits["deviceNodes"] = Value{std::move(nodes)};
    edits["env"] = Value{Value::Array{Value{variable_of(gpu)}}};
    Value device{Value::Object{}};
    device["name"] = device_name(gpu.place);
    device["containerEdits"] = std::move(edits);
    return device;
}

}  // namespace

Exported write_cdi(const ExportSubject& subject) {
    Exported result;
    Value::Array devices;
    for (const auto& gpu : exported_gpus(subject, result.left_out)) {
        if (gpu.gpu->driver.name == "nvidia")
            // Containers that use NVIDIA GPUs also need libraries and hooks, which nvidia-ctk adds.
            result.notes.push_back(
                {.code = "vendor-cdi",
                 .text = gpu.place + " is omitted: use 'nvidia-ctk cdi generate'"});
        else if (nodes_of(*gpu.gpu, "/dev/dri/renderD").empty())
            result.left_out.push_back(
                {.code = "no-render-node", .text = gpu.place + " has no render node"});
        else
            devices.push_back(device_of(gpu, subject.report));
    }
    if (devices.empty())
        return {
            .left_out = {{.code = "no-device", .text = "no GPU here is supported by this format"}},
            .notes = result.notes};
    Value document{Value::Object{}};
    document["cdiVersion"] = "0.5.0";
    document["kind"] = kKind;
    document["devices"] = Value{std::move(devices)};
    document["containerEdits"]["env"] = Value{Value::Array{Value{"GPUPROBE_CDI=1"}}};
    result.text = json_pretty(document);
    return result;
}

}  // namespace gpuprobe::inline exports
