// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The words that a data file may use, for checking data files (policy/document_check.h).
namespace gpuprobe::inline policy {

enum class FactId : std::uint8_t;

/// How a reader handles words that a newer program may support. The program that uses a data file
/// accepts them and rejects only the variant; a check for authors refuses them.
enum class UnknownWords { Lose, Refuse };

/// The known values of a fact. Empty for a fact whose values are not listed. The lists are only for
/// messages about data files: decisions compare any word with what the machine reports. Source:
/// data/rules/words.json.
std::vector<std::string> known_words(FactId fact);

/// Whether the word is a value of the fact that may occur, or the fact's values are not listed. A
/// `*` at the end matches anything, as in terms. A family of AMD targets ("gfx110X") is known if
/// it has one X, at its end, and includes a known target.
bool is_known_word(FactId fact, std::string_view word);

}  // namespace gpuprobe::inline policy
