// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuprobe::inline base {

/// "SIGSEGV", or "signal 34" where it has no name. glibc has sigabbrev_np only since 2.32.
std::string signal_name(int number);

}  // namespace gpuprobe::inline base
