// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

namespace gpuprobe::inline base {

// The wall clock may jump; use monotonic() to measure durations.
WallTime SystemClock::wall() const {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
}

MonotonicTime SystemClock::monotonic() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<MonotonicTime>(now);
}

}  // namespace gpuprobe::inline base
