// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "cli/paths.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

/// Whether this process may execute the file.
bool is_program(const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

/// The path of the worker. Errors: NotFound, naming every path that was tried.
Result<std::string> worker_program(const std::optional<std::string>& given) {
    if (given && is_program(*given))
        return *given;
    if (given)
        return Error{ErrorCode::NotFound, "--worker: " + *given + ": no such program"};
    std::string tried;
    for (const auto& path : own_program_paths("gpuprobe-worker")) {
        if (is_program(path))
            return path;
        tried += (tried.empty() ? "" : ", ") + path;
    }
    return Error{ErrorCode::NotFound,
                 phrase("no probe worker found at {paths}; give its path with --worker=PATH",
                        {{"paths", tried}})};
}

}  // namespace

Result<std::unique_ptr<Launcher>> own_workers(const std::optional<std::string>& given) {
    return std::unique_ptr<Launcher>{
        std::make_unique<SpawnLauncher>(TRY(worker_program(given)), "")};
}

}  // namespace gpuprobe::inline cli
