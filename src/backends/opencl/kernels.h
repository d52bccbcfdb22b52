// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gpuprobe::backends {

/// kernels.cl, as it was when this was built.
std::string_view opencl_kernels();

}  // namespace gpuprobe::backends
