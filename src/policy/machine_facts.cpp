// SPDX-License-Identifier: Apache-2.0
#include "policy/machine_facts.h"

#include <tuple>

#include "base/parse.h"
#include "policy/host_facts.h"

namespace gpuprobe {
namespace {

const ApiView* view_of(const Gpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    return found == gpu.apis.end() ? nullptr : &found->second;
}

/// The device's facts by an API; null when it has none.
const Value* device_of(const Gpu& gpu, std::string_view api) {
    const auto* view = view_of(gpu, api);
    return view && view->device.is_object() ? &view->device : nullptr;
}

const std::string* text_at(const Value* device, std::string_view key) {
    const auto* text = device ? device->at(key).as_string() : nullptr;
    return text && !text->empty() ? text : nullptr;
}

bool is_of(const Gpu& gpu, std::string_view vendor) {
    return !gpu.vendor || *gpu.vendor == vendor;
}

Fact<Version> version_in(const std::optional<std::string>& text) {
    return text ? Fact<Version>::from(leading_version(*text)) : Fact<Version>::unknown();
}

/// A version of one vendor's; absent on GPUs of the others.
Fact<Version> vendors_version(const Gpu& gpu,
                              std::string_view vendor,
                              const std::optional<std::string>& text) {
    return is_of(gpu, vendor) ? version_in(text) : Fact<Version>::absent();
}

Fact<ComputeCapability> capability_of(const Gpu& gpu) {
    if (!is_of(gpu, "nvidia"))
        return Fact<ComputeCapability>::absent();
    const auto& text = gpu.architecture.cuda_compute_capability;
    return text ? Fact<ComputeCapability>::from(
                      parse_text(*text, std::type_identity<ComputeCapability>{}))
                : Fact<ComputeCapability>::unknown();
}

/// With the features behind a colon, which the architecture leaves out.
Fact<GfxTarget> gfx_of(const Gpu& gpu) {
    if (!is_of(gpu, "amd"))
        return Fact<GfxTarget>::absent();
    const auto& target = gpu.architecture.gfx_target;
    if (!target)
        return Fact<GfxTarget>::unknown();
    for (const auto* api : {"hip", "opencl"})
        for (const auto* key : {"gfx_target", "isa", "device_name", "name"})
            if (const auto* text = text_at(device_of(gpu, api), key))
                if (text->starts_with(*target + ":"))
                    if (auto found = parse_text(*text, std::type_identity<GfxTarget>{}))
                        return Fact<GfxTarget>::known(std::move(*found));
    return Fact<GfxTarget>::from(parse_text(*target, std::type_identity<GfxTarget>{}));
}

bool is_vendors_own(std::string_view vendor, std::string_view driver) {
    if (vendor == "nvidia")
        return driver == "nvidia" || driver == "nvgpu" || driver == "gk20a";
    return driver != "vfio-pci" && driver != "pci-stub";
}

Fact<Version> driver_of(const Gpu& gpu) {
    if (has_reason(gpu.findings, "no-driver"))
        return Fact<Version>::absent();
    if (gpu.vendor && gpu.driver.name && !is_vendors_own(*gpu.vendor, *gpu.driver.name))
        return Fact<Version>::absent();
    if (gpu.driver.version)
        return version_in(gpu.driver.version);
    // Where the kernel's side is hidden, what the vendor's library says of it.
    for (const auto* api : {"nvml", "cuda"})
        if (const auto* text = text_at(device_of(gpu, api), "driver_version"))
            return version_in(*text);
    return Fact<Version>::unknown();
}

/// What the driver's library says; absent where there is none.
Fact<Version> runtime_version(const Report& report,
                              std::string_view api,
                              std::optional<std::string> RuntimeInfo::*text) {
    const auto found = report.runtimes.find(std::string{api});
    if (found == report.runtimes.end())
        return Fact<Version>::unknown();
    const auto& runtime = found->second;
    if (runtime.*text)
        return version_in(runtime.*text);
    return runtime.outcome == Outcome::Absent ? Fact<Version>::absent() : Fact<Version>::unknown();
}

Fact<Version> cuda_of(const Gpu& gpu, const Report& report, const Rules& rules) {
    if (!is_of(gpu, "nvidia"))
        return Fact<Version>::absent();
    const auto measured = runtime_version(report, "cuda", &RuntimeInfo::version);
    if (measured.is_probed)
        return measured;
    const auto driver = driver_of(gpu);
    if (driver.value)
        return Fact<Version>::from(rules.cuda_of_driver(*driver.value));
    return driver.is_probed ? Fact<Version>::absent() : Fact<Version>::unknown();
}

Fact<VariantKind> kind_of(const Gpu& gpu, const Rules& rules) {
    const auto capability = capability_of(gpu);
    switch (gpu.kind) {
        case GpuKind::Discrete:
            return Fact<VariantKind>::known(VariantKind::Discrete);
        case GpuKind::Integrated: {
            const bool is_tegra =
                gpu.vendor == "nvidia" && (gpu.id.starts_with("platform:") ||
                                           (capability.value && rules.is_tegra(*capability.value)));
            return Fact<VariantKind>::known(is_tegra ? VariantKind::Tegra
                                                     : VariantKind::Integrated);
        }
        case GpuKind::Virtual:
            return Fact<VariantKind>::known(VariantKind::Virtual);
        case GpuKind::DisplayOnly:
        case GpuKind::Unknown:
            break;
    }
    return Fact<VariantKind>::unknown();
}

void add_backend(const Gpu& gpu, VariantApi api, GpuFacts& facts) {
    const auto found = gpu.backends.find(std::string{backend_of(api)});
    if (found == gpu.backends.end())
        return;
    facts.usable.at(static_cast<std::size_t>(api)) = found->second.usable;
    facts.verified.at(static_cast<std::size_t>(api)) = found->second.verified;
}

Fact<WordSet> words_at(const Gpu& gpu, std::string_view key) {
    const auto* device = device_of(gpu, "vulkan");
    const auto* items = device ? device->at(key).as_array() : nullptr;
    if (!items)
        return Fact<WordSet>::unknown();
    std::vector<std::string> words;
    for (const auto& item : *items)
        if (const auto* text = item.as_string())
            words.push_back(*text);
    return Fact<WordSet>::known(WordSet{std::move(words)});
}

/// An object of flags, of which null is not known; or the list of all that there are.
WordFacts features_of(const Gpu& gpu) {
    const auto listed = words_at(gpu, "features");
    if (listed.value)
        return {.yes = *listed.value, .is_complete = true};
    const auto* device = device_of(gpu, "vulkan");
    const auto* flags = device ? device->at("features").as_object() : nullptr;
    std::vector<std::string> yes;
    std::vector<std::string> no;
    for (std::size_t i = 0; flags && i < flags->size(); ++i)
        if (const auto flag = (*flags)[i].value.as_bool())
            (*flag ? yes : no).push_back((*flags)[i].key);
    return {.yes = WordSet{std::move(yes)}, .no = WordSet{std::move(no)}};
}

void add_cuda(const Gpu& gpu, const Report& report, const Rules& rules, GpuFacts& facts) {
    facts.cuda = {.capability = capability_of(gpu),
                  .cuda = cuda_of(gpu, report, rules),
                  .is_tegra = facts.kind.value == VariantKind::Tegra};
    const auto& cuda = facts.cuda.cuda.value;
    const auto own = facts.driver.value ? rules.cuda_of_driver(*facts.driver.value) : std::nullopt;
    if (cuda && own && *cuda > *own && facts.usable[0] == true)
        facts.forward_compatible = cuda;
}

void add_vulkan(const Gpu& gpu, const Report& report, GpuFacts& facts) {
    facts.vulkan_loader = runtime_version(report, "vulkan", &RuntimeInfo::version);
    if (const auto* view = view_of(gpu, "vulkan"))
        facts.vulkan_api = version_in(view->version);
    facts.vulkan_features = features_of(gpu);
    facts.vulkan_extensions = words_at(gpu, "extensions");
}

GpuFacts gpu_facts(const Gpu& gpu, const Report& report, const Rules& rules) {
    GpuFacts facts{.id = gpu.id,
                   .vendor = Fact<std::string>::from(gpu.vendor),
                   .kind = kind_of(gpu, rules),
                   .driver = driver_of(gpu),
                   .gfx = gfx_of(gpu),
                   .intel_ip = vendors_version(gpu, "intel", gpu.architecture.intel_ip),
                   .memory = Fact<Bytes>::from(offered_memory(gpu.memory)),
                   .is_discrete = gpu.kind == GpuKind::Discrete};
    for (const auto& api : names_of(VariantApi{}))
        add_backend(gpu, api.value, facts);
    facts.rocm = is_of(gpu, "amd") ? runtime_version(report, "hip", &RuntimeInfo::release)
                                   : Fact<Version>::absent();
    if (facts.memory.value)
        facts.gib = (facts.memory.value->count + gib(1).count / 2) / gib(1).count;
    add_cuda(gpu, report, rules, facts);
    add_vulkan(gpu, report, facts);
    return facts;
}

}  // namespace

std::string_view backend_of(VariantApi api) {
    switch (api) {
        case VariantApi::Hip:
            return "rocm";
        case VariantApi::LevelZero:
            return "sycl";
        case VariantApi::Cuda:
        case VariantApi::Vulkan:
        case VariantApi::OpenCl:
            break;
    }
    return name_of(api);
}

bool is_like(const GpuFacts& left, const GpuFacts& right) {
    const auto all = [](const GpuFacts& gpu) {
        return std::tie(gpu.vendor, gpu.kind, gpu.usable, gpu.driver, gpu.cuda,
                        gpu.forward_compatible, gpu.gfx, gpu.intel_ip, gpu.rocm, gpu.vulkan_loader,
                        gpu.vulkan_api, gpu.vulkan_features, gpu.vulkan_extensions, gpu.memory);
    };
    return all(left) == all(right);
}

MachineFacts machine_facts(const Report& report, const Rules& rules) {
    MachineFacts facts{.host = host_facts(report.host)};
    for (const auto& gpu : report.gpus) {
        if (gpu.kind == GpuKind::DisplayOnly)
            continue;
        if (facts.gpus.size() == kMaxVariantGpus)
            ++facts.left_out;
        else
            facts.gpus.push_back(gpu_facts(gpu, report, rules));
    }
    return facts;
}

}  // namespace gpuprobe
