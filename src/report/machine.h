// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
#include "report/facts.h"
#include "report/pci_address.h"
#include "report/trial_results.h"

/// The machine as the kernel describes it, before any vendor library is loaded.
namespace gpuprobe::inline report {

struct Libc {
    std::optional<std::string> name = {};     ///< name of the C library: "glibc" or "musl"
    std::optional<std::string> version = {};  ///< version, such as "2.36"
    bool operator==(const Libc&) const = default;
};
RECORD_MEMBERS(Libc, name, version)

struct Cpu {
    std::optional<std::string> model = {};
    /// Microarchitecture level, such as "x86-64-v3"; null if the architecture defines no levels.
    std::optional<std::string> level = {};
    /// Processor features that programs can use, in the kernel's spelling, sorted.
    std::vector<std::string> features = {};
    std::optional<std::uint32_t> cores = {};  ///< number of logical processors that are online
    /// Results of computing on the CPU, obtained by the same method as for GPUs; null if not
    /// requested.
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};  ///< score for ranking devices; a higher score is faster
    bool operator==(const Cpu&) const = default;
};
RECORD_MEMBERS(Cpu, model, level, features, cores, verification, measurement, score)
constexpr auto forms_of(std::type_identity<Cpu>) {
    return std::to_array<MemberForm>({{.key = "score", .is_positive = true}});
}

struct HostMemory {
    std::optional<Bytes> total = {};
    std::optional<Bytes> available = {};
    bool operator==(const HostMemory&) const = default;
};
RECORD_MEMBERS(HostMemory, total, available)

/// The distribution in the root file system of this process. Source: os-release(5).
struct OsRelease {
    std::optional<std::string> id = {};  ///< id of the distribution, such as "debian"
    /// The distributions that this distribution derives from, closest first.
    std::vector<std::string> id_like = {};
    std::optional<std::string> version_id = {};  ///< release, such as "12"
    std::optional<std::string> variant_id = {};  ///< edition, such as "silverblue"
    /// Codenames of this release and of the releases that this release derives from: "wilma",
    /// "noble".
    std::vector<std::string> codenames = {};
    bool operator==(const OsRelease&) const = default;
};
RECORD_MEMBERS(OsRelease, id, id_like, version_id, variant_id, codenames)

/// Kernel boot parameters and module state that affect graphics drivers. Each member is null if it
/// cannot be read.
struct KernelSetup {
    /// Parameters on the kernel command line that concern GPUs, PCI or the IOMMU. Other parameters
    /// are left out.
    std::optional<std::vector<std::string>> parameters = {};
    std::optional<bool> secure_boot = {};
    /// Mode of the kernel lockdown: "none", "integrity" or "confidentiality".
    std::optional<std::string> lockdown = {};
    /// The number in /proc/sys/kernel/tainted, a set of bits.
    std::optional<std::uint64_t> tainted = {};
    /// Graphics driver modules that modprobe.d or the command line prevents from loading, sorted.
    std::optional<std::vector<std::string>> blacklist = {};
    /// Graphics driver modules that are loaded or built in, sorted.
    std::optional<std::vector<std::string>> loaded = {};
    /// Graphics driver modules that are installed for the running kernel, sorted.
    std::optional<std::vector<std::string>> installed = {};
    /// Module options in use: "nvidia.NVreg_EnableGpuFirmware=18".
    std::vector<std::string> options = {};
    std::optional<bool> iommu = {};  ///< whether the kernel uses an IOMMU
    bool operator==(const KernelSetup&) const = default;
};
RECORD_MEMBERS(KernelSetup,
               parameters,
               secure_boot,
               lockdown,
               tainted,
               blacklist,
               loaded,
               installed,
               options,
               iommu)

