// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/handle.h"
#include "base/result.h"

namespace gpuprobe::inline service {

/// A file in memory that holds `content` and can't be changed any more, positioned at its start.
/// Source: memfd_create(2), fcntl(2) F_ADD_SEALS. Errors: Io.
Result<UniqueFd> sealed_file(const char* name, std::string_view content);

}  // namespace gpuprobe::inline service
