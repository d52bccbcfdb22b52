// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/facts.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/drm/abi.h"
#include "backends/texts.h"
#include "base/files.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint64_t kHertzPerKilohertz = 1000;

/// The names of AMDGPU_VRAM_TYPE_*, by number. Source: amdgpu_drm.h.
constexpr std::array<std::string_view, 13> kVramTypes = {
    "",     "gddr1", "ddr2",  "gddr3", "gddr4",  "gddr5", "hbm",
    "ddr3", "ddr4",  "gddr6", "ddr5",  "lpddr4", "lpddr5"};

/// Runs a query of amdgpu. Returns 0 or an errno.
template <class T>
int amdgpu_query(const DrmDevice& device, std::uint32_t what, T& reply) {
    drm_amdgpu_info info = {};
    info.return_pointer = drm::address_of(&reply);
    info.return_size = sizeof reply;  // the kernel writes at most this
    info.query = what;
    return device.ask(DRM_IOCTL_AMDGPU_INFO, &info);
}

void add_amdgpu_device(const DrmDevice& device, DeviceFacts& facts) {
    drm_amdgpu_info_device info = {};
    if (const int problem = amdgpu_query(device, AMDGPU_INFO_DEV_INFO, info); problem != 0)
        return note_drm_error("AMDGPU_INFO_DEV_INFO", problem, facts);
    // "Fusion" is AMD's old name for APUs.
    facts.type =
        info.ids_flags & AMDGPU_IDS_FLAGS_FUSION ? DeviceType::Integrated : DeviceType::Discrete;
    facts.extra["compute_units"] = unless_zero(info.cu_active_number);
    facts.extra["clock_hz"] = unless_zero(info.max_engine_clock * kHertzPerKilohertz);
    facts.extra["memory_clock_hz"] = unless_zero(info.max_memory_clock * kHertzPerKilohertz);
    facts.extra["memory_bus_bits"] = unless_zero(info.vram_bit_width);
    const bool is_known = info.vram_type > 0 && info.vram_type < kVramTypes.size();
    facts.extra["memory_type"] = is_known ? Value{kVramTypes[info.vram_type]} : Value{};
}

void add_amdgpu_memory(const DrmDevice& device, DeviceFacts& facts) {
    drm_amdgpu_memory_info info = {};
    if (const int problem = amdgpu_query(device, AMDGPU_INFO_MEMORY, info); problem != 0)
        return note_drm_error("AMDGPU_INFO_MEMORY", problem, facts);
    if (info.vram.total_heap_size > 0) {
        facts.memory = FactMemory{.total = Bytes{info.vram.total_heap_size}};
        // The two numbers are read at different times, so usage may exceed the total.
        if (info.vram.heap_usage <= info.vram.total_heap_size)
            facts.memory->free = Bytes{info.vram.total_heap_size - info.vram.heap_usage};
    }
    facts.extra["memory_usable"] = unless_zero(info.vram.usable_heap_size);
    facts.extra["memory_visible"] = unless_zero(info.cpu_accessible_vram.total_heap_size);
    facts.extra["gtt_total"] = unless_zero(info.gtt.total_heap_size);
    facts.extra["gtt_used"] = info.gtt.total_heap_size > 0 ? Value{info.gtt.heap_usage} : Value{};
}

void add_amdgpu_facts(const DrmDevice& device, DeviceFacts& facts) {
    add_amdgpu_device(device, facts);
    add_amdgpu_memory(device, facts);
}

/// A parameter of nouveau. If the call fails, notes the error and returns nullopt.
std::optional<std::uint64_t> nouveau_parameter(const DrmDevice& device,
                                               std::uint64_t parameter,
                                               DeviceFacts& facts) {
    drm::nouveau::Parameter question{.parameter = parameter};
    if (const int problem = device.ask(drm::nouveau::kGetParameter, &question); problem != 0) {
        note_drm_error("DRM_NOUVEAU_GETPARAM", problem, facts);
        return std::nullopt;
    }
    return question.value;
}

/// A parameter of virtio-gpu. nullopt if this kernel lacks it; that counts as unknown, not as an
/// error.
std::optional<std::uint32_t> virtio_parameter(const DrmDevice& device, std::uint64_t parameter) {
    std::uint32_t value = 0;
    drm_virtgpu_getparam question{.param = parameter, .value = drm::address_of(&value)};
    if (device.ask(DRM_IOCTL_VIRTGPU_GETPARAM, &question) != 0)
        return std::nullopt;
    return value;
}

/// A number as a boolean; null if unknown.
Value flag(std::optional<std::uint32_t> value) {
    return value ? Value{*value != 0} : Value{};
}

