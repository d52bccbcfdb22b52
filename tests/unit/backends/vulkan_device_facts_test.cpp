// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "backends/vulkan/vulkan.h"

namespace gpuprobe::backends {
namespace vulkan_device_facts_test {

/// The data of a Vulkan 1.3 device for which all queries were made and which lists no extension.
DeviceReply plain_reply() {
    DeviceReply reply;
    reply.instance_version = VK_API_VERSION_1_3;
    reply.has_chains = true;
    reply.properties.apiVersion = VK_API_VERSION_1_3;
    reply.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    reply.extensions = std::vector<std::string>{};
    std::strcpy(reply.properties.deviceName, "A GPU");
    return reply;
}

TEST(VulkanOffers, NeedsTheVersionOnBothSidesOrTheExtension) {
    DeviceReply reply = plain_reply();
    EXPECT_TRUE(reply.offers(origin::kMaintenance4));
    EXPECT_FALSE(reply.offers(origin::kPciBusInfo));
    reply.extensions->push_back("VK_EXT_pci_bus_info");
    EXPECT_TRUE(reply.offers(origin::kPciBusInfo));
    reply.instance_version = VK_API_VERSION_1_2;
    EXPECT_FALSE(reply.offers(origin::kMaintenance4));
    reply.extensions = std::vector<std::string>{"VK_KHR_maintenance4"};
    EXPECT_TRUE(reply.offers(origin::kMaintenance4));
    reply.has_chains = false;
    EXPECT_FALSE(reply.offers(origin::kMaintenance4));
}

TEST(VulkanLacks, IsTrueOnlyIfTheDeviceItselfLacksTheStructure) {
    DeviceReply reply = plain_reply();
    EXPECT_TRUE(reply.lacks(origin::kCooperativeMatrix));
    EXPECT_FALSE(reply.lacks(origin::kFloat16Int8));
    reply.instance_version = VK_API_VERSION_1_0;
    EXPECT_FALSE(reply.lacks(origin::kFloat16Int8)) << "the device has it, the loader is too old";
    reply.properties.apiVersion = VK_API_VERSION_1_1;
    EXPECT_TRUE(reply.lacks(origin::kFloat16Int8));
    reply.extensions.reset();
    EXPECT_FALSE(reply.lacks(origin::kFloat16Int8)) << "the list was refused";
}

TEST(VulkanFacts, AreNullWhereNothingCouldBeAsked) {
    DeviceReply reply;
    reply.properties.apiVersion = VK_API_VERSION_1_0;
    const auto facts = facts_of(reply);
    EXPECT_EQ(facts.name, std::nullopt);
    EXPECT_EQ(facts.vendor_id, std::nullopt);
    EXPECT_EQ(facts.pci, std::nullopt);
    EXPECT_EQ(facts.uuid, std::nullopt);
    EXPECT_EQ(facts.drm, std::nullopt);
    EXPECT_EQ(facts.memory, FactMemory{});
    for (const auto* key : {"driver_id", "driver_name", "driver_info", "luid", "subgroup_size",
                            "shader_float16", "cooperative_matrix", "extensions", "max_buffer_size",
                            "timestamp_period", "async_compute_queue"})
        EXPECT_TRUE(facts.extra.at(key).is_null()) << key;
    EXPECT_EQ(facts.extra.at("webgpu"), Value{"no"});
}

TEST(VulkanFacts, AreFalseForMissingFeatures) {
    DeviceReply reply = plain_reply();
    reply.properties.apiVersion = VK_API_VERSION_1_1;
    const auto extra = facts_of(reply).extra;
    EXPECT_EQ(extra.at("shader_float16"), Value{false});
    EXPECT_EQ(extra.at("cooperative_matrix"), Value{false});
    EXPECT_EQ(extra.at("features").at("shaderBFloat16Type"), Value{false});
    EXPECT_TRUE(extra.at("storage_buffer_16bit").is_null()) << "core in 1.1, and not asked";
}

struct AddressCase {
    const char* name;
    std::array<std::uint32_t, 4> reported;
    std::optional<PciAddress> want;
};
void PrintTo(const AddressCase& row, std::ostream* out) {
    *out << row.name;
}
class VulkanAddress : public testing::TestWithParam<AddressCase> {};

TEST_P(VulkanAddress, IsCheckedBeforeItIsBelieved) {
    DeviceReply reply = plain_reply();
    reply.pci.emplace();
    reply.pci->pciDomain = GetParam().reported[0];
    reply.pci->pciBus = GetParam().reported[1];
    reply.pci->pciDevice = GetParam().reported[2];
    reply.pci->pciFunction = GetParam().reported[3];
    EXPECT_EQ(facts_of(reply).pci, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    VulkanAddress,
    testing::Values(AddressCase{"Common", {0, 6, 0, 0}, PciAddress{.bus = 6}},
                    AddressCase{"WideDomain",
                                {0x10000, 0, 2, 1},
                                PciAddress{.domain = 0x10000, .device = 2, .function = 1}},
                    AddressCase{
                        "Last",
                        {0xffffffff, 255, 31, 7},
                        PciAddress{.domain = 0xffffffff, .bus = 255, .device = 31, .function = 7}},
                    AddressCase{"AllZero", {0, 0, 0, 0}, std::nullopt},
                    AddressCase{"BusTooLarge", {0, 256, 0, 0}, std::nullopt},
                    AddressCase{"DeviceTooLarge", {0, 1, 32, 0}, std::nullopt},
                    AddressCase{"FunctionTooLarge", {0, 1, 0, 8}, std::nullopt}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(VulkanFacts, CheckDeviceNumbers) {
    DeviceReply reply = plain_reply();
    reply.drm.emplace();
    reply.drm->hasPrimary = VK_TRUE;
    reply.drm->primaryMajor = 226;
    reply.drm->primaryMinor = 1;
    reply.drm->renderMajor = 226;
    reply.drm->renderMinor = 129;
    EXPECT_EQ(facts_of(reply).drm, (DrmNodes{.primary = "226:1"})) << "hasRender is false";
    reply.drm->hasRender = VK_TRUE;
    EXPECT_EQ(facts_of(reply).drm, (DrmNodes{.primary = "226:1", .render = "226:129"}));
    reply.drm->primaryMajor = -1;
    reply.drm->renderMinor = 0x100000;
    EXPECT_EQ(facts_of(reply).drm, std::nullopt);
}

TEST(VulkanFacts, BoundTextsThatLackTheirEnd) {
    DeviceReply reply = plain_reply();
    std::memset(reply.properties.deviceName, 'A', sizeof reply.properties.deviceName);
    EXPECT_EQ(facts_of(reply).name, std::string(VK_MAX_PHYSICAL_DEVICE_NAME_SIZE, 'A'));
    std::memset(reply.properties.deviceName, 0xff, sizeof reply.properties.deviceName);
    const auto name = facts_of(reply).name;
    ASSERT_TRUE(name);
    EXPECT_EQ(name->substr(0, 3), "\xEF\xBF\xBD");
}

TEST(VulkanFacts, KeepCountsThatLieWithinTheArrays) {
    DeviceReply reply = plain_reply();
    reply.memory.memoryHeapCount = 0xffffffff;
    reply.memory.memoryTypeCount = 0xffffffff;
    reply.memory.memoryHeaps[0] = {gib(8).count, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    reply.memory.memoryTypes[3] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 0xffffffff};
    EXPECT_EQ(heaps_of(reply).size(), std::size_t{VK_MAX_MEMORY_HEAPS});
    EXPECT_EQ(facts_of(reply).memory->total, gib(8));
}

TEST(VulkanFacts, SeeTheHostVisibleHeap) {
    DeviceReply reply = plain_reply();
    reply.memory.memoryHeapCount = 2;
    reply.memory.memoryTypeCount = 1;
    reply.memory.memoryTypes[0] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 1};
    const auto heaps = heaps_of(reply);
    EXPECT_FALSE(heaps[0].is_host_visible);
    EXPECT_TRUE(heaps[1].is_host_visible);
}

TEST(VulkanFacts, RefuseATimestampPeriodThatIsNoNumber) {
    DeviceReply reply = plain_reply();
    reply.properties.limits.timestampPeriod = std::nanf("");
    EXPECT_TRUE(facts_of(reply).extra.at("timestamp_period").is_null());
    reply.properties.limits.timestampPeriod = INFINITY;
    EXPECT_TRUE(facts_of(reply).extra.at("timestamp_period").is_null());
    reply.properties.limits.timestampPeriod = 0.5F;
    EXPECT_EQ(facts_of(reply).extra.at("timestamp_period"), Value{0.5});
}

TEST(VulkanFacts, FindTheAsynchronousComputeQueue) {
    DeviceReply reply = plain_reply();
    reply.queues = {{VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 1, 64, {}}};
    EXPECT_EQ(facts_of(reply).extra.at("async_compute_queue"), Value{false});
    reply.queues.push_back({VK_QUEUE_COMPUTE_BIT, 1, 64, {}});
    EXPECT_EQ(facts_of(reply).extra.at("async_compute_queue"), Value{true});
}

TEST(VulkanFacts, ListCooperativeMatrices) {
    DeviceReply reply = plain_reply();
    reply.matrices = std::vector{CooperativeMatrixProperties{
        kCooperativeMatrixPropertiesType, nullptr, 16, 8, 32, 0, 0, 1, 1, VK_FALSE, 3}};
    const auto list = facts_of(reply).extra.at("cooperative_matrix_shapes");
    ASSERT_TRUE(list.as_array());
    const Value& shape = list.as_array()->front();
    EXPECT_EQ(shape.at("m"), Value{16});
    EXPECT_EQ(shape.at("k"), Value{32});
    EXPECT_EQ(shape.at("a"), Value{"float16"});
    EXPECT_EQ(shape.at("result"), Value{"float32"});
    EXPECT_EQ(shape.at("scope"), Value{"subgroup"});
}

TEST(VulkanSoftware, IsDetectedByTypeDriverOrName) {
    DeviceReply reply = plain_reply();
    EXPECT_FALSE(is_software(reply));
    reply.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    EXPECT_TRUE(is_software(reply));
    reply.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
    std::strcpy(reply.properties.deviceName, "Virtio-GPU Venus (llvmpipe (LLVM 15.0.6))");
    EXPECT_TRUE(is_software(reply));
    std::strcpy(reply.properties.deviceName, "Virtio-GPU Venus (AMD Radeon RX 6600)");
    EXPECT_FALSE(is_software(reply));
    reply.driver.emplace();
    reply.driver->driverID = VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
    EXPECT_TRUE(is_software(reply));
}

/// A device that has everything that WebGPU requires.
DeviceReply reply_for_webgpu() {
    DeviceReply reply = plain_reply();
    for (const auto& feature : webgpu_features())
        reply.features.*feature.member = VK_TRUE;
    auto& limits = reply.properties.limits;
    std::memset(&limits, 0x7f, sizeof limits);  // this makes every number large
    limits.minUniformBufferOffsetAlignment = 256;
    limits.minStorageBufferOffsetAlignment = 256;
    reply.maintenance4.emplace();
    reply.maintenance4->maxBufferSize = 256 << 20;
    return reply;
}

TEST(WebGpu, ComesInThreeLevels) {
    DeviceReply reply = reply_for_webgpu();
    reply.properties.apiVersion = VK_API_VERSION_1_1;
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::Core);
    EXPECT_EQ(webgpu_support(reply).missing, std::vector<std::string>{});
    reply.properties.apiVersion = VK_API_VERSION_1_0;
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::None);
    reply.properties.apiVersion = VK_API_VERSION_1_3;

    reply.features.sampleRateShading = VK_FALSE;
    const auto compatibility = webgpu_support(reply);
    EXPECT_EQ(compatibility.level, WebGpuLevel::Compatibility);
    EXPECT_EQ(compatibility.missing, std::vector<std::string>{"sampleRateShading"});

    reply.features.robustBufferAccess = VK_FALSE;
    const auto none = webgpu_support(reply);
    EXPECT_EQ(none.level, WebGpuLevel::None);
    EXPECT_EQ(none.missing, (std::vector<std::string>{"robustBufferAccess", "sampleRateShading"}));
}

TEST(WebGpu, TakesEitherTextureCompression) {
    DeviceReply reply = reply_for_webgpu();
    reply.features.textureCompressionBC = VK_FALSE;
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::Core);
    reply.features.textureCompressionETC2 = VK_FALSE;
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::None);
    reply.features.textureCompressionBC = VK_TRUE;
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::Core);
}

