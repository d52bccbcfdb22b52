// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"

namespace gpuprobe::inline explain {

/// "139.8 GiB", "512 MiB", "640 B": binary units, one digit after the point from GiB on. Rounded
/// down, so that a size just below a floor never reads as if it reached it.
std::string size_text(Bytes size);

/// "850 µs", "31 ms", "2.4 s", "3 min"; `micro` is the sign for 10^-6 ("µ" or "u").
std::string duration_text(Duration duration, std::string_view micro);

/// How long before `now` something was: "just now", "2 s ago", "5 min ago", "3 h ago", and from two
/// days on the day itself, "on 2023-11-14" (UTC). What lies ahead, as after a clock was set back,
/// is "just now".
std::string age_text(WallTime at, WallTime now);

/// "2026-11-21 19:30 UTC".
std::string time_text(WallTime at);

/// "4.19 T", "62.3 GB/s", "950": three digits, powers of 1000, as rates are given.
std::string rate_text(double rate, std::string_view unit = "");
/// "85 %" of what was promised; "" where one of the two is not known.
std::string share_text(const std::optional<std::uint64_t>& have,
                       const std::optional<std::uint64_t>& promised);

}  // namespace gpuprobe::inline explain
