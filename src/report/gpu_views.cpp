// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_views.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/text.h"
#include "report/access.h"
#include "report/api_device.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/hardware.h"
#include "report/identity.h"
#include "report/partition.h"

namespace gpuprobe::inline report {
namespace {

/// Whether the record is about another function of the card: a partition or a virtual function.
bool is_of_other_function(const Claim& claim, const Subject& subject) {
    const auto address = address_of(claim.device);
    return address && subject.hardware && address != subject.hardware->pci;
}

/// The API's records of the subject, most preferred driver first.
std::vector<const Claim*> claims_of(const Subject& subject, std::string_view api) {
    std::vector<const Claim*> claims;
    for (const auto& claim : subject.claims)
        if (claim.device.probe->api == api)
            claims.push_back(&claim);
    const auto key = [&subject](const Claim* claim) {
        const auto& probe = *claim->device.probe;
        return std::tuple{probe.outcome != Outcome::Answered,
                          claim->joined_by == "weak",
                          has_reason(probe.reasons, "nvidia-icd-needs-egl"),
                          preference_of(claim->device),
                          std::string_view{probe.driver},
                          is_of_other_function(*claim, subject),
                          claim->device.facts->index};
    };
    std::ranges::stable_sort(claims, {}, key);
    return claims;
}

std::optional<Duration> age_of(const ProbeResult& probe, WallTime now) {
    if (!probe.at)
        return std::nullopt;
    // Compare first: subtracting a time far before the epoch would overflow.
    if (*probe.at > now || *probe.at < WallTime{})
        return Duration{};
    return now - *probe.at;
}

std::optional<std::string> driver_of(const ApiDevice& device) {
    if (!device.probe->driver.empty())
        return device.probe->driver;
    return fact(*device.facts, facts::kDriverName);
}

/// The API version of the device. An API with one driver may report the version only for the API as
/// a whole.
std::optional<std::string> version_of(const ApiDevice& device) {
    for (const auto key : {facts::kApiVersion, facts::kVersion})
        if (auto text = fact(*device.facts, key))
            return text;
    return device.probe->driver.empty() ? fact(*device.probe, runtime_facts::kVersion)
                                        : std::nullopt;
}

Value alternative(const Claim& claim) {
    Value entry;
    entry["driver"] = claim.device.probe->driver;
    entry["device"] = value_of(*claim.device.facts);
    return entry;
}

/// A reason that names the driver and repeats the probe's note.
Reason ended_badly(const ProbeResult& probe, ReasonCode code) {
    Value::Object detail{{"driver", probe.driver}};
    if (probe.note)
        detail.push_back({"note", *probe.note});
    return because(code, std::move(detail));
}

/// The reason code for a probe that has this outcome and did not list the device.
ReasonCode code_of(const ProbeResult& probe) {
    switch (probe.outcome) {
        case Outcome::Crashed:
            return "driver-crashed";
        case Outcome::TimedOut:
            return "driver-timed-out";
        case Outcome::Failed:
            if (was_never_heard(probe))
                return "skipped";
            return "driver-failed";
        case Outcome::Absent:
            if (has_reason(probe.reasons, "no-device"))
                return "not-listed";
            // If the loader answered (`runtime` is set), it found no driver to load.
            if (probe.driver.empty() && probe.runtime.is_null())
                return "loader-missing";
            return "driver-missing";
        case Outcome::Skipped:
            return "skipped";
        case Outcome::Answered:
            break;
    }
    return "not-listed";
}

/// The view of an API that lists the GPU: the facts from the preferred driver, and the facts from
/// other drivers as alternatives.
ApiView listed(const std::vector<const Claim*>& claims, WallTime now) {
    const auto& best = *claims.front();
    const auto& probe = *best.device.probe;
    ApiView view{.outcome = probe.outcome,
                 .version = version_of(best.device),
                 .index = best.device.facts->index,
                 .driver = driver_of(best.device),
                 .joined_by = best.joined_by,
                 .device = value_of(*best.device.facts),
                 .age = age_of(probe, now),
                 .reasons = best.reasons};
    Value alternatives;
    for (std::size_t i = 1; i < claims.size(); ++i)
        alternatives.push_back(alternative(*claims[i]));
    // The report owns this key: discard any value from a driver.
    if (!alternatives.is_null() || view.device.find("alternatives"))
        view.device["alternatives"] = std::move(alternatives);
    // The facts were complete before the worker died.
    if (probe.outcome != Outcome::Answered)
        view.reasons.push_back(ended_badly(probe, code_of(probe)));
    view.reasons.insert(view.reasons.end(), probe.reasons.begin(), probe.reasons.end());
    return view;
}

bool knows_word(std::string_view list, std::string_view word) {
    const auto known = words(list);
    return std::ranges::find(known, word) != known.end();
}

/// How certain it is that a driver should serve this GPU.
enum class Service { Never, Perhaps, Named };

/// The result depends on the render node that the probe opened, or on the vendor and the kernel
/// drivers that the manifest's name implies.
Service service_of(const ProbeResult& probe, const Subject& subject) {
    if (has_own_nodes(probe.api))
        return subject.hardware && has_node(*subject.hardware, probe.driver) ? Service::Named
                                                                             : Service::Never;
    const auto known = known_driver(probe);
    if (known.is_software)
        return Service::Never;
    if (known.vendor.empty())
        return Service::Perhaps;
    const auto bound = subject.hardware ? subject.hardware->driver : std::nullopt;
    // On WSL, the kernel driver passes through GPUs of any vendor.
    if (bound == kTransport)
        return Service::Perhaps;
    const auto vendor = vendor_of(subject);
    if (vendor && *vendor != known.vendor)
        return Service::Never;
    if (bound && !knows_word(known.kernel_drivers, *bound))
        return Service::Never;
    return vendor && bound ? Service::Named : Service::Perhaps;
}

/// Rank of outcomes as explanations for an unlisted GPU, best first. A driver that should list the
/// GPU and failed explains more than a driver that answered without the GPU.
int weight_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Crashed:
            return 0;
        case Outcome::TimedOut:
            return 1;
        case Outcome::Failed:
            return 2;
        case Outcome::Skipped:
            return 3;
        case Outcome::Answered:
            return 4;
        case Outcome::Absent:
            break;
    }
    return 5;
}

