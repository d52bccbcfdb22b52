// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/measure.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace gpuprobe::backends {
namespace measure_test {

/// A device on which each piece of work takes a time that the test sets. Otherwise, the clock does
/// not advance.
class SimulatedDevice {
public:
    /// The seconds that one unit of size takes in the n-th run.
    std::function<double(std::size_t run)> cost = [](std::size_t) { return 1e-6; };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> runs = {};

    [[nodiscard]] Sampler::Now now() {
        return [this] { return time_; };
    }
    [[nodiscard]] Load load(std::uint32_t max_size) {
        return Load{.run = [this](std::uint32_t size, std::uint32_t times) -> Attempt<Done> {
                        time_ += Seconds{cost(runs.size()) * size * times};
                        runs.emplace_back(size, times);
                        return Done{};
                    },
                    .max_size = max_size,
                    .units = 8};
    }
    [[nodiscard]] Seconds time() const { return time_; }

private:
    Seconds time_{0};
};

TEST(Sampler, TakesTheRateOfASteadyDevice) {
    SimulatedDevice device;
    const auto rate = Sampler{device.now()}.rate_of(device.load(1U << 20));
    ASSERT_TRUE(rate);
    EXPECT_NEAR(rate->median, 8e6, 1);
    EXPECT_NEAR(rate->spread, 0, 1e-9);
}

TEST(Sampler, GrowsAPieceFromTheSmallestByDoubling) {
    SimulatedDevice device;
    Sampler sampler{device.now()};
    ASSERT_TRUE(sampler.rate_of(device.load(1U << 20)));
    EXPECT_EQ(device.runs.front().first, 1U);
    for (std::size_t i = 1; i < device.runs.size(); ++i)
        EXPECT_LE(device.runs[i].first, 2 * device.runs[i - 1].first);
    EXPECT_EQ(sampler.size(), 2048U) << "the first power of two that takes 2 ms";
}

TEST(Sampler, RepeatsAPieceThatCannotGrow) {
    SimulatedDevice device;
    ASSERT_TRUE(Sampler{device.now()}.rate_of(device.load(1)));
    EXPECT_EQ(device.runs.back(), (std::pair<std::uint32_t, std::uint32_t>{1, 5000}));
}

TEST(Sampler, WaitsForClocksThatClimb) {
    SimulatedDevice device;
    device.cost = [](std::size_t run) {
        return run < 20 ? 5e-6 - static_cast<double>(run) * 2e-7 : 1e-6;
    };
    const auto rate = Sampler{device.now()}.rate_of(device.load(4096));
    ASSERT_TRUE(rate);
    EXPECT_NEAR(rate->median, 8e6, 8e4);
    EXPECT_LT(rate->spread, 0.02);
}

TEST(Sampler, CountsBatchesThatAgreeOnceClocksAreUp) {
    SimulatedDevice device;
    Sampler sampler{device.now()};
    ASSERT_TRUE(sampler.rate_of(device.load(1)));
    EXPECT_EQ(device.runs.size(), 2U + 2U + 5U) << "to grow, to ramp, to count";
    ASSERT_TRUE(sampler.rate_of(device.load(1)));
    EXPECT_EQ(device.runs.size(), 9U + 2U + 5U);
    EXPECT_FALSE(sampler.is_hurried());
}

TEST(Sampler, WaitsLessForUnsteadyLoadsAfterTheFirst) {
    SimulatedDevice device;
    Sampler sampler{device.now()};
    ASSERT_TRUE(sampler.rate_of(device.load(1)));
    const auto before = device.time();
    device.cost = [](std::size_t run) { return run % 2 == 0 ? 1e-6 : 2e-6; };
    ASSERT_TRUE(sampler.rate_of(device.load(4096)));
    EXPECT_LT(device.time() - before, Seconds{0.15});
}

TEST(Sampler, DoesNotWaitForEverForOnesThatNeverSettle) {
    SimulatedDevice device;
    device.cost = [](std::size_t run) { return run % 2 == 0 ? 1e-6 : 2e-6; };
    Sampler sampler{device.now()};
    const auto rate = sampler.rate_of(device.load(4096));
    ASSERT_TRUE(rate);
    EXPECT_GT(rate->spread, 0.4);
    EXPECT_LT(device.time(), Seconds{0.7});
    const auto before = device.time();
    ASSERT_TRUE(sampler.rate_of(device.load(4096)));
    EXPECT_LT(device.time() - before, Seconds{0.2}) << "the ramp is one for all loads";
}

TEST(Sampler, HurriesWhenItsTimeIsUp) {
    SimulatedDevice device;
    device.cost = [](std::size_t) { return 0.4; };
    Sampler sampler{device.now(), Seconds{2}};
    ASSERT_TRUE(sampler.rate_of(device.load(1)));
    EXPECT_FALSE(sampler.is_hurried());
    const auto runs = device.runs.size();
    const auto rate = sampler.rate_of(device.load(1U << 20));
    ASSERT_TRUE(rate);
    EXPECT_NEAR(rate->median, 20, 1e-6);
    EXPECT_EQ(rate->spread, 0);
    EXPECT_TRUE(sampler.is_hurried());
    EXPECT_EQ(device.runs.size() - runs, 3U) << "one for the compiler, one to see, one to count";
}

TEST(Sampler, TakesTheMedianOfFive) {
    SimulatedDevice device;
    const auto load = device.load(1);
    // There are two runs to enlarge the piece, two runs that agree, and then the five runs.
    device.cost = [](std::size_t run) { return run == 5 ? 9e-6 : run == 7 ? 5e-7 : 1e-6; };
    const auto rate = Sampler{device.now()}.rate_of(load);
    ASSERT_TRUE(rate);
    EXPECT_NEAR(rate->median, 8e6, 1);
    EXPECT_NEAR(rate->spread, 2 - 1.0 / 9, 1e-6);
}

TEST(Sampler, StopsBeforeAWatchdogBites) {
    SimulatedDevice device;
    device.cost = [](std::size_t run) { return run == 0 ? 5.0 : 0.11; };
    const auto rate = Sampler{device.now()}.rate_of(device.load(1U << 20));
    ASSERT_FALSE(rate);
    EXPECT_EQ(rate.error().code, "too-slow");
    EXPECT_EQ(device.runs.size(), 3U) << "the first is the driver's, for its compiler";
    SimulatedDevice patient;
    patient.cost = device.cost;
    EXPECT_TRUE((Sampler{patient.now(), Seconds{2}}.rate_of(patient.load(1))));
}

TEST(Sampler, ForgivesOneHiccupOfTheHost) {
    SimulatedDevice device;
    device.cost = [](std::size_t run) { return run == 1 ? 0.2 : 1e-6; };
    EXPECT_TRUE(Sampler{device.now()}.rate_of(device.load(1U << 20)));
}

TEST(Sampler, PassesARefusalOn) {
    SimulatedDevice device;
    auto load = device.load(1U << 20);
    load.run = [](std::uint32_t size, std::uint32_t) -> Attempt<Done> {
        if (size > 8)
            return Refusal{.code = "device-lost"};
        return Done{};
    };
    const auto rate = Sampler{device.now()}.rate_of(load);
    ASSERT_FALSE(rate);
    EXPECT_EQ(rate.error().code, "device-lost");
}

}  // namespace measure_test
}  // namespace gpuprobe::backends
