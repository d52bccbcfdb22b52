// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <tuple>

#include "base/parse.h"
#include "explain/checks.h"
#include "report/api_view.h"
#include "report/health.h"
#include "report/pci_address.h"

namespace gpuprobe {
namespace {

/// Drivers of what the firmware set up: a picture and nothing else.
/// Source: Linux, drivers/gpu/drm/{tiny,sysfb} and drivers/video/fbdev.
constexpr std::array kFirmwareDrivers = std::to_array<std::string_view>(
    {"simpledrm", "simple-framebuffer", "efidrm", "vesadrm", "ofdrm", "efifb", "vesafb"});

/// Whether a finding, which has a fix of its own, is why the driver of that API fails.
bool explains(const Reason& finding, const Value& evidence) {
    constexpr std::array kCauses = std::to_array<std::string_view>(
        {"driver-mismatch", "no-permission", "node-missing", "device-denied", "uvm-missing"});
    if (std::ranges::find(kCauses, finding.code) == kCauses.end())
        return false;
    const auto& api = evidence.at("api");
    if (finding.code == "uvm-missing")  // NVIDIA's OpenCL is a CUDA program
        return api == Value{"cuda"} || api == Value{"opencl"};
    const auto* driver = evidence.at("driver").as_string();
    const bool is_rocm =
        api == Value{"hip"} || (driver && driver->find("amdocl") != std::string::npos);
    return finding.detail.at("node") != Value{"/dev/kfd"} || is_rocm;
}

/// Whether the API itself says why, with a reason that has a fix of its own.
bool explains_itself(const ApiView& view) {
    constexpr std::array kCauses = std::to_array<std::string_view>(
        {"no-permission", "fabric-manager-not-ready", "stub-library", "driver-mismatch",
         "driver-not-loaded", "mig-without-instance", "worker-stuck"});
    return std::ranges::any_of(kCauses,
                               [&view](auto code) { return has_reason(view.reasons, code); });
}

/// What a driver says of one device in the place of facts.
std::string error_of(const ApiView& view) {
    const auto* text = view.device.at("error").as_string();
    return text ? *text : std::string{};
}

/// NVML_ERROR_GPU_IS_LOST: "GPU is lost". Source: nvml.h.
bool is_lost(const ApiView& view) {
    return lower_case(error_of(view)).find("is lost") != std::string::npos;
}

/// What is said with that code for no reason that is told beside it.
Evidence unexplained(const Gpu& gpu, std::string_view code) {
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

template <const char* Code>
Evidence found(const Report&, const Gpu& gpu) {
    return findings(gpu, Code);
}
template <const char* Code>
Evidence said_so(const Report&, const Gpu& gpu) {
    return said(gpu, Code);
}
template <const char* Code>
Evidence judged_so(const Report&, const Gpu& gpu) {
    return judged(gpu, Code);
}
template <const char* Code>
Evidence unexplained(const Report&, const Gpu& gpu) {
    return unexplained(gpu, Code);
}

/// For commands that change one GPU and must leave the others alone.
Evidence with_address(Evidence found, const Gpu& gpu) {
    for (auto& evidence : found)
        evidence["address"] =
            gpu.pci && gpu.pci->address ? Value{text_of(*gpu.pci->address)} : Value{};
    return found;
}
template <const char* Code>
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

/// Vulkan and ROCm are for amdgpu alone, which takes GCN 1 and 2 when it is told to.
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

/// A library beside the one that answers is not in the way.
Evidence driver_mismatch(const Report&, const Gpu& gpu) {
    if (answers(gpu, "cuda"))
        return {};
    auto found = findings(gpu, "driver-mismatch");
    return found.empty() ? said(gpu, "driver-mismatch") : found;
}

/// A module that is loaded and not to be reached lacks its nodes here.
Evidence driver_not_loaded(const Report&, const Gpu& gpu) {
    auto found = said(gpu, "driver-not-loaded");
    return gpu.driver.name == "nvidia" ? in_case(std::move(found), "nodes") : found;
}

/// Whether to be in the group helps.
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

/// By node: its own nodes as findings, the driver's shared ones as reasons of backends.
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
        return !evidence.at("mode").is_null();  // what a view for its caller adds has none
    });
    for (auto& evidence : of_backends)
        add(std::move(evidence));
    for (auto& evidence : findings(gpu, "no-permission"))
        add(std::move(evidence));
    return all;
}

/// "3" of /dev/nvidia3, which is how nvidia-modprobe is told which.
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

