// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/value.h"

namespace gpuprobe::inline base {

/// Maximum depth of nesting. No format of this project uses more than a dozen levels.
constexpr int kMaxJsonDepth = 64;

/// Parses one JSON document.
///
/// Errors: TooLarge if the text is longer than `limit`; Malformed, with the path of the problem, if
/// the text is not a single JSON document in UTF-8 (then also with the byte offset), if a key
/// appears twice in an object, or if there are more than kMaxJsonDepth levels.
Result<Value> parse_json(std::string_view text, Bytes limit);

/// Writes the value on one line, without spaces. Never fails: bytes that are not UTF-8 become
/// U+FFFD. Characters that are unsafe on a terminal (base/characters.h) are written as escapes,
/// such as "\u202e".
std::string json_line(const Value& value);

/// The same, indented by two spaces and with a final newline.
std::string json_pretty(const Value& value);

}  // namespace gpuprobe::inline base
