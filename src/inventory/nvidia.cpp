// SPDX-License-Identifier: Apache-2.0
#include "inventory/nvidia.h"

#include <algorithm>

#include "base/text.h"
#include "report/partition.h"

namespace gpuprobe::inline inventory {

std::optional<std::string> jetson_release(const FileSystem& files) {
    const auto line = files.line("/etc/nv_tegra_release");
    if (!line)
        return std::nullopt;
    // The line has the form "# R36 (release), REVISION: 3.0, …".
    const auto columns = words(*line);
    if (columns.size() < 2 || columns[0] != "#" || !columns[1].starts_with('R'))
        return std::nullopt;
    const auto number = columns[1].substr(1);
    if (number.size() > 3 || !parse_number<unsigned>(number))
        return std::nullopt;
    return std::string{columns[1]};
}

std::optional<std::string> driver_of_jetson(std::string_view release) {
    constexpr unsigned kLastWithItsOwnNumber = 35;
    constexpr unsigned kWithBranch540 = 36;
    const auto number = parse_number<unsigned>(release.substr(release.starts_with('R') ? 1 : 0));
    if (!number || *number > kWithBranch540)
        return std::nullopt;
    return *number <= kLastWithItsOwnNumber ? std::to_string(*number) : "540";
}

namespace {

constexpr std::size_t kMaxInstances = 64;
constexpr const char* kGpus = "/proc/driver/nvidia/gpus";

/// True for a version such as "580.159.04": digits and at least one dot.
bool is_version(std::string_view word) {
    return word.find('.') != std::string_view::npos &&
           word.find_first_not_of("0123456789.") == std::string_view::npos && word.front() != '.' &&
           word.back() != '.';
}

/// True for "GPU-" and a UUID. Until the driver knows the UUID, the file contains question marks or
/// zeros instead.
bool is_known_uuid(std::string_view text) {
    return text.starts_with("GPU-") && text.find('?') == std::string_view::npos &&
           text.find_first_not_of("0-", 4) != std::string_view::npos;
}

/// The folder of a GPU, named after the PCI address, whose domain may have more digits than in
/// sysfs.
std::optional<std::string> folder_for(const Sysfs& sysfs, const PciAddress& address) {
    for (const auto& name : sysfs.names(kGpus))
        if (parse_text(name, std::type_identity<PciAddress>{}) == address)
            return std::string{kGpus} + "/" + name;
    return std::nullopt;
}

/// The sorted numbers in names such as "gi1" and "gi2".
std::vector<std::uint32_t> numbers_behind(std::string_view prefix,
                                          const std::vector<std::string>& names) {
    std::vector<std::uint32_t> numbers;
    for (const std::string_view name : names)
        if (name.starts_with(prefix))
            if (const auto number = parse_number<std::uint32_t>(name.substr(prefix.size()));
                number && numbers.size() < kMaxInstances)
                numbers.push_back(*number);
    std::ranges::sort(numbers);
    return numbers;
}

/// The device node of a capability, such as "/dev/nvidia-caps/nvidia-cap3". Source:
/// NVIDIA/open-gpu-kernel-modules @ df1c9a3de2be, kernel-open/nvidia/nv-caps.c.
std::optional<std::string> capability_node(const Sysfs& sysfs, const std::string& folder) {
    const auto text = sysfs.content(folder + "/access");
    const auto line = text ? value_of_line(*text, "DeviceFileMinor") : std::nullopt;
    const auto minor = line ? parse_number<std::uint32_t>(*line) : std::nullopt;
    return minor ? std::optional{"/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor)}
                 : std::nullopt;
}

/// Describes a MIG instance as a partition. A program needs the nodes of the GPU instance and of
/// the compute instance, in addition to the nodes of the GPU.
HardwarePartition mig_instance(const Sysfs& sysfs,
                               const std::string& folder,
                               std::uint32_t gpu_instance,
                               std::optional<std::uint32_t> compute_instance) {
    HardwarePartition part{.name = mig_name(gpu_instance, compute_instance),
                           .gpu_instance = gpu_instance,
                           .compute_instance = compute_instance};
    if (auto node = capability_node(sysfs, folder))
        part.nodes.push_back(std::move(*node));
    if (!compute_instance)
        part.state = "no-compute-instance";
    else if (auto node = capability_node(sysfs, folder + "/ci" + std::to_string(*compute_instance)))
        part.nodes.push_back(std::move(*node));
    return part;
}

/// All compute instances of a GPU, and the GPU instances without a compute instance.
std::vector<HardwarePartition> mig_instances(const Sysfs& sysfs, std::uint32_t minor) {
    std::vector<HardwarePartition> instances;
    const auto folder = "/proc/driver/nvidia/capabilities/gpu" + std::to_string(minor) + "/mig";
    for (const auto gpu_instance : numbers_behind("gi", sysfs.names(folder))) {
        const auto path = folder + "/gi" + std::to_string(gpu_instance);
        const auto computing = numbers_behind("ci", sysfs.names(path));
        for (const auto compute_instance : computing)
            instances.push_back(mig_instance(sysfs, path, gpu_instance, compute_instance));
        if (computing.empty())
            instances.push_back(mig_instance(sysfs, path, gpu_instance, std::nullopt));
        if (instances.size() >= kMaxInstances)
            break;
    }
    return instances;
}

}  // namespace

NvidiaModule parse_nvidia_version(std::string_view text) {
    const auto line = text.substr(0, text.find('\n'));
    if (!line.starts_with("NVRM version:"))
        return {};
    NvidiaModule module;
    for (const auto word : words(line)) {
        if (word == "Open")
            module.flavour = "open";
        if (!module.version && is_version(word))
            module.version = std::string{word};
    }
    // Only the open kernel modules report their flavor, so a module without a flavor is
    // proprietary.
    if (module.version && !module.flavour)
        module.flavour = "proprietary";
    return module;
}

NvidiaModule nvidia_module(const Sysfs& sysfs) {
    auto module = parse_nvidia_version(sysfs.content("/proc/driver/nvidia/version").value_or(""));
    if (auto version = sysfs.text("/sys/module/nvidia/version"))
        module.version = std::move(version);
    return module;
}

NvidiaInformation parse_nvidia_information(std::string_view text) {
    NvidiaInformation information;
    for (const auto line : split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const auto key = trimmed(line.substr(0, colon));
        const auto value = trimmed(line.substr(colon + 1));
        if (key == "Model" && !value.empty() && value != "Unknown")
            information.model = scrubbed(value);
        if (key == "GPU UUID" && is_known_uuid(value))
            information.uuid = scrubbed(value);
        if (key == "Device Minor")
            information.minor = parse_number<std::uint32_t>(value);
    }
    return information;
}

void add_nvidia_facts(const Sysfs& sysfs, HardwareDevice& device) {
    if (device.driver != "nvidia" || !device.pci)
        return;
    device.driver_flavour = nvidia_module(sysfs).flavour;
    const auto folder = folder_for(sysfs, *device.pci);
    const auto text = folder ? sysfs.content(*folder + "/information") : std::nullopt;
    if (!text)
        return;
    const auto information = parse_nvidia_information(*text);
    device.model = information.model;
    device.uuid = information.uuid;
    if (!information.minor)
        return;
    device.extra["nvidia_minor"] = *information.minor;
    device.partitions = mig_instances(sysfs, *information.minor);
}

}  // namespace gpuprobe::inline inventory
