// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The words that may occur in a data file. policy/document_check.h checks data files with these
/// words.
namespace gpuprobe::inline policy {

enum class FactId : std::uint8_t;

/// How a reader handles words that only a newer version of gpuprobe may support. A program that
/// uses a data file accepts unknown words and rejects only the variant with such a word; the check
/// for authors refuses unknown words.
enum class UnknownWords { Lose, Refuse };

/// The known values of a fact. The result is empty for a fact whose values aren't listed. The
/// lists of values are used only in messages about data files, because decisions compare any word
/// with the value that the machine reports. Source: data/rules/words.json.
std::vector<std::string> known_words(FactId fact);

/// Whether the word is a known value of the fact, or the values of the fact aren't listed. A `*`
/// at the end of the word matches anything, as in terms. A family of AMD targets such as "gfx110X"
/// is known if its only X is the last character and the family includes a known target.
bool is_known_word(FactId fact, std::string_view word);

}  // namespace gpuprobe::inline policy
