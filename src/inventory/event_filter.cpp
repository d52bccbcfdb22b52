// SPDX-License-Identifier: Apache-2.0
#include "inventory/event_filter.h"

#include <algorithm>
#include <array>

#include "inventory/pci_functions.h"
#include "inventory/sysfs.h"

namespace gpuprobe {
namespace {

/// Modules whose coming and going changes a device's driver, version or nodes. nvidia* is matched
/// by prefix: nvidia_uvm has no device whose event would tell.
constexpr std::array<std::string_view, 24> kGpuModules{
    "amdgpu",   "amdkcl",    "amdxdna",  "asahi",    "etnaviv",    "habanalabs",
    "i915",     "intel_vpu", "lima",     "msm",      "nouveau",    "nova_core",
    "nova_drm", "nvgpu",     "panfrost", "panthor",  "powervr",    "qaic",
    "radeon",   "tegra_drm", "v3d",      "vfio_pci", "virtio_gpu", "xe"};

bool is_gpu_module(std::string_view name) {
    return name.starts_with("nvidia") || std::ranges::find(kGpuModules, name) != kGpuModules.end();
}

}  // namespace

bool concerns_gpus(const KernelEvent& event) {
    if (event.subsystem == "drm")
        return !event.is_connector_change &&
               (event.device_type.empty() || event.device_type == "drm_minor");
    if (event.subsystem == "accel" || event.subsystem == "kfd")
        return true;
    if (event.subsystem == "module")
        return is_gpu_module(base_name(event.sysfs_path));
    if (event.subsystem != "pci")
        return false;
    // Without a class it can't be ruled out: some kernels leave it out of "remove".
    return event.pci_class.empty() ||
           is_candidate_class(hex_digits(event.pci_class, 6).value_or(""));
}

}  // namespace gpuprobe
