// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probe/target.h"

namespace gpuprobe::inline probe {

/// Set if the launcher will call Worker::let_go(); without it the worker ends after its answer.
constexpr const char* kStaysVariable = "GPUPROBE_STAYS";

using WorkerVariables = std::map<std::string, std::string>;

/// The complete environment of one worker. It inherits no variables: no display, no loader
/// debugging, no *_VISIBLE_DEVICES and no preloaded libraries, so that a probe sees the machine
/// rather than a user's session. Exactly one driver and no layer is visible, and caches are off or
/// inside `home`.
///
/// `home`: a folder that drivers may write to; pocl does not find a device without one.
/// `opencl_vendors`: a folder that contains only the driver's .icd file; "" without a driver.
/// `extra`: added last; replaces variables of the same name.
///
/// Sources: Vulkan loader, LoaderInterfaceArchitecture.md, "Table of Debug Environment Variables";
/// ocl-icd and the Khronos OpenCL loader (OCL_ICD_VENDORS); pocl, Mesa, NVIDIA and Intel NEO
/// manuals for their caches.
WorkerVariables worker_environment(const ProbeTarget& target,
                                   const std::string& home,
                                   const std::string& opencl_vendors,
                                   const WorkerVariables& extra);

/// The variables as "KEY=VALUE" strings, sorted by name.
std::vector<std::string> environment_block(const WorkerVariables& variables);

}  // namespace gpuprobe::inline probe
