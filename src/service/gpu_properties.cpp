// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_properties.h"

#include <algorithm>
#include <functional>

#include "base/parse.h"
#include "wire/text.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxPathElement = 200;  // well below what any file or bus name allows

/// For people to read, and valid for the bus, which refuses more than is bad to read.
std::string shown(std::string_view text) {
    return bus::bus_text(scrubbed(text));
}

std::string text_or_empty(const std::optional<std::string>& text) {
    return text ? shown(*text) : std::string{};
}

std::uint32_t number_or_zero(const std::optional<std::string>& hexadecimal) {
    return hexadecimal ? parse_hex<std::uint32_t>(*hexadecimal).value_or(0) : 0;
}

std::string prime_selector(const PciAddress& address) {
    std::string text = "pci-" + text_of(address);
    std::ranges::replace_if(
        text, [](char c) { return c == ':' || c == '.'; }, '_');
    return text;
}

}  // namespace

GpuProperties properties_of(const Gpu& gpu) {
    const PciInfo pci = gpu.pci.value_or(PciInfo{});
    return {
        .id = shown(gpu.id),
        .kind = std::string{name_of(gpu.kind)},
        .vendor = text_or_empty(gpu.vendor),
        .name = text_or_empty(gpu.name),
        .pci_address = pci.address ? text_of(*pci.address) : std::string{},
        .vendor_id = number_or_zero(pci.vendor_id),
        .device_id = number_or_zero(pci.device_id),
        .driver = text_or_empty(gpu.driver.name),
        .memory_total = offered_memory(gpu.memory).value_or(Bytes{}).count,
        .health = shown(gpu.health),
        .backends = gpu.backends,
        .environment = launch_environment(gpu),
    };
}

std::vector<std::string> changed_properties(const GpuProperties& before,
                                            const GpuProperties& after) {
    std::vector<std::string> names;
    const auto compare = [&](const char* name, const auto member) {
        if (!(before.*member == after.*member))
            names.emplace_back(name);
    };
    compare("Kind", &GpuProperties::kind);
    compare("Vendor", &GpuProperties::vendor);
    compare("Name", &GpuProperties::name);
    compare("VendorId", &GpuProperties::vendor_id);
    compare("DeviceId", &GpuProperties::device_id);
    compare("Driver", &GpuProperties::driver);
    compare("MemoryTotal", &GpuProperties::memory_total);
    compare("Health", &GpuProperties::health);
    compare("Backends", &GpuProperties::backends);
    compare("Environment", &GpuProperties::environment);
    return names;
}

std::map<std::string, std::string> launch_environment(const Gpu& gpu) {
    if (gpu.kind == GpuKind::DisplayOnly || !gpu.pci || !gpu.pci->address)
        return {};
    if (gpu.driver.name == "nvidia")
        return {{"__NV_PRIME_RENDER_OFFLOAD", "1"},
                {"__GLX_VENDOR_LIBRARY_NAME", "nvidia"},
                {"__VK_LAYER_NV_optimus", "NVIDIA_only"}};
    if (!gpu.identity.drm.render)
        return {};
    return {{"DRI_PRIME", prime_selector(*gpu.pci->address)}};
}

std::string path_element(std::string_view id) {
    std::string element{id.substr(0, kMaxPathElement)};
    const auto is_allowed = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    };
    std::ranges::replace_if(element, std::not_fn(is_allowed), '_');
    return element.empty() ? "_" : element;
}

const Gpu* default_gpu(const std::vector<Gpu>& gpus) {
    const auto found =
        std::ranges::find_if(gpus, [](const Gpu& gpu) { return gpu.kind != GpuKind::DisplayOnly; });
    return found == gpus.end() ? nullptr : &*found;
}

}  // namespace gpuprobe
