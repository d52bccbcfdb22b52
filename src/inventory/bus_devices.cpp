// SPDX-License-Identifier: Apache-2.0
#include "inventory/bus_devices.h"

#include <algorithm>
#include <array>
#include <set>

#include "inventory/sysfs.h"
#include "knowledge/chips.h"
#include "report/hardware.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxFunctions = 512;
constexpr const char* kFolder = "/sys/bus/pci/devices";

/// A PCI function, and whether a DRM or accel node belongs to this function.
struct Function {
    HardwareDevice device = {};
    bool claimed = false;
};

bool same_slot(const PciAddress& left, const PciAddress& right) {
    return left.domain == right.domain && left.bus == right.bus && left.device == right.device;
}

/// True for the second function of an integrated GPU, which has the class "display controller,
/// other" and a number above 0, unless it is a virtual function, has a DRM or accel node, or is in
/// the table of chips.
bool is_auxiliary(const Function& function, const std::vector<Function>& all) {
    const auto& device = function.device;
    if (function.claimed || device.physical_function || device.pci_class != "0380" || !device.pci ||
        device.pci->function == 0 ||
        is_known_device(device.vendor_id.value_or(""), device.device_id.value_or("")))
        return false;
    return std::ranges::any_of(all, [&device](const Function& other) {
        return other.device.pci && other.device.pci->function == 0 &&
               same_slot(*other.device.pci, *device.pci) && other.device.pci_class &&
               other.device.pci_class->starts_with("03");
    });
}

/// True for the most frequent classes of functions that don't compute: storage, network, sound, USB
/// and the usual bridges. Checking the ids of a function would require reading two more files.
bool is_something_else(std::string_view pci_class) {
    constexpr std::array kBases = std::to_array<std::string_view>({"01", "02", "04", "0c"});
    constexpr std::array kBridges = std::to_array<std::string_view>({"0600", "0601", "0604"});
    return std::ranges::find(kBases, pci_class.substr(0, 2)) != kBases.end() ||
           std::ranges::find(kBridges, pci_class.substr(0, 4)) != kBridges.end();
}

/// True if the class is a candidate, or if the table of chips lists the device's ids: accelerators
/// have many classes, such as bridge (Hygon), communication controller (Kunlunxin), system
/// peripheral (Coral) and signal processor (AMD's NPU).
bool may_be_device(const Sysfs& sysfs, const std::string& path, std::string_view pci_class) {
    if (is_candidate_class(pci_class))
        return true;
    if (is_something_else(pci_class))
        return false;
    const auto vendor = hex_digits(sysfs.text(path + "/vendor").value_or(""), 4);
    const auto device = hex_digits(sysfs.text(path + "/device").value_or(""), 4);
    return vendor && device && is_known_device(*vendor, *device);
}

/// All functions that may be a device, including auxiliary functions.
std::vector<Function> candidates(const Sysfs& sysfs, const std::set<std::string>& claimed) {
    std::vector<Function> found;
    for (const auto& name : sysfs.names(kFolder)) {
        const auto link = std::string{kFolder} + "/" + name;
        const auto path = sysfs.resolved(link);
        if (!path)
            continue;
        const bool is_claimed = claimed.contains(*path);
        const auto class_text = sysfs.text(*path + "/class");
        const auto class_digits = class_text ? hex_digits(*class_text, 6) : std::nullopt;
        if (!is_claimed && class_digits && !may_be_device(sysfs, *path, *class_digits))
            continue;  // fast path: for most functions, only this one file is read
        // A capture may lack the `class` file, so DeviceFolder derives the class from the uevent or
        // modalias.
        const DeviceFolder folder{sysfs, *path};
        if (!is_claimed && !may_be_device(sysfs, *path, folder.pci_class().value_or("")))
            continue;
        if (found.size() == kMaxFunctions) {
            sysfs.note(std::string{kFolder} + ": too many display functions");
            break;
        }
        found.push_back({.device = device_from(sysfs, folder), .claimed = is_claimed});
    }
    return found;
}

}  // namespace

bool is_candidate_class(std::string_view pci_class) {
    if (pci_class.size() < 4)
        return false;
    const auto base = pci_class.substr(0, 2);
    const auto both = pci_class.substr(0, 4);
    return base == "03" || both == "0001" || both == "0b40" || (base == "12" && both != "1201");
}

