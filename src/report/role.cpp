// SPDX-License-Identifier: Apache-2.0
#include "report/role.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace gpuprobe {
namespace {

using Words = std::span<const std::string_view>;

bool is_any_of(std::string_view word, Words words) {
    return std::ranges::find(words, word) != words.end();
}

constexpr std::array kDisplayDrivers = std::to_array<std::string_view>({"ast",
                                                                        "bochs",
                                                                        "bochs-drm",
                                                                        "cirrus",
                                                                        "cirrus-qemu",
                                                                        "efi-framebuffer",
                                                                        "efidrm",
                                                                        "efifb",
                                                                        "evdi",
                                                                        "gm12u320",
                                                                        "gud",
                                                                        "hibmc",
                                                                        "hibmc-drm",
                                                                        "hyperv_drm",
                                                                        "hyperv_fb",
                                                                        "mgag200",
                                                                        "ofdrm",
                                                                        "offb",
                                                                        "qxl",
                                                                        "simple-framebuffer",
                                                                        "simpledrm",
                                                                        "simplefb",
                                                                        "udl",
                                                                        "vboxvideo",
                                                                        "vesa-framebuffer",
                                                                        "vesadrm",
                                                                        "vesafb",
                                                                        "vga16fb",
                                                                        "xenfb"});
constexpr std::array kNoDevices = std::to_array<std::string_view>(
    {"amdgpu_xcp", "amdgpu_xcp_drv", "faux_driver", "vgem", "vkms"});
constexpr std::array kAcceleratorDrivers = std::to_array<std::string_view>(
    {"amdxdna", "ethosu", "habanalabs", "intel_vpu", "qaic", "rocket", "tenstorrent"});
constexpr std::array kPlatformGpuDrivers =
    std::to_array<std::string_view>({"asahi", "etnaviv", "gk20a", "lima", "msm", "nvgpu",
                                     "panfrost", "panthor", "powervr", "pvr", "tegra", "v3d"});
constexpr std::array kPassthroughDrivers =
    std::to_array<std::string_view>({"pci-stub", "vfio-pci", "xen-pciback"});
constexpr std::array kVirtualDrivers =
    std::to_array<std::string_view>({"virtio-pci", "virtio_gpu", "virtio-gpu", "vmwgfx"});

/// Management controllers and hypervisors' frame buffers. An empty device is any of that vendor.
struct DisplayId {
    std::string_view vendor;
    std::string_view device = {};
};
constexpr std::array kDisplayIds = std::to_array<DisplayId>({
    {"1002", "515e"},  // ES1000, on server boards
    {"1013"},          // Cirrus Logic
    {"102b"},          // Matrox G200 in BMCs
    {"1234", "1111"},  // QEMU standard VGA
    {"126f"},          // Silicon Motion
    {"1414", "5353"},  // Hyper-V
    {"15ad"},          // VMware, when vmwgfx is not bound
    {"18ca"},          // XGI Volari
    {"19e5", "1711"},  // Hi1710 BMC
    {"1a03"},          // ASPEED
    {"1b36", "0100"},  // QXL
    {"80ee", "beef"},  // VirtualBox
});

bool is_display_id(const HardwareDevice& device) {
    return std::ranges::any_of(kDisplayIds, [&](const DisplayId& id) {
        return device.vendor_id == id.vendor &&
               (id.device.empty() || device.device_id == id.device);
    });
}

bool has_class(const HardwareDevice& device, std::string_view prefix) {
    return device.pci_class && device.pci_class->starts_with(prefix);
}

bool makes_compute_gpus(const HardwareDevice& device) {
    return device.vendor_id == "1002" || device.vendor_id == "10de";
}

bool is_xeon_phi(const HardwareDevice& device) {
    return device.vendor_id == "8086" && device.device_id && device.device_id->starts_with("225");
}

/// "Display controller, other" on a later function is the second half of an integrated GPU, unless
/// it is a virtual function or something drives it.
bool is_auxiliary(const HardwareDevice& device) {
    return has_class(device, "0380") && device.pci && device.pci->function > 0 &&
           !device.physical_function && !device.is_drm && !is_passed_through(device);
}

Role role_by_class(const HardwareDevice& device) {
    const Role with_render = device.drm.render ? Role::Gpu : Role::Dropped;
    if (has_class(device, "03"))
        return is_auxiliary(device) ? Role::Dropped : Role::Gpu;
    if (has_class(device, "0001"))
        return Role::DisplayOnly;
    if (has_class(device, "0b40")) {
        if (is_xeon_phi(device))
            return Role::Accelerator;
        return makes_compute_gpus(device) ? Role::Gpu : with_render;
    }
    if (has_class(device, "1200")) {
        const bool is_test_device = device.vendor_id == "1234" || device.vendor_id == "1b36";
        if (is_test_device)
            return Role::Dropped;
        return makes_compute_gpus(device) || device.drm.render ? Role::Gpu : Role::Accelerator;
    }
    return with_render;
}

}  // namespace

Role role_of(const HardwareDevice& device) {
    const std::string_view driver = device.driver ? *device.driver : std::string_view{};
    if (is_any_of(driver, kNoDevices))
        return Role::Dropped;
    if (device.is_accel || is_any_of(driver, kAcceleratorDrivers))
        return Role::Accelerator;
    if (is_any_of(driver, kDisplayDrivers))
        return Role::DisplayOnly;
    if (is_display_id(device) && !is_any_of(driver, kVirtualDrivers))
        return Role::DisplayOnly;
    if (device.bus == HardwareBus::Pci)
        return role_by_class(device);
    const bool is_gpu = device.drm.render || is_any_of(driver, kPlatformGpuDrivers);
    return is_gpu ? Role::Gpu : Role::Dropped;
}

bool is_virtual_gpu(const HardwareDevice& device) {
    return (device.driver && is_any_of(*device.driver, kVirtualDrivers)) ||
           (device.vendor_id == "1af4" && device.device_id == "1050");
}

bool is_passed_through(const HardwareDevice& device) {
    return device.driver && is_any_of(*device.driver, kPassthroughDrivers);
}

}  // namespace gpuprobe
