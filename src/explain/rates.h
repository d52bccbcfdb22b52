// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprobe {

/// "4.19 T", "62.3 GB/s", "950": three digits, powers of 1000, as rates are given.
std::string rate_text(double rate, std::string_view unit = "");
/// "85 %" of what was promised; "" where one of the two is not known.
std::string share_text(const std::optional<std::uint64_t>& have,
                       const std::optional<std::uint64_t>& promised);

}  // namespace gpuprobe
