// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/backend.h"
#include "backends/compute/device.h"

namespace gpuprobe::backends {

/// Makes a context on the device, ready for ComputeDevice::allocate.
using OpenDevice = std::function<Attempt<std::unique_ptr<ComputeDevice>>()>;

/// A later stage of one device whose facts are known. The facts go to the sink with the stage's own
/// member, also when it failed.
using DeviceStage = Answer (*)(DeviceFacts facts, const OpenDevice& open, Sink& sink);

/// Adds `check` (check.h). Answered when a kernel ran, whatever it computed.
Answer verify_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);

/// Adds `measured` (measure.h), null when nothing could be.
Answer measure_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);

}  // namespace gpuprobe::backends
