// SPDX-License-Identifier: Apache-2.0
#include "explain/rates.h"

#include <fmt/format.h>

namespace gpuprobe {

std::string rate_text(double rate, std::string_view unit) {
    constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P"};
    const auto* prefix = std::begin(kPrefixes);
    // 999.6 would read as 1000.
    while (rate >= 999.5 && prefix + 1 != std::end(kPrefixes)) {
        rate /= 1000;
        ++prefix;
    }
    const int digits = rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0;
    const bool is_bare = prefix->empty() && unit.empty();
    return fmt::format("{:.{}f}{}{}{}", rate, digits, is_bare ? "" : " ", *prefix, unit);
}

std::string share_text(const std::optional<std::uint64_t>& have,
                       const std::optional<std::uint64_t>& promised) {
    if (!have || !promised || *promised == 0)
        return "";
    return fmt::format("{:.0f} %",
                       100 * static_cast<double>(*have) / static_cast<double>(*promised));
}

}  // namespace gpuprobe