/// The probe whose driver should serve the GPU; null if every driver is for other GPUs.
struct Serving {
    const ProbeResult* probe = nullptr;
    Service service = Service::Never;
};

Serving serving_probe(const Subject& subject,
                      const std::vector<const ProbeResult*>& probes,
                      std::string_view api) {
    Serving best;
    for (const auto* probe : probes) {
        if (probe->api != api || probe->stage != "query")
            continue;
        const auto service = service_of(*probe, subject);
        const bool is_better =
            service > best.service || (service == best.service && service != Service::Never &&
                                       weight_of(probe->outcome) < weight_of(best.probe->outcome));
        if (is_better)
            best = {probe, service};
    }
    return best;
}

/// The reason if no probed driver of this API supports this GPU: the API belongs to another vendor,
/// or its driver for this GPU isn't installed.
Reason without_server(const Subject& subject, std::string_view api) {
    const auto vendor = vendor_of(subject);
    const auto needed = vendor_of_api(api);
    const bool is_passed_on = subject.hardware && subject.hardware->driver == kTransport;
    if (vendor && needed && *needed != *vendor && !is_passed_on)
        return because("vendor-mismatch", {{"vendor", *vendor}, {"needs", *needed}});
    return because("driver-missing", {{"vendor", to_value(vendor)}});
}

/// Whether the GPU is in MIG mode without a usable instance. In MIG mode, programs only see
/// instances. Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
bool waits_for_an_instance(const Subject& subject) {
    const auto* claim = preferred_claim(subject, "nvml");
    if (!claim || fact(*claim->device.facts, facts::kMigMode) != true)
        return false;
    return std::ranges::none_of(partitions_of(subject), is_usable);
}

