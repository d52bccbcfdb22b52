// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace gpuprobe::inline policy {

/// A failure of a backend that an application reported.
struct ReportedFailure {
    std::string backend = {};             ///< our name or the application's
    std::optional<std::string> gpu = {};  ///< id; nullopt if the failure does not depend on the GPU
    std::string detail = {};              ///< the application's explanation, for people
    std::optional<WallTime> at = {};      ///< time of the report
    bool operator==(const ReportedFailure&) const = default;
};

/// The failures reported for the calling application that still count. The caller has already
/// applied expiry, fingerprints and the rules for which reports apply to which application.
struct Experience {
    std::vector<ReportedFailure> failures = {};
    bool operator==(const Experience&) const = default;
};

}  // namespace gpuprobe::inline policy
