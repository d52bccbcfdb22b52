// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/units.h"

namespace gpuprobe::bus {

/// Limit for every string that we put on the bus.
constexpr Bytes kMaxText = kib(256);

/// Makes a text valid for a bus message: each invalid byte or character becomes U+FFFD, and the
/// text is cut at a character to at most `limit` bytes.
///
/// sd-bus is stricter than the specification. It refuses NUL, invalid UTF-8, surrogates and
/// noncharacters (U+FDD0–FDEF and the last two of each plane). Source: D-Bus specification, "Valid
/// Strings"; systemd src/basic/utf8.c, unichar_is_valid.
std::string bus_text(std::string_view text, Bytes limit = kMaxText);

}  // namespace gpuprobe::bus
