// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/facts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "backends/texts.h"
#include "base/files.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint32_t kMaxEntries = 64;
constexpr std::uint16_t kOnDevice = 1;

/// A copy of the object at an offset; nullopt if the bytes end before the end of the object.
template <class T>
std::optional<T> part(std::span<const std::byte> bytes, std::size_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

/// The entries after a header of `head` bytes, whose first 32 bits are the number of entries.
/// nullopt if there are more than kMaxEntries, or too few bytes for the entries.
template <class Entry>
std::optional<std::vector<Entry>> entries(std::span<const std::byte> bytes, std::size_t head) {
    const auto count = part<std::uint32_t>(bytes, 0);
    if (!count || bytes.size() < head || *count > kMaxEntries)
        return std::nullopt;
    std::vector<Entry> list;
    for (std::size_t i = 0; i < *count; ++i) {
        const auto entry = part<Entry>(bytes, head + i * sizeof(Entry));
        if (!entry)
            return std::nullopt;
        list.push_back(*entry);
    }
    return list;
}

/// Sets `error` to "CALL: reason", unless there is an earlier error. `number` is an errno.
void note_drm_error(std::string_view call, int number, DeviceFacts& facts) {
    if (facts.extra.at("error").is_null())
        facts.extra["error"] = errno_error(call, number).text;
}

using Reply = std::vector<std::byte>;
constexpr std::size_t kMaxReply = 64 * 1024;

/// The reply of i915 to a query; empty if the kernel refuses the query. The first call returns the
/// length of the reply, and the second call fills in the reply.
Reply i915_reply(const DrmDevice& device, std::uint64_t what, DeviceFacts& facts) {
    drm_i915_query_item item = {};
    item.query_id = what;
    drm_i915_query query = {};
    query.num_items = 1;
    query.items_ptr = drm::address_of(&item);
    Reply reply;
    for (int pass = 0; pass < 2; ++pass) {
        // The ioctl succeeds even if an item fails; the length of a failed item is a negative
        // errno.
        int problem = device.ask(DRM_IOCTL_I915_QUERY, &query);
        if (problem == 0 && item.length < 0)
            problem = item.length > -4096 ? -item.length : EINVAL;
        if (problem != 0) {
            note_drm_error("DRM_IOCTL_I915_QUERY", problem, facts);
            return {};
        }
        const auto length = static_cast<std::size_t>(item.length);
        // The reply may have become shorter since the first call.
        if (pass == 1)
            reply.resize(std::min(length, reply.size()));
        if (pass == 1 || length == 0 || length > kMaxReply)
            break;
        reply.resize(length);
        item.data_ptr = drm::address_of(reply.data());
    }
    return reply;
}

/// The reply of xe to a query; empty if the kernel refuses the query. Two calls are needed, as with
/// i915.
Reply xe_reply(const DrmDevice& device, std::uint32_t what, DeviceFacts& facts) {
    drm::xe::DeviceQuery query{.query = what};
    Reply reply;
    for (int pass = 0; pass < 2; ++pass) {
        if (const int problem = device.ask(drm::xe::kDeviceQuery, &query); problem != 0) {
            note_drm_error("DRM_IOCTL_XE_DEVICE_QUERY", problem, facts);
            return {};
        }
        if (pass == 1 || query.size == 0 || query.size > kMaxReply)
            break;
        reply.resize(query.size);
        query.data = drm::address_of(reply.data());
    }
    return reply;
}

/// Adds the memory facts. A GPU with a region on the device is discrete.
void add_regions(const std::vector<MemoryRegion>& regions, DeviceFacts& facts) {
    facts.memory = device_memory(regions);
    facts.extra["regions"] = value_of(regions);
    if (!regions.empty())
        facts.type = facts.memory ? DeviceType::Discrete : DeviceType::Integrated;
}

}  // namespace

