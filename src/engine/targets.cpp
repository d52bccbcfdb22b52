// SPDX-License-Identifier: Apache-2.0
#include "engine/targets.h"

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "inventory/linker_cache.h"
#include "report/api_view.h"
#include "report/trials.h"
#include "store/probe_cache.h"

namespace gpuprobe::engine {
namespace {

struct VendorsDrivers {
    std::string_view vendor_id;             ///< PCI vendor; "" for software drivers
    std::array<std::string_view, 5> words;  ///< parts of the manifests' file names; "" is none
};

/// Source: manifest names of Mesa (src/*/vulkan/meson.build), AMDVLK, the NVIDIA driver, Intel NEO,
/// ROCm and pocl packages.
constexpr std::array<VendorsDrivers, 5> kDrivers{{
    {"10de", {"nvidia", "nouveau", "nvk"}},
    {"1002", {"radeon", "amdvlk", "amd_", "amdocl"}},
    {"8086", {"intel"}},
    {"", {"lvp", "swiftshader", "pocl"}},
    {"none", {"broadcom", "panfrost", "freedreno", "asahi", "powervr"}},
}};

std::string_view file_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

/// The PCI vendor of the target's devices, "" for none; nullopt when the name does not tell.
std::optional<std::string_view> vendor_of(const ProbeTarget& target) {
    if (target.api == "cuda" || target.api == "nvml")
        return "10de";
    if (target.api == "hip")
        return "1002";
    if (target.api.starts_with("level_zero"))
        return "8086";
    if (target.api == kCpuApi)
        return "";
    const auto name = lower_case(file_name(target.driver));
    for (const auto& [vendor_id, words] : kDrivers)
        for (const auto word : words)
            if (!word.empty() && name.find(word) != std::string::npos)
                return vendor_id;
    return std::nullopt;
}

/// An API that runs kernels.
struct ComputingApi {
    std::string_view api;
    std::string_view backend;  ///< tells whether the API can be used on a GPU
    /// How the sonames of its loader, driver and compiler begin; "" is none. Sources: the libraries
    /// that the backends open (src/backends); the dependencies of NVIDIA's, ROCm's, Intel NEO's,
    /// Mesa's and pocl's Debian packages.
    std::array<std::string_view, 4> libraries;
};
constexpr std::array<ComputingApi, 5> kComputing{{
    {"cuda", "cuda", {"libcuda.so", "libnvidia-ptxjitcompiler.so", "", ""}},
    {"hip", "rocm", {"libamdhip64.so", "libhsa-runtime64.so", "libhiprtc.so", "libamd_comgr.so"}},
    {"level_zero", "sycl", {"libze_loader.so", "libze_intel_gpu.so", "libigc.so", ""}},
    {"vulkan", "vulkan", {"libvulkan.so", "libLLVM", "", ""}},
    {"opencl", "opencl", {"libOpenCL.so", "libLLVM", "libclang-cpp", "libigc.so"}},
}};

std::vector<std::string> sonames_of(const ProbeTarget& target) {
    std::vector<std::string> starts;
    for (const auto& entry : kComputing)
        for (const auto start : entry.libraries)
            if (entry.api == target.api && !start.empty())
                starts.emplace_back(start);
    if (target.library && target.library->find('/') == std::string::npos)
        starts.push_back(*target.library);
    return starts;
}

std::vector<std::string> files_of(const ProbeTarget& target,
                                  const Machine& machine,
                                  const FileSystem& files) {
    std::vector<std::string> watched;
    if (target.api == kCpuApi)
        return watched;
    if (auto paths = library_paths(files, machine.host.arch.value_or(""), sonames_of(target)))
        watched = std::move(*paths);
    if (watched.empty())
        watched.emplace_back(kLinkerCache);
    if (!target.driver.empty())
        watched.push_back(target.driver);
    if (target.library && target.library->starts_with('/'))
        watched.push_back(*target.library);
    return watched;
}

template <class Names>
bool is_among(const Names& names, std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
}

/// The query's target for one of its devices. nullopt when the machine has no such driver or the
/// device has no key.
std::optional<ProbeTarget> target_for(const std::vector<ProbeTarget>& queries,
                                      std::string_view api,
                                      const std::optional<std::string>& driver,
                                      const Value& device,
                                      const std::string& stage) {
    const auto found = std::ranges::find_if(queries, [&](const ProbeTarget& query) {
        return query.api == api && (query.driver.empty() || query.driver == driver);
    });
    const auto facts = facts_from(device);
    const auto key = facts ? device_key(*facts) : std::nullopt;
    if (found == queries.end() || !key)
        return std::nullopt;
    auto target = *found;
    target.stage = stage;
    target.device = key;
    return target;
}

bool may_compute(const Gpu& gpu, const ComputingApi& computing) {
    const auto view = gpu.apis.find(std::string{computing.api});
    const auto backend = gpu.backends.find(std::string{computing.backend});
    if (view == gpu.apis.end() || view->second.outcome != Outcome::Answered ||
        backend == gpu.backends.end())
        return false;
    // Our worker can use it even where other programs can't: "nvidia-icd-needs-egl".
    constexpr std::array kTryAnyway =
        std::to_array<std::string_view>({"miscomputed", "nvidia-icd-needs-egl"});
    return backend->second.usable != false ||
           std::ranges::any_of(kTryAnyway, [&backend](std::string_view code) {
               return has_reason(backend->second.reasons, code);
           });
}

}  // namespace

std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine) {
    const auto vendor = vendor_of(target);
    std::vector<const HardwareDevice*> devices;
    for (const auto& device : machine.devices)
        if (!vendor || device.vendor_id == std::string{*vendor})
            devices.push_back(&device);
    return devices;
}

