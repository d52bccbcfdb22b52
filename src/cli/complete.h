// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gpuprobe::inline cli {

/// What the completions of the shells call: prints a line for each word that fits at the end of
/// `words` (completion.h), "word<tab>what it is". "<tab>files" and "<tab>folders" stand for names
/// that a shell knows better. Silent about failures; ends the process after kPatience, with what
/// has been printed by then.
int complete(const std::vector<std::string>& words);

}  // namespace gpuprobe::inline cli
