// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probe/launcher.h"

namespace gpuprobe::inline cli {

/// The folder $XDG_CACHE_HOME/gpuprobe or ~/.cache/gpuprobe. The folder is created if it is
/// missing, and is readable only by the user. If the variables lead into a folder of another user
/// (as when root runs with a user's variables), the folder in the home from the account database is
/// used instead. nullopt if neither folder can be used. Source: XDG Base Directory Specification
/// 0.8.
std::optional<std::string> user_cache_folder();
/// The file `probes` in user_cache_folder().
std::optional<std::string> user_cache_file();

/// The folder in which --direct stores overrides and reported outcomes: $XDG_STATE_HOME/gpuprobe or
/// ~/.local/state/gpuprobe, with the same rules as user_cache_folder(). If the result is nullopt,
/// overrides and outcomes are lost when the program ends.
std::optional<std::string> user_state_folder();

/// The reason why root has no cache folder: the variables name a folder that other users could
/// redirect. nullopt in all other cases.
std::optional<std::string> why_nothing_is_kept();

/// The paths at which another program of gpuprobe may be, the most likely path first: next to this
/// program (in a build tree), then the path of the installed program.
std::vector<std::string> own_program_paths(std::string_view name);

/// The launcher of the workers that load vendor drivers for this process. The launcher runs the
/// worker program `given`. If `given` is absent, the launcher runs the worker program next to this
/// program, in ../libexec/gpuprobe or in ../lib/gpuprobe. The portable program contains the worker
/// and checks at the first target whether this machine can run the worker. Errors: NotFound with
/// the paths that were tried.
Result<std::unique_ptr<Launcher>> own_workers(const std::optional<std::string>& given);

}  // namespace gpuprobe::inline cli
