// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
#include "report/facts.h"

namespace gpuprobe::inline report {

struct Gpu;
struct Report;
struct Subject;

/// A partition of a GPU that programs use like a GPU: a MIG instance, an XCP of an Instinct card, a
/// virtual function. Unknown values are null.
struct Partition {
    /// Name of the partition within its GPU; it does not change while the partition exists. "mig-2"
    /// is GPU instance 2 with its compute instance 0, "mig-2.1" the same with compute instance 1;
    /// "xcp-1", "vf-0000:85:02.0".
    std::string name = {};
    std::optional<std::string> id = {};  ///< the GPU's id, a slash and the name
    /// The profile as the vendor's tools write it: "3g.40gb", "1c.2g.20gb+me"; "cpx_nps1".
    std::optional<std::string> profile = {};
    std::optional<std::uint32_t> gpu_instance = {};      ///< MIG only
    std::optional<std::uint32_t> compute_instance = {};  ///< MIG only; within the GPU instance
    std::optional<std::uint32_t> gpu_slices = {};
    std::optional<std::uint32_t> compute_slices = {};
    std::optional<std::uint32_t> multiprocessors = {};
    /// "MIG-…" as CUDA_VISIBLE_DEVICES accepts it; "GPU-…" as ROCR_VISIBLE_DEVICES accepts it, if
    /// no other partition has the same UUID.
    std::optional<std::string> uuid = {};
    std::optional<FactMemory> memory = {};  ///< usable memory; partitions may share it
    std::optional<std::string> node = {};   ///< render node of this partition only
    /// All nodes below /dev that belong to this partition only.
    std::vector<std::string> nodes = {};
    std::optional<std::uint32_t> kfd_node = {};
    /// Null if programs use the partition instead of the whole GPU. Otherwise why they do not:
    /// "no-compute-instance"; for a virtual function "idle", or the driver that has taken it
    /// ("vfio-pci" for a guest; "xe" for programs of this machine, which use the GPU as well).
    std::optional<std::string> state = {};
    std::map<std::string, std::uint32_t> indices = {};  ///< index in each API that lists it
    bool operator==(const Partition&) const = default;
};
RECORD_MEMBERS(Partition,
               name,
               id,
               profile,
               gpu_instance,
               compute_instance,
               gpu_slices,
               compute_slices,
               multiprocessors,
               uuid,
               memory,
               node,
               nodes,
               kfd_node,
               state,
               indices)
constexpr auto forms_of(std::type_identity<Partition>) {
    return std::to_array<MemberForm>({{.key = "name", .pattern = kNotEmpty}});
}

/// Whether programs can use the partition.
bool is_usable(const Partition& partition);

/// Whether programs see the partitions instead of the whole GPU. (A card with virtual functions is
/// still used as a whole.)
bool is_divided(const Gpu& gpu);
bool is_divided(const Subject& subject);

/// The name of a MIG instance from its numbers.
std::string mig_name(std::uint32_t gpu_instance, std::optional<std::uint32_t> compute_instance);

/// The profile, such as "3g.40gb": from the end of NVML's name for the instance ("… MIG 3g.40gb"),
/// else computed from its slices and its share of the GPU memory. Source of the rule: NVIDIA MIG
/// User Guide, "Profile names"; NVIDIA/go-nvlib @ 3c16156, pkg/nvlib/device/mig_profile.go.
std::optional<std::string> mig_profile(const std::string& name,
                                       const Partition& partition,
                                       std::optional<Bytes> of_gpu);

/// The partitions of a GPU: NVML's `mig_devices` if it lists any, else those that the kernel lists,
/// else the devices that one driver lists at its address. Each has its index in the APIs that list
/// it.
std::vector<Partition> partitions_of(const Subject& subject);

}  // namespace gpuprobe::inline report
