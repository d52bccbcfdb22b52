// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/parse.h"
#include "export/selector.h"

/// Queries for Kubernetes' dynamic resource allocation. Only NVIDIA's driver can be queried: AMD's
/// driver does not publish the gfx target, Intel's does not publish the IP version. Source:
/// k8s-dra-driver-gpu, attributes of gpu.nvidia.com; Kubernetes, "Common Expression Language",
/// semver and quantity libraries.
namespace gpuprobe::inline exports {
namespace {

constexpr const char* kDevice = "device.attributes['gpu.nvidia.com'].";
/// The API server's size limit for a selector. Source: resource.k8s.io/v1, CELDeviceSelector.
constexpr std::size_t kMaxExpression = 10240;

/// A version with the three parts that semver requires.
std::string semver(const Version& version) {
    return "semver('" + std::to_string(version.parts[0]) + "." + std::to_string(version.parts[1]) +
           "." + std::to_string(version.parts[2]) + "')";
}

/// "9.0.0" for "sm_90", "12.0.0" for "sm_120".
Version capability_of(const std::string& target) {
    const auto digits = std::string_view{target}.substr(3);
    return Version{{parse_number<std::uint32_t>(digits.substr(0, digits.size() - 1)).value_or(0),
                    parse_number<std::uint32_t>(digits.substr(digits.size() - 1)).value_or(0)}};
}

/// The device has one of the targets.
std::string targets_of(const std::set<std::string>& targets) {
    std::string text;
    for (const auto& target : targets)
        text += (text.empty() ? "" : " || ") + std::string{kDevice} +
                "cudaComputeCapability.compareTo(" + semver(capability_of(target)) + ") == 0";
    return targets.size() > 1 ? "(" + text + ")" : text;
}

std::string gpu_expression(const GpuNeed& gpu) {
    std::string text = "device.driver == 'gpu.nvidia.com'";
    if (gpu.targets)
        text += " && " + targets_of(*gpu.targets);
    if (gpu.driver)
        text += " && " + std::string{kDevice} + "driverVersion.compareTo(" + semver(*gpu.driver) +
                ") >= 0";
    if (gpu.memory)
        text += " && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('" +
                std::to_string(gpu.memory->count) + "')) >= 0";
    return text;
}

/// Lists the requirements for the host as unchecked.
void add_host(const HostNeed& host, FleetQuery& query) {
    std::string what = "arch: " + host.arch;
    if (host.libc)
        what += ", libc: " + *host.libc;
    if (host.glibc)
        what += ", glibc_min: " + text_of(*host.glibc);
    if (host.kernel)
        what += ", kernel_min: " + text_of(*host.kernel);
    if (host.cpu_level)
        what += ", cpu_level_min: " + std::to_string(*host.cpu_level);
    for (const auto& feature : host.cpu_features)
        what += ", cpu_features: " + feature;
    query.weaker.push_back(not_asked("the host, which no device knows (" + what + ")"));
}

}  // namespace

Result<FleetQuery> dra_query(const FleetNeed& need,
                             const Rules& /*rules*/,
                             const std::vector<std::string>& /*known*/) {
    auto query = query_for(need);
    std::string text;
    for (const auto& gpu : need.gpus) {
        // Skip alternatives for other vendors' drivers.
        if (gpu.api != "cuda")
            continue;
        if (gpu.kinds)
            query.weaker.push_back(not_asked("kinds"));
        if (gpu.vulkan)
            query.weaker.push_back(not_asked("vulkan: " + text_of(*gpu.vulkan)));
        text += (text.empty() ? "" : "\n|| ") + gpu_expression(gpu);
    }
    if (text.empty())
        return Error{ErrorCode::NoMatch,
                     "only NVIDIA's DRA driver tells what code runs on a device, and this variant "
                     "is not for CUDA; ask with --engine=nfd"};
    if (text.size() > kMaxExpression)
        return Error{ErrorCode::NoMatch, "the expression is over the 10 KiB of a selector"};
    // A listed device proves that the driver works, not that CUDA does.
    query.weaker.push_back(not_asked("that CUDA works on the device"));
    add_host(need.host, query);
    query.text = text + "\n";
    return query;
}

}  // namespace gpuprobe::inline exports
