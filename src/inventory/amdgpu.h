// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Adds the facts that amdgpu exposes without waking the GPU: memory sizes, serial, product name,
/// partition modes. Also adds the name of an AMD GPU from libdrm's table (data/amdgpu.ids),
/// whatever the GPU's driver is.
///
/// The driver's memory managers keep mem_info_* up to date without hardware access
/// (drivers/gpu/drm/amd/amdgpu/amdgpu_{vram,gtt}_mgr.c). Reading gpu_busy_percent, pp_dpm_* or the
/// hwmon sensors would access the hardware, so these files are never read. The partition modes are
/// read only if the GPU isn't suspended.
///
/// `has_vddnb` is true if hwmon lists in1_input, the memory controller's voltage, which the driver
/// exposes only on APUs (hwmon_attributes_visible in amdgpu_pm.c); the fact is missing if there is
/// no hwmon. `has_board_info` is true if the driver exposes a file that exists only for discrete
/// cards. Listing names does not access the hardware.
void add_amdgpu_facts(const Sysfs& sysfs, HardwareDevice& device);

/// The current memory sizes; empty if the device's driver isn't amdgpu.
std::vector<MemoryReading> amdgpu_memory(const Sysfs& sysfs, const HardwareDevice& device);

/// A serial of amdgpu or KFD as 16 hexadecimal digits; nullopt for 0, which means that the GPU has
/// no serial.
std::optional<std::string> amd_serial(std::uint64_t serial);

/// A GPU node of /sys/class/kfd/kfd/topology/nodes. The kernel caches all of this data
/// (drivers/gpu/drm/amd/amdkfd/kfd_topology.c, node_show), so reading does not wake the GPU.
struct KfdNode {
    std::uint32_t number = 0;                  ///< the name of the node's folder
    std::optional<std::uint32_t> domain = {};  ///< PCI domain; missing on older kernels
    std::uint32_t location = 0;   ///< bits 15:0 of location_id: bus, device and three more bits
    std::uint32_t partition = 0;  ///< bits 31:28 of location_id
    std::optional<std::uint32_t> render_minor = {};  ///< the minor in /dev/dri/renderD<minor>
    std::optional<std::string> gfx_target = {};      ///< the gfx target, such as "gfx90a"
    std::optional<std::uint64_t> simd_count = {};
    std::optional<std::uint64_t> simd_per_cu = {};
    std::optional<std::uint64_t> cpu_cores = {};
    std::optional<std::string> unique_id = {};  ///< an id of 16 hexadecimal digits
    std::optional<Bytes> memory = {};  ///< size of the public and private frame buffer banks
};

/// The gfx target for a version, such as "gfx90a" for 90010. The last two decimal digits are the
/// stepping, the two digits before them are the minor version, and the other digits are the major
/// version. nullopt for 0, which means a CPU.
std::optional<std::string> gfx_target_name(std::uint64_t version);

/// The GPU nodes of KFD, sorted by number. If a device cgroup forbids reading a node's properties,
/// the function adds a note.
std::vector<KfdNode> kfd_nodes(const Sysfs& sysfs);

/// Joins each node to its device. The following devices are tried in this order: the device with
/// the node's render node; the device at the node's PCI address; the only device in the node's
/// slot; the device with the node's serial. Several rules are needed, because the position of the
/// partition's number in location_id depends on the kernel's version, and so does the serial of a
/// partition.
///
/// The device gets the facts of its first node and the memory of all its nodes. If the device has
/// more than one node, each node becomes a partition with the DRM nodes of its amdgpu_xcp_*
/// platform device. All amdgpu_xcp_* devices are removed from `devices`, because the driver always
/// creates seven of them for each card, even if the card has no partitions.
void join_kfd(const std::vector<KfdNode>& nodes, std::vector<HardwareDevice>& devices);

}  // namespace gpuprobe::inline inventory
