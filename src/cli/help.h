// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe {

/// The page on a verb, or the overview for "". nullopt for an unknown verb.
std::optional<std::string> help_text(std::string_view verb);

/// Every option that a page names, "--json" and so on: what a mistyped one may have meant.
const std::vector<std::string>& option_names();

}  // namespace gpuprobe