struct Host {
    std::optional<std::string> os = {};  ///< operating system, such as "linux"
    /// The processor architecture that uname -m prints: "x86_64".
    std::optional<std::string> arch = {};
    std::optional<std::string> kernel = {};  ///< the kernel release that uname -r prints
    Libc libc = {};
    Cpu cpu = {};
    HostMemory memory = {};
    /// The kind of container, such as "docker", "podman" or "lxc"; null outside a container.
    std::optional<std::string> container = {};
    /// Hypervisor, such as "kvm" or "microsoft"; null on bare metal.
    std::optional<std::string> virtualization = {};
    bool wsl = false;
    /// L4T release of a Jetson, such as "R36"; null on other machines.
    std::optional<std::string> l4t = {};
    /// Sonames of the libraries in the dynamic linker's cache that GPU builds link with, sorted.
    /// Null if the cache cannot be read.
    std::optional<std::vector<std::string>> libraries = {};
    std::optional<OsRelease> os_release = {};
    /// The application sandbox: "flatpak", "snap", "toolbox" or "distrobox"; null outside a
    /// sandbox.
    std::optional<std::string> sandbox = {};
    std::optional<KernelSetup> setup = {};
    /// Version of /usr/bin/python3, such as "3.11".
    std::optional<std::string> python = {};
    bool operator==(const Host&) const = default;
};
RECORD_MEMBERS(Host,
               os,
               arch,
               kernel,
               libc,
               cpu,
               memory,
               container,
               virtualization,
               wsl,
               l4t,
               libraries,
               os_release,
               sandbox,
               setup,
               python)
RECORD_DECLARE_CONVERSIONS(Host)

/// An entry of an access control list, except the entries for the owner, the owning group and
/// others. Source: acl(5).
struct AclEntry {
    std::string tag = {};  ///< kind of entry: "user", "group", "mask" or "owning-group"
    std::optional<std::uint32_t> id = {};  ///< user or group id
    std::uint32_t mode = 0;                ///< sum of the permissions: 4 read, 2 write, 1 execute
    bool operator==(const AclEntry&) const = default;
};
RECORD_MEMBERS(AclEntry, tag, id, mode)

/// A file below /dev through which programs use a device.
struct DeviceNode {
    std::string path = {};
    std::optional<std::string> device = {};  ///< device number, such as "226:128"
    std::optional<std::uint32_t> mode = {};  ///< permission bits
    std::optional<std::uint32_t> uid = {};
    std::optional<std::uint32_t> gid = {};
    /// Name of the group `gid`, or its number if the group has no name.
    std::optional<std::string> group = {};
    /// Access control list, which contains, for example, the entry that logind adds for the user of
    /// the local seat. If the list is not empty, the group bits of `mode` are the ACL mask. Empty
    /// if the node has no ACL or gpuprobe did not read the ACL.
    std::vector<AclEntry> acl = {};
    /// Whether the daemon, or another program that made the report, may read and write the node.
    std::optional<bool> accessible = {};
    /// Reason code if the node is not accessible: "missing" or "no-permission".
    std::optional<std::string> reason = {};
    bool operator==(const DeviceNode&) const = default;
};
RECORD_MEMBERS(DeviceNode, path, device, mode, uid, gid, group, acl, accessible, reason)
constexpr auto forms_of(std::type_identity<DeviceNode>) {
    return std::to_array<MemberForm>({{.key = "device", .pattern = kDeviceNumber}});
}

/// One memory size and the source that it was read from.
struct MemoryReading {
    std::string source = {};  ///< source, such as "amdgpu-sysfs", "vulkan", "opencl" or "pci-bar"
    /// Meaning of the size, such as "total", "free", "used", "carveout" or "gtt-total".
    std::string what = {};
    Bytes bytes = {};
    bool operator==(const MemoryReading&) const = default;
};
RECORD_MEMBERS(MemoryReading, source, what, bytes)

/// Prefix of a render node's path; the minor number follows.
constexpr std::string_view kRenderNode = "/dev/dri/renderD";

/// A partition of a device, with the facts that the kernel reports. Programs can use a partition
/// like a device; see report/partition.h.
struct HardwarePartition {
    std::string name = {};  ///< same as Partition::name
    /// Address of the virtual function; null if the partition isn't a virtual function.
    std::optional<PciAddress> pci = {};
    std::optional<std::uint32_t> gpu_instance = {};  ///< number of the GPU instance; MIG only
    /// Number within the GPU instance; MIG only.
    std::optional<std::uint32_t> compute_instance = {};
    /// Render node that belongs only to this partition: "/dev/dri/renderD129".
    std::optional<std::string> node = {};
    std::vector<std::string> nodes = {};  ///< all device nodes that belong only to this partition
    std::optional<std::uint32_t> kfd_node = {};
    /// UUID of 16 digits; null if several partitions share it
    std::optional<std::string> uuid = {};
    std::optional<Bytes> memory = {};
    std::optional<std::string> state = {};  ///< same as Partition::state
    bool operator==(const HardwarePartition&) const = default;
};
RECORD_MEMBERS(HardwarePartition,
               name,
               pci,
               gpu_instance,
               compute_instance,
               node,
               nodes,
               kfd_node,
               uuid,
               memory,
               state)

