// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/class_nodes.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// One GPU node of /sys/class/kfd/kfd/topology/nodes. All of it is cached in the kernel
/// (drivers/gpu/drm/amd/amdkfd/kfd_topology.c, node_show); reading wakes nothing.
struct KfdNode {
    std::uint32_t number = 0;                        ///< the folder's name
    std::optional<std::uint32_t> domain = {};        ///< older kernels have none
    std::uint32_t location = 0;                      ///< bus, device and three more bits
    std::uint32_t partition = 0;                     ///< location_id bits 31:28
    std::optional<std::uint32_t> render_minor = {};  ///< of /dev/dri/renderD<minor>
    std::optional<std::string> gfx_target = {};      ///< "gfx90a"
    std::optional<std::uint64_t> simd_count = {};
    std::optional<std::uint64_t> simd_per_cu = {};
    std::optional<std::uint64_t> cpu_cores = {};
    std::optional<std::string> unique_id = {};  ///< 16 hexadecimal digits
    std::optional<Bytes> memory = {};           ///< frame buffer banks, public and private
};

/// "gfx90a" for 90010: major, minor and stepping in pairs of decimal digits. nullopt for 0 (a CPU).
std::optional<std::string> gfx_target_name(std::uint64_t version);

/// The GPU nodes. A device cgroup may forbid their properties: that is a note.
std::vector<KfdNode> kfd_nodes(const Sysfs& sysfs);

/// Gives each node to the device with its render node, at its PCI address, alone in its slot or
/// with its serial: kernels differ in where location_id has the number of a partition, and in whose
/// serial a partition has. The device gets the facts of its first node, the memory of all, and with
/// more than one node each as a partition, with the DRM nodes of its amdgpu_xcp_* platform device.
/// Those devices are taken out, used or not: seven are made for each card whatever its mode.
void join_kfd(const std::vector<KfdNode>& nodes, std::vector<HardwareDevice>& devices);

}  // namespace gpuprobe::inline inventory
