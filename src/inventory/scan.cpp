// SPDX-License-Identifier: Apache-2.0
#include "inventory/scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "inventory/amdgpu.h"
#include "inventory/bus_devices.h"
#include "inventory/device_nodes.h"
#include "inventory/driver_files.h"
#include "inventory/host.h"
#include "inventory/nvidia.h"
#include "inventory/setup.h"
#include "inventory/sysfs.h"
#include "knowledge/chips.h"
#include "knowledge/drivers.h"
#include "report/api_table.h"
#include "report/hardware.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Problems of a device that can be found without calling a driver library:
///
/// - `no-driver` {modalias}: no driver is bound to the device
/// - `passthrough` {driver}: the device is reserved for a virtual machine
/// - `driver-mismatch` {kernel, userspace, library}: NVIDIA's module and libcuda.so.1 have
///   different versions, for example after an upgrade without a reboot; every call will fail
/// - `driver-mixed` {version, library, cuda}: a driver library next to libcuda.so.1 has another
///   version, for example if two packages of the driver, or a container's driver and the host's,
///   are mixed
/// - `uvm-missing` {node, module_loaded}: /dev/nvidia-uvm is missing; CUDA fails with code 999
///   although NVML works
std::vector<Reason> findings_of(const Sysfs& sysfs,
                                const DeviceNodes& nodes,
                                const Host& host,
                                const HardwareDevice& device);

/// The installed libcuda.so.1, with its version (such as "580.159.04" for libcuda.so.580.159.04)
/// and its resolved path.
struct CudaLibrary {
    std::string version = {};
    std::string path = {};
};
/// libcuda.so.1 in the first of the usual folders that contains this library; nullopt if no folder
/// contains the library, or if the library's file name has no version.
std::optional<CudaLibrary> installed_libcuda(const Sysfs& sysfs, const Host& host);

namespace {

constexpr const char* kUvmNode = "/dev/nvidia-uvm";
constexpr std::uint32_t kFirstDriverBranch = 100;  // Tegra's libcuda.so.1.1 ends in an ABI version

constexpr std::string_view kCuda = "libcuda.so.";
/// Libraries that belong to every driver release and work only with libraries of the same release.
constexpr auto kReleased =
    std::to_array<std::string_view>({"libnvidia-ml.so.", "libnvidia-ptxjitcompiler.so."});

/// The version after `prefix`; nullopt if the string isn't the version of a driver, for example
/// because it is the ABI version "1".
std::optional<std::string> version_in_name(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix))
        return std::nullopt;
    const auto version = name.substr(prefix.size());
    if (version.find_first_not_of("0123456789.") != std::string_view::npos)
        return std::nullopt;
    const auto branch = parse_number<std::uint32_t>(version.substr(0, version.find('.')));
    if (!branch || *branch < kFirstDriverBranch)
        return std::nullopt;
    return std::string{version};
}

Reason reason(std::string code) {
    return Reason{.code = std::move(code)};
}

/// The reason `no-driver`, except for display-only devices, which work without a driver. DRM and
/// accel devices always have a driver, even if the link to the driver is missing. If the uevent is
/// missing, a missing link to the driver proves nothing.
std::optional<Reason> missing_driver(const Sysfs& sysfs, const HardwareDevice& device) {
    if (role_of(device) == Role::DisplayOnly)
        return std::nullopt;
    if (device.driver || device.is_drm || device.is_accel || device.bus == HardwareBus::Other)
        return std::nullopt;
    if (!DeviceFolder{sysfs, device.sysfs_path}.has_uevent())
        return std::nullopt;
    auto found = reason("no-driver");
    found.detail["modalias"] = to_value(device.modalias);
    const auto* chip = knowledge::Chips::current().find_compatible(device.compatible);
    if (chip && chip->drivers)
        for (const auto driver : words(*chip->drivers))
            found.detail["drivers"].push_back(Value{driver});
    return found;
}

/// The reason `driver-mismatch`, if both driver versions are known and differ.
std::optional<Reason> mismatch(const Sysfs& sysfs, const Host& host) {
    const auto kernel = nvidia_module(sysfs).version;
    const auto library = installed_libcuda(sysfs, host);
    if (!kernel || !library || library->version == *kernel)
        return std::nullopt;
    auto found = reason("driver-mismatch");
    found.detail["kernel"] = *kernel;
    found.detail["userspace"] = library->version;
    found.detail["library"] = library->path;
    return found;
}

