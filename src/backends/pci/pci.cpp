// SPDX-License-Identifier: Apache-2.0
#include "backends/pci/pci.h"

#include <algorithm>
#include <span>

extern "C" {
#include <pci/pci.h>
}

#include "backends/pci/library.h"
#include "backends/texts.h"
#include "base/files.h"
#include "base/record.h"

namespace gpuprobe::backends {
namespace {

PciAddress address_of(const pci_dev& device) {
    return {.domain = static_cast<std::uint32_t>(device.domain),
            .bus = device.bus,
            .device = device.dev,
            .function = device.func};
}

/// The BARs that exist. The low bits of an address say what it is.
/// Source: PCI Local Bus Specification 3.0, 6.2.5.1.
Value bars_of(const pci_dev& device) {
    Value::Array list;
    for (std::size_t i = 0; i < std::size(device.size); ++i) {
        if (device.size[i] == 0)
            continue;
        const auto flags = device.base_addr[i] & PCI_ADDR_FLAG_MASK;
        const bool is_io = (flags & 0x1) != 0;
        Value bar{Value::Object{}};
        bar["index"] = i;
        bar["size"] = device.size[i];
        bar["io"] = is_io;
        bar["prefetchable"] = !is_io && (flags & 0x8) != 0;
        list.push_back(std::move(bar));
    }
    return Value{std::move(list)};
}

DeviceFacts facts_of(const pci_dev& device, PciLibrary& library) {
    DeviceFacts facts{
        .name = library.device_name(device),
        .vendor_id = hexadecimal(device.vendor_id, 4),
        .device_id = hexadecimal(device.device_id, 4),
        .pci = address_of(device),
    };
    const bool has_subsystem = device.subsys_vendor_id != 0;
    Value& extra = facts.extra;
    extra["vendor_name"] = to_value(library.vendor_name(device));
    extra["subsystem_name"] = to_value(library.subsystem_name(device));
    extra["subsystem_vendor_id"] =
        has_subsystem ? Value{hexadecimal(device.subsys_vendor_id, 4)} : Value{};
    extra["subsystem_device_id"] =
        has_subsystem ? Value{hexadecimal(device.subsys_id, 4)} : Value{};
    extra["class"] = hexadecimal(device.device_class, 4);
    extra["programming_interface"] = hexadecimal(device.prog_if, 2);
    extra["revision"] = hexadecimal(device.rev_id, 2);
    extra["numa_node"] = device.numa_node >= 0 ? Value{device.numa_node} : Value{};
    extra["bars"] = bars_of(device);
    return facts;
}

/// The devices that may matter here, by address. False when libpci gave up on one.
bool select_devices(PciLibrary& library, std::vector<const pci_dev*>& chosen) {
    for (pci_dev* device = library.devices(); device; device = device->next) {
        if (!library.fill(*device))
            return false;
        if (is_gpu_class(device->device_class) && chosen.size() < kMaxPciDevices)
            chosen.push_back(device);
    }
    std::sort(chosen.begin(), chosen.end(),
              [](const pci_dev* a, const pci_dev* b) { return address_of(*a) < address_of(*b); });
    return true;
}

Answer given_up(const PciLibrary& library) {
    return {.outcome = Outcome::Failed, .note = "libpci: " + library.error().value_or("gave up")};
}

}  // namespace

bool is_gpu_class(std::uint16_t pci_class) {
    const unsigned base = pci_class >> 8;
    return base == 0x03 || base == 0x12 || pci_class == 0x0b40 || pci_class == 0x1180;
}

Answer query_pci_at(const PciSources& sources, Sink& sink) {
    sink.runtime(
        Value{Value::Object{{"loader", Value{"libpci.so.3"}}, {"version", Value{PCILIB_VERSION}}}});
    // Without this folder libpci would end the process instead of answering.
    if (!RootedFiles{}.exists(sources.sysfs + "/devices"))
        return {.outcome = Outcome::Absent, .note = "no PCI on this machine"};
    sink.phase("enumerate");
    PciLibrary library{sources};
    if (!library.scan())
        return given_up(library);
    sink.phase("query");
    std::vector<const pci_dev*> devices;
    if (!select_devices(library, devices))
        return given_up(library);
    for (const pci_dev* device : devices)
        sink.device(facts_of(*device, library));
    return {.note = library.error() ? std::optional{"names: " + *library.error()} : std::nullopt};
}

Answer query_pci(const ProbeTarget&, Sink& sink) {
    return query_pci_at(PciSources{}, sink);
}

}  // namespace gpuprobe::backends
