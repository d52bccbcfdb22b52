// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuprobe::support {

/// Names the rows of a table test by their member `name`.
inline constexpr auto case_name = [](const auto& row) { return std::string{row.param.name}; };

}  // namespace gpuprobe::support
