// SPDX-License-Identifier: Apache-2.0
#include "engine/system_events.h"

#include <ostream>
#include <vector>

#include <gtest/gtest.h>

namespace gpuprobe::engine {
namespace system_events_test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kSettle = milliseconds{250};

/// Checks a Debounce until it ends. Returns the times of the checks, counted from the first event.
std::vector<Duration> looks_at(Debounce& debounce,
                               MonotonicTime start,
                               Duration lasts,
                               Duration gap) {
    std::vector<Duration> looks;
    const auto look_until = [&](MonotonicTime now) {
        while (debounce.due() && *debounce.due() <= now) {
            looks.push_back(*debounce.due() - start);
            debounce.asked();
        }
    };
    for (auto now = start; now < start + lasts; now += gap) {
        look_until(now);
        debounce.event(now);
    }
    look_until(start + lasts + minutes{1});
    return looks;
}

std::vector<Duration> looks_at(Duration lasts, Duration gap) {
    Debounce debounce{kSettle};
    return looks_at(debounce, MonotonicTime{}, lasts, gap);
}

TEST(Debounce, IsLookedAtOnceItIsCalm) {
    EXPECT_EQ(looks_at(milliseconds{1}, milliseconds{1}), (std::vector<Duration>{kSettle}));
    EXPECT_EQ(looks_at(milliseconds{500}, milliseconds{10}),
              (std::vector<Duration>{milliseconds{490} + kSettle}));
}

TEST(Debounce, HasNothingToLookForBeforeItsFirstEvent) {
    EXPECT_EQ(Debounce{kSettle}.due(), std::nullopt);
    EXPECT_EQ(Debounce{Duration::zero()}.due(), std::nullopt);
}

struct Storm {
    const char* name;
    Duration lasts;
    std::size_t looks;
};
void PrintTo(const Storm& storm, std::ostream* out) {
    *out << storm.name;
}

class StormOfTenThousand : public ::testing::TestWithParam<Storm> {};

TEST_P(StormOfTenThousand, TakesFewLooks) {
    const auto& storm = GetParam();
    const auto looks = looks_at(storm.lasts, storm.lasts / 10'000);
    EXPECT_EQ(looks.size(), storm.looks);
    EXPECT_LE(looks.back(), storm.lasts + Debounce::kLongestCalm) << "its end is seen soon";
}
INSTANTIATE_TEST_SUITE_P(All,
                         StormOfTenThousand,
                         ::testing::Values(Storm{"AtOnce", milliseconds{500}, 1},
                                           Storm{"InASecond", seconds{1}, 1},
                                           Storm{"InThree", seconds{3}, 2},
                                           Storm{"InEight", seconds{8}, 2},
                                           Storm{"InThirty", seconds{30}, 3},
                                           Storm{"InAMinute", minutes{1}, 4}),
                         [](const auto& storm) { return std::string{storm.param.name}; });

TEST(Debounce, IsLookedAtNowAndThenWhereItNeverEnds) {
    for (const auto gap :
         {milliseconds{10}, milliseconds{300}, milliseconds{1500}, milliseconds{4000}}) {
        const auto looks = looks_at(minutes{10}, gap);
        EXPECT_LE(looks.size(), 24U) << gap.count();
        EXPECT_GE(looks.size(), 20U) << gap.count() << ": it is never lost sight of";
    }
}

TEST(Debounce, IsAnotherOneAfterSomeTime) {
    Debounce debounce{kSettle};
    (void)looks_at(debounce, MonotonicTime{}, minutes{1}, milliseconds{10});
    const auto later = MonotonicTime{minutes{1} + Debounce::kOver + seconds{1}};
    EXPECT_EQ(looks_at(debounce, later, milliseconds{1}, milliseconds{1}),
              (std::vector<Duration>{kSettle}));
}

TEST(Debounce, WaitsForTheConfiguredTime) {
    Debounce at_once{Duration::zero()};
    at_once.event(MonotonicTime{seconds{7}});
    EXPECT_EQ(at_once.due(), MonotonicTime{seconds{7}});
    Debounce patient{seconds{40}};
    patient.event(MonotonicTime{});
    EXPECT_EQ(patient.due(), MonotonicTime{seconds{40}});
    patient.asked();
    patient.event(MonotonicTime{seconds{41}});
    EXPECT_EQ(patient.due(), MonotonicTime{seconds{81}});
}

TEST(Debounce, ScansAtOnceAndProbesLater) {
    Debounce debounce{kSettle};
    auto now = MonotonicTime{};
    for (int i = 0; i < 3; ++i) {
        debounce.event(now);
        EXPECT_EQ(debounce.look_due(), std::nullopt) << "asked at the same time";
        debounce.asked();
        debounce.event(now += seconds{1});
        EXPECT_EQ(debounce.look_due(), now + kSettle);
        EXPECT_GT(debounce.due(), now + kSettle);
        debounce.looked();
        EXPECT_EQ(debounce.look_due(), std::nullopt) << "once for an event";
        debounce.event(now += milliseconds{500});
        EXPECT_EQ(debounce.look_due(), now + kSettle);
        debounce.asked();
        now += minutes{1};
    }
}

struct SetClock final : Clock {
    [[nodiscard]] WallTime wall() const override { return {}; }
    [[nodiscard]] MonotonicTime monotonic() const override { return now; }
    MonotonicTime now{minutes{10}};
};

class TheSleepOfAMachine : public ::testing::Test {
protected:
    using State = SystemSleep::State;
    std::unique_ptr<SystemLoop> loop_ = SystemLoop::create().value();
    SetClock clock_ = {};
    int woken_ = 0;
    SystemSleep sleep_{*loop_, clock_, [this] { ++woken_; }};
};

TEST_F(TheSleepOfAMachine, EndsWithAMinuteInWhichDriversAreSlow) {
    EXPECT_EQ(sleep_.state(), State::Awake);
    sleep_.begin();
    EXPECT_EQ(sleep_.state(), State::GoingToSleep);
    sleep_.end();
    EXPECT_EQ(sleep_.state(), State::JustWoke);
    clock_.now += SystemSleep::kWakesUp - Duration{1};
    EXPECT_EQ(sleep_.state(), State::JustWoke);
    clock_.now += Duration{1};
    EXPECT_EQ(sleep_.state(), State::Awake);
}

TEST_F(TheSleepOfAMachine, MayBeginAgainRightAfterItsEnd) {
    sleep_.begin();
    sleep_.end();
    sleep_.begin();
    EXPECT_TRUE(sleep_.is_near());
}

TEST_F(TheSleepOfAMachine, EndsOnce) {
    sleep_.end();
    EXPECT_EQ(woken_, 0) << "it was awake";
    sleep_.begin();
    sleep_.begin();
    sleep_.end();
    sleep_.end();
    EXPECT_EQ(woken_, 1);
}

}  // namespace system_events_test
}  // namespace gpuprobe::engine
