// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// True for classes whose functions may be a GPU, a display or an accelerator: 03xx, 0001 (displays
/// that predate the class code), 0b40, and 12xx except 1201 (SDXI, a data mover). `pci_class`
/// contains at least the class and the subclass in hexadecimal digits. Source:
/// include/linux/pci_ids.h.
bool is_candidate_class(std::string_view pci_class);

/// True if the table of chips lists the device as a GPU or an accelerator. This check is needed for
/// accelerators whose class is system peripheral, signal processor or communication controller.
/// `vendor` and `device` consist of hexadecimal digits.
bool is_known_device(std::string_view vendor, std::string_view device);

/// The functions below /sys/bus/pci/devices that have a candidate class, that the table of chips
/// lists, or that are in `claimed`. `claimed` contains the resolved folders of the devices that
/// have a DRM or accel node; these devices are returned whatever their class is.
///
/// Old integrated graphics have a second function in addition to the display. A function above 0
/// with the class "other display" (0380) is left out if function 0 of its slot is a display. Such a
/// function stays if it is a virtual function (physfn) or has DRM nodes.
std::vector<HardwareDevice> pci_functions(const Sysfs& sysfs, const std::set<std::string>& claimed);

/// Adds the platform GPUs and accelerators that have no DRM node and whose driver is in the table
/// of chips: Arm's and Qualcomm's proprietary drivers (mali, kgsl-3d), Rockchip's NPU, and Tegra's
/// integrated GPU with NVIDIA's driver, which registers as "gk20a" on every generation (NVIDIA
/// linux-nvgpu, os/linux/module.c).
///
/// On some SoCs, the DRM device is only the display controller, and the GPU is a component of the
/// DRM device. If the GPU is a component of the DRM device, the component's compatible strings are
/// appended to those of the DRM device: for example, Qualcomm's display controller owns the render
/// node of its Adreno (drivers/gpu/drm/msm/msm_drv.c).
void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices);

/// Adds the video codecs of SoCs with their V4L2 nodes: the devices in /sys/class/video4linux whose
/// driver is in the table of chips as an accelerator of the kind "video". Cameras and other devices
/// are left out.
void add_video_codecs(const Sysfs& sysfs,
                      const DeviceNodes& nodes,
                      std::vector<HardwareDevice>& devices);

}  // namespace gpuprobe::inline inventory
