// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain/screen.h"

namespace gpuprobe::inline cli {

enum class ColourMode { Auto, Always, Never };

/// What the running process writes to on that descriptor: terminal, width, locale. "auto" gives
/// colour on a terminal that is not "dumb" and when NO_COLOR is unset or empty (no-color.org).
Screen screen_of(int descriptor, ColourMode mode);

}  // namespace gpuprobe::inline cli
