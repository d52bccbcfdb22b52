// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "report/api_device.h"
#include "report/machine.h"

/// Device UUIDs: who agrees with whom, and what they hide. No other pair of drivers agrees.
///
/// NVIDIA's own driver returns one opaque UUID from Vulkan, OpenCL, CUDA and NVML, in the byte
/// order of "GPU-xxxxxxxx-…" (seen on an H200, driver 580.159.04). ROCm, KFD and sysfs share the
/// 64-bit unique_id. Intel's drivers share a layout of ids and address. RADV, radeonsi, rusticl and
/// AMDVLK pack the address alone (Mesa, ac_gpu_info.c; xgl, vk_physical_device.cpp).
namespace gpuprobe::inline report {

constexpr std::size_t kUuidDigits = 32;

/// The hexadecimal digits of a UUID (32) or an AMD serial (16) in lower case, without "GPU-" and
/// dashes. nullopt for what names no device: all bits zero or one, masked ("XXXXXXXX-…",
/// "GPU-XX"), "N/A", "Unknown", or of any other length.
std::optional<std::string> uuid_digits(std::string_view text);

/// A text that equals that of another API exactly when one driver family means one device, such as
/// "nvidia:7e6110…". nullopt for a zero, malformed or unsupported UUID, and outside those families.
std::optional<std::string> family_uuid(const ApiDevice& device);
std::optional<std::string> family_uuid(const HardwareDevice& device);

/// The address that AMD's drivers (four native-endian u32: domain, bus, device, function) and
/// Intel's (vendor, device, revision and domain as little-endian u16, then bus, device, function;
/// compute-runtime, generateUuidFromPciBusInfo) put in their UUIDs. nullopt when it is none.
std::optional<PciAddress> packed_address(const ApiDevice& device);

}  // namespace gpuprobe::inline report
