// SPDX-License-Identifier: Apache-2.0
#include "cli/places.h"

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace gpuprobe {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> cache_home() {
    const char* given = std::getenv("XDG_CACHE_HOME");
    if (given && *given == '/')
        return fs::path{given};
    const char* home = std::getenv("HOME");
    if (home && *home == '/')
        return fs::path{home} / ".cache";
    return std::nullopt;
}

bool is_program(const fs::path& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> worker_program(const std::optional<std::string>& given) {
    if (given && is_program(*given))
        return *given;
    if (given)
        return Error{ErrorCode::NotFound, "--worker: " + *given + ": no such program"};
    std::error_code problem;
    const auto here = fs::read_symlink("/proc/self/exe", problem).parent_path();
    std::string tried;
    for (const char* place : {"", "../libexec/gpuprobe", "../lib/gpuprobe"}) {
        const auto path = (here / place / "gpuprobe-worker").lexically_normal();
        if (is_program(path))
            return path.string();
        tried += (tried.empty() ? "" : ", ") + path.string();
    }
    return Error{ErrorCode::NotFound,
                 "no probe worker at " + tried + "; name it with --worker PATH"};
}

std::optional<std::string> user_cache_file() {
    const auto home = cache_home();
    if (!home)
        return std::nullopt;
    const auto folder = *home / "gpuprobe";
    std::error_code problem;
    const bool is_new = fs::create_directories(folder, problem);
    if (is_new)
        fs::permissions(folder, fs::perms::owner_all, problem);
    if (problem || ::access(folder.c_str(), W_OK) != 0)
        return std::nullopt;
    return (folder / "probes").string();
}

}  // namespace gpuprobe
