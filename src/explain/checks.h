// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/doctor.h"
#include "report/report.h"

/// The doctor's checks, and what they are made of.
namespace gpuprobe {

/// The evidence of what was found, one object for each; empty when all is well.
using Evidence = std::vector<Value>;

struct MachineCheck {
    std::string_view id;
    Severity severity;
    Evidence (*look)(const Report&, const Surroundings&);
};
struct GpuCheck {
    std::string_view id;
    Severity severity;
    Evidence (*look)(const Report&, const Gpu&);
};

/// In machine_checks.cpp and gpu_checks.cpp: the two lists, in the order of their findings.
const std::vector<MachineCheck>& machine_checks();
const std::vector<GpuCheck>& gpu_checks();

// What reports hold ------------------------------------------------------------------------------

/// The details of the GPU's findings of one code.
Evidence findings(const Gpu& gpu, ReasonCode code);

/// What its APIs say with one code, each with `api`, `driver` and what the driver wrote. Empty for
/// a GPU that only shows pictures, and for one that no driver serves here.
Evidence said(const Gpu& gpu, ReasonCode code);
Evidence said_by(const Gpu& gpu, std::string_view api, ReasonCode code);

/// What is said of its backends with one code, once for all of them.
Evidence judged(const Gpu& gpu, ReasonCode code);

Evidence when(bool holds, Value::Object evidence);

/// The same with `case`, which selects the wording.
Evidence in_case(Evidence found, std::string_view name);

void add_once(Evidence& found, Value evidence);

/// Whether the API lists the GPU.
bool answers(const Gpu& gpu, std::string_view api);

// Loaders, drivers and libraries that are not installed -----------------------------------------

Evidence no_driver(const Report& report, const Gpu& gpu);
Evidence nouveau(const Report& report, const Gpu& gpu);
Evidence cuda_library_missing(const Report& report, const Gpu& gpu);
Evidence vulkan_loader_missing(const Report& report, const Gpu& gpu);
Evidence vulkan_driver_missing(const Report& report, const Gpu& gpu);
Evidence opencl_loader_missing(const Report& report, const Gpu& gpu);
Evidence opencl_driver_missing(const Report& report, const Gpu& gpu);
Evidence rocm_missing(const Report& report, const Gpu& gpu);
Evidence level_zero_missing(const Report& report, const Gpu& gpu);
/// A manifest whose library is not there.
Evidence stale_manifest(const Report& report, const Gpu& gpu);

constexpr const char* kMesaVulkan = "mesa-vulkan-drivers";

/// Debian's package with the GPU's driver: for an API ("vulkan", "opencl"), or for the kernel
/// ("kernel"), which for AMD is the firmware that the kernel's own driver loads. nullopt where
/// there is none.
/// Source: package indices of Debian 12 and 13; Jetson Linux Developer Guide, "Packages".
std::optional<std::string> driver_package(const Gpu& gpu, std::string_view api);

/// Why nvidia-driver of Debian 12 (535) and 13 (550) is nothing for this NVIDIA GPU: "legacy", of
/// Kepler and before, or "newest", of Blackwell. "" where it is, or where that is not known.
/// Source: NVIDIA driver README, "Supported NVIDIA GPU Products" and "Legacy"; PCI device ids.
std::string_view nvidia_support(const Gpu& gpu);

}  // namespace gpuprobe
