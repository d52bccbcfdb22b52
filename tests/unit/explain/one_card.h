// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

#include "explain/doctor.h"

/// A machine with one card and its problems, for tests of the doctor.
namespace gpuprobe::test {

inline Finding only(const std::vector<Finding>& findings, std::string_view id) {
    const auto found = std::ranges::find(findings, id, &Finding::id);
    EXPECT_NE(found, findings.end()) << id;
    EXPECT_EQ(std::ranges::count(findings, id, &Finding::id), 1) << id;
    return found == findings.end() ? Finding{} : *found;
}

/// A report with one NVIDIA card on which nothing is wrong.
inline Report healthy() {
    Report report{.gpus = {Gpu{.id = "pci:0000:01:00.0",
                               .kind = GpuKind::Discrete,
                               .vendor = "nvidia",
                               .driver = {.name = "nvidia"},
                               .nodes = {{.path = "/dev/nvidia0", .accessible = true}}}}};
    for (const auto* api : {"cuda", "nvml", "vulkan", "opencl"})
        report.gpus[0].apis[api] = {.outcome = Outcome::Answered,
                                    .device = Value{Value::Object{{"index", 0}}}};
    for (const auto* backend : {"cuda", "vulkan", "opencl"})
        report.gpus[0].backends[backend] = {.usable = true};
    return report;
}

inline Gpu& gpu_of(Report& report) {
    return report.gpus[0];
}
inline void find(Report& report, Reason finding) {
    gpu_of(report).findings.push_back(std::move(finding));
}

/// Removes the driver of the GPU, so that nothing works on the GPU.
inline void lose_driver(Report& report) {
    find(report, because("no-driver"));
    report.gpus.front().driver = {};
    report.gpus.front().backends.clear();
}
inline void say(Report& report, const char* api, Outcome outcome, Reason reason) {
    gpu_of(report).apis[api] = {.outcome = outcome, .reasons = {std::move(reason)}};
}
inline void judge(Report& report, const char* backend, Reason reason) {
    gpu_of(report).backends[backend] = {.usable = false, .reasons = {std::move(reason)}};
}
inline void be_amd(Report& report) {
    auto& gpu = gpu_of(report);
    gpu = Gpu{.id = gpu.id,
              .kind = GpuKind::Discrete,
              .vendor = "amd",
              .driver = {.name = "amdgpu"},
              .nodes = {{.path = "/dev/dri/renderD128", .accessible = true}}};
    report.nodes = {{.path = "/dev/kfd", .accessible = true}};
}

inline constexpr auto kAbsent = Outcome::Absent;
inline constexpr auto kFailed = Outcome::Failed;

/// The case that determines the words of a finding.
inline Value case_of(const Report& report, std::string_view id) {
    return only(examine(report, {}), id).evidence.at("case");
}

}  // namespace gpuprobe::test
