// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/webgpu.h"

#include <array>
#include <cstdint>

namespace gpuprobe::backends {
namespace {

using F = VkPhysicalDeviceFeatures;
using L = VkPhysicalDeviceLimits;

/// The features, in three groups: the first kAlways are required by every level, the next up to
/// index kCoreOnly only by Core. The rest is texture compression, of which a device needs BC or
/// both others.
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

enum class Bound { AtLeast, AtMost };

/// A limit with its name in the specification and the value that each level requires.
struct CoreLimit {
    std::string_view name = {};
    double (*value)(const L&) = nullptr;
    double compatibility = 0;
    double core = 0;
    Bound bound = Bound::AtLeast;
};

// Accessors, which make limits of different types comparable.
template <auto member>
double value_of(const L& limits) {
    return static_cast<double>(limits.*member);
}

template <auto member, std::size_t index>
double element_of(const L& limits) {
    return static_cast<double>((limits.*member)[index]);
}

/// 1 if an attachment can have both one and four samples per pixel, else 0.
template <auto member>
double has_samples(const L& limits) {
    constexpr VkSampleCountFlags kWanted = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
    return (limits.*member & kWanted) == kWanted ? 1 : 0;
}

constexpr double kMiB = 1048576;

/// Components passed between shader stages: 15 or 16 vectors of four, and two vectors that Dawn
/// adds.
constexpr double kComponentsCompatibility = 15 * 4 + 8;
constexpr double kComponentsCore = 16 * 4 + 8;

constexpr std::array kLimits = {
    CoreLimit{"maxImageDimension1D", value_of<&L::maxImageDimension1D>, 4096, 8192},
    CoreLimit{"maxImageDimension2D", value_of<&L::maxImageDimension2D>, 4096, 8192},
    CoreLimit{"maxImageDimensionCube", value_of<&L::maxImageDimensionCube>, 4096, 8192},
    CoreLimit{"maxFramebufferWidth", value_of<&L::maxFramebufferWidth>, 4096, 8192},
    CoreLimit{"maxFramebufferHeight", value_of<&L::maxFramebufferHeight>, 4096, 8192},
    CoreLimit{"maxViewportDimensions[0]", element_of<&L::maxViewportDimensions, 0>, 4096, 8192},
    CoreLimit{"maxViewportDimensions[1]", element_of<&L::maxViewportDimensions, 1>, 4096, 8192},
    CoreLimit{"viewportBoundsRange[1]", element_of<&L::viewportBoundsRange, 1>, 4096, 8192},
    CoreLimit{"maxImageDimension3D", value_of<&L::maxImageDimension3D>, 2048, 2048},
    CoreLimit{"maxImageArrayLayers", value_of<&L::maxImageArrayLayers>, 256, 256},
    CoreLimit{"maxBoundDescriptorSets", value_of<&L::maxBoundDescriptorSets>, 4, 4},
    CoreLimit{"maxDescriptorSetUniformBuffersDynamic",
              value_of<&L::maxDescriptorSetUniformBuffersDynamic>, 8, 8},
    CoreLimit{"maxDescriptorSetStorageBuffersDynamic",
              value_of<&L::maxDescriptorSetStorageBuffersDynamic>, 4, 4},
    CoreLimit{"maxPerStageDescriptorSampledImages",
              value_of<&L::maxPerStageDescriptorSampledImages>, 16, 16},
    CoreLimit{"maxPerStageDescriptorSamplers", value_of<&L::maxPerStageDescriptorSamplers>, 16, 16},
    CoreLimit{"maxPerStageDescriptorStorageBuffers",
              value_of<&L::maxPerStageDescriptorStorageBuffers>, 8, 8},
    CoreLimit{"maxPerStageDescriptorStorageImages",
              value_of<&L::maxPerStageDescriptorStorageImages>, 4, 4},
    CoreLimit{"maxPerStageDescriptorUniformBuffers",
              value_of<&L::maxPerStageDescriptorUniformBuffers>, 12, 12},
    CoreLimit{"maxStorageBufferRange", value_of<&L::maxStorageBufferRange>, 128 * kMiB, 128 * kMiB},
    CoreLimit{"maxColorAttachments", value_of<&L::maxColorAttachments>, 4, 8},
    CoreLimit{"maxUniformBufferRange", value_of<&L::maxUniformBufferRange>, 16384, 65536},
    CoreLimit{"minUniformBufferOffsetAlignment", value_of<&L::minUniformBufferOffsetAlignment>, 256,
              256, Bound::AtMost},
    CoreLimit{"minStorageBufferOffsetAlignment", value_of<&L::minStorageBufferOffsetAlignment>, 256,
              256, Bound::AtMost},
    CoreLimit{"maxVertexInputBindings", value_of<&L::maxVertexInputBindings>, 8, 8},
    CoreLimit{"maxVertexInputAttributes", value_of<&L::maxVertexInputAttributes>, 16, 16},
    CoreLimit{"maxVertexInputBindingStride", value_of<&L::maxVertexInputBindingStride>, 2048, 2048},
    CoreLimit{"maxVertexInputAttributeOffset", value_of<&L::maxVertexInputAttributeOffset>, 2047,
              2047},
    CoreLimit{"maxVertexOutputComponents", value_of<&L::maxVertexOutputComponents>,
              kComponentsCompatibility, kComponentsCore},
    CoreLimit{"maxFragmentInputComponents", value_of<&L::maxFragmentInputComponents>,
              kComponentsCompatibility, kComponentsCore},
    CoreLimit{"maxComputeSharedMemorySize", value_of<&L::maxComputeSharedMemorySize>, 16384, 16384},
    CoreLimit{"maxComputeWorkGroupInvocations", value_of<&L::maxComputeWorkGroupInvocations>, 128,
              256},
    CoreLimit{"maxComputeWorkGroupSize[0]", element_of<&L::maxComputeWorkGroupSize, 0>, 128, 256},
    CoreLimit{"maxComputeWorkGroupSize[1]", element_of<&L::maxComputeWorkGroupSize, 1>, 128, 256},
    CoreLimit{"maxComputeWorkGroupSize[2]", element_of<&L::maxComputeWorkGroupSize, 2>, 64, 64},
    CoreLimit{"maxComputeWorkGroupCount[0]", element_of<&L::maxComputeWorkGroupCount, 0>, 65535,
              65535},
    CoreLimit{"maxComputeWorkGroupCount[1]", element_of<&L::maxComputeWorkGroupCount, 1>, 65535,
              65535},
    CoreLimit{"maxComputeWorkGroupCount[2]", element_of<&L::maxComputeWorkGroupCount, 2>, 65535,
              65535},
    CoreLimit{"framebufferColorSampleCounts", has_samples<&L::framebufferColorSampleCounts>, 1, 1},
    CoreLimit{"framebufferDepthSampleCounts", has_samples<&L::framebufferDepthSampleCounts>, 1, 1},
};
constexpr std::uint64_t kLeastBuffer = 256 << 20;

bool is_enough(const CoreLimit& limit, double wanted, const L& limits) {
    const double value = limit.value(limits);
    return limit.bound == Bound::AtLeast ? value >= wanted : value <= wanted;
}

/// The size of the largest buffer: the limit for buffers if the device reports it, else the limit
/// for allocations.
std::optional<std::uint64_t> max_buffer(const DeviceReply& reply) {
    if (reply.maintenance4)
        return reply.maintenance4->maxBufferSize;
    if (reply.maintenance3)
        return reply.maintenance3->maxMemoryAllocationSize;
    return std::nullopt;
}

/// The features and limits that a device lacks for both levels.
std::vector<std::string> missing_always(const DeviceReply& reply) {
    const F& features = reply.features;
    std::vector<std::string> missing = missing_of(std::span{kFeatures}.first(kAlways), features);
    if (reply.properties.apiVersion < VK_API_VERSION_1_1)
        missing.emplace_back("Vulkan 1.1");
    // WebGPU requires BC, or both ETC2 and ASTC.
    const bool has_compression = features.textureCompressionBC != VK_FALSE ||
                                 (features.textureCompressionETC2 != VK_FALSE &&
                                  features.textureCompressionASTC_LDR != VK_FALSE);
    if (!has_compression)
        missing.emplace_back("textureCompressionBC");
    for (const CoreLimit& limit : kLimits)
        if (!is_enough(limit, limit.compatibility, reply.properties.limits))
            missing.emplace_back(limit.name);
    if (max_buffer(reply).value_or(kLeastBuffer) < kLeastBuffer)
        missing.emplace_back("maxBufferSize");
    return missing;
}

/// The features and limits that a device lacks only for Core.
std::vector<std::string> missing_for_core(const DeviceReply& reply) {
    std::vector<std::string> missing =
        missing_of(std::span{kFeatures}.subspan(kAlways, kCoreOnly - kAlways), reply.features);
    const L& limits = reply.properties.limits;
    for (const CoreLimit& limit : kLimits)
        if (is_enough(limit, limit.compatibility, limits) && !is_enough(limit, limit.core, limits))
            missing.emplace_back(limit.name);
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

WebGpuSupport webgpu_support(const DeviceReply& reply) {
    // First list what prevents every level, then what only Core needs.
    WebGpuSupport support{.missing = missing_always(reply)};
    const bool is_possible = support.missing.empty();
    for (std::string& name : missing_for_core(reply))
        support.missing.push_back(std::move(name));
    if (is_possible)
        support.level = support.missing.empty() ? WebGpuLevel::Core : WebGpuLevel::Compatibility;
    return support;
}

}  // namespace gpuprobe::backends
