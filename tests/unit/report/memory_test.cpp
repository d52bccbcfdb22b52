// SPDX-License-Identifier: Apache-2.0
#include "report/memory.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace memory_test {

using Memory = std::tuple<std::optional<Bytes>, std::optional<Bytes>, std::optional<Bytes>>;

ProbeResult api(const char* word, std::optional<Bytes> total, std::optional<Bytes> free = {}) {
    DeviceFacts facts{.memory = FactMemory{.total = total, .free = free}};
    return probe(word, "", Outcome::Answered, {facts});
}

struct Case {
    const char* name;
    std::vector<MemoryReading> kernel;
    std::vector<ProbeResult> probes;
    GpuKind kind;
    Memory want;  ///< physical, allocatable and free memory
    bool mismatch = false;
};

MemoryFindings found(const Case& row, const char* vendor = "10de") {
    auto device = pci_device("0000:01:00.0", vendor, "1234", "0300");
    device.memory = row.kernel;
    Subject subject{.id = device.id, .hardware = &device};
    for (const auto& probe : row.probes)
        subject.claims.push_back(
            Claim{.device = ApiDevice{.probe = &probe, .facts = &probe.devices.front()}});
    return memory_of(subject, row.kind, linux_host(), kNow);
}

class MemoryOf : public testing::TestWithParam<Case> {};

TEST_P(MemoryOf, PrefersTheBestSource) {
    const auto [memory, findings] = found(GetParam());
    EXPECT_EQ((Memory{memory.physical, memory.allocatable, memory.free}), GetParam().want);
    EXPECT_EQ(has_reason(findings, "memory-mismatch"), GetParam().mismatch);
}

MemoryReading kernel(const char* what, Bytes bytes) {
    return {.source = "amdgpu-sysfs", .what = what, .bytes = bytes};
}

constexpr auto kCard = GpuKind::Discrete;

