// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/facts.h"

namespace gpuprobe::inline report {

struct Gpu;
struct Report;
struct Subject;

/// A part of a GPU that programs use like a GPU: a MIG instance, an XCP of an Instinct card, a
/// virtual function. Whatever nobody tells is null.
struct Unit {
    /// Of its GPU a unit keeps its name as long as it exists: "mig-2" is GPU instance 2 with its
    /// compute instance 0, "mig-2.1" the same with compute instance 1; "xcp-1", "vf-0000:85:02.0".
    std::string name = {};
    std::optional<std::string> id = {};  ///< the GPU's, a slash and the name
    /// As its maker's tools write it: "3g.40gb", "1c.2g.20gb+me"; "cpx_nps1".
    std::optional<std::string> profile = {};
    std::optional<std::uint32_t> gpu_instance = {};      ///< of MIG
    std::optional<std::uint32_t> compute_instance = {};  ///< of MIG, within the GPU instance
    std::optional<std::uint32_t> gpu_slices = {};
    std::optional<std::uint32_t> compute_slices = {};
    std::optional<std::uint32_t> multiprocessors = {};
    /// "MIG-…" as CUDA_VISIBLE_DEVICES takes it; "GPU-…" as ROCR_VISIBLE_DEVICES does, where no
    /// other unit has the same.
    std::optional<std::string> uuid = {};
    std::optional<FactMemory> memory = {};  ///< what it may use; units may share it
    std::optional<std::string> node = {};   ///< its own render node
    std::vector<std::string> nodes = {};    ///< all files below /dev that are its own
    std::optional<std::uint32_t> kfd_node = {};
    /// Why programs of this machine can't use it: "idle", or the driver of a virtual function;
    /// "no-compute-instance". Null where they can.
    std::optional<std::string> state = {};
    std::map<std::string, std::uint32_t> indices = {};  ///< its place in each API that lists it
    bool operator==(const Unit&) const = default;
};
RECORD_MEMBERS(Unit, name, id, profile, gpu_instance, compute_instance, gpu_slices, compute_slices,
               multiprocessors, uuid, memory, node, nodes, kfd_node, state, indices)

/// A unit that programs can use.
bool is_usable(const Unit& unit);

/// Whether programs have to do with its units and not with the whole. (A card of which virtual
/// functions exist is still used as one.)
bool is_divided(const Gpu& gpu);
bool is_divided(const Subject& subject);

/// The name of a MIG instance by its numbers.
std::string mig_name(std::uint32_t gpu_instance, std::optional<std::uint32_t> compute_instance);

/// "3g.40gb" from the end of NVML's name of an instance, "… MIG 3g.40gb"; else from its slices and
/// its share of the GPU's memory. Source of the rule: NVIDIA MIG User Guide, "Profile names";
/// NVIDIA/go-nvlib @ 3c16156, pkg/nvlib/device/mig_profile.go.
std::optional<std::string> mig_profile(const std::string& name,
                                       const Unit& unit,
                                       std::optional<Bytes> of_gpu);

/// The units of a GPU: NVML's `mig_devices` where it lists any, else those that the kernel names,
/// else the devices that one driver lists at its address; each with its place in the APIs that list
/// it.
std::vector<Unit> units_of(const Subject& subject);

}  // namespace gpuprobe::inline report