constexpr char kWedged[] = "wedged";
constexpr char kPassthrough[] = "passthrough";
constexpr char kDeviceDenied[] = "device-denied";
constexpr char kProberNoPermission[] = "prober-no-permission";
constexpr char kFabric[] = "fabric-manager-not-ready";
constexpr char kMig[] = "mig-without-instance";
constexpr char kStub[] = "stub-library";
constexpr char kProhibited[] = "compute-prohibited";
constexpr char kCrashed[] = "driver-crashed";
constexpr char kFailed[] = "driver-failed";
constexpr char kStuck[] = "worker-stuck";
constexpr char kNotStarted[] = "worker-not-started";
constexpr char kWorkerLost[] = "worker-lost";
constexpr char kMiscomputed[] = "miscomputed";
constexpr char kNotComputing[] = "not-computing";
constexpr char kTimedOut[] = "driver-timed-out";
constexpr char kQuarantined[] = "quarantined";
constexpr char kMalformed[] = "malformed-manifest";
constexpr char kUnreadable[] = "unreadable-manifest";
constexpr char kNeedsEgl[] = "nvidia-icd-needs-egl";
constexpr char kUnstable[] = "unstable";
constexpr char kInconclusive[] = "inconclusive";
constexpr char kAmbiguous[] = "ambiguous";
constexpr char kAsleep[] = "asleep";
constexpr char kWeak[] = "joined-weakly";
constexpr char kMemory[] = "memory-mismatch";
constexpr char kImplausible[] = "implausible";
constexpr char kNoCompute[] = "no-compute-device";

}  // namespace

const std::vector<GpuCheck>& gpu_checks() {
    static const std::vector<GpuCheck> checks{
        {"lost", Severity::Error, lost},
        {kWedged, Severity::Error, found<kWedged>},
        {"device-error", Severity::Error, device_error},
        {"no-driver", Severity::Error, no_driver},
        {kPassthrough, Severity::Info, found<kPassthrough>},
        {"firmware-framebuffer", Severity::Warning, firmware_framebuffer},
        {"display-only", Severity::Info, display_only},
        {"nouveau", Severity::Warning, nouveau},
        {"radeon", Severity::Info, radeon},
        {"driver-mismatch", Severity::Error, driver_mismatch},
        {"driver-not-loaded", Severity::Error, driver_not_loaded},
        {"no-permission", Severity::Error, no_permission},
        {"node-missing", Severity::Error, node_missing},
        {kDeviceDenied, Severity::Error, found<kDeviceDenied>},
        {kProberNoPermission, Severity::Warning, judged_so<kProberNoPermission>},
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
        {kMalformed, Severity::Warning, said_so<kMalformed>},
        {kUnreadable, Severity::Warning, said_so<kUnreadable>},
        {kNeedsEgl, Severity::Warning, said_so<kNeedsEgl>},
        {kMig, Severity::Error, judged_at<kMig>},
        {kStub, Severity::Error, said_so<kStub>},
        {kFabric, Severity::Error, said_so<kFabric>},
        {kProhibited, Severity::Error, judged_at<kProhibited>},
        {kNoCompute, Severity::Info, judged_so<kNoCompute>},
        {kMiscomputed, Severity::Error, judged_so<kMiscomputed>},
        {kNotComputing, Severity::Warning, judged_so<kNotComputing>},
        {kCrashed, Severity::Error, said_so<kCrashed>},
        {kTimedOut, Severity::Error, said_so<kTimedOut>},
        {kFailed, Severity::Warning, unexplained<kFailed>},
        {kStuck, Severity::Error, said_so<kStuck>},
        {kNotStarted, Severity::Warning, said_so<kNotStarted>},
        {kWorkerLost, Severity::Warning, said_so<kWorkerLost>},
        {kQuarantined, Severity::Warning, said_so<kQuarantined>},
        {kUnstable, Severity::Warning, said_so<kUnstable>},
        {kInconclusive, Severity::Warning, unexplained<kInconclusive>},
        {kAmbiguous, Severity::Info, said_so<kAmbiguous>},
        {kAsleep, Severity::Info, said_so<kAsleep>},
        {kWeak, Severity::Info, said_so<kWeak>},
        {"not-probed", Severity::Info, not_probed},
        {kMemory, Severity::Info, found<kMemory>},
        {kImplausible, Severity::Warning, found<kImplausible>},
    };
    return checks;
}

}  // namespace gpuprobe
