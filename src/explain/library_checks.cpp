// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/parse.h"
#include "explain/checks.h"

namespace gpuprobe {
namespace {

/// PCI device ids of NVIDIA's, which grow with the generations.
constexpr std::uint32_t kFirstMaxwell = 0x1340;
constexpr std::uint32_t kFirstBlackwell = 0x2900;

struct Package {
    std::string_view maker;  ///< of the driver; empty for any
    std::string_view api;
    std::string_view name;
};
constexpr std::array kPackages = std::to_array<Package>({
    {"amd", "kernel", "firmware-amd-graphics"},
    {"amd", "opencl", "mesa-opencl-icd"},
    {"intel", "opencl", "intel-opencl-icd"},
    {"nouveau", "opencl", "mesa-opencl-icd"},
    {"nvidia", "kernel", "nvidia-driver"},
    {"nvidia", "opencl", "nvidia-opencl-icd"},
    {"nvidia", "vulkan", "nvidia-vulkan-icd"},
    {"tegra", "vulkan", "nvidia-l4t-3d-core"},
    {"", "vulkan", kMesaVulkan},
});

std::string_view maker_of(const Gpu& gpu) {
    if (gpu.driver.name == "nouveau" || gpu.driver.name == "nova-core")
        return "nouveau";
    if (gpu.driver.name == "gk20a" || gpu.driver.name == "nvgpu")
        return "tegra";
    return gpu.vendor ? std::string_view{*gpu.vendor} : std::string_view{};
}

Evidence with_package(Evidence found, const Gpu& gpu, std::string_view api) {
    for (auto& evidence : found)
        evidence["package"] = to_value(driver_package(gpu, api));
    return found;
}

bool names_a_driver(const Value& evidence) {
    const auto* driver = evidence.at("driver").as_string();
    return driver && !driver->empty();
}

/// No manifest for this vendor: the reason names none.
Evidence driver_missing(const Gpu& gpu, std::string_view api) {
    auto found = said_by(gpu, api, "driver-missing");
    std::erase_if(found, names_a_driver);
    return found;
}

/// Whether Mesa's drivers are installed already.
bool has_mesa(const Report& report) {
    constexpr std::array kManifests =
        std::to_array<std::string_view>({"lvp_icd", "radeon_icd", "intel_icd", "intel_hasvk_icd"});
    return std::ranges::any_of(report.probes, [&](const ProbeEntry& probe) {
        return std::ranges::any_of(kManifests, [&probe](std::string_view name) {
            return probe.driver.find(name) != std::string::npos;
        });
    });
}

/// The library of CUDA is installed, whatever it says.
bool has_nvidia_libraries(const Report& report, const Gpu& gpu) {
    const auto cuda = report.runtimes.find("cuda");
    return gpu.vendor == "nvidia" && cuda != report.runtimes.end() && cuda->second.loader;
}

bool is_nvidias_own(const Gpu& gpu) {
    return gpu.driver.name == "nvidia" || gpu.driver.name == "gk20a" || gpu.driver.name == "nvgpu";
}

}  // namespace

std::optional<std::string> driver_package(const Gpu& gpu, std::string_view api) {
    const auto maker = maker_of(gpu);
    const auto* found = std::ranges::find_if(kPackages, [&](const Package& package) {
        return package.api == api && (package.maker.empty() || package.maker == maker);
    });
    return found == kPackages.end() ? std::nullopt : std::optional{std::string{found->name}};
}

std::string_view nvidia_support(const Gpu& gpu) {
    if (gpu.vendor != "nvidia" || !gpu.pci || !gpu.pci->device_id)
        return "";
    const auto id = parse_hex<std::uint32_t>(*gpu.pci->device_id);
    if (!id)
        return "";
    return *id < kFirstMaxwell ? "legacy" : *id >= kFirstBlackwell ? "newest" : "";
}

Evidence no_driver(const Report& report, const Gpu& gpu) {
    auto found = with_package(findings(gpu, "no-driver"), gpu, "kernel");
    if (has_nvidia_libraries(report, gpu))
        return in_case(std::move(found), "libraries");
    const auto support = nvidia_support(gpu);
    return support.empty() ? found : in_case(std::move(found), support);
}

/// NVIDIA has a driver of its own for it.
Evidence nouveau(const Report&, const Gpu& gpu) {
    const bool is_open = gpu.driver.name == "nouveau" || gpu.driver.name == "nova-core";
    auto found = when(gpu.vendor == "nvidia" && is_open, {{"driver", to_value(gpu.driver.name)}});
    const auto support = nvidia_support(gpu);
    return support.empty() ? found : in_case(std::move(found), support);
}

/// The kernel's half of NVIDIA's driver without the other.
Evidence cuda_library_missing(const Report&, const Gpu& gpu) {
    auto found = is_nvidias_own(gpu) ? said_by(gpu, "cuda", "loader-missing") : Evidence{};
    return gpu.driver.name == "nvidia" ? found : in_case(std::move(found), "tegra");
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

Evidence vulkan_driver_missing(const Report& report, const Gpu& gpu) {
    auto found = with_package(driver_missing(gpu, "vulkan"), gpu, "vulkan");
    for (auto& evidence : found)
        if (evidence.at("package") == Value{kMesaVulkan} && has_mesa(report))
            evidence["package"] = Value{};  // and it has none for this GPU
    return found;
}

Evidence opencl_driver_missing(const Report&, const Gpu& gpu) {
    return with_package(driver_missing(gpu, "opencl"), gpu, "opencl");
}

Evidence stale_manifest(const Report&, const Gpu& gpu) {
    auto found = said(gpu, "driver-missing");
    std::erase_if(found, [](const Value& evidence) { return !names_a_driver(evidence); });
    return found;
}

}  // namespace gpuprobe
