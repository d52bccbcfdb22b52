// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/api_device.h"
#include "report/role.h"

/// Which records of which APIs are the same physical device.
namespace gpuprobe::inline report {

/// A device of an API that belongs to a subject.
struct Claim {
    ApiDevice device = {};
    std::optional<std::string> joined_by = {};  ///< "pci", "drm", "uuid", "luid" or "weak"
    std::vector<Reason> reasons = {};
};

/// One physical device: hardware, or what only APIs know.
struct Subject {
    std::string id = {};
    const HardwareDevice* hardware = nullptr;  ///< borrowed from the machine; null when hidden
    std::vector<Claim> claims = {};
    /// Records that may be this device or a twin of it: nobody can tell.
    std::vector<ApiDevice> ambiguous = {};
};

struct Joined {
    std::vector<Subject> subjects = {};  ///< hardware in the order of its ids, then the rest
    std::vector<ApiDevice> software = {};
    std::vector<Reason> notes = {};  ///< "conflict", "ambiguous", "device-error" …
};

/// Joins by PCI address, DRM device number, what makes it a unit of a divided GPU (KFD node, render
/// node, slot on the bus, UUID of a MIG instance), UUID within one driver family, LUID, and at last
/// by vendor and device id where exactly one record and one device are left and their memory agrees
/// ("weak"). A name joins nothing; another model's number in it, or architecture, refutes that.
///
/// A record whose address or node belongs to a device of another vendor is left out with the note
/// `conflict`; one whose address and node are of two GPUs goes by its address, with that note. One
/// without any key that may be either of two devices is left out with the note `ambiguous`. The API
/// "pci" describes hardware and never adds any.
///
/// On WSL each GPU that APIs alone know takes the place of one paravirtual function: it is that
/// function's GPU of the host.
///
/// Of what one driver lists only the first most_devices_of_a_driver() count, so that one that lists
/// devices without end costs its own answer alone; the note `too-many-devices` tells the rest.
Joined join(const Machine& machine, const std::vector<const ProbeResult*>& probes);

/// For a machine with so many functions that may be a GPU, a display or an accelerator, and
/// partitions of them.
std::size_t most_devices_of_a_driver(std::size_t hardware);

/// The devices' sizes agree: they differ by no more than 5 % of the larger or 512 MiB.
/// Source: the margin that ollama uses to recognise one GPU in two APIs; reserved memory and
/// driver overheads stay within it.
bool similar_sizes(Bytes left, Bytes right);

}  // namespace gpuprobe::inline report
