// SPDX-License-Identifier: Apache-2.0
#include "export/fleet_label.h"

#include <algorithm>

#include "support/case_name.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace fleet_label_test {

using namespace testing_fleet;

std::map<std::string, std::string> labels_of(const Report& report) {
    std::vector<ExportRemark> left_out;
    std::map<std::string, std::string> labels;
    const auto subject = subject_of(report);
    for (const auto& label : fact_labels(subject, exported_gpus(subject, left_out)))
        labels.emplace(label.name, label.value);
    return labels;
}

TEST(FleetLabel, CountsGpusByKindArchitectureAndVendor) {
    const auto labels = labels_of(mixed());
    EXPECT_EQ(labels.at("gpu.count"), "2");
    EXPECT_EQ(labels.at("gpu.discrete.count"), "1");
    EXPECT_EQ(labels.at("gpu.arch.gfx1036"), "1");
    EXPECT_EQ(labels.at("gpu.vendor.amd"), "1");
}

TEST(FleetLabel, NamesATargetOnlyWhereItsApiWorks) {
    const auto labels = labels_of(mixed());
    EXPECT_EQ(labels.at("api.cuda.sm_90"), "1");
    EXPECT_FALSE(labels.contains("api.rocm.gfx1036"));
    EXPECT_FALSE(labels.contains("api.rocm"));
}

TEST(FleetLabel, ReportsTheSmallestOfSeveral) {
    auto small = h200("0000:19:00.0", "1");
    small.memory.physical = gib(80);
    small.apis["vulkan"].version = "1.3.280";
    const auto labels = labels_of(report_of({h200(), small}));
    EXPECT_EQ(labels.at("gpu.discrete.memory.min-gib"), "80");
    EXPECT_EQ(labels.at("api.vulkan"), "1.3");
}

TEST(FleetLabel, ReportsNoNewerVulkanThanTheLoader) {
    auto report = mixed();
    report.runtimes["vulkan"] = {.outcome = Outcome::Answered, .version = "1.2.135"};
    EXPECT_EQ(labels_of(report).at("api.vulkan"), "1.2");
}

TEST(FleetLabel, PromisesNoMemoryWhenThatOfOneCardIsUnknown) {
    auto unknown = h200("0000:19:00.0", "1");
    unknown.memory = {};
    EXPECT_FALSE(labels_of(report_of({h200(), unknown})).contains("gpu.discrete.memory.min-gib"));
}

TEST(FleetLabel, IsThereForAMachineWithoutGpu) {
    const auto labels = labels_of(report_of({}));
    EXPECT_EQ(labels.at("gpu.count"), "0");
    EXPECT_EQ(labels.at("host.glibc.minor"), "36");
    for (const auto& [name, value] : labels)
        EXPECT_FALSE(name.starts_with("api.")) << name;
}

TEST(FleetLabel, LeavesDisplayAdaptersOut) {
    Gpu bmc{.id = "pci:0000:02:00.0", .kind = GpuKind::DisplayOnly, .vendor = "aspeed"};
    EXPECT_EQ(labels_of(report_of({bmc})).at("gpu.count"), "0");
}

TEST(FleetLabel, IsNeverAboutASingleCard) {
    for (const auto& [name, value] : labels_of(mixed()))
        for (const auto* secret : {"4cf8db2d", "0000:", "580.95", "H200", "1795"})
            EXPECT_EQ((name + value).find(secret), std::string::npos) << name << "=" << value;
}

TEST(FleetLabel, CountsTheGpusForEachMainCodec) {
    auto first = h200();
    auto second = h200("0000:19:00.0", "1");
    first.apis["nvcodec"].device["video"] =
        formats({"decode h264", "decode h264", "decode vp8", "encode av1", "process h264"});
    second.apis["nvcodec"].device["video"] = formats({"decode h264", "decode hevc"});
    std::vector<ExportRemark> left_out;
    const auto report = report_of({first, second});
    const auto subject = subject_of(report);
    const auto labels = machine_labels(subject, exported_gpus(subject, left_out), left_out);
    const std::vector<FleetLabel> videos{
        {"video.decode.h264", "2"}, {"video.decode.hevc", "1"}, {"video.encode.av1", "1"}};
    EXPECT_EQ(std::vector(labels.end() - 3, labels.end()), videos);
    EXPECT_NE(labels.at(labels.size() - 4).name.substr(0, 6), "video.");
}

TEST(WithinBudget, DropsVerdictsFirst) {
    std::vector<ExportRemark> left_out;
    const std::vector<FleetLabel> facts(20, {"gpu.count", "1"});
    const std::vector<FleetLabel> verdicts(6, {"variant.a.b", "true"});
    EXPECT_EQ(within_budget(facts, verdicts, 24, left_out).size(), 24U);
    EXPECT_EQ(codes(left_out), std::vector<std::string>{"over-budget"});
    left_out.clear();
    EXPECT_EQ(within_budget(facts, verdicts, 26, left_out).size(), 26U);
    EXPECT_TRUE(left_out.empty());
}

TEST(WithinBudget, RefusesFactsThatDoNotFit) {
    std::vector<ExportRemark> left_out;
    EXPECT_TRUE(within_budget(std::vector<FleetLabel>(25), {}, 24, left_out).empty());
    EXPECT_EQ(codes(left_out), std::vector<std::string>{"over-budget"});
}

}  // namespace fleet_label_test
}  // namespace gpuprobe
