// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// Every API that a worker can ask, in one row each. What else knows an API looks it up here.
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
    Cpu,  ///< the processor itself, measured like a GPU
};

/// Where an API stands among the sources of a fact: 1 is believed first, 0 is never asked.
struct ApiTrust {
    std::uint8_t name = 0;          ///< of the marketing name
    std::uint8_t kind = 0;          ///< of discrete, integrated or virtual
    std::uint8_t physical = 0;      ///< of the memory on the board, behind what the kernel says
    std::uint8_t allocatable = 0;   ///< of what a process can have of a GPU with memory of its own
    std::uint8_t shared = 0;        ///< of what it can have of the host's memory
    std::uint8_t free = 0;          ///< of what is free, behind what the kernel says
    std::uint8_t uuid = 0;          ///< of the UUID, behind those of NVIDIA
    std::uint8_t architecture = 0;  ///< of the architecture, behind what the kernel says
};

/// What programs link with that compute through an API: sonames up to ".so", by spaces. Sources:
/// the NEEDED entries of llama.cpp's, Ollama's, PyTorch's and ONNX Runtime's GPU builds; CUDA, ROCm
/// and oneAPI release notes.
struct ApiLibraries {
    std::string_view of_driver = {};  ///< the driver's own, or its loader: no product brings them
    std::string_view toolkit = {};    ///< their major version is the toolkit's
    std::string_view others = {};
    /// Of all those, what no host's list of libraries has: a report of an earlier program would not
    /// have it where it is there.
    std::string_view unlisted = {};
};

struct ApiInfo {
    Api id = Api::Cuda;
    std::string_view word = {};            ///< in reports, requests and manifests
    std::string_view label = {};           ///< for people
    std::string_view backend = {};         ///< what programs that compute through it call it
    std::string_view fleet_word = {};      ///< in exports for fleets
    std::string_view vendor = {};          ///< the only one it serves; empty: any
    std::string_view kernel_drivers = {};  ///< of that vendor that it works with, by spaces
    /// The same of what a program can bring along above the kernel, where that is no vendor's own.
    std::string_view brought_drivers = {};
    /// Sonames that an answer changes with: loader, driver and compiler, by spaces. Sources: the
    /// libraries that src/backends opens; dependencies of the drivers' Debian packages.
    std::string_view libraries = {};
    ApiLibraries linked = {};
    /// How words for code begin that runs through it alone, by spaces.
    std::string_view code = {};
    /// The fact by which builds tell its devices apart; empty where they do not.
    std::string_view architecture = {};
    std::string_view uuid_member = {};   ///< its UUID of a device in a report's identity
    std::string_view version_term = {};  ///< its version on a device, in terms of profiles
    std::string_view parts =
        {};  ///< what its vendor's GPUs are divided into, if no part has a name
    /// What consumers call backends on it that are none of ours, by spaces. Source: the backend
    /// folders of ggml, and the device names of PyTorch and ONNX Runtime.
    std::string_view other_backends = {};
    bool has_manifests = false;  ///< drivers are found by manifests, not by one library's name
    bool wakes = true;           ///< asking it may wake a sleeping GPU
    std::string_view ggml_option = {};  ///< of ggml's build. Source: ggml's CMakeLists.txt
    bool splits_models = false;         ///< llama.cpp spreads one model over several such GPUs
    int tier = 0;  ///< of a tsuku variant that says no more than this API's name
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
     .kernel_drivers = "amdgpu",
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
     // Mesa's: those on which each GPU has Vulkan with what ggml needs; i915 has older ones too.
     // Source: docs/drivers/radv.rst and anv.rst of Mesa.
     .brought_drivers = "amdgpu xe",
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
     .wakes = false,  // the backend looks at each node's device right before it would open it
     .trust = {.kind = 6, .physical = 1, .free = 6}},
    {.id = Api::Pci, .word = "pci", .label = "PCI", .wakes = false},
    {.id = Api::Cpu, .word = "cpu", .label = "CPU", .backend = "cpu", .wakes = false},
});

/// The rows are in the order of the enumerators, so that a look-up is an index.
static_assert(std::ranges::all_of(kApis, [](const ApiInfo& row) {
    return &row == &kApis[static_cast<std::size_t>(row.id)];
}));
inline constexpr std::size_t kApiCount = kApis.size();

/// Where arrays by API have it.
constexpr std::size_t place_of(Api api) {
    return static_cast<std::size_t>(api);
}

/// An enumerator without a row does not compile where the argument is a constant.
constexpr const ApiInfo& info_of(Api api) {
    return kApis.at(place_of(api));
}

