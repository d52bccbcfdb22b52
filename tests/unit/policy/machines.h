// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

#include "policy/application_set.h"
#include "policy/gpu_selection.h"
#include "report/report.h"

/// Reports about fake machines, in the form in which the report component would assemble them.
namespace gpuprobe::support {

inline Profile default_profile() {
    const auto set = ApplicationSet::with_builtins();
    const auto* profile = set.selection("default");
    if (!profile) {
        std::cerr << "no default profile\n";
        std::abort();
    }
    return *profile;
}

/// Parses a predicate, which must be valid.
inline Predicate parsed(std::string_view text) {
    auto predicate = parse_predicate(text);
    if (!predicate) {
        std::cerr << text << ": " << predicate.error().text << "\n";
        std::abort();
    }
    return std::move(predicate).value();
}

/// A profile of a program that has these backends and reads the variables of these readers.
inline Profile reading(std::vector<std::string> backends, std::vector<std::string> readers) {
    Profile profile;
    profile.backends = std::move(backends);
    profile.reads = std::move(readers);
    return profile;
}

inline BackendView usable() {
    return BackendView{.usable = true};
}
inline BackendView unusable(ReasonCode code) {
    return BackendView{.usable = false, .reasons = {because(code)}};
}
inline BackendView unclear(ReasonCode code) {
    return BackendView{.usable = std::nullopt, .reasons = {because(code)}};
}

inline ApiView seen(std::uint32_t index, std::string driver = {}) {
    ApiView view{.outcome = Outcome::Answered, .index = index, .joined_by = "pci"};
    if (!driver.empty())
        view.driver = std::move(driver);
    view.device = Value{Value::Object{{"index", index}}};
    return view;
}

inline ApiView seen_by_mesa(std::uint32_t index, std::string manifest, const char* driver) {
    auto view = seen(index, std::move(manifest));
    view.device["driver_id"] = driver;
    view.device["driver_info"] = "Mesa 25.0.7-2";
    return view;
}

inline Gpu gpu_at(std::string address, std::string vendor, GpuKind kind) {
    Gpu gpu{.id = "pci:" + address, .kind = kind, .vendor = std::move(vendor)};
    gpu.pci =
        PciInfo{.address = parse_text(std::string_view{address}, std::type_identity<PciAddress>{})};
    return gpu;
}

inline constexpr const char* kNvidiaManifest = "/usr/share/vulkan/icd.d/nvidia_icd.json";
inline constexpr const char* kRadvManifest = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
inline constexpr const char* kAnvManifest = "/usr/share/vulkan/icd.d/intel_icd.x86_64.json";
inline constexpr const char* kLavapipeManifest = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";

/// An NVIDIA card on which everything is installed. `index` is the card's index in every API.
inline Gpu nvidia_card(std::string address, std::string uuid, std::uint32_t index) {
    auto gpu = gpu_at(std::move(address), "nvidia", GpuKind::Discrete);
    gpu.name = "NVIDIA H200";
    gpu.pci->vendor_id = "10de";
    gpu.pci->device_id = "2335";
    gpu.memory = {.kind = MemoryKind::Dedicated, .physical = gib(141), .allocatable = gib(140)};
    gpu.identity.nvidia_uuid = std::move(uuid);
    gpu.architecture.cuda_compute_capability = "9.0";
    gpu.apis = {{"cuda", seen(index)},
                {"vulkan", seen(index, kNvidiaManifest)},
                {"opencl", seen(index, "/etc/OpenCL/vendors/nvidia.icd")}};
    gpu.backends = {{"cuda", usable()},
                    {"rocm", unusable("vendor-mismatch")},
                    {"sycl", unusable("vendor-mismatch")},
                    {"vulkan", usable()},
                    {"opencl", usable()}};
    return gpu;
}

/// A Radeon with ROCm and RADV.
inline Gpu amd_card(std::string address, std::string unique_id, std::uint32_t index) {
    auto gpu = gpu_at(std::move(address), "amd", GpuKind::Discrete);
    gpu.name = "Radeon RX 7900 XTX";
    gpu.pci->vendor_id = "1002";
    gpu.pci->device_id = "744c";
    gpu.memory = {.kind = MemoryKind::Dedicated, .physical = gib(24), .allocatable = gib(24)};
    gpu.identity.hip_unique_id = std::move(unique_id);
    gpu.architecture.gfx_target = "gfx1100";
    gpu.apis = {{"hip", seen(index)}, {"vulkan", seen_by_mesa(index, kRadvManifest, "mesa-radv")}};
    gpu.backends = {{"cuda", unusable("vendor-mismatch")},
                    {"rocm", usable()},
                    {"sycl", unusable("vendor-mismatch")},
                    {"vulkan", usable()},
                    {"opencl", unusable("not-listed")}};
    return gpu;
}

/// Intel graphics of a laptop's processor, with ANV and no oneAPI.
inline Gpu intel_graphics() {
    auto gpu = gpu_at("0000:00:02.0", "intel", GpuKind::Integrated);
    gpu.name = "Intel Iris Xe";
    gpu.pci->vendor_id = "8086";
    gpu.pci->device_id = "46a6";
    gpu.memory = {.kind = MemoryKind::Unified, .allocatable = gib(12)};
    gpu.apis = {{"vulkan", seen_by_mesa(0, kAnvManifest, "intel-open-source-mesa")}};
    gpu.backends = {{"cuda", unusable("vendor-mismatch")},
                    {"rocm", unusable("vendor-mismatch")},
                    {"sycl", unusable("loader-missing")},
                    {"vulkan", usable()},
                    {"opencl", unusable("not-listed")}};
    return gpu;
}

/// The display of a server's management controller.
inline Gpu management_display() {
    auto gpu = gpu_at("0000:c1:00.0", "aspeed", GpuKind::DisplayOnly);
    gpu.driver.name = "ast";
    gpu.backends = {{"vulkan", unusable("not-listed")}, {"opencl", unusable("not-listed")}};
    return gpu;
}

inline SoftwareDevice llvmpipe() {
    return {
        .api = "vulkan", .name = "llvmpipe (LLVM 15.0.6, 256 bits)", .driver = kLavapipeManifest};
}
inline SoftwareDevice pocl() {
    return {.api = "opencl",
            .name = "pthread-Intel(R) Xeon(R)",
            .driver = "/etc/OpenCL/vendors/pocl.icd"};
}

inline Report report_of(std::vector<Gpu> gpus, std::vector<SoftwareDevice> software = {}) {
    Report report{.generation = 7, .state = ReportState::Ready};
    report.gpus = std::move(gpus);
    report.software = std::move(software);
    return report;
}

/// A machine without GPUs and vendor libraries, with the software devices of Mesa and pocl.
inline Report machine_without_gpu() {
    auto report = report_of({}, {llvmpipe(), pocl()});
    report.runtimes = {{"cuda", {.outcome = Outcome::Absent}},
                       {"hip", {.outcome = Outcome::Absent}},
                       {"level_zero", {.outcome = Outcome::Crashed, .loader = "libze_loader.so.1"}},
                       {"vulkan", {.outcome = Outcome::Answered, .loader = "libvulkan.so.1"}},
                       {"opencl", {.outcome = Outcome::Answered, .loader = "libOpenCL.so.1"}}};
    return report;
}

inline constexpr const char* kFirstUuid = "GPU-11111111-2222-3333-4444-555555555555";
inline constexpr const char* kSecondUuid = "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa";

inline Report one_nvidia_card() {
    auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    report.host.os = "linux";
    report.host.arch = "x86_64";
    report.gpus[0].driver.version = "570.86";
    return report;
}

inline Report two_identical_cards() {
    return report_of(
        {nvidia_card("0000:06:00.0", kFirstUuid, 0), nvidia_card("0000:41:00.0", kSecondUuid, 1)});
}

inline Report hybrid_laptop() {
    auto report =
        report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0), intel_graphics()}, {llvmpipe()});
    report.gpus.front().memory = {.physical = gib(8), .allocatable = gib(8)};
    return report;
}

/// Selects the GPUs at these indices of a report.
inline Selection chosen(const Report& report, std::initializer_list<std::size_t> places) {
    Selection selection{.report = report};
    for (const auto place : places)
        selection.gpus.push_back(&report.gpus.at(place));
    return selection;
}

inline std::optional<std::string> fact(std::string_view name,
                                       const Report& report,
                                       std::initializer_list<std::size_t> places) {
    return selector_fact(name, chosen(report, places));
}

}  // namespace gpuprobe::support
