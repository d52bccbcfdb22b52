// SPDX-License-Identifier: Apache-2.0
#include "engine/probed_machine.h"

#include <optional>

#include <gtest/gtest.h>

#include "report/gpu_views.h"

namespace gpuprobe::engine {
namespace probed_machine_test {

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

TEST(StablePart, IsTheSameAMomentLater) {
    EXPECT_EQ(stable_part(report_at(1, 100)), stable_part(report_at(2, 100)));
}

TEST(StablePart, ChangesWithTheFactsOfAGpu) {
    EXPECT_NE(stable_part(report_at(1, 100)), stable_part(report_at(1, 101)));
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

TEST(StablePartOfAResult, IsTheSameAMomentLater) {
    EXPECT_EQ(stable_part(answer_at(1, 100, DeviceType::Discrete)),
              stable_part(answer_at(2, 100, DeviceType::Discrete)));
}

TEST(StablePartOfAResult, ChangesWithAGpusMemoryAndNotWithAHosts) {
    EXPECT_NE(stable_part(answer_at(1, 100, DeviceType::Discrete)),
              stable_part(answer_at(1, 101, DeviceType::Discrete)));
    EXPECT_EQ(stable_part(answer_at(1, 100, DeviceType::Cpu)),
              stable_part(answer_at(1, 101, DeviceType::Cpu)));
}

TEST(StablePartOfAResult, ChangesWithItsOutcome) {
    auto absent = answer_at(1, 100, DeviceType::Cpu);
    absent.outcome = Outcome::Absent;
    EXPECT_NE(stable_part(answer_at(1, 100, DeviceType::Cpu)), stable_part(absent));
}

TEST(StablePart, ChangesWithTheSoftwareDevicesThereAre) {
    auto without = report_at(1, 100);
    without.software.clear();
    EXPECT_NE(stable_part(report_at(1, 100)), stable_part(without));
}

ProbeResult result_of(std::size_t devices, std::uint64_t gibibytes, std::uint64_t free = 0) {
    ProbeResult result{.api = "cuda", .outcome = Outcome::Answered};
    for (std::size_t i = 0; i < devices; ++i)
        result.devices.push_back({.index = static_cast<std::uint32_t>(i),
                                  .memory = FactMemory{Bytes{gibibytes << 30}, Bytes{free}}});
    return result;
}

class StabilityOfResults : public ::testing::Test {
protected:
    /// Whether the target is probed again after this result.
    bool asks_again_after(ProbeResult result) {
        auto verdict = stability_.check(std::move(result), accepted_ ? &*accepted_ : nullptr);
        accepted_ = std::move(verdict.accepted);
        return verdict.ask_again;
    }
    void become_unstable() {
        asks_again_after(result_of(2, 8));
        EXPECT_TRUE(asks_again_after(result_of(1, 8)));
        EXPECT_FALSE(asks_again_after(result_of(2, 8))) << "once more is enough";
    }
    [[nodiscard]] std::size_t devices() const { return accepted_->devices.size(); }
    [[nodiscard]] bool is_unstable() const { return has_reason(accepted_->reasons, kUnstable); }

    StabilityCheck stability_ = {};
    std::optional<ProbeResult> accepted_ = {};
};

TEST_F(StabilityOfResults, AcceptsARepeatedResult) {
    EXPECT_FALSE(asks_again_after(result_of(2, 8)));
    EXPECT_FALSE(asks_again_after(result_of(2, 8)));
    EXPECT_FALSE(is_unstable());
}

TEST_F(StabilityOfResults, IgnoresMomentaryFacts) {
    asks_again_after(result_of(2, 8, 5));
    EXPECT_FALSE(asks_again_after(result_of(2, 8, 6)));
}

TEST_F(StabilityOfResults, AcceptsAChangeThatIsReportedTwice) {
    asks_again_after(result_of(2, 8));
    EXPECT_TRUE(asks_again_after(result_of(3, 8)));
    EXPECT_FALSE(asks_again_after(result_of(3, 8)));
    EXPECT_EQ(devices(), 3u);
    EXPECT_FALSE(is_unstable());
}

TEST_F(StabilityOfResults, AcceptsOfTwoThatDifferTheOneThatPromisesLess) {
    become_unstable();
    EXPECT_EQ(devices(), 1u);
    EXPECT_TRUE(is_unstable());
    EXPECT_FALSE(asks_again_after(result_of(1, 4)));
    EXPECT_EQ(accepted_->devices.front().memory->total, gib(4));
    asks_again_after(result_of(1, 6));
    EXPECT_EQ(accepted_->devices.front().memory->total, gib(4)) << "less memory is less, too";
}

TEST_F(StabilityOfResults, TakesAnAbsenceForTheLeast) {
    asks_again_after(result_of(2, 8));
    asks_again_after(ProbeResult{.api = "cuda", .outcome = Outcome::Absent});
    asks_again_after(result_of(2, 8));
    EXPECT_EQ(accepted_->outcome, Outcome::Absent);
    EXPECT_TRUE(is_unstable());
}

TEST_F(StabilityOfResults, TrustsItAgainAfterThreeThatAgree) {
    become_unstable();
    asks_again_after(result_of(2, 8));
    EXPECT_EQ(devices(), 1u);
    EXPECT_TRUE(is_unstable());
    asks_again_after(result_of(2, 8));
    EXPECT_EQ(devices(), 2u);
    EXPECT_FALSE(is_unstable());
}

TEST_F(StabilityOfResults, ReportsSinceWhen) {
    auto at = result_of(2, 8);
    asks_again_after(at);
    asks_again_after(result_of(1, 8));
    at.at = WallTime{std::chrono::microseconds{1234}};
    asks_again_after(at);
    const auto since = accepted_->reasons.front().detail.at("since_usec");
    EXPECT_EQ(since, Value{1234});
    at = result_of(3, 8);
    at.at = WallTime{std::chrono::microseconds{5678}};
    asks_again_after(at);
    ASSERT_EQ(accepted_->reasons.size(), 1u);
    EXPECT_EQ(accepted_->reasons.front().detail.at("since_usec"), since) << "not since now";
}

TEST_F(StabilityOfResults, ComparesTheFirstResultWithTheCachedOne) {
    accepted_ = result_of(2, 8, 5);
    stability_.begin_with(*accepted_);
    EXPECT_FALSE(asks_again_after(result_of(2, 8, 6)));
    EXPECT_TRUE(asks_again_after(result_of(1, 8)));
}

TEST_F(StabilityOfResults, DetectsAFirstResultThatDiffersFromTheCachedOne) {
    accepted_ = result_of(2, 8);
    stability_.begin_with(*accepted_);
    EXPECT_TRUE(asks_again_after(result_of(1, 8)));
    EXPECT_FALSE(asks_again_after(result_of(2, 8)));
    EXPECT_TRUE(is_unstable());
}

TEST_F(StabilityOfResults, ComparesNothingWithACrashOfBefore) {
    accepted_ = ProbeResult{.api = "cuda", .outcome = Outcome::Crashed};
    stability_.begin_with(*accepted_);
    EXPECT_FALSE(asks_again_after(result_of(2, 8)));
}

TEST_F(StabilityOfResults, StartsAfreshOnAnotherMachine) {
    become_unstable();
    stability_.machine_changed();
    EXPECT_FALSE(asks_again_after(result_of(5, 8)));
    EXPECT_EQ(devices(), 5u);
    EXPECT_FALSE(is_unstable());
}

TEST_F(StabilityOfResults, ComparesNothingWithACrash) {
    asks_again_after(result_of(2, 8));
    EXPECT_FALSE(asks_again_after(ProbeResult{.api = "cuda", .outcome = Outcome::Crashed}));
    EXPECT_FALSE(asks_again_after(result_of(2, 8)));
    EXPECT_FALSE(is_unstable());
}

}  // namespace probed_machine_test
}  // namespace gpuprobe::engine
