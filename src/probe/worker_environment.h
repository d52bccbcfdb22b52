// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probe/target.h"

namespace gpuprobe::inline probe {

/// Tells a worker that somebody will let it go (Worker::let_go()); it stays for nobody else.
constexpr const char* kStaysVariable = "GPUPROBE_STAYS";

using WorkerVariables = std::map<std::string, std::string>;

/// The whole environment of one worker, made from nothing: no display, no loader debugging, no
/// *_VISIBLE_DEVICES, nothing preloaded, so that a probe sees the machine and not someone's
/// session. Exactly one driver is visible, no layer, and caches stay off or inside `home`.
///
/// `home`: a folder that drivers may write to; pocl finds no device without one.
/// `opencl_vendors`: a folder with exactly the driver's .icd file; "" when there is none.
/// `extra`: added last; replaces what has the same name.
///
/// Sources: Vulkan loader, LoaderInterfaceArchitecture.md, "Table of Debug Environment Variables";
/// ocl-icd and the Khronos OpenCL loader (OCL_ICD_VENDORS); pocl, Mesa, NVIDIA and Intel NEO
/// manuals for their caches.
WorkerVariables worker_environment(const ProbeTarget& target,
                                   const std::string& home,
                                   const std::string& opencl_vendors,
                                   const WorkerVariables& extra);

/// "KEY=VALUE", sorted.
std::vector<std::string> environment_block(const WorkerVariables& variables);

}  // namespace gpuprobe::inline probe