/// The names of the capability sets in a mask; bit N is set N. Source: virtio specification 1.3,
/// "GPU Device", capset ids, and Linux, virtgpu_drm.h.
Value capset_words(std::uint32_t mask) {
    constexpr std::array<std::string_view, 7> kWords = {
        "", "virgl", "virgl2", "gfxstream-vulkan", "venus", "cross-domain", "drm"};
    Value words{Value::Array{}};
    for (std::uint32_t id = 1; id < 32; ++id)
        if (mask >> id & 1U)
            words.push_back(id < kWords.size() ? Value{kWords[id]} : Value{std::to_string(id)});
    return words;
}

void add_nouveau_facts(const DrmDevice& device, DeviceFacts& facts) {
    const auto size = nouveau_parameter(device, drm::nouveau::kFrameBufferSize, facts);
    if (size && *size > 0)
        facts.memory = FactMemory{.total = Bytes{*size}};
    const auto chipset = nouveau_parameter(device, drm::nouveau::kChipset, facts);
    facts.extra["chipset"] = chipset && *chipset > 0 ? Value{hexadecimal(*chipset, 2)} : Value{};
}

void add_radeon_facts(const DrmDevice& device, DeviceFacts& facts) {
    drm_radeon_gem_info memory = {};
    if (const int problem = device.ask(DRM_IOCTL_RADEON_GEM_INFO, &memory); problem != 0)
        return note_drm_error("DRM_RADEON_GEM_INFO", problem, facts);
    facts.extra["gtt_total"] = memory.gart_size > 0 ? Value{memory.gart_size} : Value{};
    if (memory.vram_size == 0)
        return;
    facts.memory = FactMemory{.total = Bytes{memory.vram_size}};
    std::uint64_t used = 0;
    drm_radeon_info usage = {};
    usage.request = RADEON_INFO_VRAM_USAGE;
    usage.value = drm::address_of(&used);
    // Some kernels report more memory in use than exists; treat that as unknown.
    if (device.ask(DRM_IOCTL_RADEON_INFO, &usage) == 0 && used <= memory.vram_size)
        facts.memory->free = Bytes{memory.vram_size - used};
}

void add_virtio_facts(const DrmDevice& device, DeviceFacts& facts) {
    facts.type = DeviceType::Virtual;
    facts.extra["accelerated"] = flag(virtio_parameter(device, VIRTGPU_PARAM_3D_FEATURES));
    facts.extra["host_visible"] = flag(virtio_parameter(device, drm::virtgpu::kHostVisible));
    facts.extra["context_init"] = flag(virtio_parameter(device, drm::virtgpu::kContextInit));
    const auto capsets = virtio_parameter(device, drm::virtgpu::kCapsetIds);
    facts.extra["capsets"] = capsets ? capset_words(*capsets) : Value{};
}

/// vmwgfx answers no query of interest, but it only exists in virtual machines.
void add_vmwgfx_facts(const DrmDevice&, DeviceFacts& facts) {
    facts.type = DeviceType::Virtual;
}

struct Driver {
    std::string_view name;
    void (*add_facts)(const DrmDevice&, DeviceFacts&);
};
/// The drivers that can report more than their version.
constexpr std::array kDrivers = std::to_array<Driver>({
    {"amdgpu", add_amdgpu_facts},
    {"i915", add_i915_facts},
    {"nouveau", add_nouveau_facts},
    {"radeon", add_radeon_facts},
    {"virtio_gpu", add_virtio_facts},
    {"vmwgfx", add_vmwgfx_facts},
    {"xe", add_xe_facts},
});

using Text = std::array<char, 128>;

/// The text in a buffer. The kernel returns the full length of the text, which may exceed the
/// buffer.
std::optional<std::string> text(const Text& buffer, std::size_t claimed) {
    return clean_text({buffer.data(), std::min(claimed, buffer.size())});
}

}  // namespace

void note_drm_error(std::string_view call, int number, DeviceFacts& facts) {
    if (facts.extra.at("error").is_null())
        facts.extra["error"] = errno_error(call, number).text;
}

void add_driver_facts(const DrmDevice& device, std::string_view driver, DeviceFacts& facts) {
    for (const auto& known : kDrivers)
        if (known.name == driver)
            known.add_facts(device, facts);
}

void add_drm_facts(const DrmDevice& device, DeviceFacts& facts) {
    // The version call fills in two texts of our choice and three numbers.
    Text name = {};
    Text description = {};
    drm_version version = {};
    version.name = name.data();
    version.name_len = name.size();
    version.desc = description.data();
    version.desc_len = description.size();
    if (const int problem = device.ask(DRM_IOCTL_VERSION, &version); problem != 0)
        return note_drm_error("DRM_IOCTL_VERSION", problem, facts);
    const auto driver = text(name, version.name_len);
    facts.extra["driver_name"] = to_value(driver);
    facts.extra["driver_version"] = dotted({static_cast<unsigned>(version.version_major),
                                            static_cast<unsigned>(version.version_minor),
                                            static_cast<unsigned>(version.version_patchlevel)});
    facts.extra["driver_description"] = to_value(text(description, version.desc_len));
    add_driver_facts(device, driver.value_or(""), facts);
}

}  // namespace gpuprobe::backends
