// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuprobe::inline cli {

/// Every verb and every option, as Markdown: the middle of gpuprobectl(1).
std::string manual();

}  // namespace gpuprobe::inline cli
