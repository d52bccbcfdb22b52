// SPDX-License-Identifier: Apache-2.0
#include "cli/places.h"

#include <cstdlib>
#include <filesystem>

namespace gpuprobe::inline cli {
namespace {

namespace fs = std::filesystem;

/// gpuprobe's folder of one kind: below `variable`, or below `fallback` at home. A home that is not
/// there (/nonexistent of system accounts) is nobody's to make.
std::optional<fs::path> user_folder(const char* variable, const char* fallback) {
    const char* given = std::getenv(variable);
    if (given && *given == '/')
        return fs::path{given} / "gpuprobe";
    const char* home = std::getenv("HOME");
    std::error_code problem;
    if (home && *home == '/' && fs::is_directory(home, problem))
        return fs::path{home} / fallback / "gpuprobe";
    return std::nullopt;
}

/// The folder, made when missing and open to nobody else; nullopt when there is none. One that
/// can't be written can still be read.
std::optional<fs::path> own_folder(const std::optional<fs::path>& folder) {
    if (!folder)
        return std::nullopt;
    std::error_code problem;
    if (fs::create_directories(*folder, problem))
        fs::permissions(*folder, fs::perms::owner_all, problem);
    return fs::is_directory(*folder, problem) ? folder : std::nullopt;
}

}  // namespace

std::optional<std::string> user_cache_folder() {
    const auto folder = own_folder(user_folder("XDG_CACHE_HOME", ".cache"));
    return folder ? std::optional{folder->string()} : std::nullopt;
}

std::optional<std::string> user_cache_file() {
    const auto folder = user_cache_folder();
    return folder ? std::optional{*folder + "/probes"} : std::nullopt;
}

std::optional<std::string> user_state_folder() {
    const auto folder = own_folder(user_folder("XDG_STATE_HOME", ".local/state"));
    return folder ? std::optional{folder->string()} : std::nullopt;
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
