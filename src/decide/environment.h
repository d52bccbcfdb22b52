// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/profile.h"
#include "decide/selector_facts.h"

namespace gpuprobe {

/// What is wrong with a template: a brace without its pair, or a fact that does not exist; nullopt
/// when nothing is.
std::optional<std::string> template_problem(std::string_view text);

/// The variables that make a runtime use exactly the selected GPUs, as far as the facts allow.
std::map<std::string, std::string> environment_of(const std::vector<EnvironmentRule>& rules,
                                                  const Selection& selection);

}  // namespace gpuprobe
