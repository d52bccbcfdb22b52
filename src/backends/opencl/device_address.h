// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/opencl/device_info.h"
#include "report/pci_address.h"

namespace gpuprobe::backends {

/// Where an OpenCL device sits on PCI, and which extension says so.
struct DeviceAddress {
    PciAddress address = {};
    std::string_view source = {};
};

/// From cl_khr_pci_bus_info, cl_nv_device_attribute_query or cl_amd_device_attribute_query, in this
/// order, each asked only when it is in `extensions` (sorted). AMD's has no domain and its numbers
/// pass through a signed char; NVIDIA's older drivers have no domain either: 0 then. An all-zero or
/// impossible address is nullopt.
/// Sources: Khronos OpenCL extension specifications; clinfo, src/clinfo.c; NVIDIA and AMD headers.
std::optional<DeviceAddress> device_address(const DeviceInfo& device,
                                            const std::vector<std::string>& extensions);

}  // namespace gpuprobe::backends