std::optional<std::vector<MemoryRegion>> i915_regions(std::span<const std::byte> reply) {
    const auto found =
        entries<drm_i915_memory_region_info>(reply, sizeof(drm_i915_query_memory_regions));
    if (!found)
        return std::nullopt;
    std::vector<MemoryRegion> regions;
    for (const auto& entry : *found) {
        MemoryRegion region{.is_on_device = entry.region.memory_class == kOnDevice,
                            .instance = entry.region.memory_instance,
                            .size = entry.probed_size};
        // Equal total and unallocated sizes mean that the kernel did not count the used memory; see
        // MemoryRegion::free.
        if (entry.unallocated_size < entry.probed_size)
            region.free = entry.unallocated_size;
        regions.push_back(region);
    }
    return regions;
}

std::optional<std::vector<MemoryRegion>> xe_regions(std::span<const std::byte> reply) {
    const auto found = entries<drm::xe::Region>(reply, sizeof(drm::xe::Head));
    if (!found)
        return std::nullopt;
    std::vector<MemoryRegion> regions;
    for (const auto& entry : *found) {
        MemoryRegion region{.is_on_device = entry.memory_class == kOnDevice,
                            .instance = entry.instance,
                            .size = entry.total_size};
        // Likewise, a use of 0 bytes means that the use is unknown.
        if (entry.used > 0 && entry.used <= entry.total_size)
            region.free = entry.total_size - entry.used;
        regions.push_back(region);
    }
    return regions;
}

std::optional<bool> xe_has_vram(std::span<const std::byte> reply) {
    const auto values = entries<std::uint64_t>(reply, sizeof(drm::xe::Head));
    if (!values || values->size() <= drm::xe::kConfigFlags)
        return std::nullopt;
    return ((*values)[drm::xe::kConfigFlags] & drm::xe::kHasVram) != 0;
}

std::optional<std::string> xe_ip_version(std::span<const std::byte> reply) {
    constexpr std::uint16_t kMainGt = 0;
    const auto gts = entries<drm::xe::Gt>(reply, sizeof(drm::xe::Head));
    if (!gts)
        return std::nullopt;
    for (const auto& gt : *gts)
        if (gt.type == kMainGt && gt.ip_major > 0)
            return dotted({gt.ip_major, gt.ip_minor, gt.ip_revision});
    return std::nullopt;
}

std::optional<FactMemory> device_memory(std::span<const MemoryRegion> regions) {
    FactMemory memory{.total = Bytes{}, .free = Bytes{}};
    for (const auto& region : regions) {
        if (!region.is_on_device)
            continue;
        memory.total->count += region.size;
        // If the use of any region is unknown, the sum is unknown.
        if (!region.free)
            memory.free.reset();
        if (memory.free)
            memory.free->count += *region.free;
    }
    return memory.total->count > 0 ? std::optional{memory} : std::nullopt;
}

Value value_of(std::span<const MemoryRegion> regions) {
    Value list{Value::Array{}};
    for (const auto& region : regions) {
        Value entry;
        entry["on_device"] = region.is_on_device;
        entry["instance"] = static_cast<unsigned>(region.instance);
        entry["size"] = region.size;
        entry["free"] = region.free ? Value{*region.free} : Value{};
        list.push_back(std::move(entry));
    }
    return list;
}

