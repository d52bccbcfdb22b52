// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/clock.h"

namespace gpuprobe {

/// When to look at the machine while events keep coming.
///
/// A burst is looked at once it has been calm for `settle`, or has gone on for four times that.
/// Each further look in the same burst waits for more: for a calm four times as long, and at most
/// eight times as long in all. A loose plug then costs a round of all drivers now and then, and
/// what it ends with is seen soon after its end.
class Burst {
public:
    /// The longest calm that is waited for, and the longest time without a look. A `settle` that is
    /// longer counts in their place.
    static constexpr Duration kLongestCalm = std::chrono::seconds{5};
    static constexpr Duration kLongestSettle = std::chrono::seconds{30};
    /// An event that comes so long after the last one belongs to another burst.
    static constexpr Duration kOver = std::chrono::seconds{10};

    explicit Burst(Duration settle) : settle_{settle} {}

    void event(MonotonicTime now);
    /// When to look if no further event comes; nullopt when there is nothing to look for.
    [[nodiscard]] std::optional<MonotonicTime> due() const;
    void looked();

private:
    Duration settle_ = {};
    Duration calm_ = {};                       ///< to wait for, without an event
    Duration window_ = {};                     ///< at most, from the first event
    std::optional<MonotonicTime> first_ = {};  ///< since the last look
    std::optional<MonotonicTime> last_ = {};
};

}  // namespace gpuprobe
