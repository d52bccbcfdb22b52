// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuprobe::inline explain {

/// The text as one word that a POSIX shell and systemd's EnvironmentFile= read alike: unchanged if
/// that is safe, else in single quotes. A single quote inside becomes '"'"', which the shell and
/// systemd both join with the rest. A backslash becomes '"\\"', because fish treats a backslash
/// inside single quotes as an escape. Source: POSIX.1-2017, XCU 2.2; systemd.exec(5),
/// EnvironmentFile=; fish-language(1), Quotes.
std::string shell_quoted(std::string_view text);

/// The text as one word of a command in a sentence: unchanged if that is safe; in single quotes if
/// only spaces and "!" are unsafe; else with a backslash before each character that a shell may
/// treat specially. Backslashes, unlike quotes, are safe in all places where a reader may paste the
/// word: by itself, inside quotes of either kind, or with the surrounding sentence, whose
/// apostrophes a shell takes for quotes.
///
/// nullopt for a text that can't be such a word: an empty text; a text that begins with "-", which
/// a program would take for an option; and a text that can't be shown unchanged on one line,
/// because the command would then refer to something else. Source: POSIX.1-2017, XCU 2.2.
std::optional<std::string> command_word(std::string_view text);

}  // namespace gpuprobe::inline explain