/// The reason `driver-mixed`, for the first library in the folder of libcuda.so.1 whose version
/// differs from that of libcuda.so.1.
std::optional<Reason> mixed(const Sysfs& sysfs, const Host& host) {
    const auto cuda = installed_libcuda(sysfs, host);
    for (const auto name : kReleased) {
        const auto path =
            cuda
                ? sysfs.resolved(std::string{folder_of(cuda->path)} + "/" + std::string{name} + "1")
                : std::nullopt;
        const auto version = path ? version_in_name(base_name(*path), name) : std::nullopt;
        if (!version || *version == cuda->version)
            continue;
        auto found = reason("driver-mixed");
        found.detail["version"] = *version;
        found.detail["library"] = *path;
        found.detail["cuda"] = cuda->version;
        return found;
    }
    return std::nullopt;
}

/// The reason `uvm-missing`, if the source of the nodes can prove that /dev/nvidia-uvm is missing.
std::optional<Reason> missing_uvm(const Sysfs& sysfs, const DeviceNodes& nodes) {
    if (!nodes.known() || nodes.find(kUvmNode))
        return std::nullopt;
    auto found = reason("uvm-missing");
    found.detail["node"] = kUvmNode;
    found.detail["module_loaded"] = sysfs.exists("/sys/module/nvidia_uvm");
    return found;
}

}  // namespace

std::optional<CudaLibrary> installed_libcuda(const Sysfs& sysfs, const Host& host) {
    for (const auto& folder : library_folders(host)) {
        const auto path = sysfs.resolved(folder + "/libcuda.so.1");
        if (!path)
            continue;
        auto version = version_in_name(base_name(*path), kCuda);
        return version ? std::optional{CudaLibrary{.version = std::move(*version), .path = *path}}
                       : std::nullopt;
    }
    return std::nullopt;
}

std::vector<Reason> findings_of(const Sysfs& sysfs,
                                const DeviceNodes& nodes,
                                const Host& host,
                                const HardwareDevice& device) {
    std::vector<Reason> found;
    const auto add = [&found](std::optional<Reason> maybe) {
        if (maybe)
            found.push_back(std::move(*maybe));
    };
    add(missing_driver(sysfs, device));
    if (is_passed_through(device)) {
        auto kept = reason("passthrough");
        kept.detail["driver"] = *device.driver;
        add(kept);
    }
    if (device.driver == "nvidia") {
        add(mismatch(sysfs, host));
        add(mixed(sysfs, host));
        add(missing_uvm(sysfs, nodes));
    }
    return found;
}

