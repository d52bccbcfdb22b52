// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace gpuprobe::inline cli {

/// A whole word that could stand at the cursor.
struct Offer {
    std::string word = {};
    std::string help = {};
};

/// What fits at the end of a command line.
struct Completion {
    std::vector<Offer> offers = {};  ///< only words that begin like the one at the cursor
    unsigned names = kNoNames;       ///< and these names, which offers_of() turns into words
    std::string lead = {};           ///< what stands in front of a name in its word: "--only=cuda,"
    std::string begun = {};          ///< the beginning of the name
    Arguments arguments = {};        ///< what the line says so far about whom to ask
};

/// `words`: those behind the program's name; the last is the one at the cursor, and may be empty.
Completion completion_of(const std::vector<std::string>& words);

/// Those of the names that fit.
std::vector<Offer> offers_of(const Completion& completion, const std::vector<Offer>& names);

}  // namespace gpuprobe::inline cli
