// SPDX-License-Identifier: Apache-2.0
#include "decide/measured.h"

#include <gtest/gtest.h>

#include "decide/select.h"
#include "unit/decide/machines.h"

namespace gpuprobe {
namespace {

using testing::default_profile;
using testing::kFirstUuid;
using testing::kSecondUuid;
using testing::nvidia_card;
using testing::report_of;

/// Two like cards, measured with CUDA and Vulkan each; nullopt: not measured.
Report machine(std::optional<double> first_cuda,
               std::optional<double> first_vulkan,
               std::optional<double> second_cuda) {
    auto report = report_of(
        {nvidia_card("0000:06:00.0", kFirstUuid, 0), nvidia_card("0000:07:00.0", kSecondUuid, 1)});
    report.gpus[0].backends["cuda"].score = first_cuda;
    report.gpus[0].backends["vulkan"].score = first_vulkan;
    report.gpus[1].backends["cuda"].score = second_cuda;
    return report;
}

Decision measured(const Report& report) {
    return select(default_profile(), {.rank = Rank::Measured}, report).value();
}

TEST(MeasuredRank, TakesTheFastestBackend) {
    EXPECT_EQ(measured(machine(100, 106, std::nullopt)).backend, "vulkan");
    EXPECT_EQ(measured(machine(106, 100, std::nullopt)).backend, "cuda");
}

TEST(MeasuredRank, TakesTheFirstOfThoseThatAreAsFast) {
    EXPECT_EQ(measured(machine(95, 100, std::nullopt)).backend, "cuda");
    EXPECT_EQ(measured(machine(94.9, 100, std::nullopt)).backend, "vulkan");
}

TEST(MeasuredRank, IsForWhoAsks) {
    EXPECT_EQ(select(default_profile(), {}, machine(1, 100, 1))->backend, "cuda");
    auto profile = default_profile();
    profile.rank = Rank::Measured;
    EXPECT_EQ(select(profile, {}, machine(1, 100, 1))->backend, "vulkan");
    EXPECT_EQ(select(profile, {.rank = Rank::Documented}, machine(1, 100, 1))->backend, "cuda");
}

TEST(MeasuredRank, DoesNotChooseWhatIsRejected) {
    const auto decision =
        select(default_profile(), {.deny = {"vulkan"}, .rank = Rank::Measured}, machine(1, 100, 1));
    EXPECT_EQ(decision->backend, "cuda");
}

TEST(MeasuredRank, KeepsTheOrderWhereNothingWasMeasuredAndSaysSo) {
    const auto decision = measured(machine(std::nullopt, std::nullopt, std::nullopt));
    EXPECT_EQ(decision.backend, "cuda");
    for (const auto& candidate : decision.candidates) {
        if (candidate.verdict == Verdict::Accepted) {
            EXPECT_EQ(candidate.reasons.back().code, "not-measured") << candidate.backend;
        }
    }
}

TEST(MeasuredRank, TellsOfWhatWasNotMeasuredOnly) {
    const auto decision = measured(machine(1, 2, std::nullopt));
    const auto reasons_on = [&decision](const char* gpu) {
        for (const auto& candidate : decision.candidates)
            if (candidate.backend == "cuda" && candidate.gpu == gpu)
                return candidate.reasons;
        return std::vector<Reason>{because("no such candidate")};
    };
    EXPECT_TRUE(reasons_on("pci:0000:06:00.0").empty());
    ASSERT_EQ(reasons_on("pci:0000:07:00.0").size(), 1u);
    EXPECT_EQ(reasons_on("pci:0000:07:00.0")[0].code, "not-measured");
}

TEST(MeasuredRank, PutsTheFastestGpuFirst) {
    const auto decision = measured(machine(50, std::nullopt, 100));
    EXPECT_EQ(decision.gpus, (std::vector<std::string>{"pci:0000:07:00.0", "pci:0000:06:00.0"}));
}

}  // namespace
}  // namespace gpuprobe
