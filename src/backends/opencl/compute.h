// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/compute/device.h"
#include "backends/dynamic_library.h"
#include "backends/opencl/api.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Opens a device with a context and a queue. The library must outlive it.
/// Refusals: `no-compute-device`, `compiler-missing`, `out-of-memory`, `device-lost`,
/// `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_opencl(const DynamicLibrary& library,
                                                    cl_device_id device,
                                                    const DeviceFacts& facts);

}  // namespace gpuprobe::backends
