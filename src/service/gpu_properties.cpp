// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_properties.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "explain/report_text.h"
#include "policy/environment.h"
#include "report/access.h"
#include "report/compute_view.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {
namespace {

constexpr std::size_t kMaxPathElement = 200;  // well below what any file or bus name allows

/// The text without control characters, and valid for the bus, which rejects some other characters
/// as well.
std::string shown(std::string_view text) {
    return bus::bus_text(scrubbed(text));
}

std::string text_or_empty(const std::optional<std::string>& text) {
    return text ? shown(*text) : std::string{};
}

std::uint32_t number_or_zero(const std::optional<std::string>& hexadecimal) {
    return hexadecimal ? parse_hex<std::uint32_t>(*hexadecimal).value_or(0) : 0;
}

/// The variables that restrict a program to this GPU.
std::map<std::string, std::string> environment_of(const std::string& id, const Report& report) {
    std::map<std::string, std::string> shown_variables;
    const auto gpu = std::ranges::find(report.gpus, id, &Gpu::id);
    if (gpu != report.gpus.end())
        for (const auto& [name, value] : environment_for(report, *gpu))
            shown_variables.emplace(name, bus::bus_text(value));
    return shown_variables;
}

/// The GPU's partitions without their free memory, which changes all the time and must not cause
/// change signals.
std::vector<Unit> units_of(const std::string& id, const Report& report) {
    const auto gpu = std::ranges::find(report.gpus, id, &Gpu::id);
    auto units = gpu == report.gpus.end() ? std::vector<Unit>{} : gpu->partitions;
    for (auto& unit : units)
        if (unit.memory)
            unit.memory->free.reset();
    return units;
}

std::map<std::string, ApiAnswer> apis_of(const Gpu& gpu) {
    std::map<std::string, ApiAnswer> answers;
    for (const auto& [api, view] : gpu.apis)
        answers.emplace(api, ApiAnswer{.outcome = view.outcome, .reasons = view.reasons});
    return answers;
}

}  // namespace

Report open_to_all(const Report& report) {
    constexpr std::uint32_t kNobody = 65534;  // the usual uid and gid of the overflow user
    return as_seen_by(report, {.uid = kNobody, .groups = std::vector<std::uint32_t>{kNobody}});
}

GpuProperties properties_of(const Gpu& gpu, const Report& open_to_all) {
    // From the GPU's own entry: facts that all users may know. From `open_to_all`: facts that
    // depend on access to the device nodes.
    const PciInfo pci = gpu.pci.value_or(PciInfo{});
    return {
        .id = shown(gpu.id),
        .kind = std::string{name_of(gpu.kind)},
        .vendor = text_or_empty(gpu.vendor),
        .name = text_or_empty(gpu.name),
        .title = shown(gpu_title(gpu)),
        .pci_address = pci.address ? text_of(*pci.address) : std::string{},
        .vendor_id = number_or_zero(pci.vendor_id),
        .device_id = number_or_zero(pci.device_id),
        .driver = text_or_empty(gpu.driver.name),
        .memory_total = offered_memory(gpu.memory).value_or(Bytes{}).count,
        .health = shown(gpu.health),
        .backends = gpu.backends,
        .apis = apis_of(gpu),
        .environment = environment_of(gpu.id, open_to_all),
        .units = units_of(gpu.id, open_to_all),
    };
}

std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after,
                                            bool has_other_words) {
    // Id and PciAddress are constant for an object. PowerState does not emit signals.
    std::vector<std::string> names;
    const auto compare = [&](const char* name, const auto member) {
        if (!(before.*member == after.*member))
            names.emplace_back(name);
    };
    compare("Kind", &GpuProperties::kind);
    compare("Vendor", &GpuProperties::vendor);
    compare("Name", &GpuProperties::name);
    compare("Title", &GpuProperties::title);
    compare("VendorId", &GpuProperties::vendor_id);
    compare("DeviceId", &GpuProperties::device_id);
    compare("Driver", &GpuProperties::driver);
    compare("MemoryTotal", &GpuProperties::memory_total);
    compare("Health", &GpuProperties::health);
    if (before.backends != after.backends || has_other_words)
        names.emplace_back("Backends");
    if (before.apis != after.apis || has_other_words)
        names.emplace_back("Apis");
    compare("Environment", &GpuProperties::environment);
    compare("Units", &GpuProperties::units);
    return names;
}

std::string path_element(std::string_view id) {
    std::string element{id.substr(0, kMaxPathElement)};
    const auto is_allowed = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    };
    std::ranges::replace_if(element, std::not_fn(is_allowed), '_');
    return element.empty() ? "_" : element;
}

std::string unit_path(const std::string& path, std::string_view name) {
    return path + "/" + path_element(name);
}

}  // namespace gpuprobe::inline service
