// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_status.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/machine_text.h"

namespace gpuprobe {
namespace verb_status_test {

/// The given number of cards of one model. All are verified with CUDA except the last, which
/// computes wrong results.
Report machine_of(int cards) {
    Report report;
    for (int i = 0; i < cards; ++i) {
        Gpu gpu{.id = fmt::format("pci:0000:{:02x}:00.0", i),
                .vendor = "nvidia",
                .name = "NVIDIA H200"};
        auto& cuda = gpu.backends["cuda"] = BackendView{.usable = true};
        cuda.verification = Verification{.result = i + 1 < cards ? VerificationResult::Verified
                                                                 : VerificationResult::Miscomputed};
        cuda.score = i == 3 ? 700.0 : 600.0;
        report.gpus.push_back(std::move(gpu));
    }
    return report;
}

std::string status_of(int cards, bool shows_all = false) {
    return status_text(machine_of(cards), {}, nullptr, Screen{}, shows_all);
}

TEST(Status, OfManyLikeGpusHasOneRow) {
    const auto text = status_of(64);
    EXPECT_NE(text.find("pci:0000:00:00.0 …  64 x NVIDIA H200"), std::string::npos) << text;
    EXPECT_EQ(text.find("pci:0000:01:00.0"), std::string::npos) << text;
    EXPECT_LT(std::ranges::count(text, '\n'), 24) << text;
}

TEST(Status, HasALineForEqualAcceleratorsAndNamesThem) {
    auto report = machine_of(1);
    for (const auto* id : {"pci:0000:19:00.0", "pci:0000:1a:00.0", "pci:0000:43:00.0"})
        report.accelerators.push_back({.id = id, .kind = "training", .name = "GAUDI2"});
    report.accelerators.push_back(
        {.id = "pci:0000:00:0b.0", .kind = "npu", .vendor = "intel", .name = "8086:643e"});
    const auto text = status_text(report, {}, nullptr, Screen{});
    EXPECT_NE(text.find("pci:0000:19:00.0 …  3 x GAUDI2  training  –\n"
                        "  pci:0000:00:0b.0  Intel NPU  npu  –\n"),
              std::string::npos)
        << text;
    EXPECT_NE(status_text(report, {}, nullptr, Screen{}, true).find("pci:0000:1a:00.0  GAUDI2"),
              std::string::npos);
}

/// The sentence of a finding or reason is about one GPU, so the names of the other GPUs follow it.
TEST(Status, SaysForHowManyOtherGpusAReasonHolds) {
    auto report = machine_of(3);
    for (auto& gpu : report.gpus)
        gpu.backends["vulkan"] = {.usable = false, .reasons = {because("inconclusive")}};
    report.gpus.back().backends["vulkan"] = {.usable = true};
    const auto text = status_text(report, {}, nullptr, Screen{});
    EXPECT_NE(
        text.find("vulkan          pci:0000:00:00.0: the driver should list this GPU but does not "
                  "(same for 1 more GPU)\n"),
        std::string::npos)
        << text;
    Decision decision;
    const Finding finding{.id = "not-probed",
                          .severity = Severity::Error,
                          .gpu = report.gpus[0].id,
                          .gpus = {report.gpus[0].id, report.gpus[1].id, report.gpus[2].id},
                          .sentence = "the drivers for this GPU have not been probed yet"};
    const auto summary = summary_text({.gpus = {&report.gpus[0], &report.gpus[1]}}, report,
                                      {finding}, &decision, Screen{});
    EXPECT_NE(summary.find("pci:0000:00:00.0: the drivers for this GPU have not been probed yet "
                           "(same for 2 more devices)\n"),
              std::string::npos)
        << summary;
}

TEST(Status, ReportsProblemsOfTheMachine) {
    const std::vector<Finding> findings{
        {.id = "secure-boot",
         .severity = Severity::Warning,
         .sentence = "a module may be unsigned",
         .fix = "enrol the key"},
        {.id = "word-size", .severity = Severity::Info, .sentence = "32 bits"},
    };
    const auto text = status_text(machine_of(1), findings, nullptr, Screen{});
    EXPECT_NE(text.find("a module may be unsigned"), std::string::npos) << text;
    EXPECT_NE(text.find("enrol the key"), std::string::npos) << text;
    EXPECT_EQ(text.find("32 bits"), std::string::npos) << text;
}

TEST(Status, NamesWslOnce) {
    auto report = machine_of(1);
    report.host.virtualization = "wsl";
    report.host.wsl = true;
    const auto text = status_text(report, {}, nullptr, Screen{});
    EXPECT_NE(text.find("WSL"), std::string::npos) << text;
    EXPECT_EQ(text.find("guest"), std::string::npos) << text;
}

TEST(Status, OfAllHasARowForEach) {
    EXPECT_NE(status_of(8, true).find("  pci:0000:07:00.0  NVIDIA H200"), std::string::npos);
}

TEST(Status, ReportsTheFastestDeviceAndWrongResults) {
    const auto text = status_of(8);
    EXPECT_NE(text.find("  cuda  pci:0000:03:00.0: verified\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  cuda  pci:0000:07:00.0: not verified (miscomputed)\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  6 more computed correctly"), std::string::npos) << text;
}

}  // namespace verb_status_test
}  // namespace gpuprobe
