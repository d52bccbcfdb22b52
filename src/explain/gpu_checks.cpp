// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <tuple>

#include "base/parse.h"
#include "explain/checks.h"
#include "report/fact_key.h"
#include "report/health.h"
#include "report/pci_address.h"

namespace gpuprobe {
namespace {

/// Drivers of the framebuffer that the firmware set up, which can only show pictures.
/// Source: Linux, drivers/gpu/drm/{tiny,sysfb} and drivers/video/fbdev.
constexpr std::array kFirmwareDrivers = std::to_array<std::string_view>(
    {"simpledrm", "simple-framebuffer", "efidrm", "vesadrm", "ofdrm", "efifb", "vesafb"});

/// Whether a finding on the GPU, which has a fix of its own, explains why that API's driver fails.
bool explains(const Reason& finding, const Value& evidence) {
    if (!has_trait(finding.code, ReasonTraits::Cause))
        return false;
    const auto& api = evidence.at("api");
    if (finding.is("uvm-missing"))  // NVIDIA's OpenCL is a CUDA program
        return api == Value{"cuda"} || api == Value{"opencl"};
    const auto* driver = evidence.at("driver").as_string();
    const bool is_rocm =
        api == Value{"hip"} || (driver && driver->find("amdocl") != std::string::npos);
    return finding.detail.at("node") != Value{"/dev/kfd"} || is_rocm;
}

/// Whether one of the API's own reasons explains the failure and has a fix of its own.
bool explains_itself(const ApiView& view) {
    return has_reason_with(view.reasons, ReasonTraits::ViewCause);
}

/// The error text that a driver gave for a device instead of facts.
std::string error_of(const ApiView& view) {
    return fact(view.device, facts::kError).value_or("");
}

/// NVML_ERROR_GPU_IS_LOST: "GPU is lost". Source: nvml.h.
bool is_lost(const ApiView& view) {
    return lower_case(error_of(view)).find("is lost") != std::string::npos;
}

/// What drivers said with that code, unless the doctor tells its cause anyway.
Evidence unexplained(const Gpu& gpu, ReasonCode code) {
    if (std::ranges::any_of(gpu.apis, [](const auto& entry) { return is_lost(entry.second); }))
        return {};
    auto found = said(gpu, code);
    std::erase_if(found, [&gpu](const Value& evidence) {
        const auto& view = gpu.apis.at(*evidence.at("api").as_string());
        return explains_itself(view) ||
               std::ranges::any_of(gpu.findings, [&evidence](const Reason& finding) {
                   return explains(finding, evidence);
               });
    });
    return found;
}

template <const ReasonCode& Code>
Evidence found(const Report&, const Gpu& gpu) {
    return findings(gpu, Code);
}
template <const ReasonCode& Code>
Evidence said_so(const Report&, const Gpu& gpu) {
    return said(gpu, Code);
}
template <const ReasonCode& Code>
Evidence judged_so(const Report&, const Gpu& gpu) {
    return judged(gpu, Code);
}
template <const ReasonCode& Code>
Evidence unexplained(const Report&, const Gpu& gpu) {
    return unexplained(gpu, Code);
}

/// Adds the PCI address, for commands that change this GPU and must leave the others alone.
Evidence with_address(Evidence found, const Gpu& gpu) {
    for (auto& evidence : found)
        evidence["address"] =
            gpu.pci && gpu.pci->address ? Value{text_of(*gpu.pci->address)} : Value{};
    return found;
}
template <const ReasonCode& Code>
Evidence judged_at(const Report&, const Gpu& gpu) {
    return with_address(judged(gpu, Code), gpu);
}

bool is_of_firmware(const Gpu& gpu) {
    return gpu.driver.name &&
           std::ranges::find(kFirmwareDrivers, *gpu.driver.name) != kFirmwareDrivers.end();
}

Evidence firmware_framebuffer(const Report&, const Gpu& gpu) {
    return when(is_of_firmware(gpu), {{"driver", to_value(gpu.driver.name)}});
}

Evidence display_only(const Report&, const Gpu& gpu) {
    return when(gpu.kind == GpuKind::DisplayOnly && !is_of_firmware(gpu),
                {{"driver", to_value(gpu.driver.name)}});
}

/// Vulkan and ROCm need amdgpu, which also drives GCN 1 and 2 when it is told to.
Evidence radeon(const Report&, const Gpu& gpu) {
    return when(gpu.driver.name == "radeon", {{"driver", "radeon"}});
}

Evidence lost(const Report&, const Gpu& gpu) {
    auto found = findings(gpu, "lost");
    for (const auto& [api, view] : gpu.apis)
        if (is_lost(view))
            found.push_back(Value{Value::Object{{"api", api}, {"note", error_of(view)}}});
    return found;
}

Evidence device_error(const Report&, const Gpu& gpu) {
    Evidence found;
    for (const auto& [api, view] : gpu.apis)
        if (const auto note = error_of(view); !note.empty() && !is_lost(view))
            found.push_back(Value{Value::Object{{"api", api}, {"note", note}}});
    return found;
}

/// When CUDA answers, a library of another version beside it does no harm.
Evidence driver_mismatch(const Report&, const Gpu& gpu) {
    if (answers(gpu, "cuda"))
        return {};
    auto found = findings(gpu, "driver-mismatch");
    return found.empty() ? said(gpu, "driver-mismatch") : found;
}

/// When the module is loaded and can't be reached, its device nodes are missing here.
Evidence driver_not_loaded(const Report&, const Gpu& gpu) {
    auto found = said(gpu, "driver-not-loaded");
    return gpu.driver.name == "nvidia" ? in_case(std::move(found), "nodes") : found;
}

/// Whether it would help to join the node's group.
bool is_worth_joining(const Value& evidence) {
    const auto* group = evidence.at("group").as_string();
    const auto* mode = evidence.at("mode").as_string();
    const bool is_shut = mode && mode->size() >= 2 && ((*mode)[mode->size() - 2] & 6) != 6;
    return group && !is_shut && is_for_joining(*group);
}

std::string_view shut_case(const Report& report, const Value& evidence) {
    if (is_worth_joining(evidence))
        return "group";
    if (report.host.container)
        return "outside";
    const auto* node = evidence.at("node").as_string();
    return node && node->starts_with("/dev/nvidia") ? "nvidia" : "udev";
}

/// One for each node. The GPU's own nodes come from its findings, and those that GPUs share from
/// the reasons of its backends.
Evidence no_permission(const Report& report, const Gpu& gpu) {
    Evidence all;
    const auto add = [&](Value evidence) {
        const bool is_known = std::ranges::any_of(all, [&evidence](const Value& other) {
            return other.at("node") == evidence.at("node");
        });
        if (is_known)
            return;
        evidence["case"] = Value{shut_case(report, evidence)};
        all.push_back(std::move(evidence));
    };
    auto of_backends = judged(gpu, "no-permission");
    std::ranges::stable_partition(of_backends, [](const Value& evidence) {
        return !evidence.at("mode").is_null();  // a report as its caller sees it has some without
    });
    for (auto& evidence : of_backends)
        add(std::move(evidence));
    for (auto& evidence : findings(gpu, "no-permission"))
        add(std::move(evidence));
    return all;
}

/// The 3 of /dev/nvidia3, by which nvidia-modprobe knows the GPU.
Value minor_of(const Value& node) {
    constexpr std::string_view kNvidia = "/dev/nvidia";
    const auto* path = node.as_string();
    if (!path || !path->starts_with(kNvidia))
        return {};
    const auto number = parse_number<std::uint32_t>(path->substr(kNvidia.size()));
    return number ? Value{*number} : Value{};
}

Evidence node_missing(const Report&, const Gpu& gpu) {
    auto found = findings(gpu, "node-missing");
    for (auto& evidence : found) {
        evidence["minor"] = minor_of(evidence.at("node"));
        if (!evidence.at("minor").is_null())
            evidence["case"] = Value{"nvidia"};
    }
    return found;
}

Evidence uvm_missing(const Report&, const Gpu& gpu) {
    auto found = answers(gpu, "cuda") ? Evidence{} : findings(gpu, "uvm-missing");
    for (auto& evidence : found)
        if (evidence.at("module_loaded") == Value{true})
            evidence["case"] = Value{"loaded"};
    return found;
}

Evidence kfd_missing(const Report& report, const Gpu& gpu) {
    const bool nodes_are_known = std::ranges::any_of(
        gpu.nodes, [](const DeviceNode& node) { return node.accessible.has_value(); });
    const bool is_there =
        std::ranges::find(report.nodes, "/dev/kfd", &DeviceNode::path) != report.nodes.end();
    return when(gpu.driver.name == "amdgpu" && nodes_are_known && !is_there && !answers(gpu, "hip"),
                {{"node", "/dev/kfd"}, {"container", to_value(report.host.container)}});
}

/// Nobody has asked any driver that could compute on it.
Evidence not_probed(const Report&, const Gpu& gpu) {
    const auto is_settled = [](const auto& entry) {
        const auto& [usable, reasons] = std::tie(entry.second.usable, entry.second.reasons);
        return usable == true || (!usable && !has_reason(reasons, "not-probed"));
    };
    return when(gpu.kind != GpuKind::DisplayOnly &&
                    std::ranges::none_of(gpu.backends, is_settled) &&
                    !judged(gpu, "not-probed").empty(),
                {});
}

constexpr ReasonCode kWedged = "wedged";
constexpr ReasonCode kPassthrough = "passthrough";
constexpr ReasonCode kDeviceDenied = "device-denied";
constexpr ReasonCode kProberNoPermission = "prober-no-permission";
constexpr ReasonCode kFabric = "fabric-manager-not-ready";
constexpr ReasonCode kMig = "mig-without-instance";
constexpr ReasonCode kStub = "stub-library";
constexpr ReasonCode kProhibited = "compute-prohibited";
constexpr ReasonCode kCrashed = "driver-crashed";
constexpr ReasonCode kFailed = "driver-failed";
constexpr ReasonCode kStuck = "worker-stuck";
constexpr ReasonCode kNotStarted = "worker-not-started";
constexpr ReasonCode kWorkerLost = "worker-lost";
constexpr ReasonCode kMiscomputed = "miscomputed";
constexpr ReasonCode kNotComputing = "not-computing";
constexpr ReasonCode kTimedOut = "driver-timed-out";
constexpr ReasonCode kQuarantined = "quarantined";
constexpr ReasonCode kMalformed = "malformed-manifest";
constexpr ReasonCode kUnreadable = "unreadable-manifest";
constexpr ReasonCode kNeedsEgl = "nvidia-icd-needs-egl";
constexpr ReasonCode kUnstable = "unstable";
constexpr ReasonCode kInconclusive = "inconclusive";
constexpr ReasonCode kAmbiguous = "ambiguous";
constexpr ReasonCode kAsleep = "asleep";
constexpr ReasonCode kWeak = "joined-weakly";
constexpr ReasonCode kMemory = "memory-mismatch";
constexpr ReasonCode kImplausible = "implausible";
constexpr ReasonCode kNoCompute = "no-compute-device";

}  // namespace

const std::vector<GpuCheck>& gpu_checks() {
    static const std::vector<GpuCheck> checks{
        {"lost", Severity::Error, lost},
        {kWedged.text(), Severity::Error, found<kWedged>},
        {"device-error", Severity::Error, device_error},
        {"no-driver", Severity::Error, no_driver},
        {kPassthrough.text(), Severity::Info, found<kPassthrough>},
        {"firmware-framebuffer", Severity::Warning, firmware_framebuffer},
        {"display-only", Severity::Info, display_only},
        {"nouveau", Severity::Warning, nouveau},
        {"radeon", Severity::Info, radeon},
        {"driver-mismatch", Severity::Error, driver_mismatch},
        {"driver-not-loaded", Severity::Error, driver_not_loaded},
        {"no-permission", Severity::Error, no_permission},
        {"node-missing", Severity::Error, node_missing},
        {kDeviceDenied.text(), Severity::Error, found<kDeviceDenied>},
        {kProberNoPermission.text(), Severity::Warning, judged_so<kProberNoPermission>},
        {"uvm-missing", Severity::Warning, uvm_missing},
        {"kfd-missing", Severity::Warning, kfd_missing},
        {"cuda-library-missing", Severity::Error, cuda_library_missing},
        {"vulkan-loader-missing", Severity::Warning, vulkan_loader_missing},
        {"vulkan-driver-missing", Severity::Warning, vulkan_driver_missing},
        {"opencl-loader-missing", Severity::Info, opencl_loader_missing},
        {"opencl-driver-missing", Severity::Info, opencl_driver_missing},
        {"rocm-missing", Severity::Info, rocm_missing},
        {"level-zero-missing", Severity::Info, level_zero_missing},
        {"stale-manifest", Severity::Warning, stale_manifest},
        {kMalformed.text(), Severity::Warning, said_so<kMalformed>},
        {kUnreadable.text(), Severity::Warning, said_so<kUnreadable>},
        {kNeedsEgl.text(), Severity::Warning, said_so<kNeedsEgl>},
        {kMig.text(), Severity::Error, judged_at<kMig>},
        {kStub.text(), Severity::Error, said_so<kStub>},
        {kFabric.text(), Severity::Error, said_so<kFabric>},
        {kProhibited.text(), Severity::Error, judged_at<kProhibited>},
        {kNoCompute.text(), Severity::Info, judged_so<kNoCompute>},
        {kMiscomputed.text(), Severity::Error, judged_so<kMiscomputed>},
        {kNotComputing.text(), Severity::Warning, judged_so<kNotComputing>},
        {kCrashed.text(), Severity::Error, said_so<kCrashed>},
        {kTimedOut.text(), Severity::Error, said_so<kTimedOut>},
        {kFailed.text(), Severity::Warning, unexplained<kFailed>},
        {kStuck.text(), Severity::Error, said_so<kStuck>},
        {kNotStarted.text(), Severity::Warning, said_so<kNotStarted>},
        {kWorkerLost.text(), Severity::Warning, said_so<kWorkerLost>},
        {kQuarantined.text(), Severity::Warning, said_so<kQuarantined>},
        {kUnstable.text(), Severity::Warning, said_so<kUnstable>},
        {kInconclusive.text(), Severity::Warning, unexplained<kInconclusive>},
        {kAmbiguous.text(), Severity::Info, said_so<kAmbiguous>},
        {kAsleep.text(), Severity::Info, said_so<kAsleep>},
        {kWeak.text(), Severity::Info, said_so<kWeak>},
        {"not-probed", Severity::Info, not_probed},
        {kMemory.text(), Severity::Info, found<kMemory>},
        {kImplausible.text(), Severity::Warning, found<kImplausible>},
    };
    return checks;
}

}  // namespace gpuprobe
