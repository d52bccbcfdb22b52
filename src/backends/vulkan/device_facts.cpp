// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "backends/texts.h"
#include "backends/vulkan/api.h"
#include "backends/vulkan/vulkan.h"
#include "base/record.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

using F = VkPhysicalDeviceFeatures;
using L = VkPhysicalDeviceLimits;

/// The features, in three groups: every level requires the first kAlways features; only Core
/// requires the following features, up to index kCoreOnly. The remaining features are texture
/// compression formats: a device needs BC, or both other formats.
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

// Accessors that make limits of different types comparable.
template <auto member>
double value_of(const L& limits) {
    return static_cast<double>(limits.*member);
}

template <auto member, std::size_t index>
double element_of(const L& limits) {
    return static_cast<double>((limits.*member)[index]);
}

/// 1 if an attachment can have both one and four samples per pixel, otherwise 0.
template <auto member>
double has_samples(const L& limits) {
    constexpr VkSampleCountFlags kWanted = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
    return (limits.*member & kWanted) == kWanted ? 1 : 0;
}

constexpr double kMiB = 1048576;

/// The number of components that are passed between shader stages: 15 or 16 vectors of four, and
/// two vectors that Dawn adds.
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

/// The size of the largest buffer: the limit for buffers if the device reports it, otherwise the
/// limit for allocations.
std::optional<std::uint64_t> max_buffer(const DeviceReply& reply) {
    if (reply.maintenance4)
        return reply.maintenance4->maxBufferSize;
    if (reply.maintenance3)
        return reply.maintenance3->maxMemoryAllocationSize;
    return std::nullopt;
}

/// The features and limits that a device lacks and that both levels require.
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

/// The features and limits that a device lacks and that only Core requires.
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
    // First list the missing requirements of every level, then those that only Core needs.
    WebGpuSupport support{.missing = missing_always(reply)};
    const bool is_possible = support.missing.empty();
    for (std::string& name : missing_for_core(reply))
        support.missing.push_back(std::move(name));
    if (is_possible)
        support.level = support.missing.empty() ? WebGpuLevel::Core : WebGpuLevel::Compatibility;
    return support;
}

