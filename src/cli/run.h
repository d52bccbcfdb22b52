// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gpuprobe::inline cli {

/// The whole program except main(). `words` is the command line without the program's name. Returns
/// the exit code.
int run(const std::vector<std::string>& words);

}  // namespace gpuprobe::inline cli
