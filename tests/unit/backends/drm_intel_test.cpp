// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gtest/gtest.h>

#include "backends/drm/facts.h"
#include "fake_drm.h"

namespace gpuprobe::backends {
namespace drm_intel_test {

using Reply = std::vector<std::byte>;

/// A header of that size, which begins with the number of entries, followed by the entries.
template <class Entry>
Reply reply_of(std::size_t head, const std::vector<Entry>& entries) {
    Reply reply(head + entries.size() * sizeof(Entry));
    const auto count = static_cast<std::uint32_t>(entries.size());
    std::memcpy(reply.data(), &count, sizeof count);
    if (!entries.empty())
        std::memcpy(reply.data() + head, entries.data(), entries.size() * sizeof(Entry));
    return reply;
}

Reply i915_reply(const std::vector<drm_i915_memory_region_info>& regions) {
    return reply_of(sizeof(drm_i915_query_memory_regions), regions);
}

template <class Entry>
Reply xe_reply(const std::vector<Entry>& entries) {
    return reply_of(sizeof(drm::xe::Head), entries);
}

drm::xe::Region xe_region(std::uint16_t where, std::uint64_t size, std::uint64_t used) {
    return {.memory_class = where, .total_size = size, .used = used};
}

/// The decoder refuses every proper prefix, and never reads past the end.
template <class Decoder>
void expect_no_prefix_decodes(const Reply& whole, Decoder decode) {
    EXPECT_TRUE(decode(whole));
    for (std::size_t cut = 0; cut < whole.size(); ++cut)
        EXPECT_FALSE(decode(Reply(whole.begin(), whole.begin() + static_cast<long>(cut)))) << cut;
}

TEST(I915Regions, TellDeviceMemoryFromSystemMemory) {
    const auto regions = i915_regions(i915_reply({i915_region(0, 32, 32), i915_region(1, 16, 10)}));
    ASSERT_TRUE(regions);
    EXPECT_EQ(*regions,
              (std::vector<MemoryRegion>{{.is_on_device = false, .size = 32, .free = std::nullopt},
                                         {.is_on_device = true, .size = 16, .free = 10}}));
    const auto memory = device_memory(*regions);
    ASSERT_TRUE(memory);
    EXPECT_EQ(*memory, (FactMemory{.total = Bytes{16}, .free = Bytes{10}}));
}

TEST(I915Regions, DoNotBelieveThatAllIsFree) {
    const auto regions = i915_regions(i915_reply({i915_region(1, 16, 16)}));
    ASSERT_TRUE(regions);
    EXPECT_EQ(*device_memory(*regions), (FactMemory{.total = Bytes{16}, .free = std::nullopt}));
}

TEST(I915Regions, DoNotBelieveThatMoreIsFreeThanThereIs) {
    const auto regions = i915_regions(i915_reply({i915_region(1, 16, 17)}));
    ASSERT_TRUE(regions);
    EXPECT_EQ(regions->front().free, std::nullopt);
}

TEST(XeRegions, CountTheFreeMemory) {
    const auto regions = xe_regions(xe_reply<drm::xe::Region>({xe_region(1, 16, 6)}));
    ASSERT_TRUE(regions);
    EXPECT_EQ(*device_memory(*regions), (FactMemory{.total = Bytes{16}, .free = Bytes{10}}));
}

TEST(XeRegions, KnowNothingWhereNothingIsUsedOrTooMuch) {
    for (const std::uint64_t used : {0U, 17U}) {
        const auto regions = xe_regions(xe_reply<drm::xe::Region>({xe_region(1, 16, used)}));
        ASSERT_TRUE(regions);
        EXPECT_EQ(regions->front().free, std::nullopt);
    }
}

TEST(DeviceMemory, SumsTilesAndHasNoFreeMemoryIfOneIsUnknown) {
    const std::vector<MemoryRegion> known = {{.is_on_device = true, .size = 16, .free = 10},
                                             {.is_on_device = true, .size = 16, .free = 2}};
    EXPECT_EQ(*device_memory(known), (FactMemory{.total = Bytes{32}, .free = Bytes{12}}));
    auto half_known = known;
    half_known[0].free.reset();
    EXPECT_EQ(*device_memory(half_known), (FactMemory{.total = Bytes{32}, .free = std::nullopt}));
    EXPECT_FALSE(device_memory({}));
    EXPECT_FALSE(device_memory(std::vector<MemoryRegion>{{.is_on_device = false, .size = 16}}));
}

TEST(Replies, AreRefusedWhenCutAnywhere) {
    expect_no_prefix_decodes(i915_reply({i915_region(0, 1, 1), i915_region(1, 2, 2)}),
                             [](const Reply& reply) { return i915_regions(reply); });
    expect_no_prefix_decodes(xe_reply<drm::xe::Region>({xe_region(0, 1, 1), xe_region(1, 2, 2)}),
                             [](const Reply& reply) { return xe_regions(reply); });
    expect_no_prefix_decodes(xe_reply<std::uint64_t>({0x56a0, 1, 4096}),
                             [](const Reply& reply) { return xe_has_vram(reply); });
    expect_no_prefix_decodes(xe_reply<drm::xe::Gt>({{.ip_major = 20, .ip_minor = 4}}),
                             [](const Reply& reply) { return xe_ip_version(reply); });
}

TEST(Replies, AreRefusedWhenTheyClaimTooMuch) {
    auto reply = xe_reply<drm::xe::Region>(std::vector<drm::xe::Region>(65));
    EXPECT_FALSE(xe_regions(reply));
    const std::uint32_t huge = 0xffffffff;
    std::memcpy(reply.data(), &huge, sizeof huge);
    EXPECT_FALSE(xe_regions(reply));
    EXPECT_FALSE(i915_regions(reply));
}

TEST(XeConfig, ReportsWhetherThereIsVram) {
    EXPECT_EQ(xe_has_vram(xe_reply<std::uint64_t>({0x56a0, 1})), true);
    EXPECT_EQ(xe_has_vram(xe_reply<std::uint64_t>({0x64a0, 2})), false);
    EXPECT_EQ(xe_has_vram(xe_reply<std::uint64_t>({0x64a0})), std::nullopt);
}

TEST(XeGts, NameTheFirstGraphicsIp) {
    const drm::xe::Gt media{.type = 1, .ip_major = 13};
    const drm::xe::Gt graphics{.ip_major = 20, .ip_minor = 4, .ip_revision = 4};
    EXPECT_EQ(xe_ip_version(xe_reply<drm::xe::Gt>({media, graphics})), "20.4.4");
    EXPECT_EQ(xe_ip_version(xe_reply<drm::xe::Gt>({media, {}})), std::nullopt);
}

}  // namespace drm_intel_test
}  // namespace gpuprobe::backends
