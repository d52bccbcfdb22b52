// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe {

/// A part of a GPU that programs use like a GPU: a MIG instance, an XCP of an Instinct card, a
/// virtual function.
struct Partition {
    std::string name = {};  ///< "mig:3" by NVML; "mig/gi1/ci0", "xcp-1", "vf-0000:85:02.0"
    std::optional<std::string> uuid = {};  ///< "MIG-…", as CUDA_VISIBLE_DEVICES takes it
    std::optional<FactMemory> memory = {};
    std::optional<std::string> node = {};  ///< its own render node
    std::optional<std::uint32_t> kfd_node = {};
    std::optional<std::string> state = {};  ///< of a virtual function: "idle", or its driver
    bool operator==(const Partition&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Partition& partition) {
    visit("name", partition.name);
    visit("uuid", partition.uuid);
    visit("memory", partition.memory);
    visit("node", partition.node);
    visit("kfd_node", partition.kfd_node);
    visit("state", partition.state);
}

/// Whether programs have to do with its parts and not with the whole. (A card of which virtual
/// functions exist is still used as one.)
bool is_divided(const Gpu& gpu);

/// The parts of a GPU: NVML's `mig_devices` where it lists any, else those that the kernel names.
std::vector<Partition> partitions_of(const Subject& subject);

}  // namespace gpuprobe
