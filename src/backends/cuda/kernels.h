// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gpuprobe::backends {

/// The modules that kernels.ptx is made into, as texts that end in a NUL past their length.
std::string_view cuda_module_check();  ///< Check alone
std::string_view cuda_module_base();   ///< Fill, Read, Copy, Fp32
std::string_view cuda_module_fp16();
std::string_view cuda_module_int8();

}  // namespace gpuprobe::backends
