// SPDX-License-Identifier: Apache-2.0
#include "inventory/virtualization.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/text.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxEnvironment = mib(1);
constexpr Bytes kMaxCgroup = kib(64);
constexpr std::size_t kMaxContainerName = 32;

/// A string that a cgroup path may contain, and the container manager that uses this string.
struct Hint {
    std::string_view piece;
    const char* name;
};
/// Folder names that container managers give to cgroups.
constexpr std::array<Hint, 7> kCgroupHints{{
    {"kubepods", "kubernetes"},
    {"/docker", "docker"},
    {"libpod", "podman"},
    {"/lxc", "lxc"},
    {"garden", "garden"},
    {"containerd", "containerd"},
    {"machine.slice/machine-", "systemd-nspawn"},
}};

/// The name that a container manager uses for itself; nullopt if the string does not look like a
/// name.
std::optional<std::string> name_from(std::string_view text) {
    const auto name = lower_case(trimmed(text));
    if (name.empty() || name.size() > kMaxContainerName ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") != std::string::npos)
        return std::nullopt;
    return name;
}

constexpr const char* kEnvironment = "/proc/1/environ";
constexpr const char* kControlGroups = "/proc/1/cgroup";
constexpr std::string_view kContainerKey = "container=";

/// The value of `container=` in the environment of process 1. Only root and the user who runs
/// process 1 can read this environment.
std::optional<std::string> from_environment(const FileSystem& files) {
    const auto environment = files.read(kEnvironment, kMaxEnvironment);
    if (!environment)
        return std::nullopt;
    for (const auto entry : split(*environment, '\0'))
        if (entry.starts_with(kContainerKey))
            return name_from(entry.substr(kContainerKey.size()));
    return std::nullopt;
}

/// The container manager whose marker file exists in the root folder or in /run.
std::optional<std::string> from_marker(const FileSystem& files) {
    if (files.exists("/run/.containerenv"))
        return "podman";
    if (files.exists("/.dockerenv"))
        return "docker";
    if (files.exists("/.singularity.d"))  // also Apptainer, the new name of Singularity
        return "apptainer";
    return std::nullopt;
}

std::optional<std::string> from_cgroup(const FileSystem& files) {
    const auto groups = files.read(kControlGroups, kMaxCgroup);
    if (!groups)
        return std::nullopt;
    for (const auto& hint : kCgroupHints)
        if (groups->find(hint.piece) != std::string::npos)
            return hint.name;
    return std::nullopt;
}

/// The container manager's name in systemd's container interface or in the environment of process
/// 1.
std::optional<std::string> declared(const FileSystem& files) {
    for (const auto* path : {"/run/host/container-manager", "/run/systemd/container"})
        if (const auto line = files.line(path))
            if (auto name = name_from(*line))
                return name;
    return from_environment(files);
}

/// The beginning of a hypervisor's signature or DMI string, and the hypervisor's name.
struct Signature {
    std::string_view text;
    const char* name;
};

/// Signatures of hypervisors in CPUID leaf 0x40000000. Sources:
/// Documentation/virt/kvm/x86/cpuid.rst, Hyper-V TLFS section 2, and each vendor's manual.
constexpr std::array<Signature, 13> kCpuidSignatures{{
    {"KVMKVMKVM", "kvm"},
    {"Linux KVM Hv", "kvm"},
    {"TCGTCGTCGTCG", "qemu"},
    {"Microsoft Hv", "microsoft"},
    {"VMwareVMware", "vmware"},
    {"XenVMMXenVMM", "xen"},
    {"VBoxVBoxVBox", "oracle"},
    {"bhyve bhyve ", "bhyve"},
    {"prl hyperv  ", "parallels"},
    {"QNXQVMBSQG", "qnx"},
    {"ACRNACRNACRN", "acrn"},
    {"SRESRESRESRE", "sre"},
    {"Apple VZ", "apple"},
}};

/// Beginnings of DMI strings of virtual machines. The first kSpecificCount strings take
/// precedence over the CPUID signature, which is less specific for these products.
constexpr std::array<Signature, 17> kDmiPrefixes{{
    {"Amazon EC2", "amazon"},
    {"Google Compute Engine", "google"},
    {"innotek GmbH", "oracle"},
    {"VirtualBox", "oracle"},
    {"Xen", "xen"},
    {"Parallels", "parallels"},
    {"Apple Virtualization", "apple"},
    {"KVM", "kvm"},
    {"OpenStack", "kvm"},
    {"KubeVirt", "kvm"},
    {"QEMU", "qemu"},
    {"VMware", "vmware"},
    {"VMW", "vmware"},
    {"Bochs", "bochs"},
    {"BHYVE", "bhyve"},
    {"Hyper-V", "microsoft"},
    {"Virtual Machine", "microsoft"},
}};
constexpr std::size_t kSpecificCount = 7;

/// The index of the first row whose string is a prefix of `text`.
template <std::size_t count>
std::optional<std::size_t> row_for(const std::array<Signature, count>& rows,
                                   std::string_view text) {
    for (std::size_t i = 0; i < count; ++i)
        if (text.starts_with(rows[i].text))
            return i;
    return std::nullopt;
}

/// True for Amazon's bare-metal instances. The check is needed on Arm ("a1.metal"), where no
/// processor flag shows a hypervisor.
bool is_metal_instance(const std::optional<std::string>& product) {
    return product && product->find(".metal") != std::string::npos;
}

/// The index of the row in kDmiPrefixes for the first DMI string that matches.
std::optional<std::size_t> dmi_row(const FileSystem& files,
                                   const std::optional<std::string>& product) {
    if (const auto row = product ? row_for(kDmiPrefixes, *product) : std::nullopt)
        return row;
    for (const auto* name : {"sys_vendor", "board_vendor", "bios_vendor", "product_version"})
        if (const auto text = files.line(std::string{"/sys/class/dmi/id/"} + name))
            if (const auto row = row_for(kDmiPrefixes, *text))
                return row;
    return std::nullopt;
}

/// The hypervisor that the device tree of an Arm or POWER machine names; "vm-other" if the name is
/// unknown.
std::optional<std::string> from_device_tree(const FileSystem& files) {
    const auto compatible = files.line("/proc/device-tree/hypervisor/compatible");
    if (!compatible)
        return std::nullopt;
    if (compatible->starts_with("linux,kvm"))
        return "kvm";
    if (compatible->find("xen") != std::string::npos)
        return "xen";
    return compatible->find("vmware") != std::string::npos ? "vmware" : "vm-other";
}

/// The evidence for a hypervisor in the text of /proc/cpuinfo. Returns Nothing on processors
/// without an x86 "flags" line.
enum class CpuEvidence { Hypervisor, BareMetal, Nothing, UserModeLinux };

CpuEvidence cpu_evidence(std::string_view cpuinfo) {
    for (const auto line : split(cpuinfo, '\n')) {
        if (line.starts_with("vendor_id") && line.find("User Mode Linux") != std::string_view::npos)
            return CpuEvidence::UserModeLinux;
        if (!line.starts_with("flags"))
            continue;
        for (const auto word : words(line))
            if (word == "hypervisor")
                return CpuEvidence::Hypervisor;
        return CpuEvidence::BareMetal;
    }
    return CpuEvidence::Nothing;
}

/// True in Xen's dom0, which has direct access to the hardware.
bool is_xen_dom0(const FileSystem& files) {
    const auto capabilities = files.line("/proc/xen/capabilities");
    return capabilities && capabilities->find("control_d") != std::string::npos;
}

}  // namespace

