// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "backends/compute/device.h"
#include "backends/opencl/opencl_api.h"

namespace gpuprobe::backends {

/// What an error of a call that works a device means. Source: OpenCL 3.0 API, "Error Codes".
Refusal opencl_refusal(std::string_view call, cl_int error);

}  // namespace gpuprobe::backends
