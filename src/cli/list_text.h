// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// One line per GPU with the index by which verbs know it; "" without GPUs. Pure.
std::string list_text(const Report& report, const Screen& screen);

}  // namespace gpuprobe::inline cli
