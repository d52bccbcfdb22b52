// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// Everything that the report says about one GPU, in groups. Unknown facts are left out. `now` is
/// what the age of free memory counts to. Pure.
std::string show_text(const Gpu& gpu, const Report& report, WallTime now, const Screen& screen);

}  // namespace gpuprobe::inline cli