enum class HardwareBus { Pci, Platform, Other };

/// A device function that may be a GPU, a display or an accelerator, with the facts from sysfs and
/// procfs.
struct HardwareDevice {
    std::string id = {};  ///< id of the device: "pci:0000:00:06.0" or "platform:<name>"
    HardwareBus bus = HardwareBus::Pci;
    std::string sysfs_path = {};  ///< path in sysfs, with symbolic links resolved
    std::optional<PciAddress> pci = {};
    std::optional<std::string> vendor_id = {};
    std::optional<std::string> device_id = {};
    std::optional<std::string> subsystem_vendor_id = {};
    std::optional<std::string> subsystem_device_id = {};
    std::optional<std::string> pci_class = {};  ///< class and subclass: "0302"
    std::optional<std::string> revision = {};   ///< PCI revision: two hexadecimal digits
    std::optional<int> numa_node = {};          ///< NUMA node; null if the kernel reports -1
    std::optional<std::string> driver = {};
    std::optional<std::string> driver_version = {};
    /// whether NVIDIA's driver is "open" or "proprietary"
    std::optional<std::string> driver_flavour = {};
    std::optional<std::string> modalias = {};
    /// compatible strings in the device tree, most specific first
    std::vector<std::string> compatible = {};
    /// Whether the firmware uses the device for display (boot_vga, boot_display).
    std::optional<bool> boot_vga = {};
    std::optional<std::string> runtime_status = {};  ///< content of power/runtime_status
    /// Model name in sysfs or procfs, which gpuprobe reads without loading a driver.
    std::optional<std::string> model = {};
    /// UUID or serial number in sysfs or procfs (/proc/driver/nvidia, amdgpu's unique_id).
    std::optional<std::string> uuid = {};
    DrmNodes drm = {};
    bool is_accel = false;  ///< whether the device is in the kernel's "accel" class
    bool is_drm = false;    ///< whether the device has a DRM node
    std::vector<DeviceNode> nodes = {};
    std::vector<MemoryReading> memory = {};  ///< sizes that can be read without waking the device
    std::optional<Bytes> largest_bar = {};   ///< largest prefetchable 64-bit BAR
    /// Number of PCIe lanes in use; null while the device sleeps, because reading the number would
    /// wake the device.
    std::optional<std::uint32_t> link_width = {};
    std::optional<std::uint32_t> max_link_width = {};
    /// When the sensors were read. The slowdown reasons are the only sensor data in `extra`.
    std::optional<WallTime> sensed_at = {};
    /// Id of the physical function, if the device is an SR-IOV virtual function.
    std::optional<std::string> physical_function = {};
    std::vector<HardwarePartition> partitions = {};
    std::vector<Reason> findings = {};  ///< findings such as "driver-mismatch" or "uvm-missing"
    /// Additional facts: an object with keys that report/fact_table.h declares as FactOf::Hardware.
    Value extra = Value{Value::Object{}};
};

/// Whether the device, or one of the device's partitions, has a node with that path.
inline bool has_node(const HardwareDevice& device, std::string_view path) {
    const auto is_of = [path](const HardwarePartition& partition) {
        return partition.node == path;
    };
    return std::ranges::find(device.nodes, path, &DeviceNode::path) != device.nodes.end() ||
           std::ranges::any_of(device.partitions, is_of);
}

/// The result of stage 0, the inventory: everything that is known without loading a driver.
struct Machine {
    Host host = {};
    std::vector<HardwareDevice> devices = {};  ///< all devices, sorted by id
    /// Nodes that several devices share: /dev/kfd, /dev/nvidiactl, /dev/dxg.
    std::vector<DeviceNode> shared_nodes = {};
    std::vector<std::string> notes = {};  ///< files that could not be read, each as "path: reason"
};

}  // namespace gpuprobe::inline report
