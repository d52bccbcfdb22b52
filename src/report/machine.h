// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/facts.h"
#include "report/measurement.h"
#include "report/pci_address.h"
#include "report/verification.h"

/// What the kernel says about a machine, before any vendor library is asked.
namespace gpuprobe::inline report {

struct Libc {
    std::optional<std::string> name = {};     ///< "glibc" or "musl"
    std::optional<std::string> version = {};  ///< "2.36"
    bool operator==(const Libc&) const = default;
};
RECORD_MEMBERS(Libc, name, version)

struct Cpu {
    std::optional<std::string> model = {};
    std::optional<std::string> level = {};  ///< "x86-64-v3"; null where no levels are defined
    std::vector<std::string> features =
        {};  ///< as the kernel spells them, usable by programs, sorted
    std::optional<std::uint32_t> cores = {};  ///< logical processors online
    /// Of its own worker, by the method of the GPUs'; null where nobody asked for it.
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};  ///< score_of(measurement)
    bool operator==(const Cpu&) const = default;
};
RECORD_MEMBERS(Cpu, model, level, features, cores, verification, measurement, score)

struct HostMemory {
    std::optional<Bytes> total = {};
    std::optional<Bytes> available = {};
    bool operator==(const HostMemory&) const = default;
};
RECORD_MEMBERS(HostMemory, total, available)

/// Which distribution the root of this process is of. Source: os-release(5).
struct OsRelease {
    std::optional<std::string> id = {};          ///< "debian"
    std::vector<std::string> id_like = {};       ///< what it is made from, closest first
    std::optional<std::string> version_id = {};  ///< "12"
    std::optional<std::string> variant_id = {};  ///< "silverblue"
    bool operator==(const OsRelease&) const = default;
};
RECORD_MEMBERS(OsRelease, id, id_like, version_id, variant_id)

/// How the kernel was started and what it may load, as far as graphics drivers are concerned. Each
/// is null where it can't be read.
struct KernelSetup {
    /// Words of the kernel's command line about GPUs, PCI and the IOMMU; others are not kept.
    std::optional<std::vector<std::string>> parameters = {};
    std::optional<bool> secure_boot = {};
    std::optional<std::string> lockdown = {};   ///< "none", "integrity" or "confidentiality"
    std::optional<std::uint64_t> tainted = {};  ///< bits of /proc/sys/kernel/tainted
    /// Modules of graphics drivers that modprobe.d or the command line keeps from loading, sorted.
    std::optional<std::vector<std::string>> blacklist = {};
    /// Modules of graphics drivers that are loaded or built in, sorted.
    std::optional<std::vector<std::string>> loaded = {};
    /// Those that are there for the running kernel, sorted.
    std::optional<std::vector<std::string>> installed = {};
    std::vector<std::string> options = {};  ///< "nvidia.NVreg_EnableGpuFirmware=18", as in use
    std::optional<bool> iommu = {};         ///< the kernel uses one
    bool operator==(const KernelSetup&) const = default;
};
RECORD_MEMBERS(KernelSetup, parameters, secure_boot, lockdown, tainted, blacklist, loaded,
               installed, options, iommu)

struct Host {
    std::optional<std::string> os = {};      ///< "linux"
    std::optional<std::string> arch = {};    ///< as uname -m: "x86_64"
    std::optional<std::string> kernel = {};  ///< as uname -r
    Libc libc = {};
    Cpu cpu = {};
    HostMemory memory = {};
    std::optional<std::string> container = {};  ///< "docker", "podman", "lxc" …; null outside one
    std::optional<std::string> virtualization = {};  ///< "kvm", "microsoft" …; null on bare metal
    bool wsl = false;
    std::optional<std::string> l4t = {};  ///< Jetson release, "R36"; null on anything else
    /// Sonames that the dynamic linker's cache resolves, of those in report/libraries.h, sorted;
    /// null where the cache can't be read.
    std::optional<std::vector<std::string>> libraries = {};
    std::optional<OsRelease> os_release = {};
    /// "flatpak", "snap", "toolbox" or "distrobox"; null outside one.
    std::optional<std::string> sandbox = {};
    std::optional<KernelSetup> setup = {};
    bool operator==(const Host&) const = default;
};
RECORD_MEMBERS(Host, os, arch, kernel, libc, cpu, memory, container, virtualization, wsl, l4t,
               libraries, os_release, sandbox, setup)

/// One entry of an access control list beyond owner, owning group and others. Source: acl(5).
struct AclEntry {
    std::string tag = {};                  ///< "user", "group", "mask"; "owning-group"
    std::optional<std::uint32_t> id = {};  ///< of a user or group
    std::uint32_t mode = 0;                ///< 4 read, 2 write, 1 execute
    bool operator==(const AclEntry&) const = default;
};
RECORD_MEMBERS(AclEntry, tag, id, mode)

