// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <algorithm>

#include "policy/text_template.h"

namespace gpuprobe {

std::optional<std::string> filled(std::string_view text, const Selection& selection) {
    return filled_template(
        text, [&selection](std::string_view name) { return selector_fact(name, selection); });
}

std::optional<std::map<std::string, std::string>> filled(const EnvironmentRule& rule,
                                                         const Selection& selection) {
    std::map<std::string, std::string> variables;
    for (const auto& [variable, text] : rule) {
        auto value = filled(text, selection);
        if (!value)
            return std::nullopt;
        variables.emplace(variable, std::move(*value));
    }
    return variables;
}

std::map<std::string, std::string> environment_of(const std::vector<EnvironmentRule>& rules,
                                                  const Selection& selection) {
    std::map<std::string, std::string> environment;
    const auto is_set = [&environment](const auto& entry) {
        return environment.contains(entry.first);
    };
    for (const auto& rule : rules) {
        if (std::ranges::any_of(rule, is_set))
            continue;
        if (auto variables = filled(rule, selection))
            environment.merge(*variables);
    }
    return environment;
}

}  // namespace gpuprobe
