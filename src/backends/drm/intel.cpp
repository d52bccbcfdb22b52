// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/intel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/drm/abi.h"
#include "backends/drm/facts.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint32_t kMaxEntries = 64;
constexpr std::uint16_t kOnDevice = 1;

/// A copy of the object at an offset; nullopt if the bytes end before it does.
template <class T>
std::optional<T> part(std::span<const std::byte> bytes, std::size_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

/// The entries after a header of `head` bytes, whose first 32 bits are the number of entries.
/// nullopt if there are more than kMaxEntries, or fewer bytes than entries.
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

using Reply = std::vector<std::byte>;
constexpr std::size_t kMaxReply = 64 * 1024;

/// The reply of i915 to a query; empty if the kernel refuses. The first call returns the length of
/// the reply, the second one fills it in.
Reply i915_reply(const DrmDevice& device, std::uint64_t what, DeviceFacts& facts) {
    drm_i915_query_item item = {};
    item.query_id = what;
    drm_i915_query query = {};
    query.num_items = 1;
    query.items_ptr = drm::address_of(&item);
    Reply reply;
    for (int pass = 0; pass < 2; ++pass) {
        // The ioctl succeeds even if an item fails: then the item's length is a negative errno.
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

/// The reply of xe to a query; empty if the kernel refuses. Two calls, as with i915.
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
        // Equal sizes mean that the kernel did not count: see MemoryRegion::free.
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
        // Likewise, 0 bytes in use means unknown.
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
        // One region with unknown use makes the sum unknown.
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

void add_i915_facts(const DrmDevice& device, DeviceFacts& facts) {
    // Kernels without this query supported only integrated GPUs; the type stays unknown there.
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

}  // namespace gpuprobe::backends