/// For each level, the smallest value that is sufficient, and a value that is not. tests/runtimes
/// compares the same values with Dawn.
struct LimitCase {
    const char* name;
    void (*set)(VkPhysicalDeviceLimits&, std::uint32_t);
    std::uint32_t core;
    std::uint32_t compatibility;
    std::uint32_t too_little;
};
void PrintTo(const LimitCase& row, std::ostream* out) {
    *out << row.name;
}
class WebGpuLimit : public testing::TestWithParam<LimitCase> {};

TEST_P(WebGpuLimit, DecidesTheLevel) {
    const LimitCase& row = GetParam();
    const auto support_at = [&](std::uint32_t value) {
        DeviceReply reply = reply_for_webgpu();
        row.set(reply.properties.limits, value);
        return webgpu_support(reply);
    };
    const std::vector<std::string> missing{row.name};
    EXPECT_EQ(support_at(row.core).level, WebGpuLevel::Core);
    EXPECT_EQ(support_at(row.too_little).level, WebGpuLevel::None);
    EXPECT_EQ(support_at(row.too_little).missing, missing);
    if (row.compatibility != row.core) {
        EXPECT_EQ(support_at(row.core - 1).level, WebGpuLevel::Compatibility);
        EXPECT_EQ(support_at(row.compatibility).level, WebGpuLevel::Compatibility);
        EXPECT_EQ(support_at(row.compatibility).missing, missing);
    }
}