std::optional<std::string> container_part(std::string_view path, std::string_view content) {
    if (path == kEnvironment) {
        for (const auto entry : split(content, '\0'))
            if (entry.starts_with(kContainerKey))
                return std::string{entry} + '\0';
        return std::string{};
    }
    if (path != kControlGroups)
        return std::nullopt;
    for (const auto& hint : kCgroupHints)
        if (content.find(hint.piece) != std::string_view::npos)
            // Return an artificial line that from_cgroup() recognizes, because the original path
            // may contain names of users and services.
            return "0::/" +
                   std::string{hint.piece.starts_with('/') ? hint.piece.substr(1) : hint.piece} +
                   "\n";
    return std::string{};
}

std::optional<std::string> container_of(const FileSystem& files) {
    const auto name = declared(files);
    // The name "oci" is generic, so look for a more specific name. A marker file or the cgroup may
    // contain a more specific name than "oci".
    if (name && *name != "oci")
        return name;
    if (auto marked = from_marker(files))
        return marked;
    if (auto hinted = from_cgroup(files))
        return hinted;
    return name ? std::optional<std::string>{"container-other"} : std::nullopt;
}

std::optional<std::string> virtualization_of(const FileSystem& files,
                                             std::string_view cpuinfo,
                                             std::string_view hypervisor) {
    const auto cpu = cpu_evidence(cpuinfo);
    if (cpu == CpuEvidence::UserModeLinux)
        return "uml";
    if (is_xen_dom0(files))
        return std::nullopt;
    const auto type = files.line("/sys/hypervisor/type");
    // In a Xen guest, the processor's "hypervisor" flag may be missing.
    const auto product = files.line("/sys/class/dmi/id/product_name");
    if ((cpu == CpuEvidence::BareMetal && type != "xen") || is_metal_instance(product))
        return std::nullopt;
    // The most specific evidence is checked first.
    const auto dmi = dmi_row(files, product);
    if (dmi && *dmi < kSpecificCount)
        return kDmiPrefixes[*dmi].name;
    if (const auto row = row_for(kCpuidSignatures, hypervisor); row && !hypervisor.empty())
        return kCpuidSignatures[*row].name;
    if (type == "xen")
        return "xen";
    if (dmi)
        return kDmiPrefixes[*dmi].name;
    if (auto named = from_device_tree(files))
        return named;
    return cpu == CpuEvidence::Hypervisor ? std::optional<std::string>{"vm-other"} : std::nullopt;
}

std::string running_hypervisor() {
#if defined(__x86_64__) || defined(__i386__)
    constexpr unsigned kHypervisorLeaf = 0x40000000;
    constexpr unsigned kHypervisorBit = 1U << 31;
    unsigned eax = 0;
    unsigned registers[3] = {};
    unsigned features = 0;
    if (!__get_cpuid(1, &eax, &registers[0], &features, &registers[2]) ||
        (features & kHypervisorBit) == 0)
        return {};
    __cpuid(kHypervisorLeaf, eax, registers[0], registers[1], registers[2]);
    char signature[sizeof registers + 1] = {};
    std::memcpy(signature, registers, sizeof registers);
    return signature;
#else
    return {};
#endif
}

}  // namespace gpuprobe::inline inventory
