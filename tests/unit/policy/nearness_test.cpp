// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/units.h"
#include "policy/closest_miss.h"

namespace gpuprobe {
namespace nearness_test {

const Reason kOfOthers = because("vendor-mismatch");
const Reason kNoCode = because("arch-not-in-build");
const Reason kUnasked = because("not-probed");
const Reason kClosed = because("no-permission");
const Reason kRemark = because("unhealthy");

TEST(ClosestMiss, IsThatOfTheFarthestThing) {
    EXPECT_EQ(closest_miss_of({}), ClosestMiss::ForOthers);
    EXPECT_EQ(closest_miss_of({kClosed, kOfOthers, kNoCode}), ClosestMiss::ForOthers);
    EXPECT_EQ(closest_miss_of({kClosed, kNoCode}), ClosestMiss::OtherBuild);
    EXPECT_EQ(closest_miss_of({because("other-libc"), kClosed}), ClosestMiss::OtherBuild);
    EXPECT_EQ(closest_miss_of({because("mig-without-graphics")}), ClosestMiss::OtherBuild)
        << "no setting gives the instances graphics";
    EXPECT_EQ(closest_miss_of({kUnasked, kRemark}), ClosestMiss::NoCause);
    EXPECT_EQ(closest_miss_of({because("too-little-memory")}), ClosestMiss::NoCause);
    EXPECT_EQ(closest_miss_of({because("too-little-memory"), kClosed}), ClosestMiss::NoCause)
        << "an open node does not make it larger";
    EXPECT_EQ(closest_miss_of({because("backend-not-usable"), kUnasked}), ClosestMiss::NoCause);
    EXPECT_EQ(closest_miss_of({because("backend-not-usable"), kClosed}), ClosestMiss::CanChange);
    EXPECT_EQ(closest_miss_of({kUnasked, kClosed}), ClosestMiss::CanChange) << "a cause is known";
}

TEST(Ways, AreNearerWhereTheyMayBeOpenThenByWhatIsInThemThenByHowMuch) {
    const std::vector<Route> by_nearness{
        {.is_open = Truth::Unknown, .reasons = {kUnasked}},
        {.is_open = Truth::Unknown, .reasons = {kUnasked, kUnasked}},
        {.is_open = Truth::False, .reasons = {kClosed}},
        {.is_open = Truth::False, .reasons = {kClosed, kClosed}},
        {.is_open = Truth::False, .reasons = {kNoCode}},
        {.is_open = Truth::False, .reasons = {kOfOthers}},
    };
    for (std::size_t i = 0; i < by_nearness.size(); ++i)
        for (std::size_t j = 0; j < by_nearness.size(); ++j)
            EXPECT_EQ(is_nearer(by_nearness[i], by_nearness[j]), i < j) << i << " " << j;
}

Reason needing(Value need) {
    return because("driver-too-old", {{"have", "535.216.01"}, {"need", std::move(need)}});
}

TEST(Ways, ThatWantLessAreNearerWhereTheyAreAlikeOtherwise) {
    const Route low{.is_open = Truth::False, .reasons = {needing("550")}};
    const Route high{.is_open = Truth::False, .reasons = {needing("580")}};
    EXPECT_TRUE(is_nearer(low, high));
    EXPECT_FALSE(is_nearer(high, low));
    EXPECT_FALSE(is_nearer(low, low));
    const Route mixed{.is_open = Truth::False, .reasons = {needing("550"), kClosed}};
    EXPECT_TRUE(is_nearer(high, mixed)) << "it is one thing";
    const auto small = because("too-little-memory", {{"need", to_value(gib(9))}});
    const auto smaller = because("too-little-memory", {{"need", to_value(gib(8))}});
    EXPECT_FALSE(wants_less({needing("550"), small}, {needing("580"), smaller}))
        << "less of one thing, and more of another";
    EXPECT_FALSE(wants_less({kClosed}, {needing("580")}));
}

/// The reasons that remain if these two reasons are added in this order.
std::vector<Reason> added(const Reason& first, const Reason& second) {
    std::vector<Reason> reasons;
    add_obstacle(first, reasons);
    add_obstacle(second, reasons);
    return reasons;
}

TEST(Obstacles, OfSeveralFloorsAreTheHighest) {
    const auto high = needing("570");
    for (const auto* low : {"550", "99.9", "570", "570.0"}) {
        EXPECT_EQ(added(high, needing(low)), std::vector{high}) << low;
        EXPECT_EQ(added(needing(low), high).size(), 1U) << low;
    }
    EXPECT_EQ(added(needing("550"), high), std::vector{high});
    const auto of_variant = because("driver-too-old", {{"where", "pci:01"}, {"want", "580.0"}});
    EXPECT_EQ(added(high, of_variant), std::vector{of_variant});
}

TEST(Obstacles, OfDifferentKindsAreAllReported) {
    const auto physical =
        because("too-little-memory", {{"need", to_value(gib(9))}, {"of", "physical"}});
    const auto allocatable =
        because("too-little-memory", {{"need", to_value(gib(8))}, {"of", "allocatable"}});
    EXPECT_EQ(added(physical, allocatable).size(), 2U);
    const auto on_first = because("driver-too-old", {{"where", "pci:01"}, {"want", "580.0"}});
    const auto on_second = because("driver-too-old", {{"where", "pci:02"}, {"want", "580.0"}});
    EXPECT_EQ(added(on_first, on_second).size(), 2U);
    EXPECT_EQ(added(needing("570"), needing({})).size(), 2U) << "nobody knows how new";
    EXPECT_EQ(added(because("cuda-version-unfit", {{"want", "13.0"}}),
                    because("cuda-version-unfit", {{"want", "12.0"}}))
                  .size(),
              2U)
        << "a range is not a floor";
    EXPECT_EQ(added(kNoCode, kNoCode).size(), 2U);
}

}  // namespace nearness_test
}  // namespace gpuprobe
