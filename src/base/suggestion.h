// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline base {

/// The word of `known` that `given` is most likely a misspelling of: the one with the fewest
/// inserted, dropped, changed or swapped letters, at most one in three. The first word wins a tie.
/// nullopt if no word is close.
std::optional<std::string> closest(std::string_view given, const std::vector<std::string>& known);

/// A hint to append to a message about an unknown word: "; did you mean 'torch'?", or if no word is
/// close, the list of all: "; there are jax, torch".
std::string suggestion(std::string_view given, const std::vector<std::string>& known);

}  // namespace gpuprobe::inline base