namespace {

void add_i915_facts(const DrmDevice& device, DeviceFacts& facts) {
    // Kernels without this query support only integrated GPUs; with such a kernel, the type stays
    // unknown.
    const auto reply = i915_reply(device, DRM_I915_QUERY_MEMORY_REGIONS, facts);
    if (const auto regions = i915_regions(reply))
        add_regions(*regions, facts);
}

void add_xe_facts(const DrmDevice& device, DeviceFacts& facts) {
    if (const auto regions = xe_regions(xe_reply(device, drm::xe::kQueryMemoryRegions, facts)))
        add_regions(*regions, facts);
    if (const auto has_vram = xe_has_vram(xe_reply(device, drm::xe::kQueryConfig, facts)))
        facts.type = *has_vram ? DeviceType::Discrete : DeviceType::Integrated;
    facts.extra["intel_ip"] = to_value(xe_ip_version(xe_reply(device, drm::xe::kQueryGts, facts)));
}

constexpr std::uint64_t kHertzPerKilohertz = 1000;

/// The names of AMDGPU_VRAM_TYPE_*, by number. Source: amdgpu_drm.h.
constexpr std::array<std::string_view, 13> kVramTypes = {
    "",     "gddr1", "ddr2",  "gddr3", "gddr4",  "gddr5", "hbm",
    "ddr3", "ddr4",  "gddr6", "ddr5",  "lpddr4", "lpddr5"};

/// Sends a query to amdgpu. Returns 0 or an errno.
template <class T>
int amdgpu_query(const DrmDevice& device, std::uint32_t what, T& reply) {
    drm_amdgpu_info info = {};
    info.return_pointer = drm::address_of(&reply);
    info.return_size = sizeof reply;  // the kernel writes at most this many bytes
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
        // The usage and the total are read at different times, so the usage may exceed the total.
        if (info.vram.heap_usage <= info.vram.total_heap_size)
            facts.memory->free = Bytes{info.vram.total_heap_size - info.vram.heap_usage};
    }
    facts.extra["memory_usable"] = unless_zero(info.vram.usable_heap_size);
    facts.extra["memory_visible"] = unless_zero(info.cpu_accessible_vram.total_heap_size);
    facts.extra["gtt_total"] = unless_zero(info.gtt.total_heap_size);
    facts.extra["gtt_used"] = info.gtt.total_heap_size > 0 ? Value{info.gtt.heap_usage} : Value{};
}

/// The version of the micro engine scheduler (MES), which starts the queues of compute programs, as
/// the kernel log prints it. Older GPUs and kernels have no MES, which isn't an error.
void add_amdgpu_scheduler(const DrmDevice& device, DeviceFacts& facts) {
    // The higher bits are the version of the interface.
    constexpr std::uint32_t kVersionBits = 0xfff;
    drm_amdgpu_info_firmware reply = {};
    drm_amdgpu_info info = {};
    info.return_pointer = drm::address_of(&reply);
    info.return_size = sizeof reply;
    info.query = AMDGPU_INFO_FW_VERSION;
    info.query_fw.fw_type = drm::amdgpu::kSchedulerFirmware;
    if (device.ask(DRM_IOCTL_AMDGPU_INFO, &info) == 0 && (reply.ver & kVersionBits) != 0)
        facts.extra["mes_firmware"] = "0x" + hexadecimal(reply.ver & kVersionBits, 2);
}

void add_amdgpu_facts(const DrmDevice& device, DeviceFacts& facts) {
    add_amdgpu_device(device, facts);
    add_amdgpu_memory(device, facts);
    add_amdgpu_scheduler(device, facts);
}

/// Returns a parameter of nouveau. If the call fails, notes the error and returns nullopt.
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

/// A parameter of virtio-gpu. nullopt if this kernel lacks the parameter, which counts as unknown
/// and not as an error.
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

/// The names of the capability sets in a mask; bit N means set N. Source: virtio
/// specification 1.3, "GPU Device", capset ids, and Linux, virtgpu_drm.h.
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
    // Some kernels report more memory in use than exists. Treat such values as unknown.
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

/// vmwgfx answers no useful query, but its presence shows that this is a virtual machine.
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

/// Adds only the driver-specific facts. `driver` is the name that the driver reports; unknown
/// drivers add nothing.
void add_driver_facts(const DrmDevice& device, std::string_view driver, DeviceFacts& facts) {
    for (const auto& known : kDrivers)
        if (known.name == driver)
            known.add_facts(device, facts);
}

using Text = std::array<char, 128>;

/// The string in a buffer. The kernel returns the full length of the string, which may exceed the
/// buffer.
std::optional<std::string> text(const Text& buffer, std::size_t claimed) {
    return clean_text({buffer.data(), std::min(claimed, buffer.size())});
}

}  // namespace

void add_drm_facts(const DrmDevice& device, DeviceFacts& facts) {
    // The version call returns three numbers, and two strings in buffers that we provide.
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
