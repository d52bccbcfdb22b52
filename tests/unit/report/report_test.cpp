// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/value.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace report_test {

TEST(Ranking, PutsWhatComputesFirst) {
    const auto order = [](std::vector<HardwareDevice> devices, std::vector<ProbeResult> probes) {
        std::vector<std::string> ids;
        for (const auto& gpu :
             assemble(Machine{.devices = std::move(devices)}, probes, {.now = kNow}).gpus)
            ids.push_back(gpu.id);
        return ids;
    };
    auto small = amd_card("0000:02:00.0", 0, 128);
    small.memory.front().bytes = gib(8);
    small.memory.back().bytes = Bytes{};
    const auto large = amd_card("0000:03:00.0", 1, 129);
    EXPECT_EQ(order({small, large}, {}),
              (std::vector<std::string>{"pci:0000:03:00.0", "pci:0000:02:00.0"}));
    const auto listed =
        vulkan_facts(0, "GPU", "1002", "744c", "0000:02:00.0", DeviceType::Discrete, gib(8));
    EXPECT_EQ(order({small, large}, {probe("vulkan", kRadeonIcd, Outcome::Answered, {listed})}),
              (std::vector<std::string>{"pci:0000:02:00.0", "pci:0000:03:00.0"}));
}

Gpu computing(const char* id, GpuKind kind = GpuKind::Discrete) {
    Gpu gpu{.id = id, .kind = kind};
    gpu.backends["vulkan"].usable = true;
    gpu.memory.allocatable = gib(8);
    return gpu;
}

TEST(OfferedMemory, OfACarveOutIsWhatCanBeAllocated) {
    GpuMemory memory{.kind = MemoryKind::Dedicated, .physical = gib(24), .allocatable = gib(20)};
    EXPECT_EQ(offered_memory(memory), gib(24));
    memory.kind = MemoryKind::Carveout;
    EXPECT_EQ(offered_memory(memory), gib(20));
    memory = {.kind = MemoryKind::Unified, .allocatable = gib(12)};
    EXPECT_EQ(offered_memory(memory), gib(12));
    EXPECT_EQ(offered_memory({}), std::nullopt);
}

TEST(Host, HasNoPythonIfItIsUnknown) {
    Host host;
    EXPECT_TRUE(to_value(host).at("python").is_null());
    EXPECT_EQ(record_from<Host>(to_value(host)).value(), host);
    host.python = "3.11";
    EXPECT_EQ(to_value(host).at("python"), Value{"3.11"});
    EXPECT_EQ(record_from<Host>(to_value(host)).value(), host);
}

/// Each row changes a GPU, which then is better or worse than the computing GPU "b".
struct OrderRow {
    const char* name;
    void (*change)(Gpu& gpu);
    bool is_first;
};
class Order : public testing::TestWithParam<OrderRow> {};

