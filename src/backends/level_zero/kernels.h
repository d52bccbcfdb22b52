// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace gpuprobe::backends {

/// The modules of kernels.spvasm, as spirv-as made them when this was built.
std::span<const unsigned char> level_zero_module_check();   ///< Check alone
std::span<const unsigned char> level_zero_module_memory();  ///< Fill, Read, Copy
std::span<const unsigned char> level_zero_module_fp32();
std::span<const unsigned char> level_zero_module_fp16();
std::span<const unsigned char> level_zero_module_int8();

}  // namespace gpuprobe::backends
