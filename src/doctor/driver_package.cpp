// SPDX-License-Identifier: Apache-2.0
#include "doctor/driver_package.h"

#include <algorithm>
#include <array>

namespace gpuprobe {
namespace {

struct Package {
    std::string_view maker;  ///< of the driver; empty for any
    std::string_view api;
    std::string_view name;
};
constexpr std::array kPackages = std::to_array<Package>({
    {"amd", "kernel", "firmware-amd-graphics"},
    {"amd", "opencl", "mesa-opencl-icd"},
    {"intel", "kernel", "firmware-misc-nonfree"},
    {"intel", "opencl", "intel-opencl-icd"},
    {"nouveau", "opencl", "mesa-opencl-icd"},
    {"nvidia", "kernel", "nvidia-driver"},
    {"nvidia", "opencl", "nvidia-opencl-icd"},
    {"nvidia", "vulkan", "nvidia-vulkan-icd"},
    {"", "vulkan", "mesa-vulkan-drivers"},
});

std::string_view maker_of(const Gpu& gpu) {
    if (gpu.driver.name == "nouveau" || gpu.driver.name == "nova-core")
        return "nouveau";
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

}  // namespace gpuprobe
