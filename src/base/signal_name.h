// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuprobe::inline base {

/// The name of a signal: "SIGSEGV", or "signal 34" if it has no name. Replaces sigabbrev_np(),
/// which glibc has only since 2.32.
std::string signal_name(int number);

}  // namespace gpuprobe::inline base
