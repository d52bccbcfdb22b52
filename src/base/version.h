// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gpuprobe::inline base {

/// The release, from the project's CMakeLists.txt.
inline constexpr std::string_view kVersion = GPUPROBE_VERSION;

}  // namespace gpuprobe::inline base