/// Why a GPU in MIG mode has no usable instance: programs need a compute instance in a GPU
/// instance. Source: NVIDIA MIG User Guide, "Creating GPU Instances".
Reason lack_of_instances(const std::vector<Partition>& partitions) {
    std::vector<std::string> numbers;
    for (const auto& partition : partitions)
        if (partition.gpu_instance && !partition.compute_instance)
            numbers.push_back(std::to_string(*partition.gpu_instance));
    return numbers.empty()
               ? because("mig-without-instance")
               : because("mig-without-compute-instance", {{"instances", joined(numbers, ",")}});
}

/// Whether the GPU is in MIG mode and none of its usable partitions supports graphics. Only
/// instances with "+gfx" in the profile ("1g.24gb+gfx") support graphics. Source: NVIDIA MIG User
/// Guide, "Application Considerations" and "Supported MIG Profiles".
bool lacks_graphics(std::optional<bool> mig_mode, const std::vector<Partition>& partitions) {
    return mig_mode == true && std::ranges::none_of(partitions, [](const Partition& partition) {
               return is_usable(partition) &&
                      (!partition.profile || partition.profile->find("+gfx") != std::string::npos);
           });
}

bool lacks_graphics(const Subject& subject) {
    const auto* claim = preferred_claim(subject, "nvml");
    return claim &&
           lacks_graphics(fact(*claim->device.facts, facts::kMigMode), partitions_of(subject));
}

/// Whether the driver lists a MIG instance. A process that sees a MIG instance sees no other
/// instance and no whole GPU. Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
bool shows_one_instance(const ProbeResult& probe) {
    return std::ranges::any_of(probe.devices, [](const DeviceFacts& device) {
        return device.uuid && device.uuid->starts_with("MIG-");
    });
}

/// Explains why the driver that should serve the GPU does not list it.
void explain(const Subject& subject, const Serving& serving, std::string_view api, ApiView& view) {
    const auto& probe = *serving.probe;
    view.outcome = probe.outcome == Outcome::Answered ? Outcome::Absent : probe.outcome;
    if (!probe.driver.empty())
        view.driver = probe.driver;
    const auto code = code_of(probe);
    const bool explains_itself =
        (probe.outcome == Outcome::Skipped || probe.outcome == Outcome::Absent) &&
        !probe.reasons.empty() && code != "not-listed";
    if (!explains_itself)
        view.reasons.push_back(ended_badly(probe, code));
    view.reasons.insert(view.reasons.end(), probe.reasons.begin(), probe.reasons.end());
    // If a library is missing, no further reason is needed. If a library finds no device although
    // its kernel driver is bound, a further reason is needed.
    if (code != "not-listed" || serving.service != Service::Named || api == "pci")
        return;
    if ((api == "cuda" || api == "opencl") && waits_for_an_instance(subject))
        view.reasons.push_back(lack_of_instances(partitions_of(subject)));
    else if (api == "vulkan" && lacks_graphics(subject))
        view.reasons.push_back(because("mig-without-graphics"));
    else if (api != "nvml" && vendor_of(subject) == "nvidia" && shows_one_instance(probe))
        view.reasons.push_back(because("one-instance-listed"));
    // A video API that lists other GPUs has queried CUDA about all GPUs, so the API's answer is
    // certain.
    else if (!reports_video(api) || probe.devices.empty())
        view.reasons.push_back(because("inconclusive", {{"driver", probe.driver}}));
}

