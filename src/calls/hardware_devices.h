// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

/// Devices by the names of ONNX Runtime's OrtHardwareDevice, for programs that hand out execution
/// providers. Sources: microsoft/onnxruntime@04b0758e, onnxruntime/core/session/abi_devices.h for
/// the fields, onnxruntime/core/platform/linux/device_discovery.cc for ids and metadata.
namespace gpuprobe::inline calls {

struct OrtHardwareDevice {
    std::optional<std::string> id = {};  ///< ours; null for the processor
    std::string type = {};               ///< OrtHardwareDeviceType without its lead: CPU, GPU, NPU
    std::optional<std::string> vendor = {};  ///< ours: "nvidia"
    /// PCI ids; null where there are none, or for the processor.
    std::optional<std::uint32_t> vendor_id = {};
    std::optional<std::uint32_t> device_id = {};
    /// card_idx, Discrete ("0", "1") and pci_bus_id, as far as they are known.
    std::map<std::string, std::string> metadata = {};
};
RECORD_MEMBERS(OrtHardwareDevice, id, type, vendor, vendor_id, device_id, metadata)

/// The processor, every GPU in the report's order, and every NPU.
std::vector<OrtHardwareDevice> hardware_devices_of(const Report& report);

}  // namespace gpuprobe::inline calls
