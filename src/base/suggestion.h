// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline base {

/// The one of `known` that a typing mistake turns into `given`: the fewest inserted, dropped,
/// changed or swapped letters, at most one in three; the first on a tie. nullopt when none is near.
std::optional<std::string> closest(std::string_view given, const std::vector<std::string>& known);

/// What to say behind a word that is not known: "; did you mean 'torch'?", else "; there are jax,
/// torch".
std::string suggestion(std::string_view given, const std::vector<std::string>& known);

}  // namespace gpuprobe::inline base
