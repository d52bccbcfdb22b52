// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_selectors.h"

#include <algorithm>

#include "policy/environment.h"
#include "policy/selector_facts.h"

namespace gpuprobe {
namespace {

struct Recipe {
    const char* api;
    SelectorKind kind;
    EnvironmentRule variables = {};
    const char* argument = "";
    EnvironmentRule environment = {};
};

/// In the order in which one API's are to be preferred.
const std::vector<Recipe>& recipes() {
    using enum SelectorKind;
    const EnvironmentRule one_driver{{"VK_DRIVER_FILES", "{vulkan_manifests}"},
                                     {"VK_ICD_FILENAMES", "{vulkan_manifests}"}};
    const EnvironmentRule pci_order{{"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"},
                                    {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}};
    static const std::vector<Recipe> all{
        {"cuda", Stable, {{"CUDA_VISIBLE_DEVICES", "{nvidia_uuids}"}}},
        {"cuda",
         Index,
         {{"CUDA_VISIBLE_DEVICES", "{cuda_pci_ranks}"}},
         "",
         {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}},
        // HIP counts what ROCr leaves over.
        {"hip",
         Stable,
         {{"ROCR_VISIBLE_DEVICES", "{hip_ids}"}, {"HIP_VISIBLE_DEVICES", "{ordinals}"}}},
        {"hip", Index, {{"HIP_VISIBLE_DEVICES", "{hip_indices}"}}},
        {"hip", Index, {{"ROCR_VISIBLE_DEVICES", "{hip_indices}"}}},
        {"level_zero",
         Index,
         {{"ONEAPI_DEVICE_SELECTOR", "level_zero:{level_zero_pci_ranks}"}},
         "",
         pci_order},
        {"level_zero", Index, {{"ZE_AFFINITY_MASK", "{level_zero_pci_ranks}"}}, "", pci_order},
        {"vulkan",
         Stable,
         {{"VK_DRIVER_FILES", "{vulkan_own_manifest}"},
          {"VK_ICD_FILENAMES", "{vulkan_own_manifest}"}}},
        {"vulkan", Stable, {{"MESA_VK_DEVICE_SELECT", "{mesa_device}!"}}, "", one_driver},
        {"vulkan", Stable, {{"DRI_PRIME", "{mesa_tag}!"}}, "", one_driver},
        {"vulkan",
         Index,
         {{"GGML_VK_VISIBLE_DEVICES", "{vulkan_indices}"}},
         "",
         {{"VK_DRIVER_FILES", "{vulkan_manifests}"},
          {"VK_ICD_FILENAMES", "{vulkan_manifests}"},
          {"NODEVICE_SELECT", "1"}}},
        {"opencl",
         Stable,
         {{"GGML_OPENCL_PLATFORM", "{opencl_platform}"},
          {"GGML_OPENCL_DEVICE", "{opencl_device}"}}},
        {"opencl", Index, {{"GPU_DEVICE_ORDINAL", "{rocm_opencl_indices}"}}},
        // Platform and device, for a loader that takes a file here (ocl-icd).
        {"opencl", Index, {}, "0:{opencl_indices}", {{"OCL_ICD_VENDORS", "{opencl_vendor}"}}},
        {"opengl", Stable, {{"DRI_PRIME", "{mesa_tag}"}}},
        {"opengl",
         Stable,
         {{"__GLX_VENDOR_LIBRARY_NAME", "{glx_offload}"},
          {"__NV_PRIME_RENDER_OFFLOAD", "1"},
          {"__VK_LAYER_NV_optimus", "NVIDIA_only"}}},
        {"container", Stable, {{"NVIDIA_VISIBLE_DEVICES", "{nvidia_uuids}"}}},
        // A name of the Container Device Interface, as nvidia-ctk writes them by UUID.
        {"container", Stable, {}, "nvidia.com/gpu={nvidia_uuids}"},
    };
    return all;
}

std::optional<GpuSelector> made(const Recipe& recipe, const Selection& selection) {
    auto variables = filled(recipe.variables, selection);
    auto argument = filled(recipe.argument, selection);
    auto environment = filled(recipe.environment, selection);
    if (!variables || !argument || !environment)
        return std::nullopt;
    return GpuSelector{.api = recipe.api,
                       .kind = recipe.kind,
                       .variables = std::move(*variables),
                       .argument = argument->empty() ? std::nullopt : std::move(argument),
                       .environment = std::move(*environment)};
}

/// A MIG instance has a UUID of its own, which CUDA takes like a GPU's.
/// Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
std::vector<GpuSelector> partition_selectors(const Gpu& gpu) {
    std::vector<GpuSelector> selectors;
    for (const auto& part : gpu.partitions) {
        const auto* name = part.at("name").as_string();
        const auto* uuid = part.at("uuid").as_string();
        if (!name || !uuid || !uuid->starts_with("MIG-") || uuid->find(',') != std::string::npos)
            continue;
        selectors.push_back(GpuSelector{
            .api = "cuda", .partition = *name, .variables = {{"CUDA_VISIBLE_DEVICES", *uuid}}});
        selectors.push_back(GpuSelector{.api = "container",
                                        .partition = *name,
                                        .variables = {{"NVIDIA_VISIBLE_DEVICES", *uuid}}});
    }
    return selectors;
}

using Variables = std::map<std::string, std::string>;

bool is_variable_name(std::string_view text) {
    const auto is_letter = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && is_letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool can_be_set(const Variables& variables) {
    return std::ranges::all_of(
        variables, [](const auto& entry) { return is_settable(entry.first, entry.second); });
}

bool agree(const Variables& left, const Variables& right) {
    return std::ranges::all_of(left, [&right](const auto& entry) {
        const auto found = right.find(entry.first);
        return found == right.end() || found->second == entry.second;
    });
}

}  // namespace

std::vector<GpuSelector> gpu_selectors(const Report& report, const Gpu& gpu) {
    const Selection selection{.report = report, .gpus = {&gpu}};
    std::vector<GpuSelector> selectors;
    for (const auto& recipe : recipes())
        if (auto selector = made(recipe, selection))
            selectors.push_back(std::move(*selector));
    for (auto& selector : partition_selectors(gpu))
        selectors.push_back(std::move(selector));
    return selectors;
}

bool is_settable(std::string_view name, std::string_view value) {
    return is_variable_name(name) && value.find('\0') == std::string_view::npos;
}

std::map<std::string, std::string> needs_of(const GpuSelector& selector) {
    auto needs = selector.environment;
    needs.insert(selector.variables.begin(), selector.variables.end());
    return needs;
}

std::vector<const GpuSelector*> chosen_selectors(const std::vector<GpuSelector>& selectors,
                                                 bool has_positions) {
    std::vector<const GpuSelector*> chosen;
    Variables set;
    for (const auto& selector : selectors) {
        const auto needs = needs_of(selector);
        const bool is_wanted = selector.kind == SelectorKind::Stable || has_positions;
        const bool is_first = std::ranges::none_of(
            chosen, [&selector](const auto* other) { return other->api == selector.api; });
        if (!is_wanted || !is_first || selector.partition || selector.variables.empty() ||
            !can_be_set(needs) || !agree(needs, set))
            continue;
        set.insert(needs.begin(), needs.end());
        chosen.push_back(&selector);
    }
    return chosen;
}

std::map<std::string, std::string> environment_for(const Report& report, const Gpu& gpu) {
    const auto selectors = gpu_selectors(report, gpu);
    Variables variables;
    for (const auto* selector : chosen_selectors(selectors, false))
        variables.merge(needs_of(*selector));
    return variables;
}

}  // namespace gpuprobe
