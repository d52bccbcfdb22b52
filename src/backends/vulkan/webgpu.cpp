// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/webgpu.h"

#include <array>

namespace gpuprobe::backends {
namespace {

using F = VkPhysicalDeviceFeatures;

/// The first kAlways are needed by every level, the next up to kCoreOnly by Core alone, the rest is
/// texture compression: BC, or both others.
constexpr std::size_t kAlways = 7;
constexpr std::size_t kCoreOnly = kAlways + 4;
constexpr std::array kFeatures = {
    CoreFeature{"robustBufferAccess", &F::robustBufferAccess},
    CoreFeature{"shaderUniformBufferArrayDynamicIndexing",
                &F::shaderUniformBufferArrayDynamicIndexing},
    CoreFeature{"shaderStorageBufferArrayDynamicIndexing",
                &F::shaderStorageBufferArrayDynamicIndexing},
    CoreFeature{"shaderSampledImageArrayDynamicIndexing",
                &F::shaderSampledImageArrayDynamicIndexing},
    CoreFeature{"shaderStorageImageArrayDynamicIndexing",
                &F::shaderStorageImageArrayDynamicIndexing},
    CoreFeature{"fragmentStoresAndAtomics", &F::fragmentStoresAndAtomics},
    CoreFeature{"fullDrawIndexUint32", &F::fullDrawIndexUint32},
    CoreFeature{"depthBiasClamp", &F::depthBiasClamp},
    CoreFeature{"imageCubeArray", &F::imageCubeArray},
    CoreFeature{"independentBlend", &F::independentBlend},
    CoreFeature{"sampleRateShading", &F::sampleRateShading},
    CoreFeature{"textureCompressionBC", &F::textureCompressionBC},
    CoreFeature{"textureCompressionETC2", &F::textureCompressionETC2},
    CoreFeature{"textureCompressionASTC_LDR", &F::textureCompressionASTC_LDR},
};

std::vector<std::string> missing_of(std::span<const CoreFeature> wanted, const F& features) {
    std::vector<std::string> missing;
    for (const CoreFeature& feature : wanted)
        if (features.*feature.member == VK_FALSE)
            missing.emplace_back(feature.name);
    return missing;
}

}  // namespace

std::span<const CoreFeature> webgpu_features() {
    return kFeatures;
}

std::string_view word_of(WebGpuLevel level) {
    switch (level) {
        case WebGpuLevel::Core:
            return "core";
        case WebGpuLevel::Compatibility:
            return "compat";
        case WebGpuLevel::None:
            break;
    }
    return "no";
}

WebGpuSupport webgpu_support(std::uint32_t api_version, const F& features) {
    const std::span<const CoreFeature> all{kFeatures};
    WebGpuSupport support{.missing = missing_of(all.first(kAlways), features)};
    if (api_version < VK_API_VERSION_1_1)
        support.missing.emplace_back("Vulkan 1.1");
    const bool has_compression = features.textureCompressionBC != VK_FALSE ||
                                 (features.textureCompressionETC2 != VK_FALSE &&
                                  features.textureCompressionASTC_LDR != VK_FALSE);
    if (!has_compression)
        support.missing.emplace_back("textureCompressionBC");
    const bool is_possible = support.missing.empty();
    for (auto& name : missing_of(all.subspan(kAlways, kCoreOnly - kAlways), features))
        support.missing.push_back(std::move(name));
    if (is_possible)
        support.level = support.missing.empty() ? WebGpuLevel::Core : WebGpuLevel::Compatibility;
    return support;
}

}  // namespace gpuprobe::backends