/// A file below /dev through which a device is used.
struct DeviceNode {
    std::string path = {};
    std::optional<std::string> device = {};  ///< "226:128"
    std::optional<std::uint32_t> mode = {};  ///< permission bits
    std::optional<std::uint32_t> uid = {};
    std::optional<std::uint32_t> gid = {};
    std::optional<std::string> group = {};  ///< the name of gid, or its number
    /// Such as logind's for who sits in front of the machine. With it, the group's bits of `mode`
    /// are the mask. Empty: there is none, or nobody looked.
    std::vector<AclEntry> acl = {};
    std::optional<bool> accessible = {};     ///< for reading and writing, by whoever asked
    std::optional<std::string> reason = {};  ///< a code, when it is not: "missing", "no-permission"
    bool operator==(const DeviceNode&) const = default;
};
RECORD_MEMBERS(DeviceNode, path, device, mode, uid, gid, group, acl, accessible, reason)

/// One reading of a size, with where it was read.
struct MemoryReading {
    std::string source = {};  ///< "amdgpu-sysfs", "vulkan", "opencl", "pci-bar" …
    std::string what = {};    ///< "total", "free", "used", "carveout", "gtt-total" …
    Bytes bytes = {};
    bool operator==(const MemoryReading&) const = default;
};
RECORD_MEMBERS(MemoryReading, source, what, bytes)

/// A render node's path is this and its minor number.
constexpr std::string_view kRenderNode = "/dev/dri/renderD";

/// A part of a device that programs may use like one, as the kernel shows it; see report/unit.h.
struct HardwarePartition {
    std::string name = {};                               ///< as a Unit's
    std::optional<std::uint32_t> gpu_instance = {};      ///< of MIG
    std::optional<std::uint32_t> compute_instance = {};  ///< of MIG
    std::optional<std::string> node = {};  ///< its own render node: "/dev/dri/renderD129"
    std::vector<std::string> nodes = {};   ///< all that are its own
    std::optional<std::uint32_t> kfd_node = {};
    std::optional<std::string> uuid = {};  ///< 16 digits; null where another partition has the same
    std::optional<Bytes> memory = {};
    std::optional<std::string> state = {};  ///< as a Unit's
    bool operator==(const HardwarePartition&) const = default;
};
RECORD_MEMBERS(HardwarePartition, name, gpu_instance, compute_instance, node, nodes, kfd_node, uuid,
               memory, state)

enum class HardwareBus { Pci, Platform, Other };

/// One function that may be a GPU, a display or an accelerator, as sysfs and procfs show it.
struct HardwareDevice {
    std::string id = {};  ///< "pci:0000:00:06.0" or "platform:<name>"
    HardwareBus bus = HardwareBus::Pci;
    std::string sysfs_path = {};  ///< resolved
    std::optional<PciAddress> pci = {};
    std::optional<std::string> vendor_id = {};
    std::optional<std::string> device_id = {};
    std::optional<std::string> subsystem_vendor_id = {};
    std::optional<std::string> subsystem_device_id = {};
    std::optional<std::string> pci_class = {};  ///< class and subclass: "0302"
    std::optional<std::string> revision = {};   ///< two hexadecimal digits
    std::optional<int> numa_node = {};          ///< null where the kernel says -1
    std::optional<std::string> driver = {};
    std::optional<std::string> driver_version = {};
    std::optional<std::string> driver_flavour = {};  ///< nvidia: "open" or "proprietary"
    std::optional<std::string> modalias = {};
    std::vector<std::string> compatible = {};  ///< device tree, most specific first
    std::optional<bool> boot_vga = {};  ///< the firmware's display is here (boot_vga, boot_display)
    std::optional<std::string> runtime_status = {};  ///< power/runtime_status
    std::optional<std::string> model = {};  ///< a name the driver gives without being called
    std::optional<std::string> uuid = {};   ///< likewise (/proc/driver/nvidia, amdgpu unique_id)
    DrmNodes drm = {};
    bool is_accel = false;  ///< sits in the accel class
    bool is_drm = false;    ///< has any DRM node
    std::vector<DeviceNode> nodes = {};
    std::vector<MemoryReading> memory = {};  ///< what may be read without waking anything
    std::optional<Bytes> largest_bar = {};   ///< largest prefetchable 64-bit BAR
    /// Lanes of its PCIe link; null where it sleeps, as reading them would wake it.
    std::optional<std::uint32_t> link_width = {};
    std::optional<std::uint32_t> max_link_width = {};
    /// When what its sensors say was read, of which only slowdowns are kept in `extra`.
    std::optional<WallTime> sensed_at = {};
    std::optional<std::string> physical_function = {};  ///< id of the PF, on an SR-IOV VF
    std::vector<HardwarePartition> partitions = {};
    std::vector<Reason> findings = {};  ///< e.g. "driver-mismatch", "uvm-missing"
    /// Further facts, under the keys of report/fact_table.h that are FactOf::Hardware; an object.
    Value extra = Value{Value::Object{}};
};

/// Everything stage 0 knows.
struct Machine {
    Host host = {};
    std::vector<HardwareDevice> devices = {};  ///< sorted by id
    std::vector<DeviceNode> shared_nodes =
        {};                               ///< not of one device: /dev/kfd, /dev/nvidiactl, /dev/dxg
    std::vector<std::string> notes = {};  ///< unreadable places, "path: reason"
};

}  // namespace gpuprobe::inline report
