// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/vulkan/device_memory.h"
#include "backends/vulkan/device_reply.h"
#include "report/facts.h"

namespace gpuprobe::backends {

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
