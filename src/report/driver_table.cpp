// SPDX-License-Identifier: Apache-2.0
#include "report/driver_table.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/api_table.h"

namespace gpuprobe::inline report {
namespace {

/// Manifest name prefix, vendor, kernel drivers, and whether it is a software implementation.
constexpr std::array kManifests = std::to_array<KnownDriver>({
    {"amd", "amd", "amdgpu"},
    {"asahi", "apple", "asahi"},
    {"broadcom", "broadcom", "v3d vc4"},
    {"freedreno", "qualcomm", "msm"},
    {"gfxstream", "virtio", "virtio-pci virtio_gpu"},
    {"intel", "intel", "i915 xe"},
    {"lvp", "", "", true},
    {"neo", "intel", "i915 xe"},
    {"nouveau", "nvidia", "nouveau"},
    {"nvidia", "nvidia", "nvidia nvgpu gk20a tegra"},
    {"panfrost", "arm", "panfrost panthor"},
    {"pocl", "", "", true},
    {"powervr", "imagination", "powervr pvr pvrsrvkm"},
    {"radeon", "amd", "amdgpu"},
    {"rocm", "amd", "amdgpu"},
    {"swiftshader", "", "", true},
    {"virtio", "virtio", "virtio-pci virtio_gpu"},
    {"vk_swiftshader", "", "", true},
});

/// Rank of a driver that has no row below.
constexpr int kPlain = 10;
struct Preference {
    std::string_view word;
    int rank;
};
// The first match wins: the words of a layered driver can also name the driver below it.
constexpr std::array kPreferences = std::to_array<Preference>({
    {"dozen", 100},
    {"dzn", 100},
    {"clvk", 90},
    {"pocl", 90},
    {"portable computing language", 90},
    {"rusticl", 30},
    {"nvk", 20},
    {"nouveau", 20},
    {"turnip", 12},
    {"freedreno", 12},
    {"radv", 1},
    {"amd-open-source", 2},
    {"amdvlk", 2},
    {"amd-proprietary", 3},
    {"radeon", 1},
});

bool mentions(std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
}

}  // namespace

std::string_view file_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

KnownDriver known_driver(const ProbeResult& probe) {
    return known_driver(probe.api, probe.driver);
}

KnownDriver known_driver(std::string_view word, std::string_view driver) {
    // CUDA, HIP and other APIs of one vendor have no manifests.
    if (const auto* api = find_api(word); api && !api->vendor.empty())
        return {.vendor = api->vendor, .kernel_drivers = api->kernel_drivers};
    const auto name = lower_case(file_name(driver));
    for (const auto& manifest : kManifests)
        if (name.starts_with(manifest.prefix))
            return manifest;
    return {};
}

bool is_nvk(const ApiDevice& device) {
    const auto words = driver_words(device);
    const auto name = device.facts->name.value_or("");
    return mentions(words, "nvk") || mentions(words, "nouveau") || mentions(name, "NVK");
}

bool is_software(const ApiDevice& device) {
    const auto& facts = *device.facts;
    // 0x10005 is VK_VENDOR_ID_MESA, which only Mesa's software renderers use.
    if (facts.type == DeviceType::Cpu || facts.vendor_id == "10005")
        return true;
    const auto words = driver_words(device);
    const auto text = words + " " + lower_case(facts.name.value_or(""));
    constexpr std::array kRenderers =
        std::to_array<std::string_view>({"llvmpipe", "lavapipe", "softpipe", "swiftshader",
                                         "software rasterizer", "microsoft basic render"});
    if (std::ranges::any_of(kRenderers, [&](auto word) { return mentions(text, word); }))
        return true;
    // pocl also drives GPUs, and reports them as discrete or integrated.
    const bool is_typed =
        facts.type == DeviceType::Discrete || facts.type == DeviceType::Integrated;
    return !is_typed && (mentions(words, "pocl") || mentions(words, "portable computing language"));
}

int preference_of(const ApiDevice& device) {
    const auto words = driver_words(device);
    for (const auto& preference : kPreferences)
        if (mentions(words, preference.word))
            return preference.rank;
    return kPlain;
}

}  // namespace gpuprobe::inline report
