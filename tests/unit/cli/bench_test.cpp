// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

#include <gtest/gtest.h>

#include "explain/phrase.h"

namespace gpuprobe {
namespace bench_test {

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

/// A card that was verified and measured with CUDA, a faulty pocl device, and a processor.
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

TEST(BenchRows, AreForVerifiedOrMeasuredDevices) {
    const auto rows = bench_rows(machine(), {});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].backend, "cuda");
    EXPECT_EQ(rows[0].gpu, kId);
    EXPECT_EQ(rows[1].kind, "software");
    EXPECT_EQ(rows[2].kind, "cpu");
    EXPECT_EQ(bench_rows(machine(), {kId}).size(), 1U) << "who names a GPU wants no other row";
    EXPECT_TRUE(bench_rows(Report{}, {}).empty());
}

TEST(BenchText, HasARowForEachDeviceAndTheReasonForMissingFigures) {
    EXPECT_EQ(
        bench_text(bench_rows(machine(), {}), Screen{}),
        "DEVICE            NAME            BACKEND  CHECK             READ       COPY         UP  "
        "     DOWN         FP32        FP16  INT8  LAUNCH  SPREAD  SCORE\n"
        "pci:0000:00:06.0  NVIDIA H200     cuda     verified     4.19 TB/s  3.90 TB/s  55.0 GB/s  "
        "54.0 GB/s  62.3 TFLOPS  125 TFLOPS     –  4.2 µs     1 %    527\n"
        "software          pocl <\"a\" & b>  opencl   miscomputed          –          –          – "
        " "
        "        –            –           –     –       –       –      –\n"
        "cpu               A CPU           cpu      –            20.0 GB/s          –          –  "
        "        –    950 FLOPS           –     –       –       –      –\n"
        "\n"
        "opencl on software was not verified (miscomputed)\n"
        "opencl on software was not measured (skipped): the machine is running on battery\n");
}

TEST(BenchText, MarksOldFigures) {
    auto report = machine();
    report.gpus[0].backends["cuda"].measurement->reasons = {because("busy", {{"percent", 97}})};
    const auto text = bench_text(bench_rows(report, {kId}), Screen{});
    EXPECT_NE(text.find("cuda on pci:0000:00:06.0 was not measured again: other programs are using "
                        "the GPU: 97% of the time\n"),
              std::string::npos)
        << text;
}

TEST(MeasuredWords, CompareWithThePeakRates) {
    const auto report = machine();
    const auto& cuda = report.gpus[0].backends.at("cuda");
    EXPECT_EQ(
        measured_words(cuda.verification, cuda.measurement, cuda.score,
                       peak_rates_of(report.gpus[0])),
        "verified; reads 4.19 TB/s (85 % of the theoretical 4.92 TB/s), copies 3.90 TB/s (79 % "
        "of the theoretical 4.92 TB/s), fp32 62.3 TFLOPS (93 % of the theoretical 66.9 "
        "TFLOPS), fp16 125 TFLOPS; score 527");
    EXPECT_EQ(
        measured_words(std::nullopt, Measurement{.fp32 = 950, .int8 = 2000}, std::nullopt, {}),
        "fp32 950 FLOPS, int8 2.00 kOPS; peak unknown");
    EXPECT_EQ(measured_words(std::nullopt, std::nullopt, std::nullopt, {}), "");
}

TEST(PeakRates, IsUnknownWithoutItsFacts) {
    auto gpu = machine().gpus[0];
    EXPECT_EQ(peak_rates_of(gpu).memory, 2 * 3'201'000'000ULL * 768);
    gpu.architecture.cuda_compute_capability = "99.9";
    EXPECT_EQ(peak_rates_of(gpu).fp32, std::nullopt);
    gpu.apis["cuda"].device["memory_bus_bits"] = Value{};
    EXPECT_EQ(peak_rates_of(gpu), PeakRates{});
    EXPECT_EQ(peak_rates_of(Gpu{}), PeakRates{});
}

}  // namespace bench_test
}  // namespace gpuprobe
