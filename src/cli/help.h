// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"

namespace gpuprobe::inline cli {

/// The help page of a verb, or the overview for "". nullopt for an unknown verb.
std::optional<std::string> help_text(std::string_view verb);

/// A help page, wrapped for a narrow terminal. If `columns` is 0, the page isn't changed.
std::string narrowed(std::string_view page, std::size_t columns);

/// The long names of all options, sorted. Suggestions for mistyped options are taken from these
/// names.
std::vector<std::string> option_names();
/// The names of all verbs, in the order of the help.
std::vector<std::string> verb_names();

/// A word that could complete the command line.
struct Offer {
    std::string word = {};
    std::string help = {};
    std::string group = {};  ///< the group of a verb, such as "Ask"; empty for other words
};

/// The possible completions of a command line.
struct Completion {
    std::vector<Offer> offers = {};  ///< words that start with the text at the cursor
    unsigned names = kNoNames;       ///< kinds of names that also fit; see offers_of()
    std::string lead = {};           ///< the text before a name in the same word: "--only=cuda,"
    std::string begun = {};          ///< the part of the name that has been typed
    Arguments arguments = {};        ///< the options that select a daemon or a machine
};

/// Completes a command line. `words` excludes the program's name; the last word is the word at the
/// cursor and may be empty.
Completion completion_of(const std::vector<std::string>& words);

/// The names that complete the word at the cursor. Each result is a whole word.
std::vector<Offer> offers_of(const Completion& completion, const std::vector<Offer>& names);

}  // namespace gpuprobe::inline cli
