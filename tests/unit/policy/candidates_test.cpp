// SPDX-License-Identifier: Apache-2.0
#include "policy/candidates.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "policy/select.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace candidates_test {

using support::default_profile;
using support::kFirstUuid;
using support::kSecondUuid;
using support::nvidia_card;
using support::report_of;

/// Two equal cards, measured with CUDA and Vulkan; nullopt means not measured.
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

TEST(MeasuredRank, AppliesIfTheProfileOrTheRequestSelectsIt) {
    EXPECT_EQ(select(default_profile(), {}, machine(1, 100, 1))->backend, "cuda");
    auto profile = default_profile();
    profile.rank = Rank::Measured;
    EXPECT_EQ(select(profile, {}, machine(1, 100, 1))->backend, "vulkan");
    EXPECT_EQ(select(profile, {.rank = Rank::Documented}, machine(1, 100, 1))->backend, "cuda");
}

TEST(NumberOfGpus, IsAllEquivalentGpusUnlessTheProfileSaysOne) {
    auto profile = default_profile();
    EXPECT_EQ(select(profile, {}, machine(1, 1, 1))->gpus.size(), 2U);
    profile.gpus = GpuCount::One;
    const auto one = select(profile, {}, machine(1, 1, 1)).value();
    EXPECT_EQ(one.gpus, std::vector<std::string>{"pci:0000:06:00.0"});
    EXPECT_EQ(one.environment.at("CUDA_VISIBLE_DEVICES"), kFirstUuid);
}

TEST(MeasuredRank, DoesNotChooseRejectedCandidates) {
    const auto decision =
        select(default_profile(), {.deny = {"vulkan"}, .rank = Rank::Measured}, machine(1, 100, 1));
    EXPECT_EQ(decision->backend, "cuda");
}

TEST(MeasuredRank, KeepsTheOrderWithoutMeasurementsAndNotesIt) {
    const auto decision = measured(machine(std::nullopt, std::nullopt, std::nullopt));
    EXPECT_EQ(decision.backend, "cuda");
    for (const auto& candidate : decision.candidates) {
        if (candidate.verdict == Verdict::Accepted) {
            EXPECT_EQ(candidate.reasons.back().code, "not-measured") << candidate.backend;
        }
    }
}

TEST(MeasuredRank, MentionsOnlyCandidatesWithoutMeasurements) {
    const auto decision = measured(machine(1, 2, std::nullopt));
    const auto reasons_on = [&decision](const char* gpu) {
        for (const auto& candidate : decision.candidates)
            if (candidate.backend == "cuda" && candidate.gpu == gpu)
                return candidate.reasons;
        return std::vector{Reason{.code = "no such candidate"}};
    };
    EXPECT_TRUE(reasons_on("pci:0000:06:00.0").empty());
    ASSERT_EQ(reasons_on("pci:0000:07:00.0").size(), 1u);
    EXPECT_EQ(reasons_on("pci:0000:07:00.0")[0].code, "not-measured");
}

TEST(MeasuredRank, PutsTheFastestGpuFirst) {
    const auto decision = measured(machine(50, std::nullopt, 100));
    EXPECT_EQ(decision.gpus, (std::vector<std::string>{"pci:0000:07:00.0", "pci:0000:06:00.0"}));
}

Report with_cpu(Report report, std::optional<double> score) {
    report.host.cpu.score = score;
    return report;
}

const Candidate& candidate(const Decision& decision,
                           std::string_view backend,
                           const std::optional<std::string>& gpu) {
    static const Candidate kNone{.backend = "no such candidate"};
    for (const auto& one : decision.candidates)
        if (one.backend == backend && one.gpu == gpu)
            return one;
    return kNone;
}

TEST(MeasuredRank, ChoosesTheCpuIfItIsFasterWithAReason) {
    const auto decision = measured(with_cpu(machine(50, 40, 45), 100));
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_TRUE(decision.gpus.empty());
    const auto& slow = candidate(decision, "cuda", "pci:0000:06:00.0");
    EXPECT_EQ(slow.verdict, Verdict::Accepted);
    ASSERT_FALSE(slow.reasons.empty());
    EXPECT_EQ(slow.reasons.back().code, "slower-than-cpu");
    EXPECT_EQ(slow.reasons.back().detail.at("score"), Value{50.0});
    EXPECT_EQ(slow.reasons.back().detail.at("cpu_score"), Value{100.0});
}

TEST(MeasuredRank, PrefersAGpuThatIsAsFastAsTheCpu) {
    EXPECT_EQ(measured(with_cpu(machine(95, 1, 1), 100)).backend, "cuda");
    EXPECT_EQ(measured(with_cpu(machine(94.9, 1, 1), 100)).backend, "cpu");
}

TEST(MeasuredRank, DoesNotTakeTheCpuBeforeAGpuThatWasNotMeasured) {
    EXPECT_EQ(measured(with_cpu(machine(std::nullopt, std::nullopt, std::nullopt), 100)).backend,
              "cuda");
    const auto decision = measured(with_cpu(machine(50, 40, std::nullopt), 100));
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(decision.gpus.front(), "pci:0000:07:00.0") << "the other is known to be slow";
}

TEST(MeasuredRank, TakesNoCpuThatIsOutOfTheQuestion) {
    const auto report = with_cpu(machine(50, 40, 45), 100);
    EXPECT_EQ(select(default_profile(), {.strict = true, .rank = Rank::Measured}, report)->backend,
              "cuda");
    EXPECT_EQ(
        select(default_profile(), {.backend = "vulkan", .rank = Rank::Measured}, report)->backend,
        "vulkan");
    EXPECT_EQ(select(default_profile(), {}, report)->backend, "cuda") << "nobody asked for it";
}

