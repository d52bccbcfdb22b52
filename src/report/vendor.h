// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/machine.h"

/// Vendor names as in the chip table: "nvidia", "amd", "intel", "apple", "arm" …
namespace gpuprobe::inline report {

/// The name for a PCI vendor id (four lower-case hexadecimal digits); nullopt if the chip table has
/// no such vendor.
std::optional<std::string> vendor_word(std::string_view vendor_id);

/// Whether that vendor makes GPUs, and not only displays or accelerators.
bool makes_gpus(std::string_view vendor_id);

/// Whether that vendor makes accelerators but not GPUs.
bool makes_accelerators_alone(std::string_view vendor_id);

/// The vendor of a device by its PCI vendor id. On a bus without vendor ids: by the device tree's
/// `compatible`, or else by the kernel driver.
std::optional<std::string> vendor_of(const HardwareDevice& device);

/// The only vendor whose devices an API lists ("cuda" → "nvidia"); nullopt if the API supports any.
std::optional<std::string> vendor_of_api(std::string_view api);

}  // namespace gpuprobe::inline report
