// SPDX-License-Identifier: Apache-2.0
#include "engine/lasting_part.h"

#include <gtest/gtest.h>

#include "report/fact_table.h"

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
    device["gtt_used"] = free;
    device["memory_usable"] = free;
    device["gpu_utilization"] = free;
    Value region;
    region["size"] = total;
    region["free"] = free;
    device["regions"].push_back(region);
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
    for (const auto* key : {"heaps", "regions"})
        report.software[0].device[key] = facts(size, moment).at(key);
    return report;
}

TEST(LastingPart, IsTheSameAMomentLater) {
    EXPECT_EQ(lasting_part(report_at(1, 100)), lasting_part(report_at(2, 100)));
}

TEST(LastingPart, IsTheSameWhateverTheMomentTells) {
    for (const auto& row : kFactTable) {
        if (row.of != FactOf::Device && row.of != FactOf::EveryDevice)
            continue;
        const auto with = [&row](const Value& value) {
            auto report = report_at(1, 100);
            report.gpus[0].apis["cuda"].device[row.key] = value;
            return lasting_part(report);
        };
        EXPECT_EQ(with(1) == with(2), row.tells == FactTells::Moment) << row.key;
    }
}

TEST(LastingPart, ChangesWithWhatAGpuHas) {
    EXPECT_NE(lasting_part(report_at(1, 100)), lasting_part(report_at(1, 101)));
}

ProbeResult answer_at(long long moment, long long size, DeviceType type) {
    ProbeResult answer{.api = "opencl", .outcome = Outcome::Answered};
    answer.at = WallTime{Duration{moment}};
    answer.duration = Duration{moment};
    const auto bytes = [](long long count) { return Bytes{static_cast<std::uint64_t>(count)}; };
    DeviceFacts device{.type = type, .memory = FactMemory{bytes(size), bytes(moment)}};
    device.extra["gtt_used"] = moment;
    answer.devices.push_back(std::move(device));
    return answer;
}

TEST(LastingPartOfAnAnswer, IsTheSameAMomentLater) {
    EXPECT_EQ(lasting_part(answer_at(1, 100, DeviceType::Discrete)),
              lasting_part(answer_at(2, 100, DeviceType::Discrete)));
}

TEST(LastingPartOfAnAnswer, ChangesWithAGpusMemoryAndNotWithAHosts) {
    EXPECT_NE(lasting_part(answer_at(1, 100, DeviceType::Discrete)),
              lasting_part(answer_at(1, 101, DeviceType::Discrete)));
    EXPECT_EQ(lasting_part(answer_at(1, 100, DeviceType::Cpu)),
              lasting_part(answer_at(1, 101, DeviceType::Cpu)));
}

TEST(LastingPartOfAnAnswer, ChangesWithItsOutcome) {
    auto absent = answer_at(1, 100, DeviceType::Cpu);
    absent.outcome = Outcome::Absent;
    EXPECT_NE(lasting_part(answer_at(1, 100, DeviceType::Cpu)), lasting_part(absent));
}

TEST(LastingPart, ChangesWithTheSoftwareDevicesThereAre) {
    auto without = report_at(1, 100);
    without.software.clear();
    EXPECT_NE(lasting_part(report_at(1, 100)), lasting_part(without));
}

}  // namespace
}  // namespace gpuprobe
