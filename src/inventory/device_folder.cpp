// SPDX-License-Identifier: Apache-2.0
#include "inventory/device_folder.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "inventory/pci_ids.h"
#include "report/fact_key.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxCompatible = 16;

/// The `compatible` strings from the device tree, most specific first. The file separates them with
/// NULs (Devicetree specification 0.4, section 2.3.1).
std::vector<std::string> compatible_of(const Sysfs& sysfs, const DeviceFolder& folder) {
    std::vector<std::string> names;
    const auto add = [&names](std::string_view name) {
        if (!name.empty() && names.size() < kMaxCompatible)
            names.push_back(scrubbed(name));
    };
    if (const auto list = sysfs.content(folder.path() + "/of_node/compatible"))
        for (const auto name : split(*list, '\0'))
            add(trimmed(name));
    // Without that file, use OF_COMPATIBLE_0, _1, … of the uevent. The loop stops at the first
    // missing number, and does nothing if the file had names.
    for (std::size_t i = 0; names.size() == i && i < kMaxCompatible; ++i)
        if (const auto name = folder.uevent("OF_COMPATIBLE_" + std::to_string(i)))
            add(*name);
    return names;
}

std::optional<bool> flag_from(const std::optional<std::string>& text) {
    if (!text || (*text != "0" && *text != "1"))
        return std::nullopt;
    return *text == "1";
}

std::optional<int> numa_node_of(const DeviceFolder& folder) {
    const auto text = folder.text("numa_node");
    const auto node = text ? parse_number<int>(*text) : std::nullopt;
    return node && *node >= 0 ? node : std::nullopt;  // -1: the firmware does not specify a node
}

/// The number of lanes; nullopt for 0 and 255, which mean that the width is unknown
/// (drivers/pci/pci-sysfs.c).
std::optional<std::uint32_t> lanes(const std::optional<std::string>& text) {
    constexpr std::uint32_t kMost = 32;
    const auto count = text ? parse_number<std::uint32_t>(*text) : std::nullopt;
    return count && *count > 0 && *count <= kMost ? count : std::nullopt;
}

/// The device's type of IOMMU domain, in lower case: "dma", "dma-fq" or "identity". nullopt for the
/// other types in iommu_group_show_type() of drivers/iommu/iommu.c, which don't occur while a
/// driver of this machine uses the device. Source:
/// Documentation/ABI/testing/sysfs-kernel-iommu_groups, "type".
std::optional<std::string> iommu_of(const DeviceFolder& folder) {
    constexpr std::array kTypes{"dma", "dma-fq", "identity"};
    const auto type = lower_case(folder.text("iommu_group/type").value_or(""));
    return std::ranges::find(kTypes, type) == kTypes.end() ? std::nullopt : std::optional{type};
}

/// "pci:0000:01:00.0", or the subsystem and the folder's name: "platform:gpu".
std::string id_of(const DeviceFolder& folder) {
    if (const auto address = folder.pci_address())
        return "pci:" + text_of(*address);
    return folder.subsystem().value_or("other") + ":" + scrubbed(folder.name(), 128);
}

/// Adds the facts that only PCI devices have.
void fill_pci(const Sysfs& sysfs, const DeviceFolder& folder, HardwareDevice& device) {
    device.pci = folder.pci_address();
    if (const auto full = folder.pci_class())
        device.pci_class = full->substr(0, 4);
    const auto ids = pci_ids_of(folder);
    device.vendor_id = ids.vendor;
    device.device_id = ids.device;
    device.subsystem_vendor_id = ids.subsystem_vendor;
    device.subsystem_device_id = ids.subsystem_device;
    if (const auto revision = folder.text("revision"))
        device.revision = hex_digits(*revision, 2);
    device.boot_vga = flag_from(folder.text("boot_vga"));
    if (const auto resource = sysfs.content(folder.path() + "/resource"))
        device.largest_bar = largest_aperture(*resource);
    // Reading the link's width would wake a suspended device.
    if (folder.text("power/runtime_status") == "active") {
        device.link_width = lanes(folder.text("current_link_width"));
        device.max_link_width = lanes(folder.text("max_link_width"));
    }
    if (auto iommu = iommu_of(folder))
        device.extra[kernel_facts::kIommu.name] = std::move(*iommu);
    if (const auto physical = sysfs.link_name(folder.path() + "/physfn"))
        if (const auto address = parse_text(*physical, std::type_identity<PciAddress>{}))
            device.physical_function = "pci:" + text_of(*address);
}

}  // namespace

DeviceFolder::DeviceFolder(const Sysfs& sysfs, std::string path)
    : sysfs_{sysfs}, path_{std::move(path)}, uevent_{sysfs.key_values(path_ + "/uevent")} {}

std::string_view DeviceFolder::name() const {
    const auto last = base_name(path_);
    return last == "device" ? base_name(folder_of(path_)) : last;
}

std::optional<std::string> DeviceFolder::text(std::string_view attribute) const {
    return sysfs_.text(path_ + "/" + std::string{attribute});
}

std::optional<std::string> DeviceFolder::uevent(std::string_view key) const {
    const auto found = uevent_.find(key);
    return found == uevent_.end() || found->second.empty() ? std::nullopt
                                                           : std::optional{found->second};
}

std::optional<std::string> DeviceFolder::subsystem() const {
    // The link is missing in many captures: use the keys, the name or the path of the device
    // instead.
    if (auto linked = sysfs_.link_name(path_ + "/subsystem"))
        return linked;
    if (pci_address() || uevent("PCI_ID"))
        return "pci";
    if (name().starts_with("virtio"))
        return "virtio";
    if (uevent("OF_FULLNAME") || path_.find("/platform/") != std::string::npos)
        return "platform";
    return std::nullopt;
}

std::optional<std::string> DeviceFolder::driver() const {
    if (auto linked = sysfs_.link_name(path_ + "/driver"))
        return linked;
    return uevent("DRIVER");
}

std::optional<std::string> DeviceFolder::modalias() const {
    auto alias = text("modalias");
    return alias ? alias : uevent("MODALIAS");
}

std::optional<PciAddress> DeviceFolder::pci_address() const {
    if (auto address = parse_text(name(), std::type_identity<PciAddress>{}))
        return address;
    // In a capture, the folder may have a name other than the address.
    const auto slot = uevent("PCI_SLOT_NAME");
    return slot ? parse_text(*slot, std::type_identity<PciAddress>{}) : std::nullopt;
}

std::optional<std::string> DeviceFolder::pci_class() const {
    if (const auto attribute = text("class"))
        if (auto digits = hex_digits(*attribute, 6))
            return digits;
    if (const auto key = uevent("PCI_CLASS"))
        if (auto digits = hex_digits(*key, 6))
            return digits;
    return class_from_modalias(modalias().value_or(""));
}

HardwareDevice device_from(const Sysfs& sysfs, const DeviceFolder& folder) {
    const auto subsystem = folder.subsystem();
    HardwareDevice device{.id = id_of(folder),
                          .bus = subsystem == "pci"        ? HardwareBus::Pci
                                 : subsystem == "platform" ? HardwareBus::Platform
                                                           : HardwareBus::Other,
                          .sysfs_path = folder.path(),
                          .numa_node = numa_node_of(folder),
                          .driver = folder.driver(),
                          .modalias = folder.modalias(),
                          .compatible = compatible_of(sysfs, folder),
                          .runtime_status = folder.text("power/runtime_status")};
    if (device.bus == HardwareBus::Pci)
        fill_pci(sysfs, folder, device);
    return device;
}

}  // namespace gpuprobe::inline inventory
