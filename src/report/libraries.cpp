// SPDX-License-Identifier: Apache-2.0
#include "report/libraries.h"

#include <algorithm>
#include <array>

namespace gpuprobe {
namespace {

constexpr bool kListed = true;

constexpr LibraryInfo of_driver(std::string_view stem, Api api) {
    return {.stem = stem, .api = api, .is_of_driver = true, .is_in_host_reports = kListed};
}
constexpr LibraryInfo of(Api api, std::string_view stem, bool is_listed) {
    return {.stem = stem, .api = api, .is_in_host_reports = is_listed};
}
constexpr LibraryInfo of_toolkit(std::string_view stem, bool is_listed) {
    return {.stem = stem, .api = Api::Cuda, .tells_toolkit = true, .is_in_host_reports = is_listed};
}
constexpr LibraryInfo of_host(std::string_view stem) {
    return {.stem = stem, .is_in_host_reports = kListed};
}

/// Sources: the NEEDED entries of llama.cpp's, Ollama's, PyTorch's and ONNX Runtime's GPU builds;
/// CUDA, ROCm and oneAPI release notes for the libraries' names. A row that no report lists says
/// only whose it is: a report of an earlier program would not have it where it is there.
constexpr auto kLibraries = std::to_array<LibraryInfo>({
    of_driver("libcuda", Api::Cuda),
    of_driver("libnvidia-ml", Api::Cuda),
    of_toolkit("libcublas", kListed),
    of_toolkit("libcublasLt", kListed),
    of_toolkit("libcudart", kListed),
    of_toolkit("libnvrtc", kListed),
    of_toolkit("libnvJitLink", !kListed),
    of_toolkit("libcupti", !kListed),
    of(Api::Cuda, "libcudnn", kListed),
    of(Api::Cuda, "libcufft", kListed),
    of(Api::Cuda, "libcurand", kListed),
    of(Api::Cuda, "libcusolver", kListed),
    of(Api::Cuda, "libcusparse", kListed),
    of(Api::Cuda, "libnccl", kListed),
    of(Api::Cuda, "libcufile", !kListed),
    of(Api::Cuda, "libcusparseLt", !kListed),
    of(Api::Cuda, "libnvshmem_host", !kListed),
    of(Api::Cuda, "libnvinfer", !kListed),
    of(Api::Hip, "libMIOpen", kListed),
    of(Api::Hip, "libamdhip64", kListed),
    of(Api::Hip, "libhipblas", kListed),
    of(Api::Hip, "libhipblaslt", kListed),
    of(Api::Hip, "libhsa-runtime64", kListed),
    of(Api::Hip, "librccl", kListed),
    of(Api::Hip, "librocblas", kListed),
    of(Api::Hip, "librocsolver", kListed),
    of(Api::Hip, "librocsparse", kListed),
    of(Api::Hip, "libhipfft", !kListed),
    of(Api::Hip, "libhiprand", !kListed),
    of(Api::Hip, "libhiprtc", !kListed),
    of(Api::Hip, "libhipsolver", !kListed),
    of(Api::Hip, "libhipsparse", !kListed),
    of(Api::Hip, "libhipsparselt", !kListed),
    of(Api::Hip, "librocfft", !kListed),
    of(Api::Hip, "librocrand", !kListed),
    of(Api::Hip, "libamd_comgr", !kListed),
    of_driver("libze_loader", Api::LevelZero),
    of(Api::LevelZero, "libmkl_sycl_blas", kListed),
    of(Api::LevelZero, "libpi_level_zero", kListed),
    of(Api::LevelZero, "libsycl", kListed),
    of(Api::LevelZero, "libur_loader", kListed),
    of_driver("libvulkan", Api::Vulkan),
    of_driver("libOpenCL", Api::OpenCl),
    of_host("libascendcl"),
    of_host("libcurl"),
    of_host("libdnnl"),
    of_host("libgfortran"),
    of_host("libgomp"),
    of_host("libimf"),
    of_host("libintlc"),
    of_host("libmkl_core"),
    of_host("libmusa"),
    of_host("libmusart"),
    of_host("libnuma"),
    of_host("libomp"),
    of_host("libopenblas"),
    of_host("libopenvino"),
    of_host("libssl"),
    of_host("libstdc++"),
    of_host("libsvml"),
    of_host("libtbb"),
});

/// Sources: glibc's and musl's lists of installed libraries; GCC's runtime libraries.
constexpr auto kBase = std::to_array<std::string_view>(
    {"ld-linux", "libBrokenLocale", "libanl", "libatomic", "libc", "libdl", "libgcc_s", "libm",
     "libmvec", "libpthread", "libresolv", "librt", "libutil", "linux-vdso"});

std::string_view stem_of(std::string_view soname) {
    return soname.substr(0, std::min(soname.find(".so"), soname.size()));
}

}  // namespace

const LibraryInfo* library_info(std::string_view soname) {
    if (soname.find(".so") == std::string_view::npos)
        return nullptr;
    const auto* found = std::ranges::find(kLibraries, stem_of(soname), &LibraryInfo::stem);
    return found == kLibraries.end() ? nullptr : found;
}

bool is_listed_library(std::string_view soname) {
    const auto* info = library_info(soname);
    return info && info->is_in_host_reports;
}

bool is_base_library(std::string_view soname) {
    const auto stem = stem_of(soname);
    return stem.starts_with("ld-linux") || stem.starts_with("libc.musl") ||
           std::ranges::find(kBase, stem) != kBase.end();
}

}  // namespace gpuprobe
