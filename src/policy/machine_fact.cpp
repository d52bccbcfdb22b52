// SPDX-License-Identifier: Apache-2.0
#include "policy/machine_fact.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "base/dotted_version.h"
#include "base/parse.h"
#include "policy/backend_words.h"

namespace gpuprobe {
namespace {

using Read = KnownFact (*)(const FactScope& scope);

KnownFact absent() {
    return {.is_known = true};
}
KnownFact words_fact(std::vector<std::string> words) {
    for (auto& word : words)
        word = lower_case(word);
    return {.is_known = true, .words = std::move(words)};
}
KnownFact text_fact(const std::optional<std::string>& text) {
    return text ? words_fact({*text}) : KnownFact{};
}
KnownFact size_fact(const std::optional<Bytes>& size) {
    return size ? words_fact({std::to_string(size->count)}) : KnownFact{};
}
KnownFact flag_fact(const std::optional<bool>& flag) {
    return flag ? words_fact({*flag ? "true" : "false"}) : KnownFact{};
}

/// A fact of GPUs: not there without one.
template <KnownFact (*read)(const Gpu& gpu)>
KnownFact of_gpu(const FactScope& scope) {
    return scope.gpu ? read(*scope.gpu) : absent();
}

KnownFact kind_of(const Gpu& gpu) {
    return gpu.kind == GpuKind::Unknown ? KnownFact{}
                                        : words_fact({std::string{name_of(gpu.kind)}});
}

KnownFact class_of(const Gpu& gpu) {
    return gpu.pci ? text_fact(gpu.pci->pci_class) : absent();
}

KnownFact device_of(const Gpu& gpu) {
    if (!gpu.pci)
        return absent();
    if (!gpu.pci->vendor_id || !gpu.pci->device_id)
        return {};
    return words_fact({*gpu.pci->vendor_id + ":" + *gpu.pci->device_id});
}

/// An architecture that only one vendor's GPUs have.
KnownFact architecture(const Gpu& gpu,
                       std::string_view vendor,
                       const std::optional<std::string>& known) {
    if (gpu.vendor && *gpu.vendor != vendor)
        return absent();
    return text_fact(known);
}

/// `allocatable`; where that is unknown the board's own memory is a bound. (A carve-out is none:
/// the rest of the host's memory is behind it.)
KnownFact memory_of(const Gpu& gpu) {
    auto fact = size_fact(gpu.memory.allocatable);
    if (!fact.is_known)
        fact.at_most = offered_memory(gpu.memory);
    return fact;
}

/// The device as the API describes it, or null with whether there is known to be none.
struct ApiDevice {
    const ApiView* view = nullptr;
    bool is_known = false;
};

ApiDevice device_in(const FactScope& scope, std::string_view api) {
    if (!scope.gpu)
        return {.is_known = true};
    const auto view = scope.gpu->apis.find(std::string{api});
    if (view != scope.gpu->apis.end() && !view->second.device.is_null())
        return {.view = &view->second, .is_known = true};
    const auto runtime = scope.report.runtimes.find(std::string{api});
    const bool is_absent =
        runtime != scope.report.runtimes.end() && runtime->second.outcome == Outcome::Absent;
    return {.is_known = is_absent};
}

KnownFact api_version(const FactScope& scope, std::string_view api) {
    const auto device = device_in(scope, api);
    if (!device.view)
        return {.is_known = device.is_known};
    return text_fact(device.view->version);
}

/// CUDA's driver lists no data types: they follow from the compute capability.
/// Source: CUDA C++ Programming Guide, "Arithmetic Instructions" and "Features and Technical
/// Specifications".
std::optional<bool> cuda_has(const Gpu& gpu, std::string_view type) {
    const auto& capability = gpu.architecture.cuda_compute_capability;
    const auto version = capability ? leading_version(*capability) : std::nullopt;
    if (!version)
        return std::nullopt;
    const auto have = version->parts[0] * 10 + version->parts[1];
    return have >= (type == "bfloat16" ? 80U : type == "int8" ? 61U : 53U);
}

/// Whether programs of the backend in question can compute in a data type.
KnownFact type_fact(const FactScope& scope, std::string_view type) {
    if (!scope.gpu)
        return absent();
    const auto api = api_below(scope.backend);
    if (api == "cuda")
        return flag_fact(cuda_has(*scope.gpu, type));
    const auto device = device_in(scope, api);
    if (!device.view)
        return {.is_known = device.is_known};
    const std::string key{type == "fp16"       ? "shader_float16"
                          : type == "bfloat16" ? "shader_bfloat16"
                                               : "shader_int8"};
    return flag_fact(device.view->device.at(api == "vulkan" ? key : std::string{type}).as_bool());
}

/// Whether Vulkan's shaders can keep 16-bit numbers in storage buffers.
KnownFact stores_halves(const FactScope& scope) {
    const auto device = device_in(scope, "vulkan");
    if (!device.view)
        return {.is_known = device.is_known};
    return flag_fact(device.view->device.at("storage_buffer_16bit").as_bool());
}

KnownFact limit_fact(const FactScope& scope, std::initializer_list<std::string_view> keys) {
    const auto device = device_in(scope, api_below(scope.backend));
    if (!device.view)
        return {.is_known = device.is_known};
    for (const auto key : keys)
        if (const auto size = device.view->device.at(key).as_unsigned())
            return size_fact(Bytes{*size});
    return {};
}

KnownFact verified(const FactScope& scope) {
    if (!scope.gpu)
        return absent();
    const auto view = scope.gpu->backends.find(std::string{scope.backend});
    return flag_fact(view != scope.gpu->backends.end() && view->second.verified);
}

KnownFact glibc_of(const FactScope& scope) {
    const auto& libc = scope.report.host.libc;
    if (libc.name && *libc.name != "glibc")
        return absent();
    return text_fact(libc.version);
}

KnownFact os_of(const FactScope& scope) {
    if (scope.platform)
        return text_fact(scope.platform->substr(0, scope.platform->find('-')));
    return text_fact(scope.report.host.os);
}

/// The number of "x86-64-v3".
KnownFact cpu_level(const FactScope& scope) {
    constexpr std::string_view kLead = "x86-64-v";
    const auto& level = scope.report.host.cpu.level;
    return level && level->starts_with(kLead) ? text_fact(level->substr(kLead.size()))
                                              : KnownFact{};
}

KnownFact cpu_features(const FactScope& scope) {
    const auto& features = scope.report.host.cpu.features;
    return features.empty() ? KnownFact{} : words_fact(features);
}

KnownFact libraries_of(const FactScope& scope) {
    const auto& libraries = scope.report.host.libraries;
    return libraries ? words_fact(*libraries) : KnownFact{};
}

/// Vendors of the machine's GPUs, once each; of these PCI classes if any is named. What only shows
/// pictures is none.
KnownFact vendors(const FactScope& scope, std::initializer_list<std::string_view> classes) {
    std::set<std::string> found;
    for (const auto& gpu : scope.report.gpus) {
        const auto pci_class = gpu.pci ? gpu.pci->pci_class.value_or("") : std::string{};
        const bool counts =
            classes.size() == 0 || std::ranges::find(classes, pci_class) != classes.end();
        if (gpu.vendor && counts && gpu.kind != GpuKind::DisplayOnly)
            found.insert(*gpu.vendor);
    }
    return words_fact({found.begin(), found.end()});
}

struct Row {
    FactName fact = {};
    Read read = nullptr;
};
using enum FactKind;
constexpr auto kFacts = std::to_array<Row>({
    {{"backend", Word}, [](const FactScope& s) { return text_fact(s.backend_word); }},
    {{"vendor", Word}, of_gpu<[](const Gpu& gpu) { return text_fact(gpu.vendor); }>},
    {{"kind", Word}, of_gpu<kind_of>},
    {{"class", Word}, of_gpu<class_of>},
    {{"device", Word}, of_gpu<device_of>},
    {{"kernel-driver", Word}, of_gpu<[](const Gpu& gpu) { return text_fact(gpu.driver.name); }>},
    {{"driver", Version}, of_gpu<[](const Gpu& gpu) { return text_fact(gpu.driver.version); }>},
    {{"compute-capability", Version}, of_gpu<[](const Gpu& gpu) {
         return architecture(gpu, "nvidia", gpu.architecture.cuda_compute_capability);
     }>},
    {{"gfx", Word},
     of_gpu<[](const Gpu& gpu) { return architecture(gpu, "amd", gpu.architecture.gfx_target); }>},
    {{"intel-ip", Version},
     of_gpu<[](const Gpu& gpu) { return architecture(gpu, "intel", gpu.architecture.intel_ip); }>},
    {{"memory", Size}, of_gpu<memory_of>},
    {{"physical-memory", Size},
     of_gpu<[](const Gpu& gpu) { return size_fact(offered_memory(gpu.memory)); }>},
    {{"max-buffer", Size},
     [](const FactScope& s) {
         return limit_fact(s, {"max_buffer_size", "max_memory_allocation_size"});
     }},
    {{"max-storage-buffer", Size},
     [](const FactScope& s) { return limit_fact(s, {"max_storage_buffer_range"}); }},
    {{"cuda", Version}, [](const FactScope& s) { return api_version(s, "cuda"); }},
    {{"hip", Version}, [](const FactScope& s) { return api_version(s, "hip"); }},
    {{"level-zero", Version}, [](const FactScope& s) { return api_version(s, "level_zero"); }},
    {{"opencl", Version}, [](const FactScope& s) { return api_version(s, "opencl"); }},
    {{"vulkan", Version}, [](const FactScope& s) { return api_version(s, "vulkan"); }},
    {{"fp16", Flag}, [](const FactScope& s) { return type_fact(s, "fp16"); }},
    {{"bfloat16", Flag}, [](const FactScope& s) { return type_fact(s, "bfloat16"); }},
    {{"int8", Flag}, [](const FactScope& s) { return type_fact(s, "int8"); }},
    {{"storage-16bit", Flag}, stores_halves},
    {{"verified", Flag}, verified},
    {{"arch", Word, true}, [](const FactScope& s) { return text_fact(s.report.host.arch); }},
    {{"container", Word, true},
     [](const FactScope& s) {
         return s.report.host.container ? text_fact(s.report.host.container) : absent();
     }},
    {{"cpu-feature", Word, true}, cpu_features},
    {{"cpu-level", Version, true}, cpu_level},
    {{"glibc", Version, true}, glibc_of},
    {{"kernel", Version, true}, [](const FactScope& s) { return text_fact(s.report.host.kernel); }},
    {{"libc", Word, true}, [](const FactScope& s) { return text_fact(s.report.host.libc.name); }},
    {{"library", Word, true}, libraries_of},
    {{"os", Word, true}, os_of},
    {{"platform", Word, true},
     [](const FactScope&
            s) { return text_fact(s.platform ? s.platform : platform_of(s.report.host)); }},
    {{"vendors", Word, true}, [](const FactScope& s) { return vendors(s, {}); }},
    {{"vga-vendors", Word, true}, [](const FactScope& s) { return vendors(s, {"0300", "0302"}); }},
    {{"wsl", Flag, true}, [](const FactScope& s) { return flag_fact(s.report.host.wsl); }},
});

const Row* find_row(std::string_view name) {
    const auto* found =
        std::ranges::find(kFacts, name, [](const Row& row) { return row.fact.name; });
    return found == kFacts.end() ? nullptr : found;
}

}  // namespace

const FactName* find_machine_fact(std::string_view name) {
    const auto* row = find_row(name);
    return row ? &row->fact : nullptr;
}

KnownFact machine_fact(std::string_view name, const FactScope& scope) {
    const auto* row = find_row(name);
    return row ? row->read(scope) : KnownFact{};
}

std::optional<std::string> platform_of(const Host& host) {
    if (!host.os || !host.arch)
        return std::nullopt;
    const auto& arch = *host.arch;
    return *host.os + "-" + (arch == "x86_64" ? "amd64" : arch == "aarch64" ? "arm64" : arch);
}

}  // namespace gpuprobe
