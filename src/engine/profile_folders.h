// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/profile_set.h"
#include "report/outcome.h"

namespace gpuprobe {

/// Adds every `*.json` of the folders, in order, to `profiles`; later ones replace. A folder that
/// is not there adds nothing. Returns one `profile-ignored` note for each file that is no profile.
std::vector<Reason> add_profiles_of(const std::vector<std::string>& folders, ProfileSet& profiles);

}  // namespace gpuprobe
