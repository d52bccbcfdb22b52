// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/profile.h"
#include "policy/select.h"
#include "report/report.h"

/// Decisions about machines that nobody looks at: made-up GPUs, and other platforms.
namespace gpuprobe::inline policy {

/// The report's machine with one made-up GPU for each of the backends, by the consumer's names or
/// ours, in place of its own. "gpu" is each GPU backend of the profile; what the profile does not
/// have, and "none", is no GPU.
Report simulated_report(const Profile& profile,
                        const std::vector<std::string>& backends,
                        const Report& report);

/// The choice on a platform that the profile lists; on another one nothing, with
/// `platform-not-in-profile`. Words of the request are compared as they are.
Decision decision_for_platform(const Profile& profile,
                               const SelectRequest& request,
                               const std::string& platform);

}  // namespace gpuprobe::inline policy