TEST_P(Order, BreaksEachTieByTheNextProperty) {
    auto gpu = computing("b");
    gpu.architecture.cuda_compute_capability = "8.6";
    auto other = gpu;
    other.id = "c";
    GetParam().change(other);
    EXPECT_EQ(comes_before(other, gpu), GetParam().is_first);
    EXPECT_EQ(comes_before(gpu, other), !GetParam().is_first);
    EXPECT_FALSE(comes_before(gpu, gpu));
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Order,
    testing::Values(
        OrderRow{"NoBackend", [](Gpu& gpu) { gpu.backends["vulkan"].usable = false; }, false},
        OrderRow{"UnknownBackend", [](Gpu& gpu) { gpu.backends["vulkan"].usable = {}; }, false},
        OrderRow{"Integrated", [](Gpu& gpu) { gpu.kind = GpuKind::Integrated; }, false},
        OrderRow{"MoreMemory", [](Gpu& gpu) { gpu.memory.allocatable = gib(16); }, true},
        OrderRow{"LessMemory", [](Gpu& gpu) { gpu.memory.allocatable = gib(4); }, false},
        OrderRow{"UnknownMemory", [](Gpu& gpu) { gpu.memory.allocatable = {}; }, false},
        OrderRow{"NewerGeneration",
                 [](Gpu& gpu) { gpu.architecture.cuda_compute_capability = "10.0"; }, true},
        // Less memory does not outweigh a newer generation if both amounts round to the same GiB.
        OrderRow{"NewerGenerationWithReservedMemory",
                 [](Gpu& gpu) {
                     gpu.architecture.cuda_compute_capability = "8.9";
                     gpu.memory.allocatable = mib(8000);
                 },
                 true},
        OrderRow{"MoreMemoryOfAnOlderGeneration",
                 [](Gpu& gpu) {
                     gpu.architecture.cuda_compute_capability = "7.5";
                     gpu.memory.allocatable = gib(16);
                 },
                 true},
        OrderRow{"EarlierId", [](Gpu& gpu) { gpu.id = "a"; }, true},
        OrderRow{"LaterId", [](Gpu&) {}, false}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Order, CountsAKnownBackendBeforeTheKindAndTheMemory) {
    auto large = computing("large");
    large.backends["vulkan"].usable = std::nullopt;
    large.memory.allocatable = gib(96);
    EXPECT_TRUE(comes_before(computing("small", GpuKind::Integrated), large));
    large.backends["cuda"].usable = true;
    EXPECT_FALSE(comes_before(computing("small", GpuKind::Integrated), large));
}

struct PrimaryRow {
    const char* name;
    std::vector<int> boot;       ///< GPUs that show the firmware's display
    std::vector<int> connected;  ///< GPUs with a connected screen
    std::vector<int> computing;  ///< GPUs that are not only displays
    std::optional<int> primary;
};
class Primary : public testing::TestWithParam<PrimaryRow> {};

TEST_P(Primary, IsTheOnlyGpuThatPassesTheFirstTest) {
    constexpr int kGpus = 3;
    const auto& row = GetParam();
    const auto has = [](const std::vector<int>& list, int i) {
        return std::ranges::find(list, i) != list.end();
    };
    std::vector<Gpu> gpus;
    std::vector<HardwareDevice> devices(kGpus);
    std::vector<const HardwareDevice*> hardware;
    for (int i = 0; i < kGpus; ++i) {
        auto& device = devices[static_cast<std::size_t>(i)];
        device.boot_vga = has(row.boot, i);
        if (has(row.connected, i))
            device.extra["connected"] = true;
        gpus.push_back({.kind = has(row.computing, i) ? GpuKind::Discrete : GpuKind::DisplayOnly});
        hardware.push_back(&device);
    }
    mark_primary(gpus, hardware);
    for (int i = 0; i < kGpus; ++i)
        EXPECT_EQ(gpus[static_cast<std::size_t>(i)].primary, row.primary == i) << i;
}

INSTANTIATE_TEST_SUITE_P(Table,
                         Primary,
                         testing::Values(PrimaryRow{"BootDisplay", {1}, {0}, {0, 2}, 1},
                                         PrimaryRow{"Screen", {}, {2}, {0, 2}, 2},
                                         PrimaryRow{"OnlyComputingGpu", {}, {}, {0}, 0},
                                         PrimaryRow{"TwoBootDisplays", {0, 1}, {0}, {0}, {}},
                                         PrimaryRow{"TwoScreens", {}, {0, 1}, {0}, {}},
                                         PrimaryRow{"TwoComputingGpus", {}, {}, {0, 1}, {}},
                                         PrimaryRow{"OnlyDisplays", {}, {}, {}, {}}),
                         [](const auto& row) { return std::string{row.param.name}; });

TEST(Primary, OfHiddenHardwareIsTheOnlyGpu) {
    std::vector<Gpu> gpus{computing("a")};
    mark_primary(gpus, {nullptr});
    EXPECT_TRUE(gpus[0].primary);
}

TEST(ParseReport, ChecksTheSchemaBeforeTheMembers) {
    const auto error = [](std::string_view json) { return parse_report(json).error().text; };
    EXPECT_EQ(error(R"({"schema":0,"gpus":1})"),
              "report: schema: not " + std::to_string(kReportSchema));
    EXPECT_EQ(error("{}"), "report: schema: not " + std::to_string(kReportSchema));
    const auto own = R"({"schema":)" + std::to_string(kReportSchema) + R"(,"gpus":1})";
    EXPECT_EQ(error(own), "report: generation: missing");
    EXPECT_TRUE(error("{").starts_with("report: ")) << error("{");
}

TEST(ParseReport, ReadsWhatIsWritten) {
    for (const auto& fixture : fixtures()) {
        const auto report = assembled(fixture);
        const auto read = parse_report(json_line(to_value(report)));
        ASSERT_TRUE(read) << fixture.name << ": " << read.error().text;
        EXPECT_EQ(*read, report) << fixture.name;
    }
}

}  // namespace report_test
}  // namespace gpuprobe::test
