// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

/// Fills the placeholders in sentences. Each sentence is a single template and is never assembled
/// from fragments, so that a translation can have another word order. docs/internals/words.md
/// contains the rules, and tests/lint/words.py checks the rules that a program can check.

namespace gpuprobe::inline explain {

/// A string that replaces the placeholder "{name}". If the string is nullopt, the part in brackets
/// that contains the placeholder is left out.
struct PhraseWord {
    std::string_view name = {};
    std::optional<std::string> text = {};
};

/// Fills in a sentence such as "{backend}[ on {gpu}]" (base/text.h).
std::string phrase(std::string_view sentence, std::initializer_list<PhraseWord> words);

/// Fills in the sentence `one` if the number is 1, otherwise the sentence `others`; "{number}" is
/// replaced by the number. Only this function chooses plurals, because other languages may have
/// more plural forms.
std::string plural(std::uint64_t number,
                   std::string_view one,
                   std::string_view others,
                   std::initializer_list<PhraseWord> words = {});

/// Joins items with "and", as in "a and b and c", because items may contain commas.
std::string joined_with_and(const std::vector<std::string>& items);
/// Joins items with "or", as in "a or b".
std::string joined_with_or(const std::vector<std::string>& items);

/// A size in binary units, such as "139.8 GiB" or "640 B". Sizes of 1 GiB or more are shown with
/// one decimal place. The size is rounded down, so that a size just below a minimum is never shown
/// as equal to the minimum.
std::string size_text(Bytes size);

/// A duration, such as "850 µs" or "3 min". `micro` is the sign for 10^-6 ("µ" or "u").
std::string duration_text(Duration duration, std::string_view micro);

/// The time since `at`, such as "just now" or "5 min ago"; after two days, the date in UTC, such as
/// "on 2023-11-14". A time in the future, as can happen after the clock is set back, is shown as
/// "just now".
std::string age_text(WallTime at, WallTime now);

/// A time to the minute, such as "2026-11-21 19:30 UTC".
std::string time_text(WallTime at);

/// A rate with three digits and a prefix for a power of 1000, such as "4.19 T" or "62.3 GB/s".
std::string rate_text(double rate, std::string_view unit = "");
/// `have` as a percentage of `promised`, such as "85 %"; "" if either value is unknown.
std::string share_text(const std::optional<std::uint64_t>& have,
                       const std::optional<std::uint64_t>& promised);

/// The text as one word that a POSIX shell and systemd's EnvironmentFile= read in the same way:
/// unchanged if the text is safe, otherwise in single quotes. A single quote in the text becomes
/// '"'"', which the shell and systemd both join with the other parts of the word. A backslash
/// becomes '"\\"', because fish treats a backslash inside single quotes as an escape. Source:
/// POSIX.1-2017, XCU 2.2; systemd.exec(5), EnvironmentFile=; fish-language(1), Quotes.
std::string shell_quoted(std::string_view text);

/// The text as one word of a command in a sentence: unchanged if the text is safe; in single quotes
/// if only spaces and "!" are unsafe; otherwise with a backslash before each character that a shell
/// may treat specially. A reader may paste the word by itself, inside quotes, or with the
/// surrounding sentence, whose apostrophes a shell interprets as quotes. Backslashes are safe in
/// all these cases, but quotes are not.
///
/// The result is nullopt for a string that cannot be such a word: an empty string; a string that
/// begins with "-", which a program would interpret as an option; and a string that cannot be shown
/// unchanged on one line, because the command would then refer to something else. Source:
/// POSIX.1-2017, XCU 2.2.
std::optional<std::string> command_word(std::string_view text);

}  // namespace gpuprobe::inline explain
