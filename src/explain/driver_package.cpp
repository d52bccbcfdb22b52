// SPDX-License-Identifier: Apache-2.0
#include "explain/driver_package.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/parse.h"

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

}  // namespace gpuprobe