namespace {

/// The kernel module that contains the device's driver. The `driver/module` link names the module;
/// without this link, the module is assumed to have the driver's name, with underscores.
std::string module_of(const Sysfs& sysfs, const HardwareDevice& device) {
    if (auto linked = sysfs.link_name(device.sysfs_path + "/driver/module"))
        return *linked;
    auto name = *device.driver;
    std::ranges::replace(name, '-', '_');
    std::ranges::replace(name, '/', '_');
    return name;
}

/// True for NVIDIA's drivers, whose version is never the release of the kernel.
bool is_nvidias_own(std::string_view driver) {
    const auto own = words(info_of(Api::Cuda).kernel_drivers);
    return std::ranges::find(own, driver) != own.end();
}

/// The version of the bound kernel driver, which is in /sys/module/<module>/version if the module
/// has a version. The version of NVIDIA's drivers is the version of the nvidia module or, if this
/// module isn't loaded, the version that belongs to the Jetson's release, because the Tegra
/// drivers have no version. The version of other in-tree drivers is the kernel release. nullopt for
/// an out-of-tree module ("O" in its taint file) without a version. Source:
/// Documentation/ABI/stable/sysfs-module.
std::optional<std::string> driver_version(const Sysfs& sysfs,
                                          const HardwareDevice& device,
                                          const Host& host) {
    if (!device.driver)
        return std::nullopt;
    const auto folder = "/sys/module/" + module_of(sysfs, device);
    if (auto version = sysfs.text(folder + "/version"))
        return version;
    if (is_nvidias_own(*device.driver)) {
        const auto version = nvidia_module(sysfs).version;
        return version || !host.l4t ? version : driver_of_jetson(*host.l4t);
    }
    const auto taint = sysfs.text(folder + "/taint");
    if (taint && taint->find('O') != std::string::npos)
        return std::nullopt;
    return host.kernel;
}

constexpr std::size_t kMaxDevices = 1024;

/// The device to which a class node belongs, found by its folder or by its address (a capture may
/// contain a device twice); nullptr if the device isn't in the list yet.
HardwareDevice* device_behind(const ClassNode& node,
                              const DeviceFolder& parent,
                              std::vector<HardwareDevice>& devices) {
    const auto address = parent.pci_address();
    const auto found = std::ranges::find_if(devices, [&](const HardwareDevice& device) {
        return device.sysfs_path == node.parent || (address && device.pci == address);
    });
    return found == devices.end() ? nullptr : &*found;
}

/// Adds one DRM or accel node to its device.
void add_class_node(const ClassNode& node, const DeviceNodes& nodes, HardwareDevice& device) {
    auto below_dev = nodes.at(node.path());
    if (!below_dev.device)
        below_dev.device = node.device;
    device.nodes.push_back(std::move(below_dev));
    if (node.connected)
        // A device with several DRM cards is connected if at least one of the cards is connected.
        device.extra["connected"] =
            device.extra.at("connected").as_bool().value_or(false) || *node.connected;
    if (node.boot_display == true)
        device.boot_vga = true;
    if (node.kind == ClassNodeKind::Accel) {
        device.is_accel = true;
        return;
    }
    device.is_drm = true;
    auto& number = node.kind == ClassNodeKind::Card ? device.drm.primary : device.drm.render;
    if (!number)
        number = node.device;
}

/// Adds each class node to its device. Devices that weren't found on the PCI bus are created.
void add_class_nodes(const Sysfs& sysfs,
                     const std::vector<ClassNode>& class_members,
                     const DeviceNodes& nodes,
                     std::vector<HardwareDevice>& devices) {
    for (const auto& member : class_members) {
        const DeviceFolder parent{sysfs, member.parent};
        auto* device = device_behind(member, parent, devices);
        if (!device && devices.size() == kMaxDevices)
            return sysfs.note("/sys/class/drm: too many devices");
        if (!device)
            device = &devices.emplace_back(device_from(sysfs, parent));
        add_class_node(member, nodes, *device);
    }
}

void add_nvidia_node(const DeviceNodes& nodes, HardwareDevice& device) {
    if (const auto minor = device.extra.at("nvidia_minor").as_unsigned())
        device.nodes.push_back(nodes.at("/dev/nvidia" + std::to_string(*minor)));
}

bool is_same_slot(const std::optional<PciAddress>& left, const std::optional<PciAddress>& right) {
    return left && right && left->domain == right->domain && left->bus == right->bus &&
           left->device == right->device;
}

/// Merges the additional functions of a card into the card's main function, which gets their nodes
/// (`part_of` in data/knowledge/drivers.json). If only an additional function was passed to a
/// guest, nothing is merged, because in this guest the function is the card.
void absorb_further_functions(std::vector<HardwareDevice>& devices) {
    const auto card_of = [&devices](const HardwareDevice& device) {
        // The entry in drivers.json for the driver of an additional function names the driver of
        // the main function in `part_of`.
        const auto* row =
            device.driver ? knowledge::Drivers::current().find(*device.driver) : nullptr;
        return std::ranges::find_if(devices, [&](const HardwareDevice& other) {
            return row && row->part_of && other.driver == row->part_of &&
                   is_same_slot(other.pci, device.pci);
        });
    };
    std::set<std::string> absorbed;
    for (const auto& device : devices)
        if (const auto card = card_of(device); card != devices.end()) {
            card->nodes.insert(card->nodes.end(), device.nodes.begin(), device.nodes.end());
            absorbed.insert(device.id);
        }
    std::erase_if(devices,
                  [&](const HardwareDevice& device) { return absorbed.contains(device.id); });
}

/// True for virtual functions that are reserved for vGPUs: NVIDIA's driver is bound to them, but
/// creates no nodes.
bool is_kept_for_guests(const HardwareDevice& device) {
    return device.driver == "nvidia" && device.nodes.empty();
}

bool has_open_node(const HardwareDevice& device) {
    return std::ranges::any_of(device.nodes, [](const DeviceNode& node) { return !node.reason; });
}

/// The partition of a card that a virtual function represents.
HardwarePartition partition_from(const HardwareDevice& function) {
    HardwarePartition partition{
        .name = "vf-" + text_of(*function.pci),
        .pci = function.pci,
        .state = is_kept_for_guests(function) ? "idle" : function.driver.value_or("idle")};
    for (const auto& node : function.nodes) {
        partition.nodes.push_back(node.path);
        if (node.path.starts_with(kRenderNode))
            partition.node = node.path;
    }
    return partition;
}

/// Turns virtual functions into partitions of their card, even if a driver on this machine is bound
/// to them, because virtual functions aren't additional GPUs. A virtual function stays a GPU if
/// its card cannot be used: in a guest, which does not see the card, and in a container that has
/// only the nodes of the virtual function.
void absorb_virtual_functions(std::vector<HardwareDevice>& devices) {
    std::set<std::string> absorbed;
    for (const auto& device : devices) {
        const auto card =
            std::ranges::find(devices, device.physical_function.value_or(""), &HardwareDevice::id);
        if (!device.pci || card == devices.end() ||
            (has_open_node(device) && !has_open_node(*card)))
            continue;
        card->partitions.push_back(partition_from(device));
        absorbed.insert(device.id);
    }
    std::erase_if(devices,
                  [&](const HardwareDevice& device) { return absorbed.contains(device.id); });
}

std::set<std::string> parents_of(const std::vector<ClassNode>& members) {
    std::set<std::string> parents;
    for (const auto& member : members)
        parents.insert(member.parent);
    return parents;
}

}  // namespace

