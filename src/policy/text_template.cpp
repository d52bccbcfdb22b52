// SPDX-License-Identifier: Apache-2.0
#include "policy/text_template.h"

#include <vector>

#include "base/text.h"

namespace gpuprobe::inline policy {
namespace {

/// Part of a template: a text and the name of the fact after it (empty at the template's end).
struct Piece {
    std::string_view text = {};
    std::string_view fact = {};
};

/// Splits a template; nullopt if a brace is unpaired.
std::optional<std::vector<Piece>> pieces_of(std::string_view text) {
    std::vector<Piece> pieces;
    for (;;) {
        const auto brace = text.find_first_of("{}");
        if (brace == std::string_view::npos) {
            pieces.push_back({.text = text});
            return pieces;
        }
        const auto end = text.find_first_of("{}", brace + 1);
        // A brace must be opened first, closed, and not nested.
        if (text[brace] == '}' || end == std::string_view::npos || text[end] == '{')
            return std::nullopt;
        pieces.push_back(
            {.text = text.substr(0, brace), .fact = text.substr(brace + 1, end - brace - 1)});
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists) {
    const auto pieces = pieces_of(text);
    if (!pieces)
        return "a brace without its pair";
    for (const auto& piece : *pieces)
        // The last piece is the text after all facts, so it has no fact.
        if (&piece != &pieces->back() && !exists(piece.fact))
            return scrubbed(piece.fact, 64) + ": no such fact";
    return std::nullopt;
}

std::optional<std::string> filled_template(std::string_view text, const FactLookup& fact) {
    const auto pieces = pieces_of(text);
    if (!pieces)
        return std::nullopt;
    std::string result;
    for (const auto& piece : *pieces) {
        result += piece.text;
        if (&piece == &pieces->back())
            break;
        const auto known = fact(piece.fact);
        // A template is filled completely or not at all.
        if (!known)
            return std::nullopt;
        result += *known;
    }
    return result;
}

}  // namespace gpuprobe::inline policy