/// The view of an API that does not list the GPU.
ApiView unlisted(const Subject& subject,
                 const std::vector<const ProbeResult*>& probes,
                 std::string_view api,
                 WallTime now) {
    ApiView view;
    const auto serving = serving_probe(subject, probes, api);
    if (serving.probe) {
        explain(subject, serving, api, view);
        view.age = age_of(*serving.probe, now);
    } else {
        view.reasons.push_back(without_server(subject, api));
    }
    // The API may have listed the GPU in a record that also matches an identical GPU.
    for (const auto& device : subject.ambiguous)
        if (device.probe->api == api)
            view.reasons.push_back(because("ambiguous", {{"driver", device.probe->driver}}));
    return view;
}

}  // namespace

const Claim* preferred_claim(const Subject& subject, std::string_view api) {
    const auto claims = claims_of(subject, api);
    return claims.empty() ? nullptr : claims.front();
}

bool was_never_heard(const ProbeResult& probe) {
    return has_reason_with(probe.reasons, ReasonTraits::Unheard);
}

bool was_asked(const Gpu& gpu, std::string_view api) {
    const auto view = gpu.apis.find(std::string{api});
    return view != gpu.apis.end() && view->second.outcome != Outcome::Skipped &&
           !has_reason_with(view->second.reasons, ReasonTraits::Unheard);
}

std::map<std::string, ApiView> api_views(const Subject& subject,
                                         const std::vector<const ProbeResult*>& probes,
                                         WallTime now) {
    std::map<std::string, ApiView> views;
    for (const auto* probe : probes) {
        if (probe->stage != "query" || views.contains(probe->api))
            continue;
        const auto claims = claims_of(subject, probe->api);
        // V4L2 codecs are separate accelerators.
        if (claims.empty() && probe->api == info_of(Api::V4l2).word)
            continue;
        views[probe->api] =
            claims.empty() ? unlisted(subject, probes, probe->api, now) : listed(claims, now);
    }
    return views;
}

