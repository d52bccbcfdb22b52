// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_environment.h"

namespace gpuprobe::inline probe {
namespace {

/// A folder that does not exist. An empty folder below `home` would not do, because a driver could
/// fill it.
constexpr const char* kNowhere = "/nonexistent";
/// 16 MiB; a probe's kernels take a few kilobytes.
constexpr const char* kCudaCache = "16777216";

void add_vulkan(WorkerVariables& variables, const std::string& manifest) {
    // Loaders ignore an empty list, so "no driver" is a manifest that does not exist.
    const auto drivers = manifest.empty() ? std::string{kNowhere} + "/none.json" : manifest;
    variables["VK_DRIVER_FILES"] = drivers;
    variables["VK_ICD_FILENAMES"] = drivers;  // loaders before 1.3.207
    variables["VK_LOADER_LAYERS_DISABLE"] = "~all~";
    variables["VK_IMPLICIT_LAYER_PATH"] = kNowhere;  // loaders before 1.3.234
    variables["VK_LAYER_PATH"] = kNowhere;
}

}  // namespace

WorkerVariables worker_environment(const ProbeTarget& target,
                                   const std::string& home,
                                   const std::string& opencl_vendors,
                                   const WorkerVariables& extra) {
    WorkerVariables variables = {
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},  // pocl runs the linker
        {"LANG", "C.UTF-8"},
        {"HOME", home},
        {"TMPDIR", home},
        {"XDG_CACHE_HOME", home},
        {"XDG_CONFIG_HOME", kNowhere},
        {"XDG_CONFIG_DIRS", kNowhere},
        {"XDG_DATA_HOME", kNowhere},
        {"XDG_DATA_DIRS", kNowhere},
        {"POCL_CACHE_DIR", home + "/pocl"},
        {"MESA_SHADER_CACHE_DISABLE", "true"},
        // Without a cache, NVIDIA's OpenCL compiles its internal kernels in each clCreateContext,
        // which takes 1.2 to 1.9 s instead of 0.2 s (580.159 on an H200).
        {"CUDA_CACHE_PATH", home + "/cuda"},
        {"CUDA_CACHE_MAXSIZE", kCudaCache},
        {"NEO_CACHE_PERSISTENT", "0"},
        {kStaysVariable, "1"},
        {"__GL_SHADER_DISK_CACHE", "0"},
    };
    if (target.api == "vulkan")
        add_vulkan(variables, target.driver);
    if (target.api == "opencl")
        variables["OCL_ICD_VENDORS"] = opencl_vendors.empty() ? kNowhere : opencl_vendors;
    for (const auto& [name, value] : extra)
        variables.insert_or_assign(name, value);
    return variables;
}

std::vector<std::string> environment_block(const WorkerVariables& variables) {
    std::vector<std::string> block;
    for (const auto& [name, value] : variables)
        block.push_back(name + "=" + value);
    return block;
}

}  // namespace gpuprobe::inline probe