Machine scan_functions(const FileSystem& files, Host host) {
    Machine machine;
    machine.host = std::move(host);
    const Sysfs sysfs{files, machine.notes};
    machine.devices = pci_functions(sysfs, parents_of(class_nodes(sysfs)));
    for (auto& device : machine.devices)
        device.driver_version = driver_version(sysfs, device, machine.host);
    std::ranges::sort(machine.devices, {}, &HardwareDevice::id);
    return machine;
}

Machine scan_machine(const FileSystem& files, const NodeSource& source, Host host) {
    Machine machine;
    machine.host = std::move(host);
    if (!machine.host.os_release)  // a capture may contain the file instead
        machine.host.os_release = os_release_of(files);
    if (!machine.host.setup && files.exists("/proc/cmdline"))
        machine.host.setup = kernel_setup(files, machine.host.kernel);
    const Sysfs sysfs{files, machine.notes};
    const DeviceNodes nodes{source};
    // Find the devices: first the PCI functions, then the devices of class nodes without a PCI
    // function, then the platform devices.
    const auto members = class_nodes(sysfs);
    auto& devices = machine.devices;
    devices = pci_functions(sysfs, parents_of(members));
    add_class_nodes(sysfs, members, nodes, devices);
    add_platform_devices(sysfs, devices);
    add_video_codecs(sysfs, nodes, devices);
    for (auto& device : devices) {
        device.driver_version = driver_version(sysfs, device, machine.host);
        add_nvidia_facts(sysfs, device);
        add_nvidia_node(nodes, device);
        add_amdgpu_facts(sysfs, device);
        device.findings = findings_of(sysfs, nodes, machine.host, device);
        add_driver_files(sysfs, nodes, device);
        read_sensors(files, device);
    }
    // Merge the entries that belong to the same card. join_kfd() needs the serials and memory that
    // were read above.
    join_kfd(kfd_nodes(sysfs), devices);
    absorb_further_functions(devices);
    absorb_virtual_functions(devices);
    std::ranges::sort(devices, {}, &HardwareDevice::id);
    machine.shared_nodes = nodes.shared();
    return machine;
}

}  // namespace gpuprobe::inline inventory
