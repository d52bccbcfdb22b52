// SPDX-License-Identifier: Apache-2.0
#include "engine/lasting_part.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

Value facts(long long total, long long free) {
    Value device;
    device["name"] = "a device";
    device["memory"]["total"] = total;
    device["memory"]["free"] = free;
    Value heap;
    heap["size"] = total;
    heap["budget"] = free;
    heap["usage"] = free;
    device["heaps"].push_back(heap);
    return device;
}

Report report_at(long long moment, long long size) {
    Report report;
    report.generation = static_cast<std::uint64_t>(moment);
    report.created = WallTime{Duration{moment}};
    report.probes = {{.api = "cuda", .duration = Duration{moment}}};
    Gpu gpu{.id = "pci:0000:01:00.0"};
    gpu.memory.free = Bytes{static_cast<std::uint64_t>(moment)};
    gpu.memory.physical = Bytes{static_cast<std::uint64_t>(size)};
    gpu.apis["cuda"] = {.device = facts(size, moment), .age = Duration{moment}};
    report.gpus = {gpu};
    report.software = {{.api = "opencl", .device = facts(moment, moment)}};
    report.software[0].device["heaps"] = facts(size, moment).at("heaps");
    return report;
}

TEST(LastingPart, IsTheSameAMomentLater) {
    EXPECT_EQ(lasting_part(report_at(1, 100)), lasting_part(report_at(2, 100)));
}

TEST(LastingPart, ChangesWithWhatAGpuHas) {
    EXPECT_NE(lasting_part(report_at(1, 100)), lasting_part(report_at(1, 101)));
}

TEST(LastingPart, ChangesWithTheSoftwareDevicesThereAre) {
    auto without = report_at(1, 100);
    without.software.clear();
    EXPECT_NE(lasting_part(report_at(1, 100)), lasting_part(without));
}

}  // namespace
}  // namespace gpuprobe
