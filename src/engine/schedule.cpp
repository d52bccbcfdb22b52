// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule.h"

#include <array>
#include <string_view>

#include "base/parse.h"
#include "report/trials.h"

namespace gpuprobe {
namespace {

struct DriverVendor {
    std::string_view word;       ///< part of the manifest's file name
    std::string_view vendor_id;  ///< PCI vendor it drives; "" for a software driver
};

/// Source: manifest names of Mesa (src/*/vulkan/meson.build), AMDVLK, the NVIDIA driver, Intel NEO,
/// ROCm and pocl packages.
constexpr std::array<DriverVendor, 16> kDriverVendors = {{{"nvidia", "10de"},
                                                          {"nouveau", "10de"},
                                                          {"nvk", "10de"},
                                                          {"radeon", "1002"},
                                                          {"amdvlk", "1002"},
                                                          {"amd_", "1002"},
                                                          {"amdocl", "1002"},
                                                          {"intel", "8086"},
                                                          {"lvp", ""},
                                                          {"swiftshader", ""},
                                                          {"pocl", ""},
                                                          {"broadcom", "none"},
                                                          {"panfrost", "none"},
                                                          {"freedreno", "none"},
                                                          {"asahi", "none"},
                                                          {"powervr", "none"}}};

std::string_view file_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

/// nullopt: the name does not tell.
std::optional<std::string_view> vendor_of(const ProbeTarget& target) {
    if (target.api == "cuda" || target.api == "nvml")
        return "10de";
    if (target.api == "hip")
        return "1002";
    if (target.api.starts_with("level_zero"))
        return "8086";
    if (target.api == kCpuApi)
        return "";
    const auto name = lower_case(file_name(target.driver));
    for (const auto& entry : kDriverVendors)
        if (name.find(entry.word) != std::string::npos)
            return entry.vendor_id;
    return std::nullopt;
}

}  // namespace

std::vector<const HardwareDevice*> devices_of(const ProbeTarget& target, const Machine& machine) {
    const auto vendor = vendor_of(target);
    std::vector<const HardwareDevice*> devices;
    for (const auto& device : machine.devices)
        if (!vendor || device.vendor_id == std::string{*vendor})
            devices.push_back(&device);
    return devices;
}

std::optional<std::string> sleeper_woken_by(const ProbeTarget& target, const Machine& machine) {
    // drm looks at each node's device itself, right before it would open it.
    if (target.api == "pci" || target.api == "drm")
        return std::nullopt;
    for (const auto* device : devices_of(target, machine))
        if (device->runtime_status == "suspended" || device->runtime_status == "suspending")
            return device->id;
    return std::nullopt;
}

ProbeResult skipped_asleep(const ProbeTarget& target, const std::string& device) {
    return ProbeResult{.api = target.api,
                       .driver = target.driver,
                       .stage = target.stage,
                       .device = target.device,
                       .outcome = Outcome::Skipped,
                       .note = device + " is asleep",
                       .reasons = {because("asleep", {{"device", device}})}};
}

}  // namespace gpuprobe
