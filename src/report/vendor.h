// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/machine.h"

/// Vendors as words: "nvidia", "amd", "intel", "apple", "arm", "qualcomm", "broadcom",
/// "imagination", "vivante", "mthreads"; and for virtual and management display adapters "virtio",
/// "vmware", "microsoft", "aspeed", "matrox", "huawei", "cirrus", "qemu".
namespace gpuprobe {

/// The word for a PCI vendor id (four lower-case hexadecimal digits); nullopt when it has none.
/// Source: pci.ids.
std::optional<std::string> vendor_word(std::string_view vendor_id);

/// The vendor of a device, by its id, or by its kernel driver where the bus has no ids.
/// Source of the drivers: drivers/gpu/drm in Linux.
std::optional<std::string> vendor_of(const HardwareDevice& device);

/// The only vendor whose devices an API lists ("cuda" → "nvidia"); nullopt where it serves any.
std::optional<std::string> vendor_of_api(std::string_view api);

}  // namespace gpuprobe
