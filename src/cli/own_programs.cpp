// SPDX-License-Identifier: Apache-2.0
#include "cli/own_programs.h"

#include <filesystem>

namespace gpuprobe::inline cli {

std::vector<std::string> own_program_paths(std::string_view name) {
    std::error_code problem;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", problem).parent_path();
    std::vector<std::string> paths;
    for (const char* place : {"", "../libexec/gpuprobe", "../lib/gpuprobe"})
        paths.push_back((here / place / name).lexically_normal().string());
    return paths;
}

}  // namespace gpuprobe::inline cli
