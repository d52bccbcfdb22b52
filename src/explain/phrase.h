// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Fills sentences. A sentence is a single template with named placeholders, so that a translation
/// can have another order of words; it is never assembled from fragments. docs/words.md has the
/// rules, and tests/lint/words.py checks as many as a program can check.
namespace gpuprobe::inline explain {

/// The text for the placeholder "{name}". nullopt leaves out the part in brackets that contains it.
struct PhraseWord {
    std::string_view name = {};
    std::optional<std::string> text = {};
};

/// Fills a sentence such as "{backend}[ on {gpu}]" by the rules of explain/wording_table.h.
std::string phrase(std::string_view sentence, std::initializer_list<PhraseWord> words);

/// Fills the sentence `one` for the number 1, else `others`; "{number}" is the number. Only this
/// function chooses plurals, because other languages may have more plural forms.
std::string plural(std::uint64_t number,
                   std::string_view one,
                   std::string_view others,
                   std::initializer_list<PhraseWord> words = {});

/// "a and b and c", for items that may contain commas.
std::string joined_with_and(const std::vector<std::string>& items);
/// "a or b".
std::string joined_with_or(const std::vector<std::string>& items);

}  // namespace gpuprobe::inline explain
