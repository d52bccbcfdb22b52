// SPDX-License-Identifier: Apache-2.0
#include "explain/phrase.h"

#include <algorithm>

#include "base/text.h"
#include "explain/explain.h"

namespace gpuprobe::inline explain {
namespace {

/// Fills a sentence. "{number}" is `number` if that has a value, else one of the words.
std::string filled_with(std::string_view sentence,
                        std::initializer_list<PhraseWord> words,
                        const std::optional<std::string>& number) {
    return filled(sentence, [&](std::string_view name) -> std::optional<std::string> {
        if (name == "number")
            if (number)
                return number;
        const auto found = std::ranges::find(words, name, &PhraseWord::name);
        return found == words.end() ? std::nullopt : found->text;
    });
}

}  // namespace

std::string phrase(std::string_view sentence, std::initializer_list<PhraseWord> words) {
    return filled_with(sentence, words, std::nullopt);
}

std::string plural(std::uint64_t number,
                   std::string_view one,
                   std::string_view others,
                   std::initializer_list<PhraseWord> words) {
    return filled_with(number == 1 ? one : others, words, std::to_string(number));
}

std::string joined_with_and(const std::vector<std::string>& items) {
    return joined(items, " and ");
}

std::string joined_with_or(const std::vector<std::string>& items) {
    return joined(items, " or ");
}

}  // namespace gpuprobe::inline explain
