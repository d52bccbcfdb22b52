// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/word_list.h"

/// Every API that a worker can probe; each API has one row. All other components look up APIs here.

namespace gpuprobe::inline report {

enum class Api : std::uint8_t {
    Cuda,
    Hip,
    LevelZero,
    Vulkan,
    OpenCl,
    Nvml,
    LevelZeroSysman,
    Drm,
    Pci,
    Cpu,  ///< the processor itself, measured in the same way as a GPU
    Vaapi,
    NvCodec,  ///< NVDEC and NVENC
    V4l2,     ///< the video codecs of SoCs
};

/// Rank of an API among the sources of each fact: 1 is the most trusted, 0 means that the API is
/// never used.
struct ApiTrust {
    std::uint8_t name = 0;          ///< marketing name
    std::uint8_t kind = 0;          ///< discrete, integrated or virtual
    std::uint8_t physical = 0;      ///< memory on the board; the kernel's value comes first
    std::uint8_t allocatable = 0;   ///< allocatable memory of a GPU with dedicated memory
    std::uint8_t shared = 0;        ///< allocatable memory of a GPU that uses host memory
    std::uint8_t free = 0;          ///< free memory; the kernel's value comes first
    std::uint8_t uuid = 0;          ///< UUID; NVIDIA's own UUID comes first
    std::uint8_t architecture = 0;  ///< architecture; the kernel's value comes first
};

/// Libraries that programs link with in order to compute through an API. Each library is given by
/// its soname up to ".so"; spaces separate the libraries. Sources: the NEEDED entries of
/// llama.cpp's, Ollama's, PyTorch's and ONNX Runtime's GPU builds; CUDA, ROCm and oneAPI release
/// notes.
struct ApiLibraries {
    /// Libraries of the driver or its loader, which applications never bundle.
    std::string_view of_driver = {};
    std::string_view toolkit = {};  ///< libraries whose major version is the toolkit's version
    std::string_view others = {};
    /// The subset of the libraries above that a host's list of libraries does not include. Reports
    /// from earlier versions of gpuprobe lack these libraries even if they are installed.
    std::string_view unlisted = {};
};

/// One row of the API table. The words in a list are separated by spaces.
struct ApiInfo {
    Api id = Api::Cuda;
    std::string_view word = {};   ///< name in reports, requests and manifests
    std::string_view label = {};  ///< name for users
    /// Name of the backend that uses this API; empty if programs do not compute through the API.
    std::string_view backend = {};
    std::string_view fleet_word = {};  ///< name in exports for fleets
    std::string_view vendor = {};      ///< vendor to which the API is limited; empty if none
    /// Vendors whose runtimes offer the same API and report `vendor` as their vendor.
    std::string_view licensees = {};
    /// Kernel drivers of `vendor` that the API works with.
    std::string_view kernel_drivers = {};
    /// Kernel drivers that work with user-space drivers bundled with a program, if no vendor owns
    /// the API.
    std::string_view bundled_drivers = {};
    /// Sonames of the loader, driver and compiler; the API's answers depend on them. Sources: the
    /// libraries that src/backends opens; dependencies of the drivers' Debian packages.
    std::string_view libraries = {};
    ApiLibraries linked = {};
    /// Prefixes of the names of kernel targets ("sm_86", "gfx90a") that only this API runs.
    std::string_view code = {};
    /// The fact with the GPU architecture for which builds are compiled; empty if builds do not
    /// depend on the architecture.
    std::string_view architecture = {};
    std::string_view uuid_member = {};   ///< member for the API's UUID in a report's identity
    std::string_view version_term = {};  ///< term in profiles for the API's version on a device
    std::string_view parts = {};  ///< prefix of the names of partitions that only this API can list
    /// Other names that applications use for their backends on this API. Source: the backend
    /// folders of ggml, and the device names of PyTorch and ONNX Runtime.
    std::string_view other_backends = {};
    bool has_manifests = false;  ///< whether drivers are found through manifests
    /// Common prefix of the paths of nodes that are probed separately; empty if there are no such
    /// nodes.
    std::string_view nodes = {};
    bool reports_video = false;  ///< whether the API reports the capabilities of video engines
    bool wakes = true;           ///< whether a probe of this API may wake a sleeping GPU
    std::string_view ggml_option = {};  ///< CMake option of ggml. Source: ggml's CMakeLists.txt
    /// Whether llama.cpp can distribute a model over several GPUs through this API.
    bool splits_models = false;
    int tier = 0;  ///< tier of a tsuku variant whose name contains only this API's name
    ApiTrust trust = {};
};

inline constexpr std::array kApis = std::to_array<ApiInfo>({
    {.id = Api::Cuda,
     .word = "cuda",
     .label = "CUDA",
     .backend = "cuda",
     .fleet_word = "cuda",
     .vendor = "nvidia",
     .kernel_drivers = "nvidia nvgpu gk20a tegra",
     .libraries = "libcuda.so libnvidia-ptxjitcompiler.so",
     .linked = {.of_driver = "libcuda libnvidia-ml",
                .toolkit = "libcublas libcublasLt libcudart libnvrtc libnvJitLink libcupti",
                .others = "libcudnn libcufft libcurand libcusolver libcusparse libnccl libcufile "
                          "libcusparseLt libnvshmem_host libnvinfer",
                .unlisted = "libnvJitLink libcupti libcufile libcusparseLt libnvshmem_host "
                            "libnvinfer"},
     .code = "sm_ compute_",
     .architecture = "compute_capability",
     .other_backends = "tensorrt",
     .ggml_option = "GGML_CUDA",
     .splits_models = true,
     .tier = 400,
     .trust = {.name = 2,
               .kind = 2,
               .physical = 4,
               .allocatable = 1,
               .shared = 2,
               .free = 3,
               .architecture = 1}},
    {.id = Api::Hip,
     .word = "hip",
     .label = "HIP",
     .backend = "rocm",
     .fleet_word = "rocm",
     .vendor = "amd",
     .licensees = "hygon",
     .kernel_drivers = "amdgpu hycu hydcu",
     .libraries = "libamdhip64.so libhsa-runtime64.so libhiprtc.so libamd_comgr.so",
     .linked = {.others = "libMIOpen libamdhip64 libhipblas libhipblaslt libhsa-runtime64 librccl "
                          "librocblas librocsolver librocsparse libhipfft libhiprand libhiprtc "
                          "libhipsolver libhipsparse libhipsparselt librocfft librocrand "
                          "libamd_comgr",
                .unlisted = "libhipfft libhiprand libhiprtc libhipsolver libhipsparse "
                            "libhipsparselt librocfft librocrand libamd_comgr"},
     .code = "gfx amdgcnspirv",
     .architecture = "gfx_target",
     .version_term = "hip",
     .parts = "xcp",
     .other_backends = "hip",
     .ggml_option = "GGML_HIP",
     .splits_models = true,
     .tier = 300,
     .trust = {.name = 3,
               .kind = 4,
               .physical = 7,
               .allocatable = 2,
               .shared = 4,
               .free = 4,
               .architecture = 3}},
    {.id = Api::LevelZero,
     .word = "level_zero",
     .label = "Level Zero",
     .backend = "sycl",
     .fleet_word = "level-zero",
     .vendor = "intel",
     .kernel_drivers = "i915 xe",
     .libraries = "libze_loader.so libze_intel_gpu.so libigc.so",
     .linked = {.of_driver = "libze_loader",
                .others = "libmkl_sycl_blas libpi_level_zero libsycl libur_loader"},
     .code = "spirv",
     .architecture = "intel_ip",
     .uuid_member = "level_zero_uuid",
     .version_term = "level-zero",
     .parts = "tile",
     .other_backends = "level-zero oneapi xpu",
     .ggml_option = "GGML_SYCL",
     .splits_models = true,
     .tier = 250,
     .trust = {.name = 4,
               .kind = 5,
               .physical = 6,
               .allocatable = 3,
               .shared = 3,
               .uuid = 3,
               .architecture = 4}},
    {.id = Api::Vulkan,
     .word = "vulkan",
     .label = "Vulkan",
     .backend = "vulkan",
     .fleet_word = "vulkan",
     // With these kernel drivers, Mesa's Vulkan drivers have the features that ggml needs on all
     // GPUs. i915 isn't listed because it also drives older GPUs. Source: docs/drivers/radv.rst
     // and anv.rst of Mesa.
     .bundled_drivers = "amdgpu xe",
     .libraries = "libvulkan.so libLLVM",
     .linked = {.of_driver = "libvulkan"},
     .uuid_member = "vulkan_device_uuid",
     .has_manifests = true,
     .ggml_option = "GGML_VULKAN",
     .splits_models = true,
     .tier = 200,
     .trust = {.name = 5,
               .kind = 1,
               .physical = 3,
               .allocatable = 4,
               .shared = 1,
               .free = 2,
               .uuid = 1}},
    {.id = Api::OpenCl,
     .word = "opencl",
     .label = "OpenCL",
     .backend = "opencl",
     .fleet_word = "opencl",
     .libraries = "libOpenCL.so libLLVM libclang-cpp libigc.so",
     .linked = {.of_driver = "libOpenCL"},
     .uuid_member = "opencl_uuid",
     .version_term = "opencl",
     .has_manifests = true,
     .ggml_option = "GGML_OPENCL",
     .trust = {.name = 6,
               .kind = 7,
               .physical = 8,
               .allocatable = 5,
               .shared = 5,
               .uuid = 2,
               .architecture = 5}},
    {.id = Api::Nvml,
     .word = "nvml",
     .label = "NVML",
     .vendor = "nvidia",
     .kernel_drivers = "nvidia",
     .trust = {.name = 1, .kind = 3, .physical = 2, .free = 1, .architecture = 2}},
    {.id = Api::LevelZeroSysman,
     .word = "level_zero_sysman",
     .label = "Level Zero Sysman",
     .vendor = "intel",
     .kernel_drivers = "i915 xe",
     .trust = {.physical = 5, .free = 5}},
    {.id = Api::Drm,
     .word = "drm",
     .label = "DRM",
     .wakes = false,  // the backend checks each node's device immediately before it opens the node
     .trust = {.kind = 6, .physical = 1, .free = 6}},
    {.id = Api::Pci, .word = "pci", .label = "PCI", .wakes = false},
    {.id = Api::Cpu, .word = "cpu", .label = "CPU", .backend = "cpu", .wakes = false},
    {.id = Api::Vaapi,
     .word = "vaapi",
     .label = "VA-API",
     .libraries = "libva.so libva-drm.so libLLVM",
     .nodes = "/dev/dri/renderD",
     .reports_video = true},
    {.id = Api::NvCodec,
     .word = "nvcodec",
     .label = "NVDEC and NVENC",
     .vendor = "nvidia",
     .kernel_drivers = "nvidia",
     .libraries = "libnvcuvid.so libnvidia-encode.so libcuda.so",
     .reports_video = true},
    {.id = Api::V4l2,
     .word = "v4l2",
     .label = "V4L2",
     .nodes = "/dev/video",
     .wakes = false},  // the backend checks the node's device immediately before it opens the node
});

/// The rows are in the order of the enumerators, so that a lookup is an array access.
static_assert(std::ranges::all_of(kApis, [](const ApiInfo& row) {
    return &row == &kApis[static_cast<std::size_t>(row.id)];
}));
inline constexpr std::size_t kApiCount = kApis.size();

/// Index of the API in arrays with one item for each API.
constexpr std::size_t place_of(Api api) {
    return static_cast<std::size_t>(api);
}

/// The API's row. With a constant argument, an enumerator without a row is a compile error.
constexpr const ApiInfo& info_of(Api api) {
    return kApis.at(place_of(api));
}

/// The row of the API with that name; null if the word does not name an API.
constexpr const ApiInfo* find_api(std::string_view word) {
    const auto* found = std::ranges::find(kApis, word, &ApiInfo::word);
    return found == kApis.end() ? nullptr : found;
}

/// The row whose backend has that name; null for an unknown name, and for a backend that uses the
/// API of another backend (webgpu).
constexpr const ApiInfo* find_api_of_backend(std::string_view backend) {
    const auto* found = std::ranges::find(kApis, backend, &ApiInfo::backend);
    return backend.empty() || found == kApis.end() ? nullptr : found;
}

/// Whether programs compute on GPUs through the API.
constexpr bool computes(const ApiInfo& api) {
    return !api.backend.empty() && api.id != Api::Cpu;
}
constexpr bool computes(std::string_view api) {
    const auto* known = find_api(api);
    return known && computes(*known);
}

/// Whether the API is probed on each of its device nodes separately. If so, the driver of each
/// probe is the path of the node.
constexpr bool has_own_nodes(std::string_view api) {
    const auto* known = find_api(api);
    return known && !known->nodes.empty();
}

/// Whether the API reports what the GPU's video engines can do.
constexpr bool reports_video(std::string_view api) {
    const auto* known = find_api(api);
    return known && known->reports_video;
}

/// WSL's kernel driver, which passes the host's GPUs through to Linux. The driver works for GPUs of
/// any vendor.
inline constexpr std::string_view kTransport = "dxgkrnl";

/// Whether an API that works with the kernel drivers in `drivers` can also work with
/// `kernel_driver`. For example, CUDA does not work with nouveau. `drivers` is a list of words
/// separated by spaces; an empty list means any driver.
constexpr bool works_with(std::string_view drivers, std::string_view kernel_driver) {
    return drivers.empty() || kernel_driver == kTransport || has_word(drivers, kernel_driver);
}

/// A list of at most `Max` rows, which allocates no memory.
template <class Row, std::size_t Max>
struct RowsOf {
    std::array<Row, Max> rows = {};
    std::size_t count = 0;
    constexpr void add(Row row) { rows.at(count++) = row; }
    [[nodiscard]] constexpr auto begin() const { return rows.data(); }
    [[nodiscard]] constexpr auto end() const { return rows.data() + count; }
    [[nodiscard]] constexpr auto begin() { return rows.data(); }
    [[nodiscard]] constexpr auto end() { return rows.data() + count; }
};
using ApiOrder = RowsOf<const ApiInfo*, kApiCount>;

/// The sources of a fact, most trusted first: `by_trust(&ApiTrust::name)`.
constexpr ApiOrder by_trust(std::uint8_t ApiTrust::*fact) {
    ApiOrder order;
    for (const auto& api : kApis)
        if (api.trust.*fact != 0)
            order.add(&api);
    std::ranges::sort(order, {}, [fact](const ApiInfo* api) { return api->trust.*fact; });
    return order;
}

/// The first API whose builds are compiled for the architecture that the fact contains. With a
/// constant argument, an unknown fact is a compile error.
constexpr Api api_of_architecture(std::string_view fact) {
    return std::ranges::find(kApis, fact, &ApiInfo::architecture)->id;
}

/// The API that computes only on GPUs of this vendor, such as CUDA; null if the vendor has no such
/// API.
constexpr const ApiInfo* own_api_of(std::string_view vendor) {
    const auto* found = std::ranges::find_if(
        kApis, [vendor](const ApiInfo& api) { return computes(api) && api.vendor == vendor; });
    return vendor.empty() || found == kApis.end() ? nullptr : found;
}

/// The APIs through which programs compute on GPUs, sorted by name.
constexpr ApiOrder computing_apis() {
    ApiOrder order;
    for (const auto& api : kApis)
        if (computes(api))
            order.add(&api);
    std::ranges::sort(order, {}, &ApiInfo::word);
    return order;
}

/// A backend as programs name it, and the API that it uses.
struct BackendInfo {
    std::string_view name = {};
    Api api = Api::Cpu;
};
/// Additional backends, which use an API whose row already names another backend.
inline constexpr std::array kFurtherBackends =
    std::to_array<BackendInfo>({{.name = "webgpu", .api = Api::Vulkan}});

/// A backend that computes on accelerators other than GPUs. No worker probes the backend's runtime:
/// the kernel's data and the host's libraries show whether the runtime can use an accelerator.
struct AcceleratorBackend {
    std::string_view name = {};
    std::string_view vendor = {};          ///< vendor of the accelerators
    std::string_view kernel_drivers = {};  ///< kernel drivers that the runtime works with
    /// Libraries of the user-space driver, by soname up to ".so". The host needs one of these
    /// libraries. Empty if applications bundle the driver.
    std::string_view libraries = {};
    /// The API through which the same runtime uses GPUs; nullopt if the runtime uses no GPU.
    std::optional<Api> gpu_api = {};
    /// The oldest version of `gpu_api` that the runtime accepts for a GPU; empty if the runtime
    /// accepts any version.
    std::string_view min_gpu_api = {};
};
/// Sources:
/// - openvino: intel/linux-npu-driver@7b138739, docs/overview.md (before 1.16, the library is
///   libze_intel_vpu); for GPUs, openvinotoolkit/openvino@0e888f77,
///   src/plugins/intel_gpu/src/runtime/ocl/ocl_device_detector.cpp, and for the version of OpenCL
///   INTEL_GPU_TARGET_OCL_VERSION in src/plugins/intel_gpu/CMakeLists.txt.
/// - vitisai: amd/xdna-driver@856409ca, README.md and src/shim/CMakeLists.txt (XRT's plugin for
///   NPUs links with libxrt_core).
/// - hailo: hailo-ai/hailort-drivers@ce1087bf, common/pcie_common.h. Hailo-10 and Hailo-15 have
///   another driver, hailo1x, and need another branch of HailoRT (hailo-ai/hailort@41a720b9,
///   README.md), which Frigate's images do not contain (blakeblackshear/frigate#22916).
/// - coral: google-coral/libedgetpu@e35aed18, driver/beagle/beagle_pci_driver_provider.cc;
///   google/gasket-driver@5815ee39, src/apex_driver.c.
/// - rknn: rockchip-linux/kernel@e649ca00, drivers/rknpu/rknpu_drv.c;
///   rockchip-linux/rknn-toolkit2@1f4415ea, README.md, which names only this driver. The kernel
///   driver rocket works with Mesa (torvalds/linux@b4d90dbc, Documentation/accel/rocket/index.rst).
///   Rockchip's runtimes do not use rocket (NotPunchnox/rkllama#97;
///   airockchip/rknn-toolkit2#484).
inline constexpr std::array kAcceleratorBackends = std::to_array<AcceleratorBackend>({
    {.name = "openvino",
     .vendor = "intel",
     .kernel_drivers = "intel_vpu",
     .libraries = "libze_intel_npu libze_intel_vpu",
     .gpu_api = Api::OpenCl,
     .min_gpu_api = "2.0"},
    {.name = "vitisai", .vendor = "amd", .kernel_drivers = "amdxdna", .libraries = "libxrt_core"},
    {.name = "hailo", .vendor = "hailo", .kernel_drivers = "hailo"},
    {.name = "coral", .vendor = "google", .kernel_drivers = "apex"},
    {.name = "rknn", .vendor = "rockchip", .kernel_drivers = "RKNPU"},
});

/// The row of the backend with that name; null if the backend does not use accelerators.
constexpr const AcceleratorBackend* find_accelerator_backend(std::string_view backend) {
    const auto* found = std::ranges::find(kAcceleratorBackends, backend, &AcceleratorBackend::name);
    return found == kAcceleratorBackends.end() ? nullptr : found;
}

/// Backends that decode and encode videos and do not compute; not in the `backends` of a report
/// (see video_view()). Intel's runtime for QSV (oneVPL) calls VA-API on Linux.
inline constexpr std::array kVideoBackends = std::to_array<BackendInfo>(
    {{.name = "vaapi", .api = Api::Vaapi}, {.name = "qsv", .api = Api::Vaapi}});

constexpr bool is_video_backend(std::string_view backend) {
    return std::ranges::find(kVideoBackends, backend, &BackendInfo::name) != kVideoBackends.end();
}

inline constexpr std::string_view kCpu = "cpu";  ///< the backend that does not need a GPU

/// The API that a backend uses; nullopt if the word does not name a backend.
constexpr std::optional<Api> api_of_backend(std::string_view backend) {
    if (const auto* api = find_api_of_backend(backend))
        return api->id;
    for (const auto rows : {std::span<const BackendInfo>{kFurtherBackends},
                            std::span<const BackendInfo>{kVideoBackends}})
        if (const auto found = std::ranges::find(rows, backend, &BackendInfo::name);
            found != rows.end())
            return found->api;
    const auto* row = find_accelerator_backend(backend);
    return row ? row->gpu_api : std::nullopt;
}

/// Whether the word names a backend: of GPUs, of other accelerators, or of the CPU.
constexpr bool is_backend(std::string_view word) {
    return api_of_backend(word) || find_accelerator_backend(word);
}

/// The backend whose verdict in a report applies to the GPUs that this backend uses. OpenVINO uses
/// GPUs through OpenCL.
constexpr std::string_view gpu_backend_of(std::string_view backend) {
    const auto* row = find_accelerator_backend(backend);
    return row && row->gpu_api ? info_of(*row->gpu_api).backend : backend;
}

/// The name of the API that a GPU backend uses; empty for the CPU and for a word that does not name
/// a backend.
constexpr std::string_view api_below(std::string_view backend) {
    const auto api = api_of_backend(backend);
    return api && *api != Api::Cpu ? info_of(*api).word : std::string_view{};
}

/// The backends that compute on GPUs: first the backends for one vendor, then the backends for any
/// GPU.
constexpr auto gpu_backends() {
    RowsOf<BackendInfo, kApiCount + kFurtherBackends.size()> all;
    for (const auto& api : kApis)
        if (computes(api))
            all.add({.name = api.backend, .api = api.id});
    for (const auto& backend : kFurtherBackends)
        all.add(backend);
    return all;
}

/// The only vendor that a backend's API supports; empty if the API supports any vendor.
constexpr std::string_view vendor_of_backend(std::string_view backend) {
    const auto api = api_of_backend(backend);
    const auto* row = find_accelerator_backend(backend);
    if (!api && row)
        return row->vendor;
    return api ? info_of(*api).vendor : std::string_view{};
}

/// Properties of a library and of the programs that need it, derived from the soname.
struct LibraryInfo {
    std::string_view stem = {};   ///< the part before ".so" in the soname
    std::optional<Api> api = {};  ///< the API that programs use through this library
    /// Whether the library belongs to the driver or its loader, so that applications never bundle
    /// it.
    bool is_of_driver = false;
    /// Whether the major version of the library is the version of CUDA.
    bool has_toolkit_version = false;
    /// Whether Host::libraries lists the library if it is installed.
    bool is_in_host_reports = false;
};

/// The properties of the library with this soname; nullopt if no list contains the soname.
std::optional<LibraryInfo> library_info(std::string_view soname);

/// Whether Host::libraries lists this soname if the library is installed. A machine has thousands
/// of libraries, so the list contains only libraries that GPU builds link with and do not bundle.
bool is_listed_library(std::string_view soname);

/// The API of a kernel target ("sm_86", "gfx90a", "spirv") or of an API name; nullopt if the word
/// is neither.
std::optional<Api> api_of_code(std::string_view word);

/// Whether the soname belongs to the C library or the compiler's runtime, which every program on
/// the host has.
bool is_base_library(std::string_view soname);

}  // namespace gpuprobe::inline report
