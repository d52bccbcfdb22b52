// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline cli {

/// $XDG_CACHE_HOME/gpuprobe, or ~/.cache/gpuprobe; made when missing, readable by the user alone.
/// nullopt when there is no home. Source: XDG Base Directory Specification 0.8.
std::optional<std::string> user_cache_folder();
/// The file `probes` in it.
std::optional<std::string> user_cache_file();

/// Where --direct keeps overrides and reported outcomes: $XDG_STATE_HOME/gpuprobe, or
/// ~/.local/state/gpuprobe. nullopt when it can't be written; they then end with the program.
std::optional<std::string> user_state_folder();

/// Where another program of this project may be, likeliest first: beside this one, as they were
/// built, or where it is installed.
std::vector<std::string> own_program_paths(std::string_view name);

}  // namespace gpuprobe::inline cli
