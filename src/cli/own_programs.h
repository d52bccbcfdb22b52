// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline cli {

/// Where another program of this project may be, likeliest first: beside this one, as they were
/// built, or where it is installed.
std::vector<std::string> own_program_paths(std::string_view name);

}  // namespace gpuprobe::inline cli
