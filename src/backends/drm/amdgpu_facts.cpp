// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backends/drm/drm_abi.h"
#include "backends/drm/drm_facts.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

using namespace drm::amdgpu;

constexpr std::uint64_t kHertzPerKilohertz = 1000;

/// Source: amdgpu_drm.h, AMDGPU_VRAM_TYPE_*.
constexpr std::array<std::string_view, 13> kVramTypes = {
    "",     "gddr1", "ddr2",  "gddr3", "gddr4",  "gddr5", "hbm",
    "ddr3", "ddr4",  "gddr6", "ddr5",  "lpddr4", "lpddr5"};

template <class T>
int query(const DrmDevice& device, std::uint32_t what, T& reply) {
    Info info{.return_pointer = reinterpret_cast<std::uintptr_t>(&reply),
              .return_size = sizeof reply,
              .query = what};
    return device.ask(kInfo, &info);
}

void add_device(const DrmDevice& device, DeviceFacts& facts) {
    DeviceInfo info;
    if (const int problem = query(device, kQueryDevice, info); problem != 0)
        return note_drm_error("AMDGPU_INFO_DEV_INFO", problem, facts);
    facts.type = info.flags & kFusion ? DeviceType::Integrated : DeviceType::Discrete;
    facts.extra["compute_units"] = unless_zero(info.compute_units);
    facts.extra["clock_hz"] = unless_zero(info.max_engine_khz * kHertzPerKilohertz);
    facts.extra["memory_clock_hz"] = unless_zero(info.max_memory_khz * kHertzPerKilohertz);
    facts.extra["memory_bus_bits"] = unless_zero(info.vram_bits);
    const bool is_known = info.vram_type > 0 && info.vram_type < kVramTypes.size();
    facts.extra["memory_type"] = is_known ? Value{kVramTypes[info.vram_type]} : Value{};
}

void add_memory(const DrmDevice& device, DeviceFacts& facts) {
    MemoryInfo info;
    if (const int problem = query(device, kQueryMemory, info); problem != 0)
        return note_drm_error("AMDGPU_INFO_MEMORY", problem, facts);
    if (info.vram.total > 0) {
        facts.memory = FactMemory{.total = Bytes{info.vram.total}};
        if (info.vram.used <= info.vram.total)
            facts.memory->free = Bytes{info.vram.total - info.vram.used};
    }
    facts.extra["memory_usable"] = unless_zero(info.vram.usable);
    facts.extra["memory_visible"] = unless_zero(info.visible_vram.total);
    facts.extra["gtt_total"] = unless_zero(info.gtt.total);
    facts.extra["gtt_used"] = info.gtt.total > 0 ? Value{info.gtt.used} : Value{};
}

}  // namespace

void add_amdgpu_facts(const DrmDevice& device, DeviceFacts& facts) {
    add_device(device, facts);
    add_memory(device, facts);
}

}  // namespace gpuprobe::backends