TEST(MeasuredRank, NeverTakesSoftwareHoweverFast) {
    auto report = with_cpu(report_of({}, {support::pocl(), support::llvmpipe()}), 100);
    report.software[0].score = 900;
    report.software[1].score = 9;
    const auto decision = measured(report);
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_EQ(candidate(decision, "opencl", std::nullopt).reasons.back().code,
              "software-rasterizer");
    EXPECT_EQ(candidate(decision, "vulkan", std::nullopt).reasons.back().code, "slower-than-cpu");
    EXPECT_EQ(candidate(decision, "vulkan", std::nullopt).verdict, Verdict::Rejected);
}

TEST(MeasuredRank, AnswersTheSameInWhateverOrderTheReportIs) {
    std::mt19937 random{42};
    auto report = with_cpu(machine(96, 100, 98), 97);
    report.software = {support::pocl(), support::llvmpipe(), support::pocl()};
    report.software[0].score = 5;
    report.software[2].score = 6;
    const auto first = measured(report);
    for (int round = 0; round < 100; ++round) {
        std::ranges::shuffle(report.gpus, random);
        std::ranges::shuffle(report.software, random);
        ASSERT_EQ(measured(report), first) << round;
    }
}

TEST(RequireVerified, IsAFloor) {
    auto report = machine(1, 1, 1);
    report.gpus[1].backends["vulkan"].verified = true;
    const SelectRequest request{.require_verified = true};
    const auto decision = select(default_profile(), request, report).value();
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(decision.gpus, std::vector<std::string>{"pci:0000:07:00.0"});
    const auto& untried = candidate(decision, "cuda", "pci:0000:06:00.0");
    EXPECT_EQ(untried.verdict, Verdict::Rejected);
    EXPECT_EQ(untried.reasons.back().code, "not-verified");
    EXPECT_EQ(untried.reasons.back().detail.at("result"), Value{});
}

TEST(RequireVerified, SaysHowItEnded) {
    auto report = machine(1, 1, 1);
    report.gpus[0].backends["cuda"].verification =
        Verification{.result = VerificationResult::TimedOut};
    const auto decision = select(default_profile(), {.require_verified = true}, report).value();
    EXPECT_EQ(decision.backend, "cpu") << "it needs no GPU that computes";
    EXPECT_EQ(candidate(decision, "cuda", "pci:0000:06:00.0").reasons.back().detail.at("result"),
              Value{"timed-out"});
}

TEST(RequireVerified, IsReadFromARequest) {
    const auto request = select_request_from(Value{Value::Object{{"require-verified", true}}});
    ASSERT_TRUE(request);
    EXPECT_TRUE(request->require_verified);
    EXPECT_FALSE(select_request_from(Value{Value::Object{{"require-verified", "yes"}}}));
}

/// The result that report/trials.cpp adds after a verification.
void crash(BackendView& view) {
    view.verification = Verification{.result = VerificationResult::Crashed};
    view.reasons.push_back(because("not-computing", {{"api", "cuda"}, {"result", "crashed"}}));
}

TEST(Unsound, IsNotChosenWhileAnotherCandidateIsSound) {
    auto report = machine(1, 1, 1);
    crash(report.gpus[0].backends["cuda"]);
    const auto other_gpu = select(default_profile(), {}, report).value();
    EXPECT_EQ(other_gpu.backend, "cuda");
    EXPECT_EQ(other_gpu.gpus, std::vector<std::string>{"pci:0000:07:00.0"});
    EXPECT_EQ(candidate(other_gpu, "cuda", "pci:0000:06:00.0").reasons.back().code, "unsound");

    crash(report.gpus[1].backends["cuda"]);
    EXPECT_EQ(select(default_profile(), {}, report)->backend, "vulkan");
    for (auto& gpu : report.gpus)
        crash(gpu.backends["vulkan"]);
    EXPECT_EQ(select(default_profile(), {.deny = {"opencl", "webgpu"}}, report)->backend, "cpu");
}

TEST(Unsound, IsChosenIfTheRequestLeavesNothingElse) {
    auto report = machine(1, 1, 1);
    for (auto& gpu : report.gpus)
        crash(gpu.backends["cuda"]);
    EXPECT_EQ(select(default_profile(), {.backend = "cuda"}, report)->backend, "cuda");
}

TEST(KnownBad, IsAWarningAboutTheChosenBackend) {
    auto report = machine(1, 1, 1);
    for (auto& gpu : report.gpus)
        gpu.driver.version = "595.45.04";
    const auto decision = select(default_profile(), {}, report).value();
    EXPECT_EQ(decision.backend, "cuda") << "programs may still work";
    const auto warning = std::ranges::find(decision.warnings, "known-bad", &Reason::code);
    ASSERT_NE(warning, decision.warnings.end());
    EXPECT_EQ(warning->detail.at("cause"), Value{"nvidia-595-45"});
    EXPECT_EQ(warning->detail.at("text"),
              Value{"with driver 595.45.04, programs that use CUDA are known to hang"});
}

TEST(KnownBad, IsNoWarningUnderAnotherOrAnUnknownDriver) {
    for (const auto& version :
         {std::optional<std::string>{"595.58.99"}, std::optional<std::string>{}}) {
        auto report = machine(1, 1, 1);
        for (auto& gpu : report.gpus)
            gpu.driver.version = version;
        EXPECT_FALSE(has_reason(select(default_profile(), {}, report)->warnings, "known-bad"));
    }
}

}  // namespace candidates_test
}  // namespace gpuprobe