INSTANTIATE_TEST_SUITE_P(
    Table,
    MemoryOf,
    testing::Values(Case{"NothingKnownIsNull", {}, {}, kCard, {}},
                    Case{"KernelBeforeNvml",
                         {kernel("total", gib(8))},
                         {api("nvml", mib(8100))},
                         kCard,
                         {gib(8), {}, {}}},
                    Case{"CudaIsWhatAProcessGets",
                         {},
                         {api("nvml", mib(143771), mib(143155)), api("cuda", mib(143155))},
                         kCard,
                         {mib(143771), mib(143155), mib(143155)}},
                    Case{"OpenClFreeIsNotBelieved",
                         {},
                         {api("opencl", gib(8), gib(8))},
                         kCard,
                         {gib(8), gib(8), {}}},
                    Case{"KernelFreeIsTotalLessUsed",
                         {kernel("total", gib(8)), kernel("used", gib(3))},
                         {api("vulkan", gib(8), gib(7))},
                         kCard,
                         {gib(8), gib(8), gib(5)}},
                    Case{"NothingUsedIsAllFree",
                         {kernel("total", gib(8)), kernel("used", Bytes{})},
                         {},
                         kCard,
                         {gib(8), {}, gib(8)}},
                    Case{"AFullGpuHasNothingFree",
                         {kernel("total", gib(8)), kernel("used", gib(8))},
                         {},
                         kCard,
                         {gib(8), {}, Bytes{}}},
                    Case{"AllocatableNeverExceedsPhysical",
                         {kernel("total", gib(8))},
                         {api("vulkan", mib(8200))},
                         kCard,
                         {gib(8), gib(8), {}}},
                    Case{"FreeNeverExceedsAllocatable",
                         {},
                         {api("nvml", mib(8192), mib(8000)), api("cuda", mib(7900))},
                         kCard,
                         {mib(8192), mib(7900), mib(7900)}},
                    Case{"AFigureFarOffIsReported",
                         {kernel("total", gib(24))},
                         {api("vulkan", gib(12))},
                         kCard,
                         {gib(24), gib(12), {}},
                         true},
                    Case{"TotalOfZeroIsUnknown", {}, {api("vulkan", Bytes{})}, kCard, {}},
                    // The host has 32 GiB.
                    Case{"SixtyFourTimesTheHostIsTheLimit",
                         {},
                         {api("vulkan", gib(2048))},
                         kCard,
                         {gib(2048), gib(2048), {}}},
                    Case{"OverSixtyFourTimesTheHostIsAnError",
                         {},
                         {api("vulkan", Bytes{gib(2048).count + 1})},
                         kCard,
                         {}},
                    Case{"TwiceWhatTheKernelSaysIsTheLimit",
                         {kernel("total", gib(8))},
                         {api("cuda", gib(16)), api("vulkan", gib(8))},
                         kCard,
                         {gib(8), gib(8), {}},
                         true},
                    Case{"OverTwiceWhatTheKernelSaysAnotherIsAsked",
                         {kernel("total", gib(8))},
                         {api("cuda", Bytes{gib(16).count + 1}), api("vulkan", mib(8000))},
                         kCard,
                         {gib(8), mib(8000), {}}},
                    Case{"FreeOverTotalIsAnError",
                         {},
                         {api("vulkan", gib(8), gib(9))},
                         kCard,
                         {gib(8), gib(8), {}}},
                    Case{"AnUnderflowIsAnError",
                         {},
                         {api("vulkan", gib(8), Bytes{~std::uint64_t{0}})},
                         kCard,
                         {gib(8), gib(8), {}}},
                    Case{"ABarIsNoMemory",
                         {{.source = "pci-bar", .what = "total", .bytes = mib(256)}},
                         {},
                         kCard,
                         {}},
                    Case{
                        "ADisplayHasNone", {kernel("total", gib(8))}, {}, GpuKind::DisplayOnly, {}},
                    // The host has 20 GiB available.
                    Case{"UnifiedHasNoPhysicalSize",
                         {},
                         {api("vulkan", gib(30))},
                         GpuKind::Integrated,
                         {{}, gib(30), gib(20)}},
                    Case{"UnifiedFreeIsWithinAllocatable",
                         {},
                         {api("vulkan", gib(16))},
                         GpuKind::Integrated,
                         {{}, gib(16), gib(16)}}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(MemoryOf, AddsCarveOutAndGttOfAnApu) {
    const Case apu{"",
                   {kernel("total", gib(1)), kernel("used", mib(24)), kernel("gtt-total", gib(30)),
                    kernel("gtt-used", gib(2))},
                   {},
                   GpuKind::Integrated,
                   {}};
    const auto memory = found(apu, "1002").memory;
    EXPECT_EQ(memory.kind, MemoryKind::Carveout);
    EXPECT_EQ(memory.physical, gib(1)) << "less than what may be allocated";
    EXPECT_EQ(memory.allocatable, gib(31));
    EXPECT_EQ(memory.free, mib(1000 + 20 * 1024)) << "no more than the host has available";
}

TEST(MemoryOf, SetsNothingAsideOnAnMi300a) {
    auto apu = pci_device("0000:01:00.0", "1002", "74a0", "1200");
    apu.driver = "amdgpu";
    apu.memory = {{.source = "amdgpu-sysfs", .what = "total", .bytes = gib(128)},
                  {.source = "amdgpu-sysfs", .what = "gtt-total", .bytes = gib(64)}};
    auto card = apu;
    card.device_id = "74a1";
    const auto memory_in = [](const HardwareDevice& device) {
        Host host = linux_host();
        return assemble(Machine{.host = host, .devices = {device}}, {}, {.now = kNow})
            .gpus.front()
            .memory;
    };
    EXPECT_EQ(memory_in(apu).kind, MemoryKind::Unified);
    EXPECT_EQ(memory_in(apu).physical, std::nullopt);
    EXPECT_EQ(memory_in(card).kind, MemoryKind::Dedicated);
    EXPECT_EQ(memory_in(card).physical, gib(128));
}

TEST(MemoryOf, TakesNoBankOfKfdForACarveOut) {
    const Case apu{
        "", {{.source = "kfd", .what = "total", .bytes = gib(15)}}, {}, GpuKind::Integrated, {}};
    EXPECT_EQ(found(apu, "1002").memory.physical, std::nullopt);
}

TEST(MemoryOf, LeavesATenthToTheHostAsIntelsDriverDoes) {
    const Case gpu{"", {}, {api("vulkan", gib(31))}, GpuKind::Integrated, {}};
    EXPECT_EQ(found(gpu, "8086").memory.free, Bytes{gib(20).count / 10 * 9});
}

TEST(MemoryOf, TakesNvmlsReserveOffItsTotal) {
    auto nvml = api("nvml", mib(143771));
    nvml.devices.front().extra["memory_reserved"] = mib(615).count;
    EXPECT_EQ(found(Case{"", {}, {nvml}, kCard, {}}).memory.allocatable, mib(143156));
}

TEST(MemoryOf, NeverBelievesMoreThanFourTebibytes) {
    const auto physical = [](Bytes claimed) {
        const auto answer = api("vulkan", claimed);
        const Subject subject{
            .claims = {
                Claim{.device = ApiDevice{.probe = &answer, .facts = &answer.devices.front()}}}};
        Host host = linux_host();
        host.memory.total = gib(2048);
        return memory_of(subject, kCard, host, kNow).memory.physical;
    };
    EXPECT_EQ(physical(gib(4096)), gib(4096));
    EXPECT_EQ(physical(Bytes{gib(4096).count + 1}), std::nullopt);
}

TEST(MemoryOf, FlagsWhatNoGpuCanHaveAndKeepsItAsEvidence) {
    constexpr Bytes kExbibyte{std::uint64_t{1} << 60};
    const Case liar{
        "", {kernel("total", gib(8))}, {api("vulkan", kExbibyte, kExbibyte)}, kCard, {}};
    const auto [memory, findings] = found(liar);
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].code, "implausible");
    EXPECT_EQ(json_line(findings[0].detail),
              R"({"source":"vulkan","what":"total","bytes":1152921504606846976,)"
              R"("limit":17179869184})");
    EXPECT_EQ(memory.allocatable, std::nullopt);
    EXPECT_EQ(memory.evidence.size(), 3U);
}

TEST(MemoryOf, KeepsEveryReadingAsEvidence) {
    const Case gpu{"", {kernel("total", gib(8))}, {api("vulkan", gib(8), gib(9))}, kCard, {}};
    const auto evidence = found(gpu).memory.evidence;
    ASSERT_EQ(evidence.size(), 3U);
    EXPECT_EQ(evidence[2].source, "vulkan");
    EXPECT_EQ(evidence[2].bytes, gib(9));
}

TEST(MemoryOf, SaysWhenItWasFree) {
    const Case gpu{"", {}, {api("nvml", gib(8), gib(4))}, kCard, {}};
    EXPECT_EQ(found(gpu).memory.free_at, kProbed);
}

}  // namespace memory_test
}  // namespace gpuprobe::test
