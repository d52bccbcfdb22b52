// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/compute/context_meter.h"
#include "backends/compute/device.h"

/// The stages of a probe, written once for every API.
namespace gpuprobe::backends {

/// "query", "verify", "measure" and kProcessesStage.
bool is_stage(std::string_view stage);

/// The stage that the target names. Failed with `stage-not-offered` where the backend lacks it.
Answer ask(const Backend& backend, const ProbeTarget& target, Sink& sink);

/// The query of a backend whose devices can also compute: tells the facts of every device.
template <Enumerate enumerate>
Answer query_devices(const ProbeTarget& target, Sink& sink) {
    return enumerate(target, sink, [&](const DeviceFacts& facts, const OpenDevice&) {
        sink.device(facts);
        return true;
    });
}

/// A later stage of one device whose facts are known. The facts go to the sink with the stage's own
/// member, also when it failed.
using DeviceStage = std::function<Answer(DeviceFacts facts, const OpenDevice& open, Sink& sink)>;
/// Adds `check` (check.h). Answered when a kernel ran, whatever it computed.
Answer verify_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);
/// Adds `measured` (measure.h), null when nothing could be measured, with what the meter tells,
/// which was made before the driver was asked anything.
Answer measure_device_by(const ContextMeter& meter,
                         DeviceFacts facts,
                         const OpenDevice& open,
                         Sink& sink);
/// Without what the context takes.
Answer measure_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);

/// Whether these are the facts of the device that the target is about: "pci:0000:00:06.0" by its
/// address, "index:N" by its position, "uuid:MIG-…" by its UUID. Anything else is none.
bool is_wanted(const ProbeTarget& target, const DeviceFacts& facts);

/// The stage of the device that the target is about. Where the API's devices do not include it,
/// Absent with `device-not-found`: another device's result in its place would be worse than none.
Answer run_stage(Enumerate enumerate,
                 const DeviceStage& stage,
                 const ProbeTarget& target,
                 Sink& sink);

}  // namespace gpuprobe::backends
