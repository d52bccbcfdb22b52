// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/value.h"
#include "unit/report/machines.h"

/// Tests properties of every report on machines that consist of few, conflicting and contradictory
/// parts.
namespace gpuprobe::test {
namespace assemble_test {

class Dice {
public:
    explicit Dice(unsigned seed) : engine_{seed} {}
    std::size_t below(std::size_t limit) { return engine_() % limit; }
    bool often() { return below(3) != 0; }
    template <class T>
    std::optional<T> one_of(std::initializer_list<T> pool) {
        const auto pick = below(pool.size() + 1);
        return pick == pool.size() ? std::nullopt : std::optional{*(pool.begin() + pick)};
    }
    std::mt19937& engine() { return engine_; }

private:
    std::mt19937 engine_;
};

using Text = std::string;

std::optional<PciAddress> any_address(Dice& dice) {
    const auto text = dice.one_of<Text>({"0000:00:00.0", "0000:00:02.0", "0000:01:00.0",
                                         "0000:02:00.0", "0000:02:00.1", "10000:e1:00.0"});
    return text ? std::optional{address(text->c_str())} : std::nullopt;
}

std::optional<Text> any_uuid(Dice& dice) {
    return dice.one_of<Text>({kUuid, kOtherUuid, "GPU-" + Text{kUuid}, "GPU-XX", "N/A", "",
                              "00000000-0000-0000-0000-000000000000",
                              "00000000-0200-0000-0000-000000000000",
                              "868088a7-0400-0000-0002-000000000000", "GPU-1234567890abcdef"});
}

std::optional<Bytes> any_size(Dice& dice) {
    return dice.one_of<Bytes>({Bytes{}, Bytes{1}, mib(512), gib(8), gib(16), gib(4096),
                               Bytes{std::numeric_limits<std::uint64_t>::max()}});
}

std::optional<DrmNodes> any_nodes(Dice& dice) {
    return dice.one_of<DrmNodes>({{}, {"226:0", "226:128"}, {"226:1", "226:129"}, {"226:2", {}}});
}

HardwareDevice any_hardware(Dice& dice) {
    HardwareDevice device{.pci = any_address(dice)};
    device.bus = device.pci ? HardwareBus::Pci : HardwareBus::Platform;
    device.id =
        device.pci ? "pci:" + text_of(*device.pci) : "platform:" + std::to_string(dice.below(2));
    device.vendor_id = dice.one_of<Text>({"10de", "1002", "8086", "1a03", "1af4"});
    device.device_id = dice.one_of<Text>({"1050", "744c"});
    device.pci_class = dice.one_of<Text>({"0300", "0302", "0380", "1200", "0b40"});
    device.driver = dice.one_of<Text>({"nvidia", "amdgpu", "i915", "vfio-pci", "ast", "vgem"});
    device.uuid = any_uuid(dice);
    device.drm = any_nodes(dice).value_or(DrmNodes{});
    device.is_drm = device.drm != DrmNodes{};
    for (const auto* what : {"total", "used", "gtt-total", "gtt-used"})
        if (const auto size = any_size(dice))
            device.memory.push_back({.source = "amdgpu-sysfs", .what = what, .bytes = *size});
    return device;
}

DeviceFacts any_facts(Dice& dice) {
    DeviceFacts facts{.index = dice.one_of<std::uint32_t>({0, 1, 7}),
                      .name = dice.one_of<Text>({"GPU", "llvmpipe", "gfx90a:sramecc+", " "}),
                      .vendor_id = dice.one_of<Text>({"10de", "1002", "8086", "10005", "ffff"}),
                      .device_id = dice.one_of<Text>({"1050", "744c"}),
                      .pci = any_address(dice),
                      .uuid = any_uuid(dice),
                      .drm = any_nodes(dice),
                      .type = dice.one_of({DeviceType::Discrete, DeviceType::Integrated,
                                           DeviceType::Virtual, DeviceType::Cpu})};
    if (dice.often())
        facts.memory = FactMemory{.total = any_size(dice), .free = any_size(dice)};
    return facts;
}

ProbeResult any_probe(Dice& dice) {
    constexpr Outcome kOutcomes[] = {Outcome::Answered, Outcome::Absent,  Outcome::Failed,
                                     Outcome::TimedOut, Outcome::Crashed, Outcome::Skipped};
    const auto api = dice.one_of<Text>({"vulkan", "opencl", "cuda", "nvml", "hip", "pci"});
    const auto driver = dice.one_of<Text>({kRadeonIcd, kNvidiaIcd, kIntelIcd, kPoclIcd});
    auto result = probe(api.value_or("level_zero").c_str(), driver.value_or("").c_str(),
                        dice.often() ? Outcome::Answered : kOutcomes[dice.below(6)]);
    for (auto count = dice.below(4); count-- > 0;)
        result.devices.push_back(any_facts(dice));
    return result;
}

MachineFixture any_scene(unsigned seed) {
    Dice dice{seed};
    MachineFixture fixture{.name = std::to_string(seed), .machine = {.host = linux_host()}};
    std::set<std::string> ids;
    for (auto count = dice.below(4); count-- > 0;)
        if (auto device = any_hardware(dice); ids.insert(device.id).second)
            fixture.machine.devices.push_back(std::move(device));
    std::set<std::pair<std::string, std::string>> targets;
    for (auto count = dice.below(6); count-- > 0;)
        if (auto result = any_probe(dice); targets.insert({result.api, result.driver}).second)
            fixture.probes.push_back(std::move(result));
    return fixture;
}

void expect_memory_in_order(const Gpu& gpu) {
    const auto& memory = gpu.memory;
    const auto limit = Bytes{std::numeric_limits<std::uint64_t>::max()};
    EXPECT_LE(memory.free.value_or(Bytes{}), memory.allocatable.value_or(limit));
    if (memory.kind != MemoryKind::Carveout) {
        EXPECT_LE(memory.free.value_or(Bytes{}), memory.physical.value_or(limit));
        EXPECT_LE(memory.allocatable.value_or(Bytes{}), memory.physical.value_or(limit));
    }
    if (memory.kind == MemoryKind::Unified) {
        EXPECT_EQ(memory.physical, std::nullopt);
    }
    EXPECT_NE(memory.physical, Bytes{});
    EXPECT_NE(memory.allocatable, Bytes{});
}

void expect_reasons(const Gpu& gpu) {
    EXPECT_EQ(gpu.backends.size(), 6U);
    for (const auto& [name, view] : gpu.backends)
        EXPECT_TRUE(view.usable == true || !view.reasons.empty()) << name;
    for (const auto& [name, view] : gpu.apis)
        EXPECT_TRUE(!view.device.is_null() || !view.reasons.empty()) << name;
}

constexpr unsigned kScenes = 2000;

TEST(EveryReport, KeepsItsPromises) {
    for (unsigned seed = 0; seed < kScenes; ++seed) {
        SCOPED_TRACE(seed);
        const auto report = assembled(any_scene(seed));
        std::set<std::string> ids;
        for (const auto& gpu : report.gpus) {
            EXPECT_TRUE(ids.insert(gpu.id).second) << gpu.id;
            expect_memory_in_order(gpu);
            expect_reasons(gpu);
        }
        if (HasFailure())
            return;
    }
}

TEST(EveryReport, DoesNotDependOnOrder) {
    for (unsigned seed = 0; seed < kScenes; ++seed) {
        auto fixture = any_scene(seed);
        const auto wanted = assembled(fixture);
        Dice dice{seed};
        std::ranges::shuffle(fixture.machine.devices, dice.engine());
        std::ranges::shuffle(fixture.probes, dice.engine());
        for (auto& probe : fixture.probes)
            std::ranges::shuffle(probe.devices, dice.engine());
        ASSERT_EQ(assembled(fixture), wanted) << seed;
    }
}

TEST(EveryReport, SurvivesJson) {
    for (unsigned seed = 0; seed < kScenes / 10; ++seed) {
        const auto report = assembled(any_scene(seed));
        const auto back = parse_report(json_line(to_value(report)));
        ASSERT_TRUE(back) << seed << ": " << back.error().text;
        ASSERT_EQ(*back, report) << seed;
    }
}

TEST(Assemble, ListsAnNpuThatOnlyLevelZeroKnowsAsAnAccelerator) {
    DeviceFacts npu{.index = 1,
                    .name = "Intel(R) AI Boost",
                    .vendor_id = "8086",
                    .pci = PciAddress{.device = 11},
                    .type = DeviceType::Other};
    npu.extra["device_type"] = "npu";
    const ProbeResult probe{.api = "level_zero", .outcome = Outcome::Answered, .devices = {npu}};
    const auto report = assemble(Machine{}, {probe}, ReportContext{});
    EXPECT_TRUE(report.gpus.empty());
    ASSERT_EQ(report.accelerators.size(), 1u);
    EXPECT_EQ(report.accelerators[0].name, "Intel(R) AI Boost");
}

TEST(Accelerators, AreNoGpus) {
    auto npu = pci_device("0000:00:0b.0", "8086", "7d1d", "1200");
    npu.driver = "intel_vpu";
    npu.is_accel = true;
    const auto report = assemble(Machine{.devices = {npu}}, {}, {.now = kNow});
    EXPECT_TRUE(report.gpus.empty());
    ASSERT_EQ(report.accelerators.size(), 1U);
    EXPECT_EQ(report.accelerators.front().name, "8086:7d1d");
}

}  // namespace assemble_test
}  // namespace gpuprobe::test
