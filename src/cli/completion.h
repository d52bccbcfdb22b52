// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace gpuprobe::inline cli {

/// A word that could complete the command line.
struct Offer {
    std::string word = {};
    std::string help = {};
};

/// The possible completions of a command line.
struct Completion {
    std::vector<Offer> offers = {};  ///< words that start with the text at the cursor
    unsigned names = kNoNames;  ///< kinds of names that fit too; offers_of() turns them into words
    std::string lead = {};      ///< the text before a name in the same word: "--only=cuda,"
    std::string begun = {};     ///< the start of the name
    Arguments arguments = {};   ///< the options so far that say which daemon or machine to ask
};

/// Completes a command line. `words` excludes the program's name; its last word is the one at the
/// cursor and may be empty.
Completion completion_of(const std::vector<std::string>& words);

/// The names that fit, as whole words.
std::vector<Offer> offers_of(const Completion& completion, const std::vector<Offer>& names);

}  // namespace gpuprobe::inline cli
