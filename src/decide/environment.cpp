// SPDX-License-Identifier: Apache-2.0
#include "decide/environment.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe {
namespace {

/// A template in pieces: text before a fact, and the fact's name (empty at the end of the text).
struct Piece {
    std::string_view text = {};
    std::string_view fact = {};
};

/// nullopt for a brace without its pair.
std::optional<std::vector<Piece>> pieces_of(std::string_view text) {
    std::vector<Piece> pieces;
    for (;;) {
        const auto brace = text.find_first_of("{}");
        if (brace == std::string_view::npos) {
            pieces.push_back({.text = text});
            return pieces;
        }
        const auto end = text.find_first_of("{}", brace + 1);
        if (text[brace] == '}' || end == std::string_view::npos || text[end] == '{')
            return std::nullopt;
        pieces.push_back(
            {.text = text.substr(0, brace), .fact = text.substr(brace + 1, end - brace - 1)});
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::optional<std::string> filled(std::string_view text, const Selection& selection) {
    const auto pieces = pieces_of(text);
    if (!pieces)
        return std::nullopt;
    std::string result;
    for (const auto& piece : *pieces) {
        result += piece.text;
        if (&piece == &pieces->back())
            break;
        const auto fact = selector_fact(piece.fact, selection);
        if (!fact)
            return std::nullopt;
        result += *fact;
    }
    return result;
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

std::optional<std::string> template_problem(std::string_view text) {
    const auto pieces = pieces_of(text);
    if (!pieces)
        return "a brace without its pair";
    for (const auto& piece : *pieces)
        if (&piece != &pieces->back() && !is_selector_fact(piece.fact))
            return scrubbed(piece.fact, 64) + ": no such fact";
    return std::nullopt;
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
