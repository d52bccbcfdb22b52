// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/units.h"

namespace gpuprobe::inline exports {

/// A time as "2026-11-20T23:06:40Z": RFC 3339 in UTC, whole seconds.
std::string instant_text(WallTime instant);

}  // namespace gpuprobe::inline exports
