// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/api_device.h"
#include "report/hardware.h"

/// Joins the records of all APIs that describe the same physical device.

namespace gpuprobe::inline report {

/// An API's device record that was joined to a subject.
struct Claim {
    ApiDevice device = {};
    /// The matching key: "pci", "drm", "uuid", "luid" or "weak".
    std::optional<std::string> joined_by = {};
    std::vector<Reason> reasons = {};
};

/// One physical device: hardware, or a device that only APIs report.
struct Subject {
    std::string id = {};
    /// the hardware, borrowed from the machine; null if hidden
    const HardwareDevice* hardware = nullptr;
    std::vector<Claim> claims = {};
    /// Records that may be about this device or about an identical device; the known facts cannot
    /// distinguish the two.
    std::vector<ApiDevice> ambiguous = {};
};

struct Joined {
    std::vector<Subject> subjects = {};  ///< hardware sorted by id, then all other devices
    std::vector<ApiDevice> software = {};
    std::vector<Reason> notes = {};  ///< notes such as "conflict", "ambiguous" or "device-error"
};

/// Joins by these keys in turn: PCI address, DRM device number, the key of a partition (KFD node,
/// render node, slot on the bus, UUID of a MIG instance), UUID within one driver family, LUID. The
/// last resort is vendor and device id, if exactly one record and one device are left and their
/// memory sizes agree ("weak"). Names never join. Another model's number in the name, or another
/// architecture, rules out a weak match.
///
/// A record whose address or node belongs to a device of another vendor is left out with the note
/// `conflict`. If the address and the node of a record belong to two GPUs, the address decides, and
/// the note `conflict` is added. A record that has no key and may be either of two devices is left
/// out with the note `ambiguous`. The API "pci" describes hardware and never adds a device.
///
/// On WSL, each GPU that only APIs report replaces one paravirtual function, because the GPU is the
/// host's GPU behind that function.
///
/// Only the first most_devices_of_a_driver() devices of one driver count, so a driver that lists
/// any number of devices affects only its own answer. The partitions of one GPU, which share a PCI
/// slot, count as one device. The note `too-many-devices` reports the ignored devices.
Joined join(const Machine& machine, const std::vector<const ProbeResult*>& probes);

/// The maximum number of devices that one driver may list. `hardware` is the number of functions
/// that may be a GPU, a display or an accelerator, plus their partitions.
std::size_t most_devices_of_a_driver(std::size_t hardware);

/// Whether two memory sizes differ by no more than 5 % of the larger size or 512 MiB. Source: the
/// margin that ollama uses to recognize one GPU in two APIs; the differences due to reserved memory
/// and driver overhead are smaller.
bool similar_sizes(Bytes left, Bytes right);

// Functions for join.cpp that decide whether an API's record can describe a physical device
// (Subject).

/// Whether both values are known and not equal.
template <class T>
bool differ(const std::optional<T>& left, const std::optional<T>& right) {
    return left && right && *left != *right;
}

/// The address that the API reports, or else the address that the UUID encodes.
std::optional<PciAddress> address_of(const ApiDevice& device);

/// Whether the record and the hardware are from different vendors. Always false for paravirtual
/// GPUs, because they report the host GPU's ids.
bool contradicts(const ApiDevice& device, const HardwareDevice& hardware);

/// Whether two devices have the same render node, or the same primary node.
bool same_node(const DrmNodes& left, const DrmNodes& right);

/// Whether the probe already has a record for the subject.
bool is_claimed_by(const Subject& subject, const ProbeResult& probe);

/// Whether the total memory sizes of the record and the subject are similar or cannot be compared.
/// Always true for integrated GPUs, because APIs count their memory in many ways.
bool memory_agrees(const ApiDevice& device, const Subject& subject);

/// Whether record and subject have similar total memory sizes and the GPU has dedicated memory.
bool has_size_of(const ApiDevice& device, const Subject& subject);

/// Whether the record may be about this subject. False only if the address, vendor, ids,
/// architecture or the numbers in the model names contradict each other.
bool may_be(const ApiDevice& device, const Subject& subject);

}  // namespace gpuprobe::inline report
