// SPDX-License-Identifier: Apache-2.0
#include "policy/answers.h"

#include <algorithm>
#include <optional>

#include "policy/term.h"
#include "policy/text_template.h"

namespace gpuprobe::inline policy {
namespace {

std::string with_dashes(std::string_view name) {
    std::string text{name};
    std::ranges::replace(text, '_', '-');
    return text;
}

/// The value of a fact in an answer: a selector fact of the chosen GPUs, or a machine fact as a
/// comma-separated list.
std::optional<std::string> answer_fact(std::string_view name,
                                       const Facts& facts,
                                       const Selection& selection) {
    if (is_selector_fact(name))
        return selection.gpus.empty() ? std::nullopt : selector_fact(name, selection);
    const auto* row = find_fact(with_dashes(name));
    const auto words = row ? words_of(facts.at(row->id)) : std::vector<std::string>{};
    if (words.empty())
        return std::nullopt;
    std::string list;
    for (const auto& word : words)
        list += (list.empty() ? "" : ",") + word;
    return list;
}

/// The value of the first rule whose predicates hold.
std::optional<std::string> answer_from(const std::vector<AnswerRule>& rules,
                                       const Facts& facts,
                                       const Selection& selection) {
    for (const auto& rule : rules)
        for (const auto& [text, predicates] : rule) {
            const auto truth = test_all(predicates, facts);
            // A later rule must not win while an earlier one might hold.
            if (truth == Truth::Unknown)
                return std::nullopt;
            if (truth == Truth::True)
                return filled_template(text, [&](std::string_view name) {
                    return answer_fact(name, facts, selection);
                });
        }
    return std::nullopt;
}

}  // namespace

/// Names with dashes are rejected so that each fact has one spelling.
bool is_answer_fact(std::string_view name) {
    return is_selector_fact(name) ||
           (name.find('-') == std::string_view::npos && find_fact(with_dashes(name)));
}

std::map<std::string, std::string> answers_of(const Profile& profile,
                                              const Facts& facts,
                                              const Selection& selection) {
    std::map<std::string, std::string> answers;
    for (const auto& [name, rules] : profile.answers)
        if (auto answer = answer_from(rules, facts, selection))
            answers.emplace(name, std::move(*answer));
    return answers;
}

}  // namespace gpuprobe::inline policy
