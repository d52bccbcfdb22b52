// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/machine.h"

/// Vendors as the words of the table of chips: "nvidia", "amd", "intel", "apple", "arm" …
namespace gpuprobe::inline report {

/// The word for a PCI vendor id (four lower-case hexadecimal digits); nullopt when it has none.
std::optional<std::string> vendor_word(std::string_view vendor_id);

/// Whether that vendor makes GPUs, not displays or accelerators alone.
bool makes_gpus(std::string_view vendor_id);

/// Whether that vendor makes accelerators and no GPUs.
bool makes_accelerators_alone(std::string_view vendor_id);

/// The vendor of a device, by its id; where the bus has none, by what the device tree calls it or
/// by its kernel driver.
std::optional<std::string> vendor_of(const HardwareDevice& device);

/// The only vendor whose devices an API lists ("cuda" → "nvidia"); nullopt where it serves any.
std::optional<std::string> vendor_of_api(std::string_view api);

}  // namespace gpuprobe::inline report
