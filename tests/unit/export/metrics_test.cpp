// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "export/formats.h"
#include "report/compute_view.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace metrics_test {

using namespace testing_fleet;

TEST(Prometheus, EscapesCharactersThatLabelsCannotContain) {
    auto gpu = h200();
    gpu.name = "A \"card\" \\ of\nodd name";
    const auto report = report_of({gpu});
    const auto text = write_prometheus(subject_of(report)).text.value_or("");
    EXPECT_NE(text.find(R"(model="NVIDIA A \"card\" \\ of)"), std::string::npos) << text;
    for (const auto line : split(text, '\n'))
        EXPECT_TRUE(line.empty() || line.starts_with("#") || line.starts_with("gpuprobe_")) << line;
}

TEST(Prometheus, LeavesOutUnknownValues) {
    auto gpu = h200();
    gpu.memory = {};
    gpu.backends["vulkan"].usable.reset();
    const auto report = report_of({gpu});
    const auto text = write_prometheus(subject_of(report)).text.value_or("");
    EXPECT_EQ(text.find("gpuprobe_gpu_memory_bytes"), std::string::npos);
    EXPECT_EQ(text.find("api=\"vulkan\""), std::string::npos);
}

TEST(Prometheus, NamesTheVideoCodecsOfEachGpu) {
    auto gpu = h200();
    EXPECT_EQ(write_prometheus(subject_of(report_of({gpu}))).text->find("video"),
              std::string::npos);
    gpu.lacks_video = {VideoDirection::Encode};
    const auto line = [&gpu](const std::string& decode) {
        return has_line(write_prometheus(subject_of(report_of({gpu}))),
                        R"(gpuprobe_gpu_video_info{gpu="0000:18:00.0",decode=")" + decode +
                            R"(",encode="none"} 1)");
    };
    EXPECT_TRUE(line(""));
    gpu.apis["nvcodec"].device["video"] = formats({"decode av1", "decode vp8", "decode h264"});
    EXPECT_TRUE(line("h264,av1,vp8"));
}

TEST(Prometheus, DropsVerdictsOverTheBudget) {
    const auto report = mixed();
    auto answer = llama();
    for (int index = 0; index < 64; ++index)
        answer.candidates.push_back(judged("v" + std::to_string(index), Verdict::Rejected));
    const auto exported = write_prometheus(subject_of(report, {answer}));
    EXPECT_EQ(exported.text->find("gpuprobe_variant_supported"), std::string::npos);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"over-budget"});
}

TEST(Prometheus, ReportsAnInterruptedProbe) {
    auto report = mixed();
    report.probes = {{.api = "vulkan", .outcome = Outcome::TimedOut}};
    EXPECT_TRUE(has_line(write_prometheus(subject_of(report)), "gpuprobe_last_probe_success 0"));
}

TEST(Prometheus, CountsTheGpusOfEachFinding) {
    const auto report = report_of({h200()});
    auto subject = subject_of(report);
    const auto finding = [](const char* id, std::vector<std::string> gpus) {
        return Value{
            Value::Object{{"id", id}, {"severity", "error"}, {"gpus", to_value(std::move(gpus))}}};
    };
    subject.findings = Value{
        Value::Array{finding("no-driver", {"pci:0000:01:00.0", "pci:0000:02:00.0"}),
                     finding("no-driver", {"pci:0000:03:00.0"}), finding("weak-confinement", {})}};
    const auto exported = write_prometheus(subject);
    EXPECT_TRUE(has_line(exported, R"(gpuprobe_finding{finding="no-driver",severity="error"} 3)"));
    EXPECT_TRUE(
        has_line(exported, R"(gpuprobe_finding{finding="weak-confinement",severity="error"} 1)"));
    EXPECT_EQ(write_prometheus(subject_of(report)).text->find("gpuprobe_finding"),
              std::string::npos);
}

TEST(Prometheus, ReportsKnownFactsOfAccelerators) {
    auto report = report_of({h200()});
    report.accelerators = {
        {.id = "pci:0000:19:00.0",
         .kind = "training",
         .vendor = "habana",
         .name = "GAUDI2",
         .pci = PciInfo{.address = PciAddress{.bus = 0x19}},
         .memory = gib(96),
         .power = {.draw = 93'500'000, .limit = 600'000'000, .temperature = -50}},
        {.id = "platform:fdab0000.npu", .power = {.draw = 7}}};
    const auto exported = write_prometheus(subject_of(report));
    for (
        const auto* line :
        {R"(gpuprobe_accelerator_info{accelerator="0000:19:00.0",vendor="habana",model="GAUDI2",kind="training",driver="",driver_version="",firmware=""} 1)",
         R"(gpuprobe_accelerator_memory_bytes{accelerator="0000:19:00.0"} 103079215104)",
         R"(gpuprobe_accelerator_power_limit_watts{accelerator="0000:19:00.0"} 600)",
         R"(gpuprobe_accelerator_power_watts{accelerator="0000:19:00.0"} 93.5)",
         R"(gpuprobe_accelerator_power_watts{accelerator="platform:fdab0000.npu"} 0.000007)",
         R"(gpuprobe_accelerator_temperature_celsius{accelerator="0000:19:00.0"} -0.05)"})
        EXPECT_TRUE(has_line(exported, line)) << line;
    EXPECT_EQ(exported.text->find("power_limit_watts{accelerator=\"platform"), std::string::npos);
    auto later = report;
    later.accelerators.front().power.draw = 94'000'000;
    EXPECT_TRUE(is_same_export(*exported.text, *write_prometheus(subject_of(later)).text));
}

TEST(Partitions, HaveTheNamesOfKubernetesPlugins) {
    const auto report = divided();
    const ComputeView view{report};
    const auto labels = *write_nfd(subject_of(view.report())).text;
    EXPECT_NE(labels.find("/gpu.partition.mig-3g.71gb=1\n"), std::string::npos) << labels;
    EXPECT_NE(labels.find("/gpu.partition.mig-1g.18gb.me=1\n"), std::string::npos) << labels;
    const auto metrics = *write_prometheus(subject_of(view.report())).text;
    EXPECT_NE(metrics.find("/mig-1\",whole=\""), std::string::npos) << metrics;
    EXPECT_EQ(write_prometheus(subject_of(report_of({h200()}))).text->find("partition_info"),
              std::string::npos);
}

}  // namespace metrics_test
}  // namespace gpuprobe
