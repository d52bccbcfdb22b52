// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "export/exported_gpu.h"
#include "export/selector.h"

/// Queries for Prometheus, with vector matching by on() and RE2 matchers. Metrics are matched for
/// each GPU, so that all conditions of an alternative hold for the same GPU. Source: Prometheus,
/// "Querying".
namespace gpuprobe::inline exports {
namespace {

/// A matcher such as name="value".
std::string quoted(const std::string& name, const char* operation, const std::string& value) {
    return name + operation + "\"" + value + "\"";
}

/// A regular expression for any of the words.
std::string one_of(const auto& words) {
    std::string text;
    for (const auto& word : words) {
        text += text.empty() ? "" : "|";
        for (const char character : std::string{word})
            text += character == '.' ? std::string{"[.]"} : std::string{character};
    }
    return text;
}

/// Matchers in braces: {a="b",c="d"}.
std::string braced(const std::vector<std::string>& matchers) {
    std::string text;
    for (const auto& matcher : matchers)
        text += (text.empty() ? "" : ",") + matcher;
    return "{" + text + "}";
}

/// The conditions that gpuprobe_gpu_info has labels for.
std::string info_of(const GpuNeed& gpu) {
    std::vector<std::string> matchers;
    if (!gpu.vendors.empty())
        matchers.push_back(quoted("vendor", "=~", one_of(gpu.vendors)));
    if (gpu.kinds) {
        std::vector<std::string> kinds;
        for (const auto kind : *gpu.kinds)
            kinds.emplace_back(name_of(kind));
        matchers.push_back(quoted("kind", "=~", one_of(kinds)));
    }
    if (gpu.targets)
        matchers.push_back(quoted("target", "=~", one_of(*gpu.targets)));
    if (gpu.driver) {
        matchers.push_back(quoted("driver", "=", "nvidia"));
        matchers.push_back(quoted("driver_version", "=~", at_least_pattern(*gpu.driver)));
    }
    if (gpu.vulkan)
        matchers.push_back(quoted("vulkan", "=~", at_least_pattern(*gpu.vulkan)));
    return "gpuprobe_gpu_info" + (matchers.empty() ? "" : braced(matchers));
}

/// All conditions for one GPU.
std::string gpu_part(const GpuNeed& gpu) {
    auto text = info_of(gpu);
    if (gpu.api)
        text += "\n    and on (instance, gpu) gpuprobe_gpu_usable{" + quoted("api", "=", *gpu.api) +
                "} == 1";
    if (gpu.memory)
        text += "\n    and on (instance, gpu) gpuprobe_gpu_memory_bytes >= " +
                std::to_string(gpu.memory->count);
    return text;
}

/// The conditions for the host.
std::string host_part(const HostNeed& host, FleetQuery& query) {
    std::vector<std::string> matchers{quoted("arch", "=", host.arch)};
    if (host.libc)
        matchers.push_back(quoted("libc", "=", *host.libc));
    if (host.glibc)
        matchers.push_back(quoted("glibc", "=~", at_least_pattern(*host.glibc)));
    if (host.cpu_level)
        matchers.push_back(
            quoted("cpu_level", "=~",
                   at_least_pattern(Version{{static_cast<std::uint32_t>(*host.cpu_level)}})));
    for (const auto& feature : host.cpu_features)
        query.weaker.push_back(not_asked("cpu_features: " + feature));
    return "gpuprobe_host_info" + braced(matchers);
}

}  // namespace

Result<FleetQuery> promql_query(const FleetNeed& need,
                                const Rules& /*rules*/,
                                const std::vector<std::string>& /*known*/) {
    auto query = query_for(need);
    std::string gpus;
    for (const auto& gpu : need.gpus)
        gpus += (gpus.empty() ? "    " : "  or\n    ") + gpu_part(gpu) + "\n";
    // Any alternative, on a host that satisfies the host's requirements.
    query.text = "count by (instance) (\n";
    query.text += need.gpus.empty() ? "  " : "  (\n" + gpus + "  )\n  and on (instance) ";
    query.text += host_part(need.host, query) + "\n";
    if (need.host.kernel)  // a metric of node_exporter
        query.text += "  and on (instance) node_uname_info{" +
                      quoted("release", "=~", at_least_pattern(*need.host.kernel)) + "}\n";
    query.text += ")\n";
    return query;
}

}  // namespace gpuprobe::inline exports
