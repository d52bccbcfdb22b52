// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "doctor/checks.h"
#include "doctor/driver_package.h"
#include "report/api_view.h"

namespace gpuprobe {
namespace {

/// Drivers of what the firmware set up: a picture and nothing else.
/// Source: Linux, drivers/gpu/drm/{tiny,sysfb} and drivers/video/fbdev.
constexpr std::array kFirmwareDrivers = std::to_array<std::string_view>(
    {"simpledrm", "simple-framebuffer", "efidrm", "vesadrm", "ofdrm", "efifb", "vesafb"});

void add_once(Evidence& found, Value evidence) {
    if (std::ranges::find(found, evidence) == found.end())
        found.push_back(std::move(evidence));
}

/// The details of the GPU's findings of one code.
Evidence findings(const Gpu& gpu, std::string_view code) {
    Evidence found;
    for (const auto& finding : gpu.findings)
        if (finding.code == code)
            add_once(found, finding.detail);
    return found;
}

Value of_api(const std::string& api, const ApiView& view, const Reason& reason) {
    auto evidence = reason.detail;
    evidence["api"] = api;
    if (evidence.at("driver").is_null())
        evidence["driver"] = to_value(view.driver);
    const auto output = std::ranges::find(view.reasons, "worker-output", &Reason::code);
    if (output != view.reasons.end())
        evidence["output"] = output->detail.at("lines");
    return evidence;
}

/// What its APIs say with one code. Nobody asks the APIs of a GPU that only shows pictures, or of
/// one that no driver serves here.
Evidence said(const Gpu& gpu, std::string_view code) {
    Evidence found;
    const bool is_served = gpu.kind != GpuKind::DisplayOnly &&
                           !has_reason(gpu.findings, "no-driver") &&
                           !has_reason(gpu.findings, "passthrough");
    for (const auto& [api, view] : gpu.apis)
        for (const auto& reason : view.reasons)
            if (is_served && reason.code == code)
                add_once(found, of_api(api, view, reason));
    return found;
}

Evidence said_by(const Gpu& gpu, std::string_view api, std::string_view code) {
    auto found = said(gpu, code);
    std::erase_if(found, [api](const Value& evidence) { return evidence.at("api") != Value{api}; });
    return found;
}

/// What is said of its backends with one code, once for all of them.
Evidence judged(const Gpu& gpu, std::string_view code) {
    Evidence found;
    for (const auto& [name, backend] : gpu.backends)
        for (const auto& reason : backend.reasons)
            if (reason.code == code)
                add_once(found, reason.detail);
    return found;
}

/// Whether a finding, which has a fix of its own, is why the driver of that API fails.
bool explains(const Reason& finding, const Value& api) {
    constexpr std::array kCauses = std::to_array<std::string_view>(
        {"driver-mismatch", "no-permission", "node-missing", "device-denied", "uvm-missing"});
    if (std::ranges::find(kCauses, finding.code) == kCauses.end())
        return false;
    if (finding.code == "uvm-missing")  // NVIDIA's OpenCL is a CUDA program
        return api == Value{"cuda"} || api == Value{"opencl"};
    return finding.detail.at("node") != Value{"/dev/kfd"} || api == Value{"hip"};
}

constexpr char kNotStarted[] = "worker-not-started";
constexpr char kWorkerLost[] = "worker-lost";

/// Drivers that failed for no reason that is told beside it.
Evidence failed(const Report&, const Gpu& gpu) {
    auto found = said(gpu, "driver-failed");
    std::erase_if(found, [&gpu](const Value& evidence) {
        return std::ranges::any_of(gpu.findings, [&evidence](const Reason& finding) {
            return explains(finding, evidence.at("api"));
        });
    });
    return found;
}

/// A finding of that code, else what the APIs said.
template <const char* Code>
Evidence found_or_said(const Report&, const Gpu& gpu) {
    auto found = findings(gpu, Code);
    return found.empty() ? said(gpu, Code) : found;
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

Evidence when(bool holds, Value::Object evidence) {
    return holds ? Evidence{Value{std::move(evidence)}} : Evidence{};
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

Evidence nouveau(const Report&, const Gpu& gpu) {
    const bool is_open = gpu.driver.name == "nouveau" || gpu.driver.name == "nova-core";
    return when(gpu.vendor == "nvidia" && is_open, {{"driver", to_value(gpu.driver.name)}});
}

/// By node: its own nodes as findings, the driver's shared ones as reasons of backends.
Evidence no_permission(const Report&, const Gpu& gpu) {
    auto all = judged(gpu, "no-permission");
    for (auto& finding : findings(gpu, "no-permission")) {
        const auto is_same = [&](const Value& other) {
            return other.at("node") == finding.at("node");
        };
        if (std::ranges::none_of(all, is_same))
            all.push_back(std::move(finding));
    }
    return all;
}

bool answers(const Gpu& gpu, const std::string& api) {
    const auto view = gpu.apis.find(api);
    return view != gpu.apis.end() && view->second.outcome == Outcome::Answered &&
           !view->second.device.is_null();
}

Evidence uvm_missing(const Report&, const Gpu& gpu) {
    return answers(gpu, "cuda") ? Evidence{} : findings(gpu, "uvm-missing");
}

Evidence kfd_missing(const Report& report, const Gpu& gpu) {
    const bool nodes_are_known = std::ranges::any_of(
        gpu.nodes, [](const DeviceNode& node) { return node.accessible.has_value(); });
    const bool is_there =
        std::ranges::find(report.nodes, "/dev/kfd", &DeviceNode::path) != report.nodes.end();
    return when(gpu.driver.name == "amdgpu" && nodes_are_known && !is_there && !answers(gpu, "hip"),
                {{"node", "/dev/kfd"}, {"container", to_value(report.host.container)}});
}

/// The kernel's half of NVIDIA's driver without the other.
Evidence cuda_library_missing(const Report&, const Gpu& gpu) {
    return gpu.driver.name == "nvidia" ? said_by(gpu, "cuda", "loader-missing") : Evidence{};
}
Evidence vulkan_loader_missing(const Report&, const Gpu& gpu) {
    return said_by(gpu, "vulkan", "loader-missing");
}
Evidence opencl_loader_missing(const Report&, const Gpu& gpu) {
    return said_by(gpu, "opencl", "loader-missing");
}
Evidence rocm_missing(const Report&, const Gpu& gpu) {
    return gpu.vendor == "amd" ? said_by(gpu, "hip", "loader-missing") : Evidence{};
}
Evidence level_zero_missing(const Report&, const Gpu& gpu) {
    return gpu.vendor == "intel" ? said_by(gpu, "level_zero", "loader-missing") : Evidence{};
}

Evidence with_package(Evidence found, const Gpu& gpu, std::string_view api) {
    for (auto& evidence : found)
        evidence["package"] = to_value(driver_package(gpu, api));
    return found;
}

Evidence no_driver(const Report&, const Gpu& gpu) {
    return with_package(findings(gpu, "no-driver"), gpu, "kernel");
}

/// No manifest for this vendor: the reason names none.
Evidence driver_missing(const Gpu& gpu, std::string_view api) {
    auto found = said_by(gpu, api, "driver-missing");
    std::erase_if(found, [](const Value& evidence) {
        const auto* driver = evidence.at("driver").as_string();
        return driver && !driver->empty();
    });
    return with_package(std::move(found), gpu, api);
}
Evidence vulkan_driver_missing(const Report&, const Gpu& gpu) {
    return driver_missing(gpu, "vulkan");
}
Evidence opencl_driver_missing(const Report&, const Gpu& gpu) {
    return driver_missing(gpu, "opencl");
}

Evidence stale_manifest(const Report&, const Gpu& gpu) {
    auto found = said(gpu, "driver-missing");
    std::erase_if(found, [](const Value& evidence) {
        const auto* driver = evidence.at("driver").as_string();
        return !driver || driver->empty();
    });
    return found;
}

constexpr char kLost[] = "lost";
constexpr char kWedged[] = "wedged";
constexpr char kPassthrough[] = "passthrough";
constexpr char kDriverMismatch[] = "driver-mismatch";
constexpr char kDriverNotLoaded[] = "driver-not-loaded";
constexpr char kNodeMissing[] = "node-missing";
constexpr char kDeviceDenied[] = "device-denied";
constexpr char kProberNoPermission[] = "prober-no-permission";
constexpr char kFabric[] = "fabric-manager-not-ready";
constexpr char kMig[] = "mig-without-instance";
constexpr char kStub[] = "stub-library";
constexpr char kProhibited[] = "compute-prohibited";
constexpr char kCrashed[] = "driver-crashed";
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
        {kLost, Severity::Error, found<kLost>},
        {kWedged, Severity::Error, found<kWedged>},
        {"no-driver", Severity::Error, no_driver},
        {kPassthrough, Severity::Info, found<kPassthrough>},
        {"firmware-framebuffer", Severity::Warning, firmware_framebuffer},
        {"display-only", Severity::Info, display_only},
        {"nouveau", Severity::Warning, nouveau},
        {kDriverMismatch, Severity::Error, found_or_said<kDriverMismatch>},
        {kDriverNotLoaded, Severity::Error, said_so<kDriverNotLoaded>},
        {"no-permission", Severity::Error, no_permission},
        {kNodeMissing, Severity::Error, found<kNodeMissing>},
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
        {kMig, Severity::Error, said_so<kMig>},
        {kStub, Severity::Error, said_so<kStub>},
        {kFabric, Severity::Error, said_so<kFabric>},
        {kProhibited, Severity::Error, judged_so<kProhibited>},
        {kNoCompute, Severity::Info, judged_so<kNoCompute>},
        {kCrashed, Severity::Error, said_so<kCrashed>},
        {kTimedOut, Severity::Error, said_so<kTimedOut>},
        {"driver-failed", Severity::Warning, failed},
        {kNotStarted, Severity::Warning, said_so<kNotStarted>},
        {kWorkerLost, Severity::Warning, said_so<kWorkerLost>},
        {kQuarantined, Severity::Warning, said_so<kQuarantined>},
        {kUnstable, Severity::Warning, said_so<kUnstable>},
        {kInconclusive, Severity::Warning, said_so<kInconclusive>},
        {kAmbiguous, Severity::Info, said_so<kAmbiguous>},
        {kAsleep, Severity::Info, said_so<kAsleep>},
        {kWeak, Severity::Info, said_so<kWeak>},
        {kMemory, Severity::Info, found<kMemory>},
        {kImplausible, Severity::Warning, found<kImplausible>},
    };
    return checks;
}

}  // namespace gpuprobe
