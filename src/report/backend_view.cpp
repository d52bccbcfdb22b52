// SPDX-License-Identifier: Apache-2.0
#include "report/backend_view.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/health.h"

namespace gpuprobe::inline report {
namespace {

/// A backend and the API that it uses.
struct Backend {
    std::string_view name;
    std::string_view api;
    std::string_view vendor;  ///< the only vendor that it supports; empty for any
};

BackendView verdict(std::optional<bool> usable, std::vector<Reason> reasons) {
    return BackendView{.usable = usable, .reasons = std::move(reasons)};
}

std::string octal(std::uint32_t mode) {
    std::string text = "0";
    for (int shift = 6; shift >= 0; shift -= 3)
        text += static_cast<char>('0' + (mode >> shift & 7U));
    return text;
}

Reason no_permission(const DeviceNode& node) {
    return because("no-permission", {{"node", node.path},
                                     {"group", to_value(node.group)},
                                     {"mode", node.mode ? Value{octal(*node.mode)} : Value{}}});
}

/// Whether the prober is not allowed to open the node; a missing node is another problem.
bool is_shut(const DeviceNode& node) {
    return node.accessible == false && node.reason != "missing";
}

/// Whether a backend opens a node that several devices share. NVIDIA's OpenCL uses the CUDA driver.
bool opens_shared(std::string_view backend, const Gpu& gpu, std::string_view path) {
    if (path == "/dev/kfd")
        return backend == "rocm";
    if (gpu.vendor != "nvidia")
        return false;
    if (path == "/dev/nvidia-uvm")
        return backend == "cuda" || backend == "opencl";
    return path == "/dev/nvidiactl";
}

/// The findings on the GPU that rule out the backend.
std::vector<Reason> blockers(const Backend& backend, const Gpu& gpu) {
    std::vector<Reason> reasons;
    for (const auto& finding : gpu.findings) {
        const bool is_uvm = finding.is("uvm-missing") && backend.name == "cuda";
        if (is_uvm || has_trait(finding.code, ReasonTraits::Blocker))
            reasons.push_back(finding);
    }
    return reasons;
}

bool leaves_open(const Reason& reason) {
    const auto* info = find_reason(reason.code);
    return info && info->effect == ReasonEffect::LeavesOpen;
}

/// Whether the facts list Vulkan's queue families and none of them can compute.
bool lacks_compute_queue(const Value& device) {
    const auto* families = fact(device, facts::kQueues);
    return families && !families->empty() &&
           std::ranges::none_of(*families, [](const Value& family) {
               const auto* flags = family.at("flags").as_array();
               return flags && std::ranges::find(*flags, Value{"compute"}) != flags->end();
           });
}

/// The reason why WebGPU does not work; nullopt if it works. The facts have a level and the missing
/// features.
std::optional<Reason> webgpu_shortfall(const Value& device) {
    const auto level = fact(device, facts::kWebgpu);
    if (!level)
        return because("webgpu-unknown");
    if (*level != "no")
        return std::nullopt;
    return because("webgpu-features", {{"missing", fact(device, facts::kWebgpuMissing)}});
}

/// The verdict if the API lists the GPU: usable, unless the facts show that it cannot compute.
BackendView listed(const Backend& backend, const Value& device, std::vector<Reason> reasons) {
    constexpr std::uint64_t kProhibited = 2;  // CU_COMPUTEMODE_PROHIBITED
    if (backend.name == "cuda" && fact(device, facts::kComputeMode) == kProhibited)
        return verdict(false, {because("compute-prohibited")});
    if (backend.api == "vulkan" && lacks_compute_queue(device))
        return verdict(false, {because("no-compute-device")});
    if (has_reason(reasons,
                   "nvidia-icd-needs-egl"))  // the probe uses a workaround that programs do not
        return verdict(false, std::move(reasons));
    if (backend.name == "opencl" && fact(device, facts::kAvailable) == false)
        return verdict(false, {because("no-compute-device")});
    if (backend.name == "webgpu")
        if (auto shortfall = webgpu_shortfall(device)) {
            const bool is_known = shortfall->is("webgpu-features");
            return verdict(is_known ? std::optional{false} : std::nullopt, {*shortfall});
        }
    return verdict(true, std::move(reasons));
}

/// The verdict for a GPU that the API was probed for and does not list. A refusal settles the
/// question. So does a closed node, unless the driver gave no answer at all.
BackendView unlisted(const std::vector<Reason>& why, std::vector<Reason> shut) {
    const bool is_answer = has_reason_with(why, ReasonTraits::Refusal) ||
                           (!shut.empty() && !has_reason_with(why, ReasonTraits::Silence));
    const bool is_open = std::ranges::any_of(why, leaves_open) && !is_answer;
    // A closed node explains why a driver found nothing, so it comes first.
    shut.insert(shut.end(), why.begin(), why.end());
    return verdict(is_open ? std::nullopt : std::optional{false}, std::move(shut));
}

/// Whether the backend's API works with the kernel driver.
bool serves(const Backend& backend, std::string_view kernel_driver) {
    const auto* api = find_api(backend.api);
    return !api || works_with(api->kernel_drivers, kernel_driver);
}

/// Whether the backend only supports GPUs of another vendor.
bool is_for_others(const Backend& backend, const Gpu& gpu) {
    return !backend.vendor.empty() && gpu.vendor && *gpu.vendor != backend.vendor &&
           gpu.driver.name != kTransport;
}

/// Whether the GPU is in MIG mode without a usable instance. In MIG mode, programs only see
/// instances. Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
bool waits_for_an_instance(const Gpu& gpu) {
    const auto nvml = gpu.apis.find(std::string{info_of(Api::Nvml).word});
    const bool is_in_mode =
        (nvml != gpu.apis.end() && fact(nvml->second.device, facts::kMigMode) == true) ||
        std::ranges::any_of(gpu.partitions,
                            [](const Unit& unit) { return unit.gpu_instance.has_value(); });
    return is_in_mode && !is_divided(gpu);
}

bool lacks_graphics(const Gpu& gpu) {
    const auto nvml = gpu.apis.find(std::string{info_of(Api::Nvml).word});
    return nvml != gpu.apis.end() &&
           lacks_graphics(fact(nvml->second.device, facts::kMigMode), gpu.partitions);
}

/// The checks are ordered: properties of the GPU, then the API's answer, then explanations for its
/// absence. The first that applies decides.
BackendView judged(const Backend& backend, const Machine& machine, const Gpu& gpu) {
    if (gpu.kind == GpuKind::DisplayOnly)
        return verdict(false, {because("display-only", {{"driver", to_value(gpu.driver.name)}})});
    if (is_for_others(backend, gpu))
        return verdict(false, {because("vendor-mismatch",
                                       {{"vendor", *gpu.vendor}, {"needs", backend.vendor}})});
    const auto found = gpu.apis.find(std::string{backend.api});
    const auto* view = found == gpu.apis.end() ? nullptr : &found->second;
    if (view && !view->device.is_null() && view->outcome == Outcome::Answered)
        return listed(backend, view->device, view->reasons);
    if (waits_for_an_instance(gpu))
        return verdict(false, {because("mig-without-instance")});
    if (backend.api == info_of(Api::Vulkan).word && lacks_graphics(gpu))
        return verdict(false, {because("mig-without-graphics")});
    if (auto reasons = blockers(backend, gpu); !reasons.empty())
        return verdict(false, std::move(reasons));
    auto shut = shut_nodes(backend.name, machine.shared_nodes, gpu);
    for (const auto& finding : gpu.findings)
        if (finding.is("node-missing"))
            shut.push_back(finding);
    // The API lists this GPU to a process that names it, so programs can use it.
    if (view && shut.empty() && has_reason(view->reasons, "one-instance-listed"))
        return verdict(true, {because("one-instance-listed")});
    if (view)
        return unlisted(view->reasons, std::move(shut));
    // The API was not probed. The kernel driver may still rule it out.
    if (gpu.driver.name && !serves(backend, *gpu.driver.name))
        return verdict(false, {because("kernel-driver-unfit",
                                       {{"driver", *gpu.driver.name}, {"api", backend.api}})});
    shut.push_back(because("not-probed", {{"api", backend.api}}));
    return verdict(std::nullopt, std::move(shut));
}

}  // namespace

bool lacks_graphics(std::optional<bool> mig_mode, const std::vector<Unit>& units) {
    return mig_mode == true && std::ranges::none_of(units, [](const Unit& unit) {
               return is_usable(unit) &&
                      (!unit.profile || unit.profile->find("+gfx") != std::string::npos);
           });
}

std::vector<Reason> shut_nodes(std::string_view backend,
                               const std::vector<DeviceNode>& shared,
                               const Gpu& gpu) {
    std::vector<Reason> reasons;
    for (const auto& node : gpu.nodes)
        if (is_for_computing(gpu.nodes, node.path) && is_shut(node))
            reasons.push_back(no_permission(node));
    for (const auto& node : shared)
        if (opens_shared(backend, gpu, node.path) && is_shut(node))
            reasons.push_back(no_permission(node));
    return reasons;
}

std::map<std::string, BackendView> backend_views(const Machine& machine, const Gpu& gpu) {
    std::map<std::string, BackendView> views;
    for (const auto& [name, api] : gpu_backends()) {
        const auto& row = info_of(api);
        views[std::string{name}] = judged({name, row.word, row.vendor}, machine, gpu);
    }
    return views;
}

}  // namespace gpuprobe::inline report
