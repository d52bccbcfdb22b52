// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device_address.h"

#include <algorithm>

namespace gpuprobe::backends {
namespace {

std::optional<PciAddress> khronos_address(const DeviceInfo& device) {
    const auto info = device.value<cl_device_pci_bus_info_khr>(CL_DEVICE_PCI_BUS_INFO_KHR);
    if (!info)
        return std::nullopt;
    return pci_address_unless_zero(info->pci_domain, info->pci_bus, info->pci_device,
                                   info->pci_function);
}

std::optional<PciAddress> nvidia_address(const DeviceInfo& device) {
    const auto bus = device.value<cl_uint>(kPciBusIdNv);
    const auto slot = device.value<cl_uint>(kPciSlotIdNv);
    if (!bus || !slot)
        return std::nullopt;
    const auto domain = device.value<cl_uint>(kPciDomainIdNv).value_or(0);
    return pci_address_unless_zero(domain, *bus, *slot >> 3, *slot & 7);
}

std::optional<PciAddress> amd_address(const DeviceInfo& device) {
    const auto topology = device.value<cl_device_topology_amd>(CL_DEVICE_TOPOLOGY_AMD);
    if (!topology || topology->raw.type != CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
        return std::nullopt;
    const auto unsigned_of = [](cl_char number) {
        return static_cast<cl_uint>(static_cast<unsigned char>(number));
    };
    const auto& pcie = topology->pcie;
    return pci_address_unless_zero(0, unsigned_of(pcie.bus), unsigned_of(pcie.device),
                                   unsigned_of(pcie.function));
}

}  // namespace

std::optional<DeviceAddress> device_address(const DeviceInfo& device,
                                            const std::vector<std::string>& extensions) {
    struct Route {
        std::string_view extension;
        std::optional<PciAddress> (*ask)(const DeviceInfo&);
    };
    constexpr Route kRoutes[] = {
        {"cl_khr_pci_bus_info", khronos_address},
        {"cl_nv_device_attribute_query", nvidia_address},
        {"cl_amd_device_attribute_query", amd_address},
    };
    for (const Route& route : kRoutes) {
        if (!std::binary_search(extensions.begin(), extensions.end(), route.extension))
            continue;
        if (const auto address = route.ask(device))
            return DeviceAddress{.address = *address, .source = route.extension};
    }
    return std::nullopt;
}

}  // namespace gpuprobe::backends
