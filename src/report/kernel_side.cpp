// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_side.h"

#include "base/text.h"
#include "report/api_view.h"
#include "report/fact_key.h"
#include "report/identity.h"
#include "report/kind.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::uint32_t kFirstRenderMinor = 128;

bool lists(const Subject& subject, std::string_view api) {
    return preferred_claim(subject, api) != nullptr;
}

/// The driver that must be in use, because its libraries list the GPU.
std::optional<std::string> implied_name(const Subject& subject, const Host& host) {
    if (host.wsl)
        return std::nullopt;
    const bool is_nvidia = lists(subject, "nvml") || lists(subject, "cuda");
    if (is_nvidia && kind_of(subject) == GpuKind::Discrete)
        return "nvidia";
    return lists(subject, "hip") ? std::optional<std::string>{"amdgpu"} : std::nullopt;
}

/// NVML's record of the GPU, or of a possible twin. A twin's record suffices: one module serves all
/// GPUs of a machine, so they share its version.
const ApiDevice* record_of_nvml(const Subject& subject) {
    if (const auto* claim = preferred_claim(subject, "nvml"))
        return &claim->device;
    const auto twin = std::ranges::find(subject.ambiguous, "nvml",
                                        [](const ApiDevice& device) { return device.probe->api; });
    return twin == subject.ambiguous.end() ? nullptr : &*twin;
}

/// The driver version from NVML, else from NVIDIA's Vulkan driver.
std::optional<std::string> nvidia_version(const Subject& subject) {
    if (const auto* device = record_of_nvml(subject))
        if (auto version = fact(*device->probe, runtime_facts::kDriverVersion))
            return version;
    const auto* claim = preferred_claim(subject, "vulkan");
    const bool is_own =
        claim && fact(*claim->device.facts, facts::kDriverId) == "nvidia-proprietary";
    return is_own ? fact(*claim->device.facts, facts::kDriverVersion) : std::nullopt;
}

void add_node(std::string path, std::optional<std::string> device, std::vector<DeviceNode>& nodes) {
    nodes.push_back(DeviceNode{.path = std::move(path), .device = std::move(device)});
}

/// The minor number N in "226:N"; 226 is DRM_MAJOR in the kernel source, drm_internal.h.
std::optional<std::uint32_t> drm_minor(const std::optional<std::string>& device) {
    constexpr std::string_view kMajor = "226:";
    if (!device || !device->starts_with(kMajor))
        return std::nullopt;
    return parse_number<std::uint32_t>(std::string_view{*device}.substr(kMajor.size()));
}

/// Nodes by the numbers from APIs. Primary nodes have minor numbers below 128, render nodes from
/// 128 on.
std::vector<DeviceNode> implied_nodes(const Subject& subject) {
    std::vector<DeviceNode> nodes;
    const auto drm = identity_of(subject).drm;
    if (const auto minor = drm_minor(drm.primary); minor && *minor < kFirstRenderMinor)
        add_node("/dev/dri/card" + std::to_string(*minor), drm.primary, nodes);
    if (const auto minor = drm_minor(drm.render); minor && *minor >= kFirstRenderMinor)
        add_node("/dev/dri/renderD" + std::to_string(*minor), drm.render, nodes);
    const auto* claim = preferred_claim(subject, "nvml");
    if (const auto minor = claim ? fact(*claim->device.facts, facts::kMinorNumber) : std::nullopt)
        add_node("/dev/nvidia" + std::to_string(*minor), {}, nodes);
    return nodes;
}

}  // namespace

DriverInfo driver_of(const Subject& subject, const Host& host) {
    DriverInfo driver;
    if (const auto* hardware = subject.hardware)
        driver = {.name = hardware->driver,
                  .version = hardware->driver_version,
                  .flavour = hardware->driver_flavour};
    else
        driver.name = implied_name(subject, host);
    const bool is_nvidia =
        driver.name == "nvidia" || (host.wsl && !driver.name && vendor_of(subject) == "nvidia");
    if (is_nvidia && !driver.version)
        driver.version = nvidia_version(subject);
    return driver;
}

std::vector<DeviceNode> nodes_of(const Subject& subject, const Host& host) {
    if (subject.hardware)
        return subject.hardware->nodes;
    return host.wsl ? std::vector<DeviceNode>{} : implied_nodes(subject);
}

}  // namespace gpuprobe::inline report
