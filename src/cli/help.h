// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline cli {

/// The page on a verb, or the overview for "". nullopt for an unknown verb.
std::optional<std::string> help_text(std::string_view verb);

/// The page on a terminal that is narrower than what pages are written for; 0 columns: no limit.
std::string narrowed(std::string_view page, std::size_t columns);

/// Every option that there is, "--json" and so on: what a mistyped one may have meant.
std::vector<std::string> option_names();
/// The verbs, in the order of the help.
std::vector<std::string> verb_names();

}  // namespace gpuprobe::inline cli
