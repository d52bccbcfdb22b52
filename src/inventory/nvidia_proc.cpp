// SPDX-License-Identifier: Apache-2.0
#include "inventory/nvidia_proc.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxInstances = 64;
constexpr const char* kGpus = "/proc/driver/nvidia/gpus";

/// "580.159.04": digits and dots, at least one dot.
bool is_version(std::string_view word) {
    return word.find('.') != std::string_view::npos &&
           word.find_first_not_of("0123456789.") == std::string_view::npos && word.front() != '.' &&
           word.back() != '.';
}

/// "GPU-" and a UUID; the driver prints question marks before it knows.
bool is_known_uuid(std::string_view text) {
    return text.starts_with("GPU-") && text.find('?') == std::string_view::npos &&
           text.find_first_not_of("0-", 4) != std::string_view::npos;
}

/// The folder of this GPU; its name is an address whose domain may have more digits than sysfs'.
std::optional<std::string> folder_for(const Sysfs& sysfs, const PciAddress& address) {
    for (const auto& name : sysfs.names(kGpus))
        if (parse_text(name, std::type_identity<PciAddress>{}) == address)
            return std::string{kGpus} + "/" + name;
    return std::nullopt;
}

bool is_instance(std::string_view name, std::string_view prefix) {
    return name.starts_with(prefix) &&
           parse_number<std::uint32_t>(name.substr(prefix.size())).has_value();
}

/// "mig/gi1/ci0" for each compute instance, "mig/gi1" for a GPU instance without one.
std::vector<std::string> mig_instances(const Sysfs& sysfs, std::uint32_t minor) {
    std::vector<std::string> instances;
    const auto add = [&instances](std::string name) {
        if (instances.size() < kMaxInstances)
            instances.push_back(std::move(name));
    };
    const auto folder = "/proc/driver/nvidia/capabilities/gpu" + std::to_string(minor) + "/";
    for (const auto& gpu_instance : sysfs.names(folder + "mig")) {
        if (!is_instance(gpu_instance, "gi"))
            continue;
        const auto path = "mig/" + gpu_instance;
        const auto before = instances.size();
        for (const auto& compute_instance : sysfs.names(folder + path))
            if (is_instance(compute_instance, "ci"))
                add(path + "/" + compute_instance);
        if (instances.size() == before)
            add(path);
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
    for (auto& name : mig_instances(sysfs, *information.minor))
        device.partitions.push_back({.name = std::move(name)});
}

}  // namespace gpuprobe