bool is_known_device(std::string_view vendor, std::string_view device) {
    const auto* chip = knowledge::Chips::current().find(vendor, device, "");
    return chip &&
           (chip->role == knowledge::Role::Gpu || chip->role == knowledge::Role::Accelerator);
}

std::vector<HardwareDevice> pci_functions(const Sysfs& sysfs,
                                          const std::set<std::string>& claimed) {
    auto all = candidates(sysfs, claimed);
    // Decide about all functions before any of them is moved, because is_auxiliary() compares
    // functions with each other.
    std::vector<bool> skip;
    for (const auto& function : all)
        skip.push_back(is_auxiliary(function, all));
    std::vector<HardwareDevice> devices;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!skip[i])
            devices.push_back(std::move(all[i].device));
    return devices;
}

namespace {

constexpr std::size_t kMaxPlatformDevices = 16;
constexpr const char* kDriversFolder = "/sys/bus/platform/drivers";
constexpr const char* kDevicesFolder = "/sys/bus/platform/devices";
/// Drivers whose device is separate from the DRM devices of the same vendor.
constexpr std::array<std::string_view, 2> kDriversWithoutNodes{"gk20a", "nvgpu"};

/// True for a link to a device. A driver's folder contains a link for each device, and also bind,
/// unbind, module and uevent.
bool is_device_link(const Sysfs& sysfs, const std::string& path) {
    const auto name = base_name(path);
    return name != "module" && name != "bind" && name != "unbind" && name != "uevent" &&
           sysfs.link_name(path).has_value();
}

bool is_computing(const knowledge::Chip* chip) {
    using knowledge::Role;
    return chip && (chip->role == Role::Gpu || chip->role == Role::Accelerator);
}

/// True for drivers of GPUs or accelerators without DRM or accel nodes. If the vendor also has a
/// platform device with DRM or accel nodes, the driver's device is a component of that platform
/// device, which is found by its nodes.
bool serves_without_nodes(const knowledge::Chip& driver,
                          const std::vector<HardwareDevice>& devices) {
    return is_computing(&driver) &&
           std::ranges::none_of(devices, [&](const HardwareDevice& device) {
               return device.bus == HardwareBus::Platform && (device.is_drm || device.is_accel) &&
                      vendor_of(device) == driver.vendor;
           });
}

bool always_apart(std::string_view driver) {
    return std::ranges::find(kDriversWithoutNodes, driver) != kDriversWithoutNodes.end();
}

/// The devices bound to a driver, sorted by name.
std::vector<HardwareDevice> devices_of(const Sysfs& sysfs, const std::string& driver) {
    std::vector<HardwareDevice> found;
    const auto folder = std::string{kDriversFolder} + "/" + driver;
    for (const auto& name : sysfs.names(folder)) {
        const auto link = folder + "/" + name;
        const auto path = is_device_link(sysfs, link) ? sysfs.resolved(link) : std::nullopt;
        if (path && found.size() < kMaxPlatformDevices)
            found.push_back(device_from(sysfs, DeviceFolder{sysfs, *path}));
    }
    return found;
}

/// Whether the device is one of several cores that are used together through one node, such as the
/// cores of the RK3588's NPU.
bool is_core(const HardwareDevice& device) {
    const auto* chip = knowledge::Chips::current().find_compatible(device.compatible);
    return chip && chip->part == knowledge::Part::Core;
}

/// Removes all cores except the first core of each chip.
void join_cores(std::vector<HardwareDevice>& devices) {
    std::set<std::vector<std::string>> seen;
    std::erase_if(devices, [&seen](const HardwareDevice& device) {
        return is_core(device) && !seen.insert(device.compatible).second;
    });
}

/// Appends the compatible strings of a component to the device that has nodes and contains the
/// component. If the device that contains the component has no driver, it gets the component's
/// driver. Does nothing if several devices might contain the component, because the result would be
/// uncertain.
void add_component(const HardwareDevice& component, std::vector<HardwareDevice>& devices) {
    const auto& chips = knowledge::Chips::current();
    const auto is_holder = [&](const HardwareDevice& device) {
        return device.bus == HardwareBus::Platform &&
               (is_core(component) ? device.is_accel : device.is_drm) &&
               vendor_of(device) == vendor_of(component) &&
               !chips.find_compatible(device.compatible);
    };
    if (std::ranges::count_if(devices, is_holder) != 1 ||
        !chips.find_compatible(component.compatible))
        return;
    const auto holder = std::ranges::find_if(devices, is_holder);
    holder->compatible.insert(holder->compatible.end(), component.compatible.begin(),
                              component.compatible.end());
    if (!holder->driver)
        holder->driver = component.driver;
}

/// Devices of the device tree that have no driver. (Linux does not create devices for nodes that
/// are marked as disabled.)
std::vector<HardwareDevice> undriven_devices(const Sysfs& sysfs) {
    std::vector<HardwareDevice> found;
    for (const auto& name : sysfs.names(kDevicesFolder)) {
        const auto path = sysfs.resolved(std::string{kDevicesFolder} + "/" + name);
        if (!path || sysfs.link_name(*path + "/driver"))
            continue;
        const DeviceFolder folder{sysfs, *path};
        // Most platform devices are neither GPUs nor accelerators, so only the file with the
        // compatible strings is read at first.
        if (!is_computing(
                knowledge::Chips::current().find_compatible(compatible_of(sysfs, folder))))
            continue;
        auto device = device_from(sysfs, folder);
        if (!device.driver)
            found.push_back(std::move(device));
    }
    return found;
}

}  // namespace

