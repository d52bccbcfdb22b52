// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "backends/vulkan/device_reply.h"
#include "base/bytes.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// One entry of VkPhysicalDeviceMemoryProperties::memoryHeaps, with VK_EXT_memory_budget's view.
struct MemoryHeap {
    Bytes size = {};
    bool is_device_local = false;
    bool is_host_visible = false;      ///< some memory type in it can be mapped
    std::optional<Bytes> budget = {};  ///< what this process may use now, all told
    std::optional<Bytes> usage = {};   ///< what this process uses
};

/// How a driver's heaps add up to a device's memory.
enum class HeapRule {
    SumLocal,      ///< disjoint device-local heaps (RADV and ANV with a small BAR)
    LargestLocal,  ///< further device-local heaps are windows into the largest (NVIDIA)
    SumAll,        ///< one memory that is split by policy only (integrated GPUs)
};

/// Sources: Mesa, radv_physical_device.c and anv_device.c; NVIDIA's 214–256 MiB window heap without
/// resizable BAR; NVK's system heap, which is device-local only where there is no other.
HeapRule heap_rule(std::optional<DeviceType> type, std::optional<std::uint32_t> driver_id);

/// Total and free memory by that rule. A heap larger than any memory makes both unknown, no
/// matching heap too; a heap without budget makes `free` unknown. Free memory is budget less usage,
/// never below zero: drivers let usage exceed the budget.
FactMemory device_memory(std::span<const MemoryHeap> heaps, HeapRule rule);

/// No device has more: a claim above it is a driver's mistake. 1 PiB.
constexpr Bytes kMaxPlausibleMemory = gib(1U << 20);

/// What a device's reply says, as facts. Pure. docs/facts.md lists every key.
///
/// Whatever the device could not be asked, or answered with an impossible value, is null: an
/// all-zero PCI address or UUID, a bus or device number off the scale, a vendor id that is none of
/// PCI's. What it is known not to have is false.
DeviceFacts facts_of(const DeviceReply& reply);

/// The heaps with what else is known about each; at most VK_MAX_MEMORY_HEAPS.
std::vector<MemoryHeap> heaps_of(const DeviceReply& reply);

/// Whether the device computes on the CPU. Sources: VkPhysicalDeviceType, VkDriverId 10 and 13;
/// Venus and Dozen give away the software behind them only in the device's name.
bool is_software(const DeviceReply& reply);

}  // namespace gpuprobe::backends
