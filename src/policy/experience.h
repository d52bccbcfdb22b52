// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace gpuprobe::inline policy {

/// A consumer that tried a backend and failed with it: what it reported, once.
struct ReportedFailure {
    std::string backend = {};             ///< our name of it, or the consumer's
    std::optional<std::string> gpu = {};  ///< id; absent: whatever the GPU
    std::string detail = {};              ///< what the consumer said, for people
    std::optional<WallTime> at = {};      ///< when
    bool operator==(const ReportedFailure&) const = default;
};

/// What the consumer that asks has reported, as far as it still counts: expiry, fingerprint and
/// whose reports count for whom are decided by whoever keeps them.
struct Experience {
    std::vector<ReportedFailure> failures = {};
    bool operator==(const Experience&) const = default;
};

}  // namespace gpuprobe::inline policy
