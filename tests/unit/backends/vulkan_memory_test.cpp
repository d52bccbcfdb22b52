// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/vulkan/api.h"
#include "backends/vulkan/vulkan.h"

namespace gpuprobe::backends {
namespace vulkan_memory_test {

constexpr std::uint32_t kRadv = VK_DRIVER_ID_MESA_RADV;
constexpr std::uint32_t kAnv = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA;
constexpr std::uint32_t kNvidia = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
constexpr std::uint32_t kNvk = 24;

MemoryHeap local(Bytes size, std::optional<Bytes> budget = {}, std::optional<Bytes> usage = {}) {
    return {.size = size, .is_device_local = true, .budget = budget, .usage = usage};
}
MemoryHeap host(Bytes size, std::optional<Bytes> budget = {}, std::optional<Bytes> usage = {}) {
    return {.size = size, .is_device_local = false, .budget = budget, .usage = usage};
}

struct Case {
    const char* name;
    std::vector<MemoryHeap> heaps;
    std::optional<DeviceType> type;
    std::optional<std::uint32_t> driver;
    std::optional<Bytes> total;
    std::optional<Bytes> free;
};
void PrintTo(const Case& row, std::ostream* out) {
    *out << row.name;
}
class DeviceMemoryOf : public testing::TestWithParam<Case> {};

TEST_P(DeviceMemoryOf, FollowsTheDriversHeaps) {
    const auto& row = GetParam();
    const auto memory = device_memory(row.heaps, heap_rule(row.type, row.driver));
    EXPECT_EQ(memory.total, row.total);
    EXPECT_EQ(memory.free, row.free);
}

constexpr auto kDiscrete = DeviceType::Discrete;
constexpr auto kIntegrated = DeviceType::Integrated;
constexpr std::uint64_t kHuge = kMaxPlausibleMemory.count;

INSTANTIATE_TEST_SUITE_P(
    Table,
    DeviceMemoryOf,
    testing::Values(Case{"NvidiaFullBar",
                         {local(mib(143771)), host(gib(96))},
                         kDiscrete,
                         kNvidia,
                         mib(143771),
                         {}},
                    Case{"NvidiaWindowIsNotAdded",
                         {local(gib(24)), host(gib(48)), local(mib(246))},
                         kDiscrete,
                         kNvidia,
                         gib(24),
                         {}},
                    Case{"RadvSmallBarIsDisjoint",
                         {local(mib(7936)), host(gib(16)), local(mib(256))},
                         kDiscrete,
                         kRadv,
                         gib(8),
                         {}},
                    Case{"RadvApuSplitsOneMemory",
                         {host(gib(5)), local(gib(10))},
                         kIntegrated,
                         kRadv,
                         gib(15),
                         {}},
                    Case{"AnvSmallBar",
                         {local(mib(5888)), local(mib(256)), host(gib(16))},
                         kDiscrete,
                         kAnv,
                         mib(6144),
                         {}},
                    Case{"AnvIntegrated",
                         {local(gib(15), gib(13), gib(1))},
                         kIntegrated,
                         kAnv,
                         gib(15),
                         gib(12)},
                    Case{
                        "NvkWithVram", {local(gib(8)), host(gib(12))}, kDiscrete, kNvk, gib(8), {}},
                    Case{"NvidiaIntegratedIsOneMemory",
                         {local(gib(32)), host(gib(32))},
                         kIntegrated,
                         kNvidia,
                         gib(64),
                         {}},
                    Case{"UnknownDriverSumsLocalHeaps",
                         {local(gib(2)), local(gib(1)), host(gib(4))},
                         std::nullopt,
                         std::nullopt,
                         gib(3),
                         {}},
                    Case{"BudgetLessUsageIsFree",
                         {local(gib(24), gib(20), gib(1)), host(gib(9))},
                         kDiscrete,
                         kRadv,
                         gib(24),
                         gib(19)},
                    Case{"FreeOfSeveralHeapsAddsUp",
                         {local(gib(7), gib(6), gib(1)), local(gib(1), gib(1), Bytes{})},
                         kDiscrete,
                         kRadv,
                         gib(8),
                         gib(6)},
                    Case{"LargestHeapGivesTheFreeMemory",
                         {local(mib(246), mib(200), Bytes{}), local(gib(24), gib(23), gib(1))},
                         kDiscrete,
                         kNvidia,
                         gib(24),
                         gib(22)},
                    Case{"UsageEqualToBudgetIsNothingFree",
                         {local(gib(8), gib(4), gib(4))},
                         kDiscrete,
                         kRadv,
                         gib(8),
                         Bytes{0}},
                    Case{"UsageOverBudgetDoesNotWrap",
                         {local(gib(8), gib(4), Bytes{gib(4).count + 1})},
                         kDiscrete,
                         kRadv,
                         gib(8),
                         Bytes{0}},
                    Case{"BudgetOverSizeIsCut",
                         {local(gib(8), gib(100), gib(1))},
                         kDiscrete,
                         kRadv,
                         gib(8),
                         gib(7)},
                    Case{"ZeroBudgetWasNotFilledIn",
                         {local(gib(8), Bytes{0}, Bytes{0})},
                         kDiscrete,
                         kRadv,
                         gib(8),
                         {}},
                    Case{"OneHeapWithoutBudgetHidesTheSum",
                         {local(gib(8), gib(8), Bytes{}), local(gib(1))},
                         kDiscrete,
                         kRadv,
                         gib(9),
                         {}}),
    [](const auto& row) { return std::string{row.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    Impossible,
    DeviceMemoryOf,
    testing::Values(
        Case{"NoHeapsIsUnknown", {}, kDiscrete, kRadv, {}, {}},
        Case{"NoLocalHeapIsUnknown", {host(gib(4))}, kDiscrete, kRadv, {}, {}},
        Case{"EmptyHeapIsUnknown", {local(Bytes{0})}, kDiscrete, kRadv, {}, {}},
        Case{"TwoToThe63IsUnknown",
             {local(Bytes{std::uint64_t{1} << 63})},
             kDiscrete,
             kNvidia,
             {},
             {}},
        Case{"SumThatWouldWrapIsUnknown",
             {local(Bytes{std::uint64_t{1} << 63}), local(Bytes{std::uint64_t{1} << 63})},
             kDiscrete,
             kRadv,
             {},
             {}},
        Case{"LargestPlausible", {local(Bytes{kHuge})}, kDiscrete, kRadv, Bytes{kHuge}, {}},
        Case{"OneByteMoreIsUnknown", {local(Bytes{kHuge + 1})}, kDiscrete, kRadv, {}, {}},
        Case{"HugeHostHeapDoesNotMatter",
             {local(gib(8)), host(Bytes{~std::uint64_t{0}})},
             kDiscrete,
             kRadv,
             gib(8),
             {}}),
    [](const auto& row) { return std::string{row.param.name}; });

}  // namespace vulkan_memory_test
}  // namespace gpuprobe::backends