namespace {

/// A backend and the API that it uses.
struct Backend {
    std::string_view name;
    std::string_view api;
    std::string_view vendor;  ///< the only vendor of the backend; empty for any
    std::string_view licensees;
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

/// Whether the prober isn't allowed to open the node; a missing node is another problem.
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

/// The reason why WebGPU does not work; nullopt if WebGPU works. The facts contain a WebGPU level
/// and the missing features.
std::optional<Reason> webgpu_shortfall(const Value& device) {
    const auto level = fact(device, facts::kWebgpu);
    if (!level)
        return because("webgpu-unknown");
    if (*level != "no")
        return std::nullopt;
    return because("webgpu-features", {{"missing", fact(device, facts::kWebgpuMissing)}});
}

/// The verdict if the API lists the GPU: usable, unless the facts show that the GPU cannot be used
/// for compute.
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

/// The verdict for a GPU that the probed API does not list. The verdict is negative if the driver
/// refused the GPU. The verdict is also negative if a node cannot be opened, unless the driver gave
/// no answer.
BackendView unlisted(const std::vector<Reason>& why, std::vector<Reason> shut) {
    const bool is_answer = has_reason_with(why, ReasonTraits::Refusal) ||
                           (!shut.empty() && !has_reason_with(why, ReasonTraits::Silence));
    const bool is_open = std::ranges::any_of(why, leaves_open) && !is_answer;
    // A node that cannot be opened explains why a driver found no device, so this reason comes
    // first.
    shut.insert(shut.end(), why.begin(), why.end());
    return verdict(is_open ? std::nullopt : std::optional{false}, std::move(shut));
}

/// ROCm loads the kernels for the gfx target that its runtime reports. If the kernel driver reports
/// another target, programs may crash or compute wrong results.
std::optional<Reason> misreported_target(const Backend& backend,
                                         const Gpu& gpu,
                                         const Value& device) {
    const auto reported = fact(device, facts::kGfxTarget);
    const auto& known = gpu.architecture.gfx_target;
    if (backend.api != info_of(Api::Hip).word || !reported || !known ||
        without_features(*reported) == known)
        return std::nullopt;
    return because("isa-mismatch", {{"reported", *reported}, {"kernel", *known}});
}

/// Whether the backend's API works with the kernel driver.
bool serves(const Backend& backend, std::string_view kernel_driver) {
    const auto* api = find_api(backend.api);
    return !api || works_with(api->kernel_drivers, kernel_driver);
}

/// Whether the backend only supports GPUs of another vendor.
bool is_for_others(const Backend& backend, const Gpu& gpu) {
    return !backend.vendor.empty() && gpu.vendor && *gpu.vendor != backend.vendor &&
           *gpu.vendor != backend.licensees && gpu.driver.name != kTransport;
}

/// Whether the GPU is in MIG mode without a usable instance. In MIG mode, programs only see
/// instances. Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
bool waits_for_an_instance(const Gpu& gpu) {
    const auto nvml = gpu.apis.find(std::string{info_of(Api::Nvml).word});
    const bool is_in_mode =
        (nvml != gpu.apis.end() && fact(nvml->second.device, facts::kMigMode) == true) ||
        std::ranges::any_of(gpu.partitions, [](const Partition& partition) {
            return partition.gpu_instance.has_value();
        });
    return is_in_mode && !is_divided(gpu);
}

bool lacks_graphics(const Gpu& gpu) {
    const auto nvml = gpu.apis.find(std::string{info_of(Api::Nvml).word});
    return nvml != gpu.apis.end() &&
           lacks_graphics(fact(nvml->second.device, facts::kMigMode), gpu.partitions);
}

/// The order of the checks is: properties of the GPU, the API's answer, explanations for a missing
/// answer. The first check that applies decides the verdict.
BackendView judged(const Backend& backend, const Machine& machine, const Gpu& gpu) {
    if (gpu.kind == GpuKind::DisplayOnly)
        return verdict(false, {because("display-only", {{"driver", to_value(gpu.driver.name)}})});
    if (is_for_others(backend, gpu))
        return verdict(false, {because("vendor-mismatch",
                                       {{"vendor", *gpu.vendor}, {"needs", backend.vendor}})});
    const auto found = gpu.apis.find(std::string{backend.api});
    const auto* view = found == gpu.apis.end() ? nullptr : &found->second;
    const bool is_listed = view && !view->device.is_null() && view->outcome == Outcome::Answered;
    if (auto misreported =
            is_listed ? misreported_target(backend, gpu, view->device) : std::nullopt)
        return verdict(std::nullopt, {*std::move(misreported)});
    if (is_listed)
        return listed(backend, view->device, view->reasons);
    if (waits_for_an_instance(gpu))
        return verdict(false, {lack_of_instances(gpu.partitions)});
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
    // The API wasn't probed. The kernel driver may still rule out the backend.
    if (gpu.driver.name && !serves(backend, *gpu.driver.name))
        return verdict(false, {because("kernel-driver-unfit",
                                       {{"driver", *gpu.driver.name}, {"api", backend.api}})});
    shut.push_back(because("not-probed", {{"api", backend.api}}));
    return verdict(std::nullopt, std::move(shut));
}

}  // namespace

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

BackendView video_view(std::string_view api,
                       const std::vector<DeviceNode>& shared,
                       const Gpu& gpu) {
    auto shut = shut_nodes(api, shared, gpu);
    const auto found = gpu.apis.find(std::string{api});
    if (found == gpu.apis.end()) {
        shut.push_back(because("not-probed", {{"api", api}}));
        return verdict(std::nullopt, std::move(shut));
    }
    const auto& view = found->second;
    if (view.outcome != Outcome::Answered || !view.device.is_object() || !shut.empty())
        return unlisted(view.reasons, std::move(shut));
    return verdict(true, view.reasons);
}

std::map<std::string, BackendView> backend_views(const Machine& machine, const Gpu& gpu) {
    std::map<std::string, BackendView> views;
    for (const auto& [name, api] : gpu_backends()) {
        const auto& row = info_of(api);
        views[std::string{name}] =
            judged({name, row.word, row.vendor, row.licensees}, machine, gpu);
    }
    return views;
}

}  // namespace gpuprobe::inline report
