// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline cli {

/// $XDG_CACHE_HOME/gpuprobe, or ~/.cache/gpuprobe; made when missing, readable by the user only.
/// If that is in a folder of another user, as for root with the variables of a user, the same in
/// the home of the user database. nullopt if neither can be used. Source: XDG Base Directory
/// Specification 0.8.
std::optional<std::string> user_cache_folder();
/// The file `probes` in it.
std::optional<std::string> user_cache_file();

/// Where --direct keeps overrides and reported outcomes: $XDG_STATE_HOME/gpuprobe, or
/// ~/.local/state/gpuprobe, likewise. nullopt when it can't be used; they then end with the
/// program.
std::optional<std::string> user_state_folder();

/// Why root has no such folder, if one is named that other users could redirect.
std::optional<std::string> why_nothing_is_kept();

/// Where another program of this project may be, likeliest first: beside this one, as they were
/// built, or where it is installed.
std::vector<std::string> own_program_paths(std::string_view name);

}  // namespace gpuprobe::inline cli