void add_platform_devices(const Sysfs& sysfs, std::vector<HardwareDevice>& devices) {
    const auto is_listed = [&devices](const HardwareDevice& device) {
        return std::ranges::find(devices, device.sysfs_path, &HardwareDevice::sysfs_path) !=
               devices.end();
    };
    std::vector<HardwareDevice> apart = undriven_devices(sysfs);
    std::erase_if(apart, is_listed);
    // The devices of each driver are either GPUs without DRM nodes, or components of a DRM device.
    for (const auto& driver : sysfs.names(kDriversFolder)) {
        const auto* row = knowledge::Chips::current().find_driver(driver);
        if (!row || row->is_video_codec())
            continue;
        auto found = devices_of(sysfs, driver);
        std::erase_if(found, is_listed);
        join_cores(found);
        if (always_apart(driver) || serves_without_nodes(*row, devices))
            std::ranges::move(found, std::back_inserter(apart));
        else if (found.size() == 1 && (row->role == knowledge::Role::Gpu || is_core(found.front())))
            add_component(found.front(), devices);
    }
    join_cores(apart);
    apart.resize(std::min(apart.size(), kMaxPlatformDevices));
    std::ranges::move(apart, std::back_inserter(devices));
}

void add_video_codecs(const Sysfs& sysfs,
                      const DeviceNodes& nodes,
                      std::vector<HardwareDevice>& devices) {
    const std::string parent = "/sys/class/video4linux/";
    constexpr std::string_view kVideo = "video";  // not names such as v4l-subdev0 or vbi0
    std::size_t added = 0;
    for (const auto& name : sysfs.names(parent)) {
        if (!name.starts_with(kVideo) ||
            !parse_number<std::uint32_t>(std::string_view{name}.substr(kVideo.size())))
            continue;
        const auto path = sysfs.resolved(parent + name + "/device");
        const auto driver = path ? sysfs.link_name(*path + "/driver") : std::nullopt;
        const auto* row = driver ? knowledge::Chips::current().find_driver(*driver) : nullptr;
        if (!row || !row->is_video_codec())
            continue;
        auto device = std::ranges::find(devices, *path, &HardwareDevice::sysfs_path);
        if (device == devices.end()) {
            if (++added > kMaxPlatformDevices)
                return sysfs.note(parent + ": too many devices");
            devices.push_back(device_from(sysfs, DeviceFolder{sysfs, *path}));
            device = devices.end() - 1;
            device->model = sysfs.text(parent + name + "/name");
        }
        if (device->nodes.size() >= kMaxPlatformDevices)
            continue;
        device->nodes.push_back(nodes.at("/dev/" + name));
        if (!device->nodes.back().device)
            device->nodes.back().device = sysfs.text(parent + name + "/dev");
    }
}

}  // namespace gpuprobe::inline inventory
