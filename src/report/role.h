// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/machine.h"

namespace gpuprobe {

/// What a function of the machine is to us.
enum class Role {
    Gpu,
    DisplayOnly,  ///< shows pixels and computes nothing: a BMC, a firmware frame buffer
    Accelerator,  ///< an NPU or the like
    Dropped,      ///< neither: a second function of a GPU, a data mover, a display controller
};

/// By kernel driver, vendor and class alone.
///
/// Sources: class codes of pci.ids; node-feature-discovery's device classes; render-capable DRM
/// drivers of Linux 5.17 (driver_features & DRIVER_RENDER) and later. vgem has a render node and is
/// no GPU; AMD Instinct cards are 0380 or 1200; Intel QuickAssist is 0b40.
Role role_of(const HardwareDevice& device);

/// Made of software by a hypervisor, with or without 3D: virtio-gpu, vmwgfx.
bool is_virtual_gpu(const HardwareDevice& device);

/// Handed to a virtual machine: the bound driver serves no one here.
bool is_passed_through(const HardwareDevice& device);

}  // namespace gpuprobe
