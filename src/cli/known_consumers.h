// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/profile_set.h"

namespace gpuprobe {

/// Where an administrator's profiles are.
inline constexpr const char* kProfileFolder = "/etc/gpuprobe/profiles.d";

/// Where an administrator's manifests are.
inline constexpr const char* kCatalogueFolder = "/etc/gpuprobe/catalogue";

/// The built-in profiles, the administrator's and those in `folders`. What cannot be read is left
/// out.
ProfileSet known_profiles(const std::vector<std::string>& folders);

/// The names of the built-in profiles, the administrator's and those in `folders`, sorted.
std::vector<std::string> known_consumers(const std::vector<std::string>& folders);

}  // namespace gpuprobe
