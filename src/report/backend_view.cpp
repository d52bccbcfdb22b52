// SPDX-License-Identifier: Apache-2.0
#include "report/backend_view.h"

#include <algorithm>
#include <array>
#include <span>

#include "report/api_view.h"
#include "report/fact_table.h"
#include "report/health.h"

namespace gpuprobe {
namespace {

struct Backend {
    std::string_view name;
    std::string_view api;
    std::string_view vendor;  ///< the only one it serves; empty for any
};
constexpr std::array kBackends = std::to_array<Backend>({
    {"cuda", "cuda", "nvidia"},
    {"opencl", "opencl", ""},
    {"rocm", "hip", "amd"},
    {"sycl", "level_zero", "intel"},
    {"vulkan", "vulkan", ""},
    {"webgpu", "vulkan", ""},
});

/// Findings of the kernel that rule out any answer from a driver.
constexpr std::array kBlockers = std::to_array<std::string_view>(
    {"passthrough", "no-driver", "driver-mismatch", "device-denied"});
/// Reasons by which a driver itself said no: more than a failure, an answer.
constexpr std::array kRefusals = std::to_array<std::string_view>(
    {"api-refused", "driver-mismatch", "driver-not-loaded", "fabric-manager-not-ready",
     "mig-without-instance", "stub-library"});
/// Reasons of an API's view after which nobody knows.
constexpr std::array kOpenReasons = std::to_array<std::string_view>(
    {"ambiguous", "asleep", "cancelled", "driver-crashed", "driver-failed", "driver-timed-out",
     "inconclusive", "quarantined", "skipped"});

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

bool is_shut(const DeviceNode& node) {
    return node.accessible == false && node.reason != "missing";
}

/// Whether a backend opens a node that is not of one device. NVIDIA's OpenCL is a CUDA program.
bool opens_shared(std::string_view backend, const Gpu& gpu, std::string_view path) {
    if (path == "/dev/kfd")
        return backend == "rocm";
    if (gpu.vendor != "nvidia")
        return false;
    if (path == "/dev/nvidia-uvm")
        return backend == "cuda" || backend == "opencl";
    return path == "/dev/nvidiactl";
}

/// `nvidia-uvm` may still be loaded by CUDA's first user, so its absence counts once CUDA was
/// asked.
std::vector<Reason> blockers(const Backend& backend, bool was_probed, const Gpu& gpu) {
    std::vector<Reason> reasons;
    for (const auto& finding : gpu.findings) {
        const bool blocks = std::ranges::find(kBlockers, finding.code) != kBlockers.end();
        const bool is_uvm = finding.code == "uvm-missing" && backend.name == "cuda" && was_probed;
        if (blocks || is_uvm)
            reasons.push_back(finding);
    }
    return reasons;
}

bool has_any(const std::vector<Reason>& reasons, std::span<const std::string_view> codes) {
    return std::ranges::any_of(codes, [&](auto code) { return has_reason(reasons, code); });
}

/// Whether Vulkan lists queue families and none of them computes.
bool lacks_compute_queue(const Value& device) {
    const auto* families = fact(device, facts::kQueues);
    return families && !families->empty() &&
           std::ranges::none_of(*families, [](const Value& family) {
               const auto* flags = family.at("flags").as_array();
               return flags && std::ranges::find(*flags, Value{"compute"}) != flags->end();
           });
}

/// Why the device is not one for WebGPU; nullopt when it is.
std::optional<Reason> webgpu_shortfall(const Value& device) {
    const auto level = fact(device, facts::kWebgpu);
    if (!level)
        return because("webgpu-unknown");
    if (*level != "no")
        return std::nullopt;
    return because("webgpu-features", {{"missing", fact(device, facts::kWebgpuMissing)}});
}

BackendView listed(const Backend& backend, const Value& device, std::vector<Reason> reasons) {
    constexpr std::uint64_t kProhibited = 2;  // CU_COMPUTEMODE_PROHIBITED
    if (backend.name == "cuda" && fact(device, facts::kComputeMode) == kProhibited)
        return verdict(false, {because("compute-prohibited")});
    if (backend.api == "vulkan" && lacks_compute_queue(device))
        return verdict(false, {because("no-compute-device")});
    if (has_reason(reasons, "nvidia-icd-needs-egl"))  // the probe got in, programs do not
        return verdict(false, std::move(reasons));
    if (backend.name == "opencl" && fact(device, facts::kAvailable) == false)
        return verdict(false, {because("no-compute-device")});
    if (backend.name == "webgpu")
        if (auto shortfall = webgpu_shortfall(device)) {
            const bool is_known = shortfall->code == "webgpu-features";
            return verdict(is_known ? std::optional{false} : std::nullopt, {*shortfall});
        }
    return verdict(true, std::move(reasons));
}

/// A GPU that the API was asked about and does not list.
BackendView unlisted(const std::vector<Reason>& why, std::vector<Reason> shut) {
    constexpr std::array kSilent =
        std::to_array<std::string_view>({"asleep", "driver-crashed", "driver-timed-out"});
    const bool is_answer = has_any(why, kRefusals) || (!shut.empty() && !has_any(why, kSilent));
    const bool is_open = has_any(why, kOpenReasons) && !is_answer;
    // A shut node explains a driver that saw nothing, so it comes first.
    shut.insert(shut.end(), why.begin(), why.end());
    return verdict(is_open ? std::nullopt : std::optional{false}, std::move(shut));
}

BackendView judged(const Backend& backend, const Machine& machine, const Gpu& gpu) {
    if (gpu.kind == GpuKind::DisplayOnly)
        return verdict(false, {because("display-only", {{"driver", to_value(gpu.driver.name)}})});
    if (!backend.vendor.empty() && gpu.vendor && *gpu.vendor != backend.vendor)
        return verdict(false, {because("vendor-mismatch",
                                       {{"vendor", *gpu.vendor}, {"needs", backend.vendor}})});
    const auto found = gpu.apis.find(std::string{backend.api});
    const auto* view = found == gpu.apis.end() ? nullptr : &found->second;
    if (view && !view->device.is_null() && view->outcome == Outcome::Answered)
        return listed(backend, view->device, view->reasons);
    if (auto reasons = blockers(backend, view != nullptr, gpu); !reasons.empty())
        return verdict(false, std::move(reasons));
    auto shut = shut_nodes(backend.name, machine.shared_nodes, gpu);
    for (const auto& finding : gpu.findings)
        if (finding.code == "node-missing")
            shut.push_back(finding);
    if (view)
        return unlisted(view->reasons, std::move(shut));
    shut.push_back(because("not-probed", {{"api", backend.api}}));
    return verdict(std::nullopt, std::move(shut));
}

}  // namespace

std::string_view api_of_backend(std::string_view backend) {
    const auto* found = std::ranges::find(kBackends, backend, &Backend::name);
    return found == kBackends.end() ? std::string_view{} : found->api;
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
    for (const auto& backend : kBackends)
        views[std::string{backend.name}] = judged(backend, machine, gpu);
    return views;
}

}  // namespace gpuprobe
