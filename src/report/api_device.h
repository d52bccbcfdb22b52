// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/facts.h"
#include "report/machine.h"

namespace gpuprobe::inline report {

/// A device in the list of one probe, with all data that identifies the device. Borrows from the
/// probes.
struct ApiDevice {
    const ProbeResult* probe = nullptr;
    const DeviceFacts* facts = nullptr;
    /// name of the vendor, which the API or the driver may imply
    std::optional<std::string> vendor = {};
    /// The address that the API reports; absent if the address is all zero and no hardware has that
    /// address.
    std::optional<PciAddress> address = {};
    /// The address that AMD's and Intel's drivers encode in the UUID.
    std::optional<PciAddress> packed = {};
    /// The UUID, which is comparable only within its driver family; absent if two devices of the
    /// probe share the UUID.
    std::optional<std::string> uuid = {};
    std::optional<std::string> luid = {};  ///< LUID: 16 hexadecimal digits, not all zero
};

/// Every device in every "query" probe, in an order that depends only on the content of the
/// devices.
std::vector<ApiDevice> listed_devices(const Machine& machine,
                                      const std::vector<const ProbeResult*>& probes);

/// The probes sorted by API, driver, stage and device. If several probes have the same API, driver,
/// stage and device, only the newest is kept.
std::vector<const ProbeResult*> sorted_probes(const std::vector<ProbeResult>& probes);

/// The words that identify a driver: manifest file name, driver name and platform in lower case,
/// separated by spaces. The device's name is never included.
std::string driver_words(const ApiDevice& device);

// Device UUIDs: which drivers share a UUID for a device, and which data a UUID encodes. Only the
// drivers listed here agree on the UUID of a device.
//
// NVIDIA's own driver returns one opaque UUID from Vulkan, OpenCL, CUDA and NVML, in the byte
// order of "GPU-xxxxxxxx-…" (seen on an H200, driver 580.159.04). ROCm, KFD and sysfs share the
// 64-bit unique_id. Intel's drivers share one layout, which contains the ids and the address. RADV,
// radeonsi, rusticl and AMDVLK encode only the address (Mesa, ac_gpu_info.c; xgl,
// vk_physical_device.cpp).

constexpr std::size_t kUuidDigits = 32;

/// The hexadecimal digits of a UUID (32) or an AMD serial number (16) in lower case, without "GPU-"
/// and dashes. nullopt if the string does not identify a device: all bits zero or one, masked
/// ("XXXXXXXX-…", "GPU-XX"), "N/A", "Unknown", or any other length.
std::optional<std::string> uuid_digits(std::string_view text);

/// A key such as "nvidia:7e6110…". Two APIs have the same key if and only if both list the same
/// device through drivers of one family. nullopt if the UUID is zero, malformed or unsupported, or
/// if the driver belongs to none of the families above.
std::optional<std::string> family_uuid(const ApiDevice& device);
std::optional<std::string> family_uuid(const HardwareDevice& device);

// User-space drivers, recognized by the names of their manifests and by the names that they
// report.

/// The information in a manifest's file name. An empty `vendor` means a driver for any GPU, or an
/// unknown driver.
struct KnownDriver {
    std::string_view prefix = {};  ///< prefix of the file name
    std::string_view vendor = {};  ///< vendor name as in report/hardware.h
    /// Kernel drivers that the driver works with, separated by spaces.
    std::string_view kernel_drivers = {};
    bool is_software = false;
};

/// The entry for a probe's driver. If only one vendor provides an API, the API's driver is known
/// without a manifest.
KnownDriver known_driver(std::string_view api, std::string_view manifest);
/// The entry for the driver that was probed.
KnownDriver known_driver(const ProbeResult& probe);

/// The last component of a path.
std::string_view file_name(std::string_view path);

/// Whether the driver is NVK, Mesa's Vulkan driver for NVIDIA GPUs. NVK's UUIDs differ from the
/// UUIDs of NVIDIA's own driver.
bool is_nvk(const ApiDevice& device);

/// Whether the device computes on the CPU instead of on a GPU, judged by type, driver, or the
/// renderer behind a virtual device. Source: VkDriverId in the Vulkan registry; Mesa's vendor id
/// VK_VENDOR_ID_MESA.
bool is_software(const ApiDevice& device);

/// Rank among several drivers of one API for the same GPU; lower is better. A vendor's usual driver
/// comes first (RADV before AMDVLK before AMD's proprietary driver; NVIDIA's before NVK), and
/// native drivers come before layered ones (pocl, clvk, dozen).
int preference_of(const ApiDevice& device);

}  // namespace gpuprobe::inline report
