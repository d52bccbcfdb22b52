// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace gpuprobe::inline base {

/// An instant, counted from the Unix epoch. Reports contain it as integer microseconds.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;
/// Monotonic time since an unspecified start.
using MonotonicTime = Duration;

/// Source of time. Tests replace it with a clock that they advance by hand.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual WallTime wall() const = 0;
    [[nodiscard]] virtual MonotonicTime monotonic() const = 0;
};

class SystemClock final : public Clock {
public:
    [[nodiscard]] WallTime wall() const override;
    [[nodiscard]] MonotonicTime monotonic() const override;
};

}  // namespace gpuprobe::inline base
