// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gpuprobe::backends {

/// The text of kernels.cl, embedded at build time.
std::string_view opencl_kernels();

}  // namespace gpuprobe::backends
