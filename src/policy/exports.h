// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/decision.h"
#include "policy/rules.h"
#include "report/report.h"

/// Exports answers in the formats that other tools use.
namespace gpuprobe::inline policy {

/// Variables and their values, in the order in which they are printed.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Variables that override the virtual packages of conda's and pixi's solvers. CONDA_OVERRIDE_CUDA
/// is empty if no GPU has CUDA, and CONDA_OVERRIDE_CUDA_ARCH is the lowest compute capability of
/// all GPUs. CONDA_OVERRIDE_AMDGPU is "0" if there is an AMD GPU, and otherwise empty;
/// CONDA_OVERRIDE_AMDGPU_ARCH is the target of the AMD GPU with the most compute units.
/// CONDA_OVERRIDE_GLIBC and CONDA_OVERRIDE_ARCHSPEC are set if the version of glibc and the level
/// of the processor are known. Sources: conda's "Managing virtual packages"; CEP 30 and 46;
/// conda/rattler#2806 for AMD. If there are several AMD GPUs, the same GPU is chosen as in rattler;
/// the draft conda/ceps#189 chooses the highest target.
Settings conda_variables(const Report& report, const Rules& rules);

/// The variables for uv are UV_CUDA_DRIVER_VERSION or UV_AMD_GPU_ARCHITECTURE for the best GPU, and
/// the package indexes in the answer. UV_TORCH_BACKEND selects those PyTorch indexes that uv knows,
/// and UV_INDEX (since uv 0.4.23) contains all other indexes. Source: uv's environment variables;
/// crates/uv-torch.
Settings uv_variables(const Report& report, const Rules& rules, const Recommendation* answer);

/// Whether uv can install the variant with only uv_variables() and the application's name: the
/// variables can contain indexes, but neither extras nor other package names.
bool fits_uv_variables(const Recommendation& answer);

/// The oldest version of uv that accepts all of these variables; "" if every version accepts them.
/// uv 0.4.23 added UV_INDEX, and older versions ignore this variable. Source: uv's changelog, and
/// the rules about uv.
std::string oldest_uv(const Settings& variables, const Rules& rules);

/// Variables for the providers of wheel variants: the newest CUDA that the driver supports and the
/// highest compute capability, AMD's targets and ROCm version, and Intel's IP versions. Sources:
/// plugin.py of nvidia-, amd- and intel-variant-provider.
Settings wheel_variables(const Report& report, const Rules& rules);

/// CMake options for building ggml (llama.cpp, whisper.cpp …) for the given GPUs with one of
/// gpuprobe's backends, such as "-DGGML_CUDA=ON". The GPUs are given by their ids; an empty list
/// means all GPUs in the report. The result is empty if ggml has no option for the backend. Source:
/// ggml's CMakeLists.txt.
std::vector<std::string> ggml_options(const Report& report,
                                      const std::string& backend,
                                      const std::vector<std::string>& gpus);
/// The options for building ggml as variables, for projects whose build reads options from the
/// environment (cyllama), such as GGML_CUDA=1 and CMAKE_CUDA_ARCHITECTURES=86;89.
Settings ggml_variables(const Report& report,
                        const std::string& backend,
                        const std::vector<std::string>& gpus);

/// The variant family that container_arguments() expects for an application that processes videos.
constexpr std::string_view kVideo = "video";

/// Arguments for docker or podman that give a container access to certain GPUs and accelerators (an
/// empty list means all GPUs in the report). NVIDIA GPUs are given by their CDI names, other
/// devices by their device nodes. The result is empty if no device has a CDI name or a device node.
/// Sources: CDI specification and NVIDIA Container Toolkit for the names; ROCm's documentation for
/// /dev/kfd and the groups. For Vulkan on NVIDIA GPUs, an argument also requests the driver's
/// graphics libraries; for videos (the family kVideo), an argument requests NVDEC and NVENC,
/// because `--gpus` and many images request only `compute,utility`. Source: NVIDIA Container
/// Toolkit, "Specialized Configurations with Docker", "Driver Capabilities"; seen in
/// ollama/ollama#17549 and leejet/stable-diffusion.cpp#1792.
std::vector<std::string> container_arguments(const Report& report,
                                             const std::vector<std::string>& gpus,
                                             std::string_view family = {});

/// The arguments for "pip install": either the requirements and the options for their indexes, or
/// the URL of a wheel with its hash. The result is empty if pip cannot install the artifact.
/// Source: pip, "pip install", and "Secure installs" for the hash.
std::vector<std::string> pip_arguments(const Recommendation& answer);

/// The arguments for "uv pip install", with the same indexes as in uv_variables(). Source: uv's
/// command reference.
std::vector<std::string> uv_arguments(const Recommendation& answer, const Rules& rules);

}  // namespace gpuprobe::inline policy
