// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace gpuprobe::bus {

/// No string that we put on the bus is longer.
constexpr Bytes kMaxText = kib(256);

/// The text as a bus message may carry it: each byte or character that is not allowed becomes
/// U+FFFD, and what is over `limit` bytes is cut off at a character.
///
/// sd-bus refuses more than the specification does: NUL, what is not UTF-8, surrogates and the
/// non-characters (U+FDD0–FDEF and the last two of each plane). Source: D-Bus specification,
/// "Valid Strings"; systemd src/basic/utf8.c, unichar_is_valid.
std::string bus_text(std::string_view text, Bytes limit = kMaxText);

}  // namespace gpuprobe::bus
