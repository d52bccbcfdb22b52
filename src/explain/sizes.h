// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace gpuprobe::inline explain {

/// A size in binary units: "139.8 GiB", "512 MiB", "640 B", with one decimal from GiB on. Rounded
/// down, so that a size just below a minimum is never shown as if it reached it.
std::string size_text(Bytes size);

/// A duration: "850 µs", "31 ms", "2.4 s", "3 min". `micro` is the sign for 10^-6 ("µ" or "u").
std::string duration_text(Duration duration, std::string_view micro);

/// The time since `at`: "just now", "2 s ago", "5 min ago", "3 h ago"; from two days on the date,
/// "on 2023-11-14" (UTC). A time in the future, as after a clock was set back, is "just now".
std::string age_text(WallTime at, WallTime now);

/// A time to the minute: "2026-11-21 19:30 UTC".
std::string time_text(WallTime at);

/// A rate: "4.19 T", "62.3 GB/s", "950". Three digits and powers of 1000, as is usual for rates.
std::string rate_text(double rate, std::string_view unit = "");
/// `have` as a percentage of `promised`: "85 %"; "" if one of the two is unknown.
std::string share_text(const std::optional<std::uint64_t>& have,
                       const std::optional<std::uint64_t>& promised);

}  // namespace gpuprobe::inline explain
