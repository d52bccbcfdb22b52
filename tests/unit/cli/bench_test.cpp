// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/bench_plot.h"
#include "cli/bench_text.h"
#include "cli/measured_words.h"
#include "explain/sizes.h"

namespace gpuprobe {
namespace {

constexpr const char* kId = "pci:0000:00:06.0";

Measurement fast() {
    return {.memory_read = 4'190'000'000'000,
            .memory_copy = 3'900'000'000'000,
            .host_to_device = 55'000'000'000,
            .device_to_host = 54'000'000'000,
            .fp32 = 62'300'000'000'000,
            .fp16 = 125'000'000'000'000,
            .launch = 4.25,
            .spread = {{"fp32", 0.012}, {"memory_read", 0.004}}};
}

/// A card that was verified and measured with CUDA, pocl that computes wrong, and a processor.
Report machine() {
    Report report;
    Gpu gpu{.id = kId, .name = "NVIDIA H200"};
    gpu.architecture.cuda_compute_capability = "9.0";
    gpu.apis["cuda"].device = Value{Value::Object{{"clock_hz", 1'980'000'000},
                                                  {"multiprocessors", 132},
                                                  {"memory_clock_hz", 3'201'000'000},
                                                  {"memory_bus_bits", 6144}}};
    BackendView cuda{.usable = true, .verified = true, .score = 527.4};
    cuda.verification = Verification{.result = VerificationResult::Verified, .words = 4096};
    cuda.measurement = fast();
    gpu.backends["cuda"] = cuda;
    gpu.backends["webgpu"] = cuda;
    gpu.backends["vulkan"] = BackendView{.usable = true};
    report.gpus = {gpu};
    SoftwareDevice pocl{.api = "opencl", .name = "pocl <\"a\" & b>"};
    pocl.verification = Verification{.result = VerificationResult::Miscomputed};
    pocl.measurement = Measurement{.outcome = Outcome::Skipped, .reasons = {because("on-battery")}};
    report.software = {pocl};
    report.host.cpu.model = "A CPU";
    report.host.cpu.measurement = Measurement{.memory_read = 20'000'000'000, .fp32 = 950};
    return report;
}

TEST(RateText, HasThreeDigitsAndPowersOfThousand) {
    EXPECT_EQ(rate_text(4'190'000'000'000), "4.19 T");
    EXPECT_EQ(rate_text(62.3e12), "62.3 T");
    EXPECT_EQ(rate_text(125e12), "125 T");
    EXPECT_EQ(rate_text(999.4e9), "999 G");
    EXPECT_EQ(rate_text(999.6e9), "1.00 T");
    EXPECT_EQ(rate_text(9.996), "10.0");
    EXPECT_EQ(rate_text(527.4), "527");
    EXPECT_EQ(rate_text(0.5), "0.50");
    EXPECT_EQ(rate_text(950, "B/s"), "950 B/s");
    EXPECT_EQ(rate_text(4.19e12, "B/s"), "4.19 TB/s");
}

TEST(ShareText, NeedsBoth) {
    EXPECT_EQ(share_text(85, 100), "85 %");
    EXPECT_EQ(share_text(85, std::nullopt), "");
    EXPECT_EQ(share_text(std::nullopt, 100), "");
    EXPECT_EQ(share_text(1, 0), "");
}

TEST(BenchRows, AreWhatWasTried) {
    const auto rows = bench_rows(machine(), {});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].backend, "cuda");
    EXPECT_EQ(rows[0].gpu, kId);
    EXPECT_EQ(rows[1].kind, "software");
    EXPECT_EQ(rows[2].kind, "cpu");
    EXPECT_EQ(bench_rows(machine(), {kId}).size(), 1U) << "who names a GPU wants no other row";
    EXPECT_TRUE(bench_rows(Report{}, {}).empty());
}

TEST(BenchText, HasARowForEachAndSaysWhyOneHasNoFigures) {
    EXPECT_EQ(
        bench_text(bench_rows(machine(), {}), Screen{}),
        "DEVICE            NAME            BACKEND  CHECK          READ    COPY      UP    "
        "DOWN    FP32   FP16  INT8  LAUNCH  SPREAD  SCORE\n"
        "pci:0000:00:06.0  NVIDIA H200     cuda     verified     4.19 T  3.90 T  55.0 G  "
        "54.0 G  62.3 T  125 T     –  4.2 µs     1 %    527\n"
        "software          pocl <\"a\" & b>  opencl   miscomputed       –       –       –       "
        "–       –      –     –       –       –      –\n"
        "cpu               A CPU           cpu      –            20.0 G       –       –       "
        "–     950      –     –       –       –      –\n"
        "\n"
        "opencl on software was not verified (miscomputed)\n"
        "opencl on software was not measured (skipped): the machine is running on battery\n");
}

TEST(BenchText, SaysWhereFiguresAreOld) {
    auto report = machine();
    report.gpus[0].backends["cuda"].measurement->reasons = {because("busy", {{"percent", 97}})};
    const auto text = bench_text(bench_rows(report, {kId}), Screen{});
    EXPECT_NE(
        text.find(
            "cuda on pci:0000:00:06.0 was not measured again: other programs are using it: 97 % "
            "of the time\n"),
        std::string::npos)
        << text;
}

TEST(MeasuredWords, CompareWithWhatTheApiPromises) {
    const auto report = machine();
    const auto& cuda = report.gpus[0].backends.at("cuda");
    EXPECT_EQ(
        measured_words(cuda.verification, cuda.measurement, cuda.score, promise_of(report.gpus[0])),
        "verified; reads 4.19 TB/s (85 % of 4.92 T), copies 3.90 TB/s (79 % of 4.92 T), fp32 "
        "62.3 Top/s (93 % of 66.9 T), fp16 125 Top/s; score 527");
    EXPECT_EQ(measured_words(std::nullopt, Measurement{.fp32 = 950}, std::nullopt, {}),
              "fp32 950 op/s; its peak is not known");
    EXPECT_EQ(measured_words(std::nullopt, std::nullopt, std::nullopt, {}), "");
}

TEST(Promise, IsUnknownWithoutItsFacts) {
    auto gpu = machine().gpus[0];
    EXPECT_EQ(promise_of(gpu).memory, 2 * 3'201'000'000ULL * 768);
    gpu.architecture.cuda_compute_capability = "99.9";
    EXPECT_EQ(promise_of(gpu).fp32, std::nullopt);
    gpu.apis["cuda"].device["memory_bus_bits"] = Value{};
    EXPECT_EQ(promise_of(gpu), Promise{});
    EXPECT_EQ(promise_of(Gpu{}), Promise{});
}

std::size_t count_in(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// That many of the cards of machine().
Report machine_with(int cards) {
    auto report = machine();
    report.gpus.resize(1);
    for (int i = 1; i < cards; ++i) {
        report.gpus.push_back(report.gpus.front());
        report.gpus.back().id = "pci:0000:" + std::to_string(10 + i) + ":00.0";
    }
    return report;
}

std::string plot_of(const Report& report) {
    return bench_plot(report, bench_rows(report, {}));
}

TEST(BenchPlot, IsADocumentWithABarForEachFigure) {
    auto rows = bench_rows(machine(), {});
    rows[1].measurement = fast();
    const auto plot = bench_plot(machine(), rows);
    EXPECT_TRUE(plot.starts_with("<?xml"));
    EXPECT_TRUE(plot.ends_with("</svg>\n"));
    EXPECT_NE(plot.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(plot.find("opencl (software), pocl &lt;&quot;a&quot; &amp; b&gt;"), std::string::npos)
        << plot;
    EXPECT_NE(plot.find(">4.19 TB/s<"), std::string::npos);
    EXPECT_EQ(count_in(plot, "height=\"16\""), 2U * 4 + 2)
        << "read, copy, fp32, fp16 twice; read and fp32 of the processor";
}

TEST(BenchPlot, SaysOfWhichMachineAndWhen) {
    auto report = machine();
    report.host.os = "linux";
    report.host.kernel = "6.18.44";
    report.host.arch = "x86_64";
    report.gpus[0].driver = {.name = "nvidia", .version = "580.159.04"};
    report.gpus[0].backends["cuda"].measurement->at =
        WallTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + std::chrono::hours{19}};
    const auto plot = plot_of(report);
    EXPECT_NE(plot.find(">NVIDIA H200<"), std::string::npos) << plot;
    EXPECT_NE(plot.find(">driver nvidia 580.159.04 · linux 6.18.44 x86_64 · measured 2026-11-21 "
                        "19:00 UTC<"),
              std::string::npos)
        << plot;
}

TEST(BenchPlot, HasAnAxisAndWhatTheDriverPromises) {
    const auto plot = plot_of(machine());
    EXPECT_NE(plot.find(">4.19 TB/s (85 %)<"), std::string::npos) << plot;
    EXPECT_NE(plot.find(">62.3 Top/s (93 %)<"), std::string::npos);
    EXPECT_NE(plot.find(">125 Top/s<"), std::string::npos) << "nobody promises it";
    EXPECT_EQ(count_in(plot, "class=\"peak\""), 2U + 3) << "legends; read, copy and fp32";
    for (const auto* tick : {">0<", ">1 TB/s<", ">4 TB/s<", ">100 Top/s<"})
        EXPECT_NE(plot.find(tick), std::string::npos) << tick << plot;
    auto unknown = machine();
    unknown.gpus[0].apis.clear();
    EXPECT_EQ(count_in(plot_of(unknown), "class=\"peak\""), 0U);
}

TEST(BenchPlot, EqualCardsStandTogetherAndASlowOneIsNamed) {
    auto report = machine_with(16);
    for (auto& gpu : report.gpus)
        gpu.backends["vulkan"] = gpu.backends["cuda"];
    report.gpus[6].backends["cuda"].measurement->memory_read = 2'000'000'000'000;
    const auto plot = plot_of(report);
    EXPECT_NE(plot.find(">16 × NVIDIA H200<"), std::string::npos) << plot;
    EXPECT_EQ(count_in(plot, ">cuda, 16 × NVIDIA H200<"), 2U) << "in either panel";
    EXPECT_EQ(count_in(plot, "height=\"4\""), 16U * 4 * 2);
    EXPECT_EQ(count_in(plot, ">vulkan, 16 × NVIDIA H200<"), 2U);
    EXPECT_NE(plot.find(">2.00 TB/s – 4.19 TB/s<"), std::string::npos);
    EXPECT_EQ(count_in(plot, ">slowest: "), 1U);
    EXPECT_NE(plot.find(">slowest: pci:0000:16:00.0<"), std::string::npos);
    EXPECT_NE(plot.find("<title>pci:0000:16:00.0 2.00 TB/s</title>"), std::string::npos);
    const auto height = plot.find("height=\"") + 8;
    EXPECT_LT(std::stoi(plot.substr(height)), 1200) << "as high as a screen";
    if (const char* folder = std::getenv("GPUPROBE_PICTURES"))
        std::ofstream{std::string{folder} + "/sixteen.svg"} << plot;
}

TEST(BenchPlot, OtherCardsStandApart) {
    auto report = machine_with(2);
    report.gpus[1].name = "NVIDIA A100";
    const auto plot = plot_of(report);
    EXPECT_NE(plot.find(">NVIDIA H200, NVIDIA A100<"), std::string::npos) << plot;
    EXPECT_EQ(count_in(plot, ">cuda, NVIDIA A100<"), 2U);
}

TEST(BenchPlot, CutsLongNamesWithAMark) {
    auto report = machine();
    report.host.cpu.model = "A processor whose maker had much to say about it, and did";
    EXPECT_NE(plot_of(report).find("maker had much t…<"), std::string::npos);
}

TEST(BenchPlot, OfNothingIsEmptyAndValid) {
    EXPECT_TRUE(bench_plot({}, {}).ends_with("</svg>\n"));
}

}  // namespace
}  // namespace gpuprobe
