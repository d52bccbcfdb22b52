// SPDX-License-Identifier: Apache-2.0
#include "policy/text_template.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gpuprobe::inline policy {
namespace {

struct Filled {
    std::string text = {};
    bool is_complete = true;        ///< all placeholders are known
    bool has_paired_braces = true;  ///< false: an unpaired brace was treated as text
};

/// Fills a text without optional parts.
Filled filled_text(std::string_view text, const WordLookup& lookup) {
    Filled filled;
    while (!text.empty()) {
        const auto open = std::min(text.find_first_of("{}"), text.size());
        const auto close = std::min(text.find_first_of("{}", open + 1), text.size());
        const bool is_pair =
            text.substr(open).starts_with('{') && text.substr(close).starts_with('}');
        filled.text += text.substr(0, is_pair ? open : open + 1);
        if (is_pair) {
            const auto word = lookup(text.substr(open + 1, close - open - 1));
            filled.text += word.value_or(std::string{kNothingKnown});
            filled.is_complete = filled.is_complete && word;
        } else if (open != text.size()) {
            filled.has_paired_braces = false;
        }
        text.remove_prefix(std::min((is_pair ? close : open) + 1, text.size()));
    }
    return filled;
}

/// Fills "A|B" with the first alternative whose placeholders are all known; "" if no alternative
/// has only known placeholders.
std::string first_complete(std::string_view alternatives, const WordLookup& lookup) {
    while (true) {
        const auto bar = std::min(alternatives.find('|'), alternatives.size());
        auto part = filled_text(alternatives.substr(0, bar), lookup);
        if (part.is_complete)
            return std::move(part.text);
        if (bar == alternatives.size())
            return {};
        alternatives.remove_prefix(bar + 1);
    }
}

}  // namespace

std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists) {
    std::optional<std::string> problem;
    const auto filled = filled_text(text, [&](std::string_view name) {
        if (!problem && !exists(name))
            problem = scrubbed(name, 64) + ": no such fact";
        return std::string{};
    });
    return filled.has_paired_braces ? problem : "an unmatched brace";
}

std::optional<std::string> filled_template(std::string_view text, const WordLookup& lookup) {
    auto filled = filled_text(text, lookup);
    if (!filled.has_paired_braces || !filled.is_complete)
        return std::nullopt;
    return std::move(filled.text);
}

std::string filled_sentence(std::string_view sentence, const WordLookup& lookup) {
    std::string text;
    while (!sentence.empty()) {
        const auto open = std::min(sentence.find('['), sentence.size());
        text += filled_text(sentence.substr(0, open), lookup).text;
        sentence.remove_prefix(open);
        if (sentence.empty())
            break;
        const auto close = std::min(sentence.find(']'), sentence.size());
        text += first_complete(sentence.substr(1, close - 1), lookup);
        sentence.remove_prefix(std::min(close + 1, sentence.size()));
    }
    return text;
}

}  // namespace gpuprobe::inline policy
