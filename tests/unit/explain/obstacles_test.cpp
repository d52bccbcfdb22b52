// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain/doctor.h"
#include "explain/explain.h"

namespace gpuprobe {
namespace obstacles_test {

Gpu gpu(const char* id, const char* vendor) {
    Gpu gpu;
    gpu.id = id;
    gpu.vendor = vendor;
    for (const char* backend : {"cuda", "rocm", "sycl", "opencl", "vulkan", "webgpu"})
        gpu.backends[backend] = BackendView{.usable = true};
    return gpu;
}

BackendView no(const char* code) {
    return {.usable = false, .reasons = {Reason{.code = code}}};
}

std::string lines(const Report& report) {
    std::string text;
    for (const auto& obstacle : obstacles(report, examine(report, {}))) {
        text += obstacle.backend + " | " + obstacle.gpu.value_or("-");
        text += obstacle.others > 0 ? "+" + std::to_string(obstacle.others) : "";
        text += " | " + obstacle.text + (obstacle.is_uncertain ? " (?)" : "") + "\n";
    }
    return text;
}

TEST(Obstacles, AreNoneWhereEverythingWorks) {
    Report report;
    report.gpus = {gpu("a", "nvidia")};
    EXPECT_EQ(lines(report), "");
}

TEST(Obstacles, NameTheMissingVendorOnce) {
    Report report;
    report.gpus = {gpu("a", "nvidia"), gpu("b", "nvidia")};
    for (auto& each : report.gpus)
        each.backends["rocm"] = no("vendor-mismatch");
    EXPECT_EQ(lines(report), "rocm | - | no AMD GPU\n");
}

TEST(Obstacles, LeaveOutABackendOfAnotherVendorThatWorksElsewhere) {
    Report report;
    report.gpus = {gpu("a", "nvidia"), gpu("b", "amd")};
    report.gpus[1].backends["cuda"] = no("vendor-mismatch");
    EXPECT_EQ(lines(report), "");
}

TEST(Obstacles, ListEqualReasonsOfBackendsAndGpusOnce) {
    Report report;
    report.gpus = {gpu("a", "nvidia"), gpu("b", "nvidia"), gpu("c", "nvidia")};
    for (int i = 0; i < 2; ++i)
        for (const char* backend : {"opencl", "vulkan"})
            report.gpus[static_cast<std::size_t>(i)].backends[backend] = no("driver-missing");
    EXPECT_EQ(lines(report), "vulkan, opencl | a+1 | the driver for this API is not installed\n");
    for (const char* backend : {"opencl", "vulkan"})
        report.gpus[2].backends[backend] = no("driver-missing");
    EXPECT_EQ(lines(report), "vulkan, opencl | - | the driver for this API is not installed\n");
}

TEST(Obstacles, MarkUnknownFacts) {
    Report report;
    report.gpus = {gpu("a", "nvidia")};
    report.gpus[0].backends["vulkan"] = {.reasons = {Reason{.code = "not-probed"}}};
    EXPECT_EQ(lines(report), "vulkan | a | not probed yet (?)\n");
}

TEST(Obstacles, WithoutGpuNameTheSoftwareThatAnswers) {
    Report report;
    report.software = {SoftwareDevice{.api = "vulkan", .name = "llvmpipe"}};
    report.runtimes["opencl"] = RuntimeInfo{.outcome = Outcome::Crashed};
    EXPECT_EQ(lines(report),
              "cuda | - | no NVIDIA GPU\n"
              "rocm | - | no AMD GPU\n"
              "sycl | - | no Intel GPU\n"
              "vulkan, webgpu | - | only in software, on the CPU: llvmpipe\n"
              "opencl | - | the driver crashed during the probe\n");
}

}  // namespace obstacles_test
}  // namespace gpuprobe