using L = VkPhysicalDeviceLimits;
INSTANTIATE_TEST_SUITE_P(
    Table,
    WebGpuLimit,
    testing::Values(
        LimitCase{"maxImageDimension2D", [](L& l, std::uint32_t v) { l.maxImageDimension2D = v; },
                  8192, 4096, 4095},
        LimitCase{"maxViewportDimensions[1]",
                  [](L& l, std::uint32_t v) { l.maxViewportDimensions[1] = v; }, 8192, 4096, 4095},
        LimitCase{"viewportBoundsRange[1]",
                  [](L& l, std::uint32_t v) { l.viewportBoundsRange[1] = static_cast<float>(v); },
                  8192, 4096, 4095},
        LimitCase{"maxColorAttachments", [](L& l, std::uint32_t v) { l.maxColorAttachments = v; },
                  8, 4, 3},
        LimitCase{"maxUniformBufferRange",
                  [](L& l, std::uint32_t v) { l.maxUniformBufferRange = v; }, 65536, 16384, 16383},
        LimitCase{"maxFragmentInputComponents",
                  [](L& l, std::uint32_t v) { l.maxFragmentInputComponents = v; }, 72, 68, 67},
        LimitCase{"maxComputeWorkGroupSize[0]",
                  [](L& l, std::uint32_t v) { l.maxComputeWorkGroupSize[0] = v; }, 256, 128, 127},
        LimitCase{"minUniformBufferOffsetAlignment",
                  [](L& l, std::uint32_t v) { l.minUniformBufferOffsetAlignment = v; }, 256, 256,
                  512},
        LimitCase{"framebufferColorSampleCounts",
                  [](L& l, std::uint32_t v) { l.framebufferColorSampleCounts = v; },
                  VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT,
                  VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT,
                  VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_2_BIT},
        LimitCase{"maxVertexInputAttributeOffset",
                  [](L& l, std::uint32_t v) { l.maxVertexInputAttributeOffset = v; }, 2047, 2047,
                  2046}),
    [](const auto& row) {
        std::string name = row.param.name;
        std::erase_if(name,
                      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
        return name;
    });

TEST(WebGpu, WantsALargeBufferWhereItsSizeIsKnown) {
    DeviceReply reply = reply_for_webgpu();
    reply.maintenance4->maxBufferSize -= 1;
    EXPECT_EQ(webgpu_support(reply).missing, std::vector<std::string>{"maxBufferSize"});
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::None);
    reply.maintenance4.reset();
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::Core);
    reply.maintenance3.emplace();
    reply.maintenance3->maxMemoryAllocationSize = (256 << 20) - 1;
    EXPECT_EQ(webgpu_support(reply).level, WebGpuLevel::None);
}

}  // namespace vulkan_device_facts_test
}  // namespace gpuprobe::backends
