// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/device_memory.h"

#include <algorithm>
#include <vector>

#include "backends/vulkan/api.h"

namespace gpuprobe::backends {
namespace {

std::vector<MemoryHeap> heaps_that_count(std::span<const MemoryHeap> heaps, HeapRule rule) {
    std::vector<MemoryHeap> chosen;
    for (const MemoryHeap& heap : heaps)
        if (rule == HeapRule::SumAll || heap.is_device_local)
            chosen.push_back(heap);
    if (rule != HeapRule::LargestLocal || chosen.empty())
        return chosen;
    return {*std::max_element(chosen.begin(), chosen.end(),
                              [](const auto& a, const auto& b) { return a.size < b.size; })};
}

std::optional<Bytes> free_in(const MemoryHeap& heap) {
    // A heap's budget is never zero (VkPhysicalDeviceMemoryBudgetPropertiesEXT): zero was not
    // filled in.
    if (!heap.budget || !heap.usage || heap.budget->count == 0)
        return std::nullopt;
    const std::uint64_t budget = std::min(heap.budget->count, heap.size.count);
    return Bytes{budget - std::min(heap.usage->count, budget)};
}

}  // namespace

HeapRule heap_rule(std::optional<DeviceType> type, std::optional<std::uint32_t> driver_id) {
    if (type == DeviceType::Integrated)
        return HeapRule::SumAll;
    if (driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY)
        return HeapRule::LargestLocal;
    return HeapRule::SumLocal;
}

FactMemory device_memory(std::span<const MemoryHeap> heaps, HeapRule rule) {
    Bytes total;
    std::optional<Bytes> free = Bytes{};
    for (const MemoryHeap& heap : heaps_that_count(heaps, rule)) {
        if (heap.size > kMaxPlausibleMemory)
            return {};
        total.count += heap.size.count;
        const auto heap_free = free_in(heap);
        free =
            free && heap_free ? std::optional{Bytes{free->count + heap_free->count}} : std::nullopt;
    }
    if (total.count == 0)
        return {};
    return {.total = total, .free = free};
}

}  // namespace gpuprobe::backends
