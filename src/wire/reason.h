// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/value.h"

/// Reasons as the bus carries them: one string, the code and, where there is a detail, a space and
/// the detail as one line of JSON: `driver-too-old {"have":"470.1","need":"525.60.13"}`. An answer
/// has dozens of them, and every container within containers is checked by both ends and the bus.
namespace gpuprobe::bus {

/// Longer details are left out, not cut.
constexpr Bytes kMaxReasonDetail = kib(16);

/// `detail`: an object; an empty one is left out.
std::string reason_text(std::string_view code, const Value& detail);
/// The code, under its name of today, and an object, which is empty where the detail is not JSON or
/// too long.
Value reason_value(std::string_view text);

}  // namespace gpuprobe::bus