/// Null for a word that names no API.
constexpr const ApiInfo* find_api(std::string_view word) {
    const auto* found = std::ranges::find(kApis, word, &ApiInfo::word);
    return found == kApis.end() ? nullptr : found;
}

/// The row whose backend has that name; null for one that rests on another's API, or none.
constexpr const ApiInfo* find_api_of_backend(std::string_view backend) {
    const auto* found = std::ranges::find(kApis, backend, &ApiInfo::backend);
    return backend.empty() || found == kApis.end() ? nullptr : found;
}

/// Whether programs compute on GPUs through it.
constexpr bool computes(const ApiInfo& api) {
    return !api.backend.empty() && api.id != Api::Cpu;
}

/// Whether a list of words by spaces has this one.
constexpr bool has_word(std::string_view list, std::string_view word) {
    for (std::size_t at = 0; at < list.size();) {
        const auto end = std::min(list.find(' ', at), list.size());
        if (list.substr(at, end - at) == word)
            return true;
        at = end + 1;
    }
    return false;
}

/// WSL's kernel driver, which passes the host's GPU on, whoever made it.
inline constexpr std::string_view kTransport = "dxgkrnl";

/// Whether what works with these kernel drivers works with that one, as far as is known: nouveau
/// has no CUDA. `drivers` is a list of words by spaces; empty: any.
constexpr bool works_with(std::string_view drivers, std::string_view kernel_driver) {
    return drivers.empty() || kernel_driver == kTransport || has_word(drivers, kernel_driver);
}

/// Some of the rows, in an order of their own.
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

/// The sources of a fact, the most believed first: `by_trust(&ApiTrust::name)`.
constexpr ApiOrder by_trust(std::uint8_t ApiTrust::*fact) {
    ApiOrder order;
    for (const auto& api : kApis)
        if (api.trust.*fact != 0)
            order.add(&api);
    std::ranges::sort(order, {}, [fact](const ApiInfo* api) { return api->trust.*fact; });
    return order;
}

/// The first row whose builds tell devices apart by that fact.
/// An architecture that no API has does not compile where the argument is a constant.
constexpr Api api_of_architecture(std::string_view fact) {
    return std::ranges::find(kApis, fact, &ApiInfo::architecture)->id;
}

/// The API that programs for that vendor's GPUs alone compute through; null for a vendor without.
constexpr const ApiInfo* own_api_of(std::string_view vendor) {
    const auto* found = std::ranges::find_if(
        kApis, [vendor](const ApiInfo& api) { return computes(api) && api.vendor == vendor; });
    return vendor.empty() || found == kApis.end() ? nullptr : found;
}

/// Those that GPUs compute through, by word.
constexpr ApiOrder computing_apis() {
    ApiOrder order;
    for (const auto& api : kApis)
        if (computes(api))
            order.add(&api);
    std::ranges::sort(order, {}, &ApiInfo::word);
    return order;
}

/// A backend as programs name it, and the API that it stands on.
struct BackendInfo {
    std::string_view name = {};
    Api api = Api::Cpu;
};
/// Those that rest on an API that has a backend of its own.
inline constexpr std::array kFurtherBackends =
    std::to_array<BackendInfo>({{.name = "webgpu", .api = Api::Vulkan}});

inline constexpr std::string_view kCpu = "cpu";  ///< the backend that needs no GPU

/// nullopt for a word that is no backend of ours.
constexpr std::optional<Api> api_of_backend(std::string_view backend) {
    if (const auto* api = find_api_of_backend(backend))
        return api->id;
    const auto* found = std::ranges::find(kFurtherBackends, backend, &BackendInfo::name);
    return found == kFurtherBackends.end() ? std::nullopt : std::optional{found->api};
}

/// The API's word below a GPU's backend; empty for the CPU and for a word that is no backend.
constexpr std::string_view api_below(std::string_view backend) {
    const auto api = api_of_backend(backend);
    return api && *api != Api::Cpu ? info_of(*api).word : std::string_view{};
}

/// The backends that compute on GPUs: vendors' own, then those for any GPU.
constexpr auto gpu_backends() {
    RowsOf<BackendInfo, kApiCount + kFurtherBackends.size()> all;
    for (const auto& api : kApis)
        if (computes(api))
            all.add({.name = api.backend, .api = api.id});
    for (const auto& backend : kFurtherBackends)
        all.add(backend);
    return all;
}

/// The only vendor that a backend's API serves; empty for any.
constexpr std::string_view vendor_of_backend(std::string_view backend) {
    const auto api = api_of_backend(backend);
    return api ? info_of(*api).vendor : std::string_view{};
}

}  // namespace gpuprobe::inline report
