// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace gpuprobe {

/// The probe worker: `given`, else beside this program, else in ../libexec/gpuprobe or
/// ../lib/gpuprobe from it. Errors: NotFound, naming the places.
Result<std::string> worker_program(const std::optional<std::string>& given);

/// $XDG_CACHE_HOME/gpuprobe/probes, or ~/.cache/gpuprobe/probes; makes its folder, readable by the
/// user alone. nullopt when there is no home or it cannot be written.
/// Source: XDG Base Directory Specification 0.8.
std::optional<std::string> user_cache_file();

/// Where --direct keeps overrides and reported outcomes: $XDG_STATE_HOME/gpuprobe, or
/// ~/.local/state/gpuprobe. nullopt when it can't be written; they then end with the program.
std::optional<std::string> user_state_folder();

}  // namespace gpuprobe
