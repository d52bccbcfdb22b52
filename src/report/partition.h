// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/join.h"

namespace gpuprobe {

/// A part of a GPU that programs use like a GPU: a MIG instance or an XCP of an Instinct card.
struct Partition {
    std::string name = {};                 ///< "mig:3" by NVML, "mig/gi1/ci0" by the kernel
    std::optional<std::string> uuid = {};  ///< "MIG-…", as CUDA_VISIBLE_DEVICES takes it
    std::optional<FactMemory> memory = {};
    bool operator==(const Partition&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Partition& partition) {
    visit("name", partition.name);
    visit("uuid", partition.uuid);
    visit("memory", partition.memory);
}

/// The parts of a GPU: NVML's `mig_devices` where it lists any, else those that the kernel names.
std::vector<Partition> partitions_of(const Subject& subject);

}  // namespace gpuprobe
