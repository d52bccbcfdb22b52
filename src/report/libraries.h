// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gpuprobe {

/// Whether a host's `libraries` lists this soname when it is there. A machine has thousands; these
/// are the ones that builds for GPUs link with and do not bring along.
bool is_listed_library(std::string_view soname);

}  // namespace gpuprobe
