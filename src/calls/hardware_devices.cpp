// SPDX-License-Identifier: Apache-2.0
#include "calls/hardware_devices.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe::inline calls {
namespace {

std::optional<std::uint32_t> number_of(const std::optional<std::string>& id) {
    return id ? parse_hex<std::uint32_t>(*id) : std::nullopt;
}

OrtHardwareDevice device_of(const std::string& id,
                            const char* type,
                            const std::optional<std::string>& vendor,
                            const std::optional<PciInfo>& pci) {
    OrtHardwareDevice device{.id = id, .type = type, .vendor = vendor};
    if (!pci)
        return device;
    device.vendor_id = number_of(pci->vendor_id);
    device.device_id = number_of(pci->device_id);
    if (pci->address)
        device.metadata["pci_bus_id"] = text_of(*pci->address);
    return device;
}

OrtHardwareDevice gpu_device(const Gpu& gpu) {
    constexpr std::string_view kCard = "/dev/dri/card";
    auto device = device_of(gpu.id, "GPU", gpu.vendor, gpu.pci);
    if (gpu.kind == GpuKind::Discrete || gpu.kind == GpuKind::Integrated)
        device.metadata["Discrete"] = gpu.kind == GpuKind::Discrete ? "1" : "0";
    for (const auto& node : gpu.nodes)
        if (node.path.starts_with(kCard))
            device.metadata["card_idx"] = node.path.substr(kCard.size());
    return device;
}

}  // namespace

std::vector<OrtHardwareDevice> hardware_devices_of(const Report& report) {
    std::vector<OrtHardwareDevice> devices{{.type = "CPU"}};
    std::ranges::transform(report.gpus, std::back_inserter(devices), gpu_device);
    for (const auto& each : report.accelerators)
        if (each.kind == "npu")
            devices.push_back(device_of(each.id, "NPU", each.vendor, each.pci));
    return devices;
}

}  // namespace gpuprobe::inline calls