std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine) {
    // drm checks each node's device itself, right before it would open the node.
    if (target.api == "pci" || target.api == "drm")
        return std::nullopt;
    for (const auto* device : devices_of(target, machine))
        if (device->runtime_status == "suspended" || device->runtime_status == "suspending")
            return device->id;
    return std::nullopt;
}

ProbeResult skipped(const ProbeTarget& target, std::string note, Reason reason) {
    return ProbeResult{.api = target.api,
                       .driver = target.driver,
                       .stage = target.stage,
                       .device = target.device,
                       .outcome = Outcome::Skipped,
                       .note = std::move(note),
                       .reasons = {std::move(reason)}};
}

ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device) {
    return skipped(target, device + " is asleep", because("asleep", {{"device", device}}));
}

std::string fingerprint_of(const ProbeTarget& trial,
                           const Machine& machine,
                           const FileSystem& files) {
    auto devices = devices_of(trial, machine);
    // A device without an address may be any of the driver's.
    if (trial.device && trial.device->starts_with("pci:"))
        std::erase_if(
            devices, [&trial](const HardwareDevice* device) { return device->id != trial.device; });
    return store::trial_fingerprint_of(devices, machine.host, files,
                                       files_of(trial, machine, files));
}

std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request) {
    std::vector<TrialTarget> targets;
    const auto add = [&](std::optional<ProbeTarget> target, const Gpu* gpu) {
        if (target)
            targets.push_back({.target = std::move(*target), .gpu = gpu});
    };
    for (const auto& gpu : report.gpus)
        for (const auto& computing : kComputing) {
            if (!is_among(request.gpus, gpu.id) || !is_among(request.apis, computing.api) ||
                !may_compute(gpu, computing))
                continue;
            const auto& view = gpu.apis.at(std::string{computing.api});
            add(target_for(queries, computing.api, view.driver, view.device, request.stage), &gpu);
        }
    if (!request.gpus.empty())
        return targets;
    for (const auto& software : report.software)
        if (computes(software.api) && is_among(request.apis, software.api))
            add(target_for(queries, software.api, software.driver, software.device, request.stage),
                nullptr);
    if (is_among(request.apis, kCpuApi))
        add(ProbeTarget{.api = std::string{kCpuApi}, .stage = request.stage, .device = kCpuDevice},
            nullptr);
    return targets;
}

bool computes(std::string_view api) {
    return api == kCpuApi ||
           std::ranges::find(kComputing, api, &ComputingApi::api) != kComputing.end();
}

}  // namespace gpuprobe::engine
