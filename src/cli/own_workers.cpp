// SPDX-License-Identifier: Apache-2.0
#include "cli/own_workers.h"

#include <filesystem>

#include <unistd.h>

#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

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
                 phrase("there is no probe worker at {paths}; name it with --worker PATH",
                        {{"paths", tried}})};
}

}  // namespace

Result<std::unique_ptr<Launcher>> own_workers(const std::optional<std::string>& given) {
    return std::unique_ptr<Launcher>{
        std::make_unique<SpawnLauncher>(TRY(worker_program(given)), "")};
}

}  // namespace gpuprobe::inline cli
