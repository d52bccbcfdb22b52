// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/value.h"

namespace gpuprobe::inline base {

/// Deeper documents are refused: no format of ours nests more than a dozen levels.
constexpr int kMaxJsonDepth = 64;

/// The value of one JSON document.
///
/// Errors: TooLarge over `limit`; Malformed with the path, for anything that is not one JSON
/// document in UTF-8 (and with the byte offset), for a key that appears twice in one object, and
/// below kMaxJsonDepth levels.
Result<Value> parse_json(std::string_view text, Bytes limit);

/// One line, no spaces. Bytes that are not UTF-8 become U+FFFD: it never fails. Characters that a
/// terminal must not get (base/characters.h) are written as escapes, "\u202e".
std::string json_line(const Value& value);

/// Indented by two spaces, with a final newline.
std::string json_pretty(const Value& value);

}  // namespace gpuprobe::inline base
