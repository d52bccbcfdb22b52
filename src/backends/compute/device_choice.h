// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "backends/backend.h"
#include "backends/compute/stages.h"

namespace gpuprobe::backends {

/// Whether these are the facts of the device that the target is about: "pci:0000:00:06.0" by the
/// address, "index:N" by the position. Anything else, and no device at all, is none.
bool is_wanted(const ProbeTarget& target, const DeviceFacts& facts);

/// Gets each device of an API, and how to open it; false when it has seen enough.
using VisitDevice = std::function<bool(const DeviceFacts& facts, const OpenDevice& open)>;
/// Goes through the devices of an API's driver.
using Enumerate = Answer (*)(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// The stage of the device that the target is about. Where the API's devices do not include it,
/// Absent with `device-not-found`: another device's result in its place would be worse than none.
Answer run_stage(Enumerate enumerate, DeviceStage stage, const ProbeTarget& target, Sink& sink);

/// The query stage: tells the facts of every device.
Answer tell_devices(Enumerate enumerate, const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends
