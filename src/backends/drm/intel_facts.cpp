// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/drm/drm_abi.h"
#include "backends/drm/drm_facts.h"
#include "backends/drm/memory_regions.h"

namespace gpuprobe::backends {
namespace {

using Reply = std::vector<std::byte>;
constexpr std::size_t kMaxReply = 64 * 1024;

std::uint64_t address_of(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

/// Empty when the kernel refuses; it says how long its answer is when first asked.
Reply i915_reply(const DrmDevice& device, std::uint64_t what, DeviceFacts& facts) {
    drm::i915::QueryItem item{.query = what};
    drm::i915::Query query{.items = 1, .item_pointer = address_of(&item)};
    Reply reply;
    for (int pass = 0; pass < 2; ++pass) {
        int problem = device.ask(drm::i915::kQuery, &query);
        if (problem == 0 && item.length < 0)
            problem = item.length > -4096 ? -item.length : EINVAL;
        if (problem != 0) {
            note_drm_error("DRM_IOCTL_I915_QUERY", problem, facts);
            return {};
        }
        const auto length = static_cast<std::size_t>(item.length);
        if (pass == 1)
            reply.resize(std::min(length, reply.size()));
        if (pass == 1 || length == 0 || length > kMaxReply)
            break;
        reply.resize(length);
        item.data = address_of(reply.data());
    }
    return reply;
}

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
        query.data = address_of(reply.data());
    }
    return reply;
}

void add_regions(const std::vector<MemoryRegion>& regions, DeviceFacts& facts) {
    facts.memory = device_memory(regions);
    facts.extra["regions"] = value_of(regions);
    if (!regions.empty())
        facts.type = facts.memory ? DeviceType::Discrete : DeviceType::Integrated;
}

}  // namespace

void add_i915_facts(const DrmDevice& device, DeviceFacts& facts) {
    // Kernels without this query had no cards with memory of their own; the type is then unknown.
    const auto reply = i915_reply(device, drm::i915::kQueryMemoryRegions, facts);
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
