// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuprobe::inline explain {

/// The text as one word that a POSIX shell and systemd's EnvironmentFile= read alike: as it is
/// where that is safe, else in single quotes. A single quote inside is written as '"'"', which the
/// shell joins and systemd (which joins adjacent quoted strings too) reads the same. So is a
/// backslash, as '"\\"': fish takes one between single quotes for an escape. Source:
/// POSIX.1-2017, XCU 2.2; systemd.exec(5), EnvironmentFile=; fish-language(1), Quotes.
std::string shell_quoted(std::string_view text);

/// The text as one word of a command that a sentence shows: as it is where that is safe, between
/// single quotes if only spaces and "!" are not, else with a backslash before each character that a
/// shell may treat specially. Unlike quotes around such characters, that holds wherever a reader
/// pastes the word: alone, between quotes of either kind, or with the sentence around it, whose
/// apostrophes a shell takes for quotes. nullopt for a text that cannot be such a word: an empty
/// one; one that begins with "-", which a program takes for an option; and one that cannot be shown
/// on a line as it is, because the command would then be about something else.
/// Source: POSIX.1-2017, XCU 2.2.
std::optional<std::string> command_word(std::string_view text);

}  // namespace gpuprobe::inline explain
