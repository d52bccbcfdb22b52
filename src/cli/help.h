// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline cli {

/// The help page of a verb, or the overview for "". nullopt for an unknown verb.
std::optional<std::string> help_text(std::string_view verb);

/// A help page reflowed for a narrow terminal. 0 columns: no limit.
std::string narrowed(std::string_view page, std::size_t columns);

/// The long names of all options, sorted; suggestions for mistyped options come from them.
std::vector<std::string> option_names();
/// The names of all verbs, in the order of the help.
std::vector<std::string> verb_names();

}  // namespace gpuprobe::inline cli
