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

/// A partition of a GPU that programs use like a GPU: a MIG instance, an XCP partition of an
/// Instinct card, a virtual function. Unknown values are null.
struct Partition {
    /// Name of the partition within its GPU, such as "xcp-1" or "vf-0000:85:02.0". The name does
    /// not change while the partition exists. "mig-2" is GPU instance 2 with compute instance 0,
    /// and "mig-2.1" is GPU instance 2 with compute instance 1.
    std::string name = {};
    std::optional<std::string> id = {};  ///< the GPU's id, a slash and the name
    /// The profile as the vendor's tools write it: "3g.40gb", "1c.2g.20gb+me" or "cpx_nps1".
    std::optional<std::string> profile = {};
    std::optional<std::uint32_t> gpu_instance = {};  ///< number of the GPU instance; MIG only
    /// Number of the compute instance within its GPU instance; MIG only.
    std::optional<std::uint32_t> compute_instance = {};
    std::optional<std::uint32_t> gpu_slices = {};
    std::optional<std::uint32_t> compute_slices = {};
    std::optional<std::uint32_t> multiprocessors = {};
    /// The UUID: "MIG-…" as CUDA_VISIBLE_DEVICES accepts it, or "GPU-…" as ROCR_VISIBLE_DEVICES
    /// accepts it. A UUID "GPU-…" that another partition shares is left out.
    std::optional<std::string> uuid = {};
    std::optional<FactMemory> memory = {};  ///< usable memory, which several partitions may share
    std::optional<std::string> node = {};   ///< render node that belongs only to this partition
    /// All nodes below /dev that belong to this partition only.
    std::vector<std::string> nodes = {};
    std::optional<std::uint32_t> kfd_node = {};
    /// Null if programs use the partition instead of the whole GPU. Otherwise the reason why
    /// programs do not use the partition: "no-compute-instance", or for a virtual function "idle"
    /// or the name of the bound driver ("vfio-pci" for a guest, "xe" for programs on this machine,
    /// which also use the whole GPU).
    std::optional<std::string> state = {};
    /// Index of the partition in each API that lists it.
    std::map<std::string, std::uint32_t> indices = {};
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

/// Whether programs see the partitions instead of the whole GPU. (Programs still use a card with
/// virtual functions as a whole.)
bool is_divided(const Gpu& gpu);
bool is_divided(const Subject& subject);

/// The name of a MIG instance, derived from its numbers.
std::string mig_name(std::uint32_t gpu_instance, std::optional<std::uint32_t> compute_instance);

/// The profile, such as "3g.40gb", from the end of NVML's name for the instance ("… MIG 3g.40gb").
/// If the name has no profile, the profile is computed from the instance's slices and its share of
/// the GPU memory. Source of the rule: NVIDIA MIG User Guide, "Profile names"; NVIDIA/go-nvlib @
/// 3c16156, pkg/nvlib/device/mig_profile.go.
std::optional<std::string> mig_profile(const std::string& name,
                                       const Partition& partition,
                                       std::optional<Bytes> of_gpu);

/// The partitions of a GPU: the `mig_devices` from NVML, if NVML lists any; otherwise the
/// partitions that the kernel lists; otherwise the devices that one driver lists at the GPU's
/// address. Each partition has its index in the APIs that list it.
std::vector<Partition> partitions_of(const Subject& subject);

}  // namespace gpuprobe::inline report
