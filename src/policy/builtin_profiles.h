// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/builtin_document.h"

namespace gpuprobe {

/// The files of data/profiles as they were at build time, sorted by name (cmake/embed_json.cmake).
std::span<const BuiltinDocument> builtin_profiles();

/// The text of one of them; empty when there is none of that name.
std::string_view builtin_profile(std::string_view name);

}  // namespace gpuprobe
