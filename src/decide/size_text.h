// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace gpuprobe {

/// "8GiB", "8192 MiB", "8GB", "8000000000". nullopt for anything else: "8G" could be either.
std::optional<Bytes> size_from_text(std::string_view text);

}  // namespace gpuprobe