namespace {

/// The heaps that count as the device's memory according to a rule.
std::vector<MemoryHeap> heaps_that_count(std::span<const MemoryHeap> heaps, HeapRule rule) {
    std::vector<MemoryHeap> chosen;
    for (const MemoryHeap& heap : heaps)
        if (rule == HeapRule::SumAll || heap.is_device_local)
            chosen.push_back(heap);
    if (rule != HeapRule::LargestLocal || chosen.empty())
        return chosen;
    return {*std::max_element(chosen.begin(), chosen.end(),
                              [](const auto& a, const auto& b) { return a.size < b.size; })};
}

/// The free memory in a heap; nullopt if the heap has no budget.
std::optional<Bytes> free_in(const MemoryHeap& heap) {
    // The specification forbids a budget of zero (VkPhysicalDeviceMemoryBudgetPropertiesEXT), so
    // zero means that the driver did not set the budget.
    if (!heap.budget || !heap.usage || heap.budget->count == 0)
        return std::nullopt;
    const std::uint64_t budget = std::min(heap.budget->count, heap.size.count);
    return Bytes{budget - std::min(heap.usage->count, budget)};
}

template <std::size_t size>
std::optional<std::string> text_in(const char (&array)[size]) {
    return clean_text({array, size});
}

/// The VkDriverId; nullopt if unknown.
std::optional<std::uint32_t> driver_id(const DeviceReply& reply) {
    if (!reply.driver || reply.driver->driverID == 0)
        return std::nullopt;
    return static_cast<std::uint32_t>(reply.driver->driverID);
}

std::optional<PciAddress> pci_address(const DeviceReply& reply) {
    if (!reply.pci)
        return std::nullopt;
    const auto& bus = *reply.pci;
    return pci_address_unless_zero(bus.pciDomain, bus.pciBus, bus.pciDevice, bus.pciFunction);
}

/// A device number as a string ("226:128"); nullopt if absent or out of range. On Linux, the major
/// number has 12 bits and the minor number 20 bits.
std::optional<std::string> device_number(VkBool32 is_present,
                                         std::int64_t major,
                                         std::int64_t minor) {
    if (!is_present || major <= 0 || major > 0xfff || minor < 0 || minor > 0xfffff)
        return std::nullopt;
    return std::to_string(major) + ":" + std::to_string(minor);
}

std::optional<DrmNodes> drm_nodes(const DeviceReply& reply) {
    if (!reply.drm)
        return std::nullopt;
    const auto& drm = *reply.drm;
    DrmNodes nodes{.primary = device_number(drm.hasPrimary, drm.primaryMajor, drm.primaryMinor),
                   .render = device_number(drm.hasRender, drm.renderMajor, drm.renderMinor)};
    return nodes.primary || nodes.render ? std::optional{nodes} : std::nullopt;
}

Value heap_list(const DeviceReply& reply) {
    Value::Array list;
    for (const MemoryHeap& heap : heaps_of(reply)) {
        Value entry{Value::Object{}};
        entry["size"] = to_value(heap.size);
        entry["device_local"] = heap.is_device_local;
        entry["host_visible"] = heap.is_host_visible;
        entry["budget"] = to_value(heap.budget);
        entry["usage"] = to_value(heap.usage);
        list.push_back(std::move(entry));
    }
    return Value{std::move(list)};
}

/// Adds the versions of the API and the driver. Unknown facts are null, so that all keys exist.
void add_driver(const DeviceReply& reply, Value& extra) {
    const auto& properties = reply.properties;
    const auto id = driver_id(reply);
    extra["api_version"] = api_version_text(properties.apiVersion);
    extra["driver_version"] =
        driver_version_text(properties.driverVersion, properties.vendorID, id);
    extra["driver_id"] = id ? Value{driver_word(*id)} : Value{};
    extra["driver_name"] = reply.driver ? to_value(text_in(reply.driver->driverName)) : Value{};
    extra["driver_info"] = reply.driver ? to_value(text_in(reply.driver->driverInfo)) : Value{};
    if (!reply.driver) {
        extra["conformance_version"] = Value{};
        return;
    }
    const auto& version = reply.driver->conformanceVersion;
    extra["conformance_version"] =
        dotted({version.major, version.minor, version.subminor, version.patch});
}

void add_identity(const DeviceReply& reply, Value& extra) {
    const auto* identity = reply.identity ? &*reply.identity : nullptr;
    // The LUID counts only if the driver marks it as valid.
    const bool has_luid = identity && identity->deviceLUIDValid;
    extra["driver_uuid"] = identity ? to_value(canonical_uuid(identity->driverUUID)) : Value{};
    extra["luid"] = has_luid ? to_value(hexadecimal_unless_zero(identity->deviceLUID)) : Value{};
    extra["vulkan_vendor_id"] = reply.properties.vendorID;
    extra["software"] = is_software(reply);
}

void add_limits(const DeviceReply& reply, Value& extra) {
    const auto& limits = reply.properties.limits;
    extra["max_compute_shared_memory_size"] = unless_zero(limits.maxComputeSharedMemorySize);
    extra["max_compute_workgroup_invocations"] = unless_zero(limits.maxComputeWorkGroupInvocations);
    extra["max_storage_buffer_range"] = unless_zero(limits.maxStorageBufferRange);
    extra["max_memory_allocation_size"] =
        reply.maintenance3 ? unless_zero(reply.maintenance3->maxMemoryAllocationSize) : Value{};
    extra["max_buffer_size"] =
        reply.maintenance4 ? unless_zero(reply.maintenance4->maxBufferSize) : Value{};
    const double period = static_cast<double>(limits.timestampPeriod);
    extra["timestamp_period"] = std::isfinite(period) && period > 0 ? Value{period} : Value{};
}

void add_queues(const DeviceReply& reply, Value& extra) {
    Value::Array list;
    bool has_async_compute = false;
    for (const VkQueueFamilyProperties& queue : reply.queues) {
        // A queue family that supports compute but not graphics can run in parallel with graphics.
        const bool computes = (queue.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
        const bool draws = (queue.queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        has_async_compute = has_async_compute || (computes && !draws);
        Value entry{Value::Object{}};
        entry["flags"] = queue_flag_words(queue.queueFlags);
        entry["count"] = queue.queueCount;
        entry["timestamp_bits"] = queue.timestampValidBits;
        list.push_back(std::move(entry));
    }
    extra["async_compute_queue"] = reply.queues.empty() ? Value{} : Value{has_async_compute};
    extra["queues"] = Value{std::move(list)};
}

/// A feature from a structure; false if the device is known to lack it, null if it could not be
/// queried.
template <class Structure>
Value supported(const DeviceReply& reply,
                const std::optional<Structure>& structure,
                VkBool32 Structure::*member,
                const Origin& origin) {
    if (structure)
        return Value{(*structure).*member != VK_FALSE};
    return reply.lacks(origin) ? Value{false} : Value{};
}

void add_subgroup(const DeviceReply& reply, Value& extra) {
    const auto& subgroup = reply.subgroup;
    const auto& sizes = reply.subgroup_size;
    extra["subgroup_size"] = subgroup ? unless_zero(subgroup->subgroupSize) : Value{};
    extra["subgroup_operations"] =
        subgroup ? subgroup_operation_words(subgroup->supportedOperations) : Value{};
    extra["subgroup_size_min"] = sizes ? unless_zero(sizes->minSubgroupSize) : Value{};
    extra["subgroup_size_max"] = sizes ? unless_zero(sizes->maxSubgroupSize) : Value{};
}

Value matrix_list(const std::vector<CooperativeMatrixProperties>& matrices) {
    Value::Array list;
    for (const CooperativeMatrixProperties& matrix : matrices) {
        Value entry{Value::Object{}};
        entry["m"] = matrix.MSize;
        entry["n"] = matrix.NSize;
        entry["k"] = matrix.KSize;
        entry["a"] = component_word(matrix.AType);
        entry["b"] = component_word(matrix.BType);
        entry["c"] = component_word(matrix.CType);
        entry["result"] = component_word(matrix.ResultType);
        entry["saturating"] = matrix.saturatingAccumulation != VK_FALSE;
        entry["scope"] = scope_word(matrix.scope);
        list.push_back(std::move(entry));
    }
    return Value{std::move(list)};
}

/// Adds the number formats that shaders support.
void add_numbers(const DeviceReply& reply, Value& extra) {
    extra["shader_float16"] =
        supported(reply, reply.float16_int8,
                  &VkPhysicalDeviceShaderFloat16Int8Features::shaderFloat16, origin::kFloat16Int8);
    extra["shader_int8"] =
        supported(reply, reply.float16_int8, &VkPhysicalDeviceShaderFloat16Int8Features::shaderInt8,
                  origin::kFloat16Int8);
    extra["storage_buffer_16bit"] = supported(
        reply, reply.storage16, &VkPhysicalDevice16BitStorageFeatures::storageBuffer16BitAccess,
        origin::kStorage16);
    extra["storage_buffer_8bit"] =
        supported(reply, reply.storage8,
                  &VkPhysicalDevice8BitStorageFeatures::storageBuffer8BitAccess, origin::kStorage8);
    extra["integer_dot_product"] =
        supported(reply, reply.dot_product_feature,
                  &VkPhysicalDeviceShaderIntegerDotProductFeatures::shaderIntegerDotProduct,
                  origin::kDotProduct);
    extra["integer_dot_product_accelerated"] =
        supported(reply, reply.dot_product,
                  &VkPhysicalDeviceShaderIntegerDotProductProperties::
                      integerDotProduct4x8BitPackedSignedAccelerated,
                  origin::kDotProduct);
    extra["shader_bfloat16"] = supported(
        reply, reply.bfloat16, &ShaderBfloat16Features::shaderBFloat16Type, origin::kBfloat16);
    extra["cooperative_matrix"] =
        supported(reply, reply.matrix_feature, &CooperativeMatrixFeatures::cooperativeMatrix,
                  origin::kCooperativeMatrix);
    extra["cooperative_matrix_shapes"] = reply.matrices ? matrix_list(*reply.matrices) : Value{};
}

/// The features under their names in the specification, which are also the names in manifests.
Value named_features(const DeviceReply& reply, const Value& extra) {
    Value named{Value::Object{}};
    for (const CoreFeature& feature : webgpu_features())
        named[feature.name] = (reply.features.*feature.member) != VK_FALSE;
    named["shaderInt16"] = reply.features.shaderInt16 != VK_FALSE;
    named["shaderInt64"] = reply.features.shaderInt64 != VK_FALSE;
    named["shaderFloat64"] = reply.features.shaderFloat64 != VK_FALSE;
    named["shaderFloat16"] = extra.at("shader_float16");
    named["shaderInt8"] = extra.at("shader_int8");
    named["storageBuffer16BitAccess"] = extra.at("storage_buffer_16bit");
    named["storageBuffer8BitAccess"] = extra.at("storage_buffer_8bit");
    named["shaderIntegerDotProduct"] = extra.at("integer_dot_product");
    named["shaderBFloat16Type"] = extra.at("shader_bfloat16");
    named["cooperativeMatrix"] = extra.at("cooperative_matrix");
    return named;
}

/// Adds the features for shaders: subgroups, number formats, cooperative matrices, and the WebGPU
/// level.
void add_features(const DeviceReply& reply, Value& extra) {
    add_subgroup(reply, extra);
    add_numbers(reply, extra);
    extra["features"] = named_features(reply, extra);
    const auto webgpu = webgpu_support(reply);
    extra["webgpu"] = word_of(webgpu.level);
    extra["webgpu_missing"] = to_value(webgpu.missing);
}

}  // namespace

HeapRule heap_rule(std::optional<DeviceType> type, std::optional<std::uint32_t> driver_id) {
    if (type == DeviceType::Integrated)
        return HeapRule::SumAll;
    if (driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY)
        return HeapRule::LargestLocal;
    return HeapRule::SumLocal;
}

FactMemory device_memory(std::span<const MemoryHeap> heaps, HeapRule rule) {
    Bytes total;
    std::optional<Bytes> free = Bytes{};
    for (const MemoryHeap& heap : heaps_that_count(heaps, rule)) {
        // If one size is wrong, the whole sum is meaningless.
        if (heap.size > kMaxPlausibleMemory)
            return {};
        total.count += heap.size.count;
        const auto heap_free = free_in(heap);
        free =
            free && heap_free ? std::optional{Bytes{free->count + heap_free->count}} : std::nullopt;
    }
    if (total.count == 0)
        return {};
    return {.total = total, .free = free};
}

std::vector<MemoryHeap> heaps_of(const DeviceReply& reply) {
    const auto& memory = reply.memory;
    // The counts come from the driver; never read beyond the arrays.
    const auto count = std::min<std::uint32_t>(memory.memoryHeapCount, VK_MAX_MEMORY_HEAPS);
    const auto types = std::min<std::uint32_t>(memory.memoryTypeCount, VK_MAX_MEMORY_TYPES);
    std::vector<MemoryHeap> heaps;
    for (std::uint32_t i = 0; i < count; ++i) {
        MemoryHeap heap{.size = Bytes{memory.memoryHeaps[i].size}};
        heap.is_device_local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
        for (const VkMemoryType& type : std::span{memory.memoryTypes}.first(types))
            heap.is_host_visible =
                heap.is_host_visible ||
                (type.heapIndex == i && (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT));
        if (reply.budget) {
            heap.budget = Bytes{reply.budget->heapBudget[i]};
            heap.usage = Bytes{reply.budget->heapUsage[i]};
        }
        heaps.push_back(heap);
    }
    return heaps;
}

bool is_software(const DeviceReply& reply) {
    const auto id = driver_id(reply);
    if (reply.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
        id == VK_DRIVER_ID_MESA_LLVMPIPE || id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER)
        return true;
    // With layered drivers (Venus, Dozen), only the name of the device shows which renderer is
    // used.
    const auto name = lower_case(text_in(reply.properties.deviceName).value_or(""));
    return name.find("llvmpipe") != std::string::npos ||
           name.find("swiftshader") != std::string::npos ||
           name.find("microsoft basic render") != std::string::npos;
}

DeviceFacts facts_of(const DeviceReply& reply) {
    const auto& properties = reply.properties;
    const auto type = device_type(properties.deviceType);
    const auto vendor = pci_id_text(properties.vendorID);
    // A device id is meaningful only together with a PCI vendor id.
    DeviceFacts facts{
        .index = reply.index,
        .name = text_in(properties.deviceName),
        .vendor_id = vendor,
        .device_id = vendor ? pci_id_text(properties.deviceID) : std::nullopt,
        .pci = pci_address(reply),
        .uuid = reply.identity ? canonical_uuid(reply.identity->deviceUUID) : std::nullopt,
        .drm = drm_nodes(reply),
        .type = type,
        .memory = device_memory(heaps_of(reply), heap_rule(type, driver_id(reply))),
    };
    add_driver(reply, facts.extra);
    add_identity(reply, facts.extra);
    facts.extra["heaps"] = heap_list(reply);
    add_limits(reply, facts.extra);
    add_queues(reply, facts.extra);
    add_features(reply, facts.extra);
    facts.extra["extensions"] = reply.extensions ? to_value(*reply.extensions) : Value{};
    facts.extra["video"] = to_value(reply.video);
    return facts;
}

}  // namespace gpuprobe::backends
