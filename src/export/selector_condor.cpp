// SPDX-License-Identifier: Apache-2.0
#include "export/exported_gpu.h"
#include "export/selector.h"

/// Queries for HTCondor: countMatches() evaluates an expression in each ad of a list, versionGE()
/// compares dotted numbers, and =?= is never undefined. Source: HTCondor manual, "ClassAd Language
/// Reference".
namespace gpuprobe::inline exports {
namespace {

/// "member(attribute, {"a", "b"})": the attribute is one of the words.
std::string member(const auto& words, const std::string& attribute) {
    std::string list;
    for (const auto& word : words)
        list += (list.empty() ? "\"" : ", \"") + std::string{word} + "\"";
    return "member(" + attribute + ", {" + list + "})";
}

/// One GPU satisfies all conditions.
std::string gpu_requirement(const GpuNeed& gpu) {
    std::string text = "true";
    if (gpu.api)
        text = "member(\"" + *gpu.api + "\", apis)";
    if (gpu.targets)
        text += " && " + member(*gpu.targets, "target");
    if (!gpu.vendors.empty())
        text += " && " + member(gpu.vendors, "vendor");
    if (gpu.kinds) {
        std::vector<std::string> kinds;
        for (const auto kind : *gpu.kinds)
            kinds.emplace_back(name_of(kind));
        text += " && " + member(kinds, "kind");
    }
    if (gpu.driver)
        text += " && vendor == \"nvidia\" && versionGE(driver_version, \"" + text_of(*gpu.driver) +
                "\")";
    if (gpu.vulkan)
        text += " && versionGE(vulkan, \"" + text_of(*gpu.vulkan) + "\")";
    if (gpu.memory)
        text += " && memory_mb >= " +
                std::to_string((gpu.memory->count + mib(1).count - 1) / mib(1).count);
    return "countMatches(" + text + ", TARGET.GpuprobeGpus) > 0";
}

/// The conditions for the host. HTCondor's names differ from uname for x86_64 only.
std::string host_requirement(const HostNeed& host, FleetQuery& query) {
    std::string text = "TARGET.Arch == \"" + (host.arch == "x86_64" ? "X86_64" : host.arch) + "\"";
    if (host.libc)
        text += " && TARGET.GpuprobeLibc =?= \"" + *host.libc + "\"";
    if (host.glibc)
        text += " && versionGE(TARGET.GpuprobeGlibc, \"" + text_of(*host.glibc) + "\")";
    if (host.cpu_level)
        text += " && TARGET.GpuprobeCpuLevel >= " + std::to_string(*host.cpu_level);
    if (host.kernel)
        query.weaker.push_back(not_asked("kernel_min: " + text_of(*host.kernel)));
    for (const auto& feature : host.cpu_features)
        query.weaker.push_back(not_asked("cpu_features: " + feature));
    return text;
}

}  // namespace

Result<FleetQuery> condor_query(const FleetNeed& need,
                                const Rules& /*rules*/,
                                const std::vector<std::string>& /*known*/) {
    auto query = query_for(need);
    std::string gpus;
    for (const auto& gpu : need.gpus)
        gpus += (gpus.empty() ? "" : " || ") + gpu_requirement(gpu);
    query.text = "requirements = " + host_requirement(need.host, query);
    if (!gpus.empty())
        query.text += need.gpus.size() > 1 ? " && (" + gpus + ")" : " && " + gpus;
    query.text += "\n";
    return query;
}

}  // namespace gpuprobe::inline exports
