// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/profile.h"
#include "policy/select.h"
#include "report/report.h"

/// Decisions about machines that aren't probed: simulated GPUs, and other platforms.
namespace gpuprobe::inline policy {

/// The report's machine with its GPUs replaced by one simulated GPU for each of `backends`, which
/// are the application's names or ours. "gpu" means every GPU backend of the profile. "none" and
/// backends that aren't in the profile add no GPU.
Report simulated_report(const Profile& profile,
                        const std::vector<std::string>& backends,
                        const Report& report);

/// The choice on a platform that the profile lists; on any other platform no choice, with
/// `platform-not-in-profile`. Backend names in the request must be the application's, since they
/// aren't translated.
Decision decision_for_platform(const Profile& profile,
                               const SelectRequest& request,
                               const std::string& platform);

}  // namespace gpuprobe::inline policy
