// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backends/drm/drm_abi.h"
#include "backends/drm/drm_facts.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

std::optional<std::uint64_t> nouveau_parameter(const DrmDevice& device,
                                               std::uint64_t parameter,
                                               DeviceFacts& facts) {
    drm::Parameter question{.parameter = parameter};
    if (const int problem = device.ask(drm::nouveau::kGetParameter, &question); problem != 0) {
        note_drm_error("DRM_NOUVEAU_GETPARAM", problem, facts);
        return std::nullopt;
    }
    return question.value;
}

/// A parameter that the kernel does not have is not known, and no error.
std::optional<std::uint32_t> virtio_parameter(const DrmDevice& device, std::uint64_t parameter) {
    std::uint32_t value = 0;
    drm::Parameter question{.parameter = parameter,
                            .value = reinterpret_cast<std::uintptr_t>(&value)};
    if (device.ask(drm::virtgpu::kGetParameter, &question) != 0)
        return std::nullopt;
    return value;
}

Value flag(std::optional<std::uint32_t> value) {
    return value ? Value{*value != 0} : Value{};
}

/// Source: virtio specification 1.3, "GPU Device", capset ids, and Linux, virtgpu_drm.h.
Value capset_words(std::uint32_t mask) {
    constexpr std::array<std::string_view, 7> kWords = {
        "", "virgl", "virgl2", "gfxstream-vulkan", "venus", "cross-domain", "drm"};
    Value words{Value::Array{}};
    for (std::uint32_t id = 1; id < 32; ++id)
        if (mask >> id & 1U)
            words.push_back(id < kWords.size() ? Value{kWords[id]} : Value{std::to_string(id)});
    return words;
}

}  // namespace

void add_nouveau_facts(const DrmDevice& device, DeviceFacts& facts) {
    const auto size = nouveau_parameter(device, drm::nouveau::kFrameBufferSize, facts);
    if (size && *size > 0)
        facts.memory = FactMemory{.total = Bytes{*size}};
    const auto chipset = nouveau_parameter(device, drm::nouveau::kChipset, facts);
    facts.extra["chipset"] = chipset && *chipset > 0 ? Value{hexadecimal(*chipset, 2)} : Value{};
}

void add_radeon_facts(const DrmDevice& device, DeviceFacts& facts) {
    drm::radeon::GemInfo memory;
    if (const int problem = device.ask(drm::radeon::kGemInfo, &memory); problem != 0)
        return note_drm_error("DRM_RADEON_GEM_INFO", problem, facts);
    facts.extra["gtt_total"] = memory.gart_size > 0 ? Value{memory.gart_size} : Value{};
    if (memory.vram_size == 0)
        return;
    facts.memory = FactMemory{.total = Bytes{memory.vram_size}};
    std::uint64_t used = 0;
    drm::radeon::Info usage{.request = drm::radeon::kVramUsage,
                            .value = reinterpret_cast<std::uintptr_t>(&used)};
    // The kernel has been seen to count more in use than there is.
    if (device.ask(drm::radeon::kInfo, &usage) == 0 && used <= memory.vram_size)
        facts.memory->free = Bytes{memory.vram_size - used};
}

void add_virtio_facts(const DrmDevice& device, DeviceFacts& facts) {
    facts.type = DeviceType::Virtual;
    facts.extra["accelerated"] = flag(virtio_parameter(device, drm::virtgpu::k3dFeatures));
    facts.extra["host_visible"] = flag(virtio_parameter(device, drm::virtgpu::kHostVisible));
    facts.extra["context_init"] = flag(virtio_parameter(device, drm::virtgpu::kContextInit));
    const auto capsets = virtio_parameter(device, drm::virtgpu::kCapsetIds);
    facts.extra["capsets"] = capsets ? capset_words(*capsets) : Value{};
}

void add_vmwgfx_facts(const DrmDevice&, DeviceFacts& facts) {
    facts.type = DeviceType::Virtual;
}

}  // namespace gpuprobe::backends
