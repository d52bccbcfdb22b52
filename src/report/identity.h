// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The UUIDs of a GPU as each family of APIs writes them, and its DRM numbers. A UUID that does not
/// identify a device (see uuid_digits) is treated as unknown, because such a UUID in a selector
/// would end a list of devices or match another device.
Identity identity_of(const Subject& subject);

/// Removes every UUID that two GPUs share, because NVK up to Mesa 24.1 gives all cards of a model
/// the same UUID. Then sets `canonical_uuid` from the remaining UUIDs.
void settle_uuids(std::vector<Gpu>& gpus);

/// The PCI ids and the PCI address, which come from the APIs if the hardware is hidden. nullopt if
/// the device isn't on PCI.
std::optional<PciInfo> pci_of(const Subject& subject);

/// Name of the GPU: an API's marketing name (in the order of ApiTrust::name, without Mesa's code
/// name in parentheses), the model from the kernel driver or libdrm's table, "Vendor Device" from
/// pci.ids, or "10de:2335". nullopt if the ids are unknown too.
std::optional<std::string> name_of(const Subject& subject);

/// The fact `title`: the short name for screens and menus, such as "AMD Radeon RX 7900 XT". For the
/// pci.ids name "Navi 31 [Radeon RX 7900 XT]", the title is the part in brackets, without trademark
/// signs and a company's full name, and with the vendor in front unless the name contains the
/// vendor. nullopt if only ids are known. If a report is from a version without the fact `title`,
/// the title is computed from the name.
std::optional<std::string> title_of(const Gpu& gpu);

/// The vendor's name; see report/hardware.h.
std::optional<std::string> vendor_of(const Subject& subject);

// The kernel driver and the device nodes of a GPU, from sysfs or, if sysfs is hidden, implied by
// the APIs.

/// The bound driver. If the hardware is hidden, the driver is `nvidia` if NVML or CUDA lists the
/// GPU as a discrete GPU (Jetsons use nvgpu), and `amdgpu` if HIP lists it; null on WSL, which has
/// neither driver. The version of NVIDIA's driver may also come from NVML or from NVIDIA's Vulkan
/// driver, because both refuse to work with a kernel module of another version. (On WSL, this is
/// the version of the Windows driver.)
DriverInfo driver_of(const Subject& subject, const Host& host);

/// The device nodes from sysfs. If sysfs is hidden, returns the nodes whose numbers the APIs report
/// (DRM's numbers, NVML's minor number). It is unknown whether these nodes are accessible.
std::vector<DeviceNode> nodes_of(const Subject& subject, const Host& host);

}  // namespace gpuprobe::inline report
