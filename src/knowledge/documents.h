// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/builtin_document.h"

namespace gpuprobe {

/// data/knowledge as it was at build time, sorted by name (cmake/embed_json.cmake).
std::span<const BuiltinDocument> builtin_knowledge();

}  // namespace gpuprobe
