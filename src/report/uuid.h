// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "report/api_device.h"
#include "report/machine.h"

/// Device UUIDs: which drivers share a UUID for a device, and which data a UUID encodes. No drivers
/// agree except those listed here.
///
/// NVIDIA's own driver returns one opaque UUID from Vulkan, OpenCL, CUDA and NVML, in the byte
/// order of "GPU-xxxxxxxx-…" (seen on an H200, driver 580.159.04). ROCm, KFD and sysfs share the
/// 64-bit unique_id. Intel's drivers share a layout of ids and address. RADV, radeonsi, rusticl and
/// AMDVLK encode only the address (Mesa, ac_gpu_info.c; xgl, vk_physical_device.cpp).
namespace gpuprobe::inline report {

constexpr std::size_t kUuidDigits = 32;

/// The hexadecimal digits of a UUID (32) or an AMD serial number (16) in lower case, without "GPU-"
/// and dashes. nullopt if the text does not identify a device: all bits zero or one, masked
/// ("XXXXXXXX-…", "GPU-XX"), "N/A", "Unknown", or any other length.
std::optional<std::string> uuid_digits(std::string_view text);

/// A key that two APIs share exactly if they mean the same device of one driver family, such as
/// "nvidia:7e6110…". nullopt for a zero, malformed or unsupported UUID, and outside these families.
std::optional<std::string> family_uuid(const ApiDevice& device);
std::optional<std::string> family_uuid(const HardwareDevice& device);

/// The address that AMD's and Intel's drivers encode in their UUIDs. AMD: four native-endian u32
/// (domain, bus, device, function). Intel: vendor, device, revision and domain as little-endian
/// u16, then bus, device, function (compute-runtime, generateUuidFromPciBusInfo). nullopt if the
/// UUID does not contain a valid address.
std::optional<PciAddress> packed_address(const ApiDevice& device);

}  // namespace gpuprobe::inline report
