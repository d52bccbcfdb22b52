// SPDX-License-Identifier: Apache-2.0
#include "cli/paths.h"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "base/accounts.h"
#include "base/files.h"

namespace gpuprobe::inline cli {
namespace {

namespace fs = std::filesystem;

/// A kind of XDG folder: the variable that names it, and its default path below the home.
struct Kind {
    const char* variable;
    const char* at_home;
};
constexpr Kind kCache{.variable = "XDG_CACHE_HOME", .at_home = ".cache"};
constexpr Kind kState{.variable = "XDG_STATE_HOME", .at_home = ".local/state"};

/// gpuprobe's folder below `home`. A missing home folder, such as the /nonexistent of system
/// accounts, isn't created.
std::optional<fs::path> below_home(const std::optional<std::string>& home, const Kind& kind) {
    std::error_code problem;
    if (!home || !home->starts_with('/') || !fs::is_directory(*home, problem))
        return std::nullopt;
    return fs::path{*home} / kind.at_home / "gpuprobe";
}

/// gpuprobe's folder according to the environment. Relative paths are ignored, as the XDG
/// specification requires.
std::optional<fs::path> named_folder(const Kind& kind) {
    const char* given = std::getenv(kind.variable);
    if (given && *given == '/')
        return fs::path{given} / "gpuprobe";
    const char* home = std::getenv("HOME");
    return below_home(home ? std::optional<std::string>{home} : std::nullopt, kind);
}

/// Returns the path of the folder. A missing folder is created, with access only for its owner. A
/// folder that isn't writable is still useful for reading. Errors: the same as for open_folder().
Result<std::string> opened(const fs::path& folder) {
    (void)TRY(open_folder(folder.string(), FolderTrust::Own, MissingFolder::Make));
    return folder.string();
}

/// The folder from the environment, or else the folder in the account's home.
std::optional<std::string> own_folder(const Kind& kind) {
    const auto named = named_folder(kind);
    if (!named)
        return std::nullopt;
    if (auto folder = opened(*named))
        return *std::move(folder);
    // Under sudo, HOME may be the home of another user. We must not trust that user's files, and
    // must not create files there that root owns.
    const auto own = below_home(home_of(::geteuid()), kind);
    auto folder = own && *own != *named ? opened(*own) : Error{ErrorCode::NotFound, ""};
    return folder ? std::optional{*std::move(folder)} : std::nullopt;
}

}  // namespace

std::optional<std::string> user_cache_folder() {
    return own_folder(kCache);
}

std::optional<std::string> user_cache_file() {
    const auto folder = user_cache_folder();
    return folder ? std::optional{*folder + "/probes"} : std::nullopt;
}

std::optional<std::string> user_state_folder() {
    return own_folder(kState);
}

std::optional<std::string> why_nothing_is_kept() {
    const auto named = named_folder(kCache);
    // Accounts other than root often have a home folder that isn't writable.
    const bool is_root = ::geteuid() == kRoot;
    if (!is_root || !named || own_folder(kCache))
        return std::nullopt;
    const auto folder = opened(*named);
    if (folder || folder.error().code != ErrorCode::PermissionDenied)
        return std::nullopt;
    return folder.error().text;
}

std::vector<std::string> own_program_paths(std::string_view name) {
    // The real path of this program, even if it was started through a link.
    const fs::path here{folder_of(RootedFiles{}.link_target("/proc/self/exe").value_or(""))};
    std::vector<std::string> paths;
    for (const char* place : {"", "../libexec/gpuprobe", "../lib/gpuprobe"})
        paths.push_back((here / place / name).lexically_normal().string());
    return paths;
}

}  // namespace gpuprobe::inline cli
