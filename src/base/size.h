// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace gpuprobe::inline base {

/// A size as documents have it: "8GiB", "8192 MiB", "8GB", "8000000000". nullopt for anything else
/// and past 2^64: "8G" could be either.
std::optional<Bytes> size_from_text(std::string_view text);

/// A size as people type it: as in documents, and case does not matter, "8 G" is binary, and a
/// fraction is allowed with a unit. nullopt for anything else and past 2^64.
std::optional<Bytes> parse_size(std::string_view text);

}  // namespace gpuprobe::inline base
