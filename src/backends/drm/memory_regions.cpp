// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/memory_regions.h"

#include <cstring>

#include "backends/drm/drm_abi.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

constexpr std::uint32_t kMaxEntries = 64;
constexpr std::uint16_t kOnDevice = 1;

/// A copy of the bytes at an offset; nullopt when there are not as many.
template <class T>
std::optional<T> part(std::span<const std::byte> bytes, std::size_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

/// The entries that a head with a count announces.
template <class Head, class Entry>
std::optional<std::vector<Entry>> entries(std::span<const std::byte> bytes) {
    const auto head = part<Head>(bytes, 0);
    if (!head || head->count > kMaxEntries)
        return std::nullopt;
    std::vector<Entry> list;
    for (std::size_t i = 0; i < head->count; ++i) {
        const auto entry = part<Entry>(bytes, sizeof(Head) + i * sizeof(Entry));
        if (!entry)
            return std::nullopt;
        list.push_back(*entry);
    }
    return list;
}

}  // namespace

std::optional<std::vector<MemoryRegion>> i915_regions(std::span<const std::byte> reply) {
    const auto found = entries<drm::i915::RegionsHead, drm::i915::Region>(reply);
    if (!found)
        return std::nullopt;
    std::vector<MemoryRegion> regions;
    for (const auto& entry : *found) {
        MemoryRegion region{.is_on_device = entry.memory_class == kOnDevice,
                            .instance = entry.instance,
                            .size = entry.probed_size};
        if (entry.unallocated_size < entry.probed_size)
            region.free = entry.unallocated_size;
        regions.push_back(region);
    }
    return regions;
}

std::optional<std::vector<MemoryRegion>> xe_regions(std::span<const std::byte> reply) {
    const auto found = entries<drm::xe::Head, drm::xe::Region>(reply);
    if (!found)
        return std::nullopt;
    std::vector<MemoryRegion> regions;
    for (const auto& entry : *found) {
        MemoryRegion region{.is_on_device = entry.memory_class == kOnDevice,
                            .instance = entry.instance,
                            .size = entry.total_size};
        if (entry.used > 0 && entry.used <= entry.total_size)
            region.free = entry.total_size - entry.used;
        regions.push_back(region);
    }
    return regions;
}

std::optional<bool> xe_has_vram(std::span<const std::byte> reply) {
    const auto values = entries<drm::xe::Head, std::uint64_t>(reply);
    if (!values || values->size() <= drm::xe::kConfigFlags)
        return std::nullopt;
    return ((*values)[drm::xe::kConfigFlags] & drm::xe::kHasVram) != 0;
}

std::optional<std::string> xe_ip_version(std::span<const std::byte> reply) {
    constexpr std::uint16_t kMainGt = 0;
    const auto gts = entries<drm::xe::Head, drm::xe::Gt>(reply);
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

}  // namespace gpuprobe::backends
