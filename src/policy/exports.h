// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/recommendation.h"
#include "policy/rules.h"
#include "report/report.h"

/// An answer in the words of other tools.
namespace gpuprobe::inline policy {

/// Settings in the order in which they are printed.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What conda's and pixi's solvers take for this machine's virtual packages: CONDA_OVERRIDE_CUDA
/// (empty: no CUDA), _CUDA_ARCH (the lowest capability there is), _AMDGPU (0, or empty: none),
/// _AMDGPU_ARCH (of the GPU with most compute units), _GLIBC and _ARCHSPEC.
/// Sources: conda's "Managing virtual packages"; CEP 30 and 46; conda/rattler#2806 for AMD's, which
/// chooses among several GPUs as it is told here, where the draft conda/ceps#189 takes the highest.
Settings conda_variables(const Report& report, const Rules& rules);

/// What uv takes for this machine: UV_CUDA_DRIVER_VERSION or UV_AMD_GPU_ARCHITECTURE of the best
/// GPU, and UV_TORCH_BACKEND when the answer is one of PyTorch's indexes. Source: uv's environment
/// variables; crates/uv-torch.
Settings uv_variables(const Report& report, const Rules& rules, const Recommendation* answer);

/// What the providers of wheel variants take: the newest CUDA that the driver runs and the highest
/// capability, AMD's targets and ROCm's version, Intel's IP versions. Sources: plugin.py of
/// nvidia-, amd- and intel-variant-provider.
Settings wheel_variables(const Report& report, const Rules& rules);

/// CMake options with which ggml (llama.cpp, whisper.cpp …) is built for these GPUs with this
/// backend of ours, "-DGGML_CUDA=ON" and so on. GPUs are given by id; none: all of the report.
/// Empty for a backend that ggml has no option for. Source: ggml's CMakeLists.txt.
std::vector<std::string> ggml_options(const Report& report,
                                      const std::string& backend,
                                      const std::vector<std::string>& gpus);
/// The same as variables for projects whose build reads options from the environment (cyllama):
/// GGML_CUDA=1, CMAKE_CUDA_ARCHITECTURES=86;89.
Settings ggml_variables(const Report& report,
                        const std::string& backend,
                        const std::vector<std::string>& gpus);

/// Arguments for docker or podman with which a container sees these GPUs (none: all of the report):
/// NVIDIA's by CDI names, others by the nodes that are there. Empty where no GPU has either.
/// Sources: CDI specification and NVIDIA Container Toolkit for the names; ROCm's documentation for
/// /dev/kfd and the groups.
std::vector<std::string> container_arguments(const Report& report,
                                             const std::vector<std::string>& gpus);

/// "--index-url URL" for pip; empty when the artifact is no index.
std::vector<std::string> pip_arguments(const Recommendation& answer);

}  // namespace gpuprobe::inline policy
