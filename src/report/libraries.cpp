// SPDX-License-Identifier: Apache-2.0
#include "report/libraries.h"

#include <algorithm>
#include <array>

namespace gpuprobe {
namespace {

/// What stands before ".so". Sources: the NEEDED entries of llama.cpp's, Ollama's, PyTorch's and
/// ONNX Runtime's GPU builds; CUDA, ROCm and oneAPI release notes for the libraries' names.
constexpr std::array kStems = std::to_array<std::string_view>({
    "libMIOpen",    "libOpenCL",    "libamdhip64",      "libascendcl",  "libcublas",
    "libcublasLt",  "libcuda",      "libcudart",        "libcudnn",     "libcufft",
    "libcurand",    "libcurl",      "libcusolver",      "libcusparse",  "libdnnl",
    "libgfortran",  "libgomp",      "libimf",           "libintlc",     "libsvml",
    "libhipblas",   "libhipblaslt", "libhsa-runtime64", "libmkl_core",  "libmkl_sycl_blas",
    "libmusa",      "libmusart",    "libnccl",          "libnuma",      "libnvidia-ml",
    "libnvrtc",     "libomp",       "libopenblas",      "libopenvino",  "libpi_level_zero",
    "librccl",      "librocblas",   "librocsolver",     "librocsparse", "libssl",
    "libstdc++",    "libsycl",      "libtbb",           "libur_loader", "libvulkan",
    "libze_loader",
});

}  // namespace

bool is_listed_library(std::string_view soname) {
    const auto end = soname.find(".so");
    return end != std::string_view::npos &&
           std::ranges::find(kStems, soname.substr(0, end)) != kStems.end();
}

}  // namespace gpuprobe
