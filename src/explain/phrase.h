// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Sentences that are filled. Each is one text with names for what stands in it, so that another
/// language can have its own order of words; none is put together of halves. The rules are in
/// docs/words.md, and tests/lint/words.py holds what can be held.
namespace gpuprobe::inline explain {

/// What stands for "{name}" in a sentence; nullopt leaves out the part in brackets that has it.
struct PhraseWord {
    std::string_view name = {};
    std::optional<std::string> text = {};
};

/// The sentence filled, by the rules of explain/wording_table.h: "{backend}[ on {gpu}]".
std::string phrase(std::string_view sentence, std::initializer_list<PhraseWord> words);

/// The sentence for one, or that for any other number, with "{number}" in it. Only here is a plural
/// chosen: another language may have more forms of it.
std::string plural(std::uint64_t number,
                   std::string_view one,
                   std::string_view others,
                   std::initializer_list<PhraseWord> words = {});

/// "a and b and c": items that may have commas in them.
std::string joined_with_and(const std::vector<std::string>& items);
/// "a or b".
std::string joined_with_or(const std::vector<std::string>& items);

}  // namespace gpuprobe::inline explain
