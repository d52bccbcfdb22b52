// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/api_device.h"
#include "report/role.h"

/// Joins the records of all APIs that describe the same physical device.
namespace gpuprobe::inline report {

/// An API's device record that was joined to a subject.
struct Claim {
    ApiDevice device = {};
    std::optional<std::string> joined_by = {};  ///< "pci", "drm", "uuid", "luid" or "weak"
    std::vector<Reason> reasons = {};
};

/// One physical device: hardware, or a device that only APIs report.
struct Subject {
    std::string id = {};
    const HardwareDevice* hardware = nullptr;  ///< borrowed from the machine; null if hidden
    std::vector<Claim> claims = {};
    /// Records that may be this device or a twin of it; the available facts cannot distinguish
    /// them.
    std::vector<ApiDevice> ambiguous = {};
};

struct Joined {
    std::vector<Subject> subjects = {};  ///< hardware sorted by id, then the rest
    std::vector<ApiDevice> software = {};
    std::vector<Reason> notes = {};  ///< "conflict", "ambiguous", "device-error" …
};

/// Joins by these keys in turn: PCI address, DRM device number, the key of a partition (KFD node,
/// render node, slot on the bus, UUID of a MIG instance), UUID within one driver family, LUID. The
/// last resort is vendor and device id, if exactly one record and one device are left and their
/// memory sizes agree ("weak"). Names never join. Another model's number in the name, or another
/// architecture, rules out a weak match.
///
/// A record whose address or node belongs to a device of another vendor is left out with the note
/// `conflict`. If its address and node belong to two GPUs, the address decides, and the same note
/// is added. A record without any key that may be either of two devices is left out with the note
/// `ambiguous`. The API "pci" describes hardware and never adds a device.
///
/// On WSL, each GPU that only APIs report replaces one paravirtual function, because it is the host
/// GPU behind that function.
///
/// Only the first most_devices_of_a_driver() devices of one driver count, so that a driver that
/// lists devices without end spoils only its own answer. The note `too-many-devices` reports the
/// rest.
Joined join(const Machine& machine, const std::vector<const ProbeResult*>& probes);

/// The maximum number of devices that one driver may list. `hardware` is the number of functions
/// that may be a GPU, a display or an accelerator, plus their partitions.
std::size_t most_devices_of_a_driver(std::size_t hardware);

/// Whether two memory sizes differ by no more than 5 % of the larger size or 512 MiB. Source: the
/// margin that ollama uses to recognize one GPU in two APIs; reserved memory and driver overheads
/// stay within it.
bool similar_sizes(Bytes left, Bytes right);

}  // namespace gpuprobe::inline report
