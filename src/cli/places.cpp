// SPDX-License-Identifier: Apache-2.0
#include "cli/places.h"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "base/accounts.h"
#include "base/open_folder.h"

namespace gpuprobe::inline cli {
namespace {

namespace fs = std::filesystem;

/// A kind of folder: the variable that names it, and where it is at home.
struct Kind {
    const char* variable;
    const char* at_home;
};
constexpr Kind kCache{.variable = "XDG_CACHE_HOME", .at_home = ".cache"};
constexpr Kind kState{.variable = "XDG_STATE_HOME", .at_home = ".local/state"};

/// A home that is not there (/nonexistent of system accounts) is nobody's to make.
std::optional<fs::path> below_home(const std::optional<std::string>& home, const Kind& kind) {
    std::error_code problem;
    if (!home || !home->starts_with('/') || !fs::is_directory(*home, problem))
        return std::nullopt;
    return fs::path{*home} / kind.at_home / "gpuprobe";
}

/// gpuprobe's folder of one kind, as the variables name it.
std::optional<fs::path> named_folder(const Kind& kind) {
    const char* given = std::getenv(kind.variable);
    if (given && *given == '/')
        return fs::path{given} / "gpuprobe";
    const char* home = std::getenv("HOME");
    return below_home(home ? std::optional<std::string>{home} : std::nullopt, kind);
}

/// Its path, made when missing and open to nobody else. One that can't be written can still be
/// read. Errors: those of open_folder().
Result<std::string> opened(const fs::path& folder) {
    (void)TRY(open_folder(folder.string(), FolderTrust::Own, MissingFolder::Make));
    return folder.string();
}

std::optional<std::string> own_folder(const Kind& kind) {
    const auto named = named_folder(kind);
    if (!named)
        return std::nullopt;
    if (auto folder = opened(*named))
        return *std::move(folder);
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
    const bool is_root = ::geteuid() == kRoot;  // others often have a home that they can't write
    if (!is_root || !named || own_folder(kCache))
        return std::nullopt;
    const auto folder = opened(*named);
    if (folder || folder.error().code != ErrorCode::PermissionDenied)
        return std::nullopt;
    return folder.error().text;
}

std::vector<std::string> own_program_paths(std::string_view name) {
    std::error_code problem;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", problem).parent_path();
    std::vector<std::string> paths;
    for (const char* place : {"", "../libexec/gpuprobe", "../lib/gpuprobe"})
        paths.push_back((here / place / name).lexically_normal().string());
    return paths;
}

}  // namespace gpuprobe::inline cli
