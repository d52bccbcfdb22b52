// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/profile.h"
#include "policy/selector_facts.h"

namespace gpuprobe {

/// The template with its facts; nullopt when one of them is not known.
std::optional<std::string> filled(std::string_view text, const Selection& selection);

/// The rule with its facts, whole; nullopt when one of them is not known.
std::optional<std::map<std::string, std::string>> filled(const EnvironmentRule& rule,
                                                         const Selection& selection);

/// The variables that make a runtime use exactly the selected GPUs, as far as the facts allow.
std::map<std::string, std::string> environment_of(const std::vector<EnvironmentRule>& rules,
                                                  const Selection& selection);

}  // namespace gpuprobe
