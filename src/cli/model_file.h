// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "plan/gguf.h"

namespace gpuprobe::inline cli {

/// The header of a model's file and of its other parts, which lie beside it. Reads as little of the
/// files as the header needs, at most kMaxGgufHeader of each. With `is_beginning` the files may end
/// before their tensors do. "-" is standard input, which is always taken for a beginning.
///
/// Errors, each with the file's name: NotFound (a missing part too), PermissionDenied, Io (no
/// regular file), TooLarge, Malformed.
Result<Gguf> read_model_file(const std::string& path, bool is_beginning);

}  // namespace gpuprobe::inline cli
