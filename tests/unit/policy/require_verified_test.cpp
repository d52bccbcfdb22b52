// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/scenario.h"

/// Tests of a requirement in the request: only backends that computed a verified result on the GPU
/// are allowed.
namespace gpuprobe {
namespace require_verified_test {

using namespace testing_variants;

const RecommendRequest kVerified{.require_verified = true};

Manifest with(const std::string& platform) {
    auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{)" + platform +
        "}}}");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

void verify(Report& report, std::size_t gpu, const std::string& backend) {
    auto& view = report.gpus.at(gpu).backends[backend];
    view.verified = true;
    view.verification = {.result = VerificationResult::Verified};
}

struct Row {
    const char* name;
    const char* variant;   ///< members of the variant; the other variant is "cpu"
    const char* verified;  ///< a backend of G02's GPU, an RTX 4090
    const char* wanted;
};
class RequireVerified : public ::testing::TestWithParam<Row> {};

TEST_P(RequireVerified, WantsEachBackendThatTheVariantComputesWith) {
    const auto& row = GetParam();
    auto report = machine("G02");
    verify(report, 0, row.verified);
    const auto manifest =
        with(std::string{R"("variants":{"gpu":{"tier":9,)"} + row.variant + R"(},"cpu":{}})");
    EXPECT_EQ(recommend(manifest, {}, report, rules()).variant, "gpu") << "without the floor";
    EXPECT_EQ(recommend(manifest, kVerified, report, rules()).variant, row.wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    RequireVerified,
    ::testing::Values(
        Row{"TheBackend", R"("requires":{"device":{"backend":"cuda"}})", "cuda", "gpu"},
        Row{"AnotherBackend", R"("requires":{"device":{"backend":"cuda"}})", "vulkan", "cpu"},
        Row{"WhatItsCodeIsFor",
            R"("requires":{"device":{"cuda":{"toolkit":"12.8","sass":["8.9"]}}})", "cuda", "gpu"},
        Row{"OneOfTwoAtOnce",
            R"("requires":{"device":{"backend":"cuda","vulkan":{"api_min":"1.1"}}})", "cuda",
            "cpu"},
        Row{"OneOfTwoAlternatives",
            R"("requires":{"device":[{"backend":"hip"},{"backend":"vulkan"},{"backend":"cuda"}]})",
            "vulkan", "gpu"},
        Row{"WhatItsFamilyIsCalled",
            R"("family":"cuda","requires":{"device":{"vendor":["nvidia"]}})", "cuda", "gpu"},
        Row{"NothingThatTells", R"("requires":{"device":{"vendor":["nvidia"]}})", "cuda", "cpu"},
        Row{"NoGpuAtAll", R"("note":"needs none")", "vulkan", "gpu"}),
    support::case_name);

TEST(RequireVerifiedAnswer, ReportsUnverifiedBackendsAndTheirOutcomes) {
    auto report = machine("G02");
    report.gpus[0].backends["cuda"].verification = {.result = VerificationResult::Crashed};
    const auto manifest =
        with(R"("variants":{"v":{"requires":{"device":[{"backend":"hip"},{"backend":"cuda"},
                                                       {"backend":"vulkan"}]}},
                            "w":{"requires":{"device":{"backend":"vulkan"}}}})");
    const auto answer = recommend(manifest, kVerified, report, rules());
    EXPECT_EQ(answer.status, RecommendStatus::None);
    const auto& reasons = candidate(answer, "v")->reasons;
    ASSERT_EQ(reasons.size(), 1U) << "HIP is for others, and Vulkan is not nearer than CUDA";
    EXPECT_EQ(json_line(to_value(reasons[0])),
              R"({"code":"not-verified","detail":{"where":"pci:01","predicate":"require-verified",)"
              R"("backend":"cuda","result":"crashed"}})");
    EXPECT_EQ(json_line(candidate(answer, "w")->reasons.at(0).detail.at("result")), "null");
}

// G06: the V100 is pci:01, and the RTX 3090 is pci:02.
TEST(RequireVerifiedAnswer, IsOfTheGpusThatWereVerified) {
    auto report = machine("G06");
    verify(report, 1, "cuda");
    const auto any = with(R"("variants":{"v":{"requires":{"device":{"backend":"cuda"}}}})");
    EXPECT_EQ(recommend(any, kVerified, report, rules()).gpus,
              std::vector<std::string>{report.gpus[1].id});
    const auto all =
        with(R"("variants":{"v":{"requires":{"scope":"all","device":{"backend":"cuda"}}}})");
    EXPECT_EQ(recommend(all, kVerified, report, rules()).status, RecommendStatus::None);
    verify(report, 0, "cuda");
    EXPECT_EQ(recommend(all, kVerified, report, rules()).gpus.size(), 2U);
}

TEST(RequireVerifiedAnswer, TakesNoDefaultThatComputesOnAGpu) {
    const std::string variants =
        R"(,"on_none":"default","variants":{"cpu":{"requires":{"host":{"cpu_features":["x"]}}},)"
        R"("gpu":{"requires":{"device":{"backend":"cuda"}}}})";
    const auto report = machine("G02");
    const auto gpu = recommend(with(R"("default":"gpu")" + variants), kVerified, report, rules());
    EXPECT_EQ(gpu.status, RecommendStatus::None);
    const auto cpu = recommend(with(R"("default":"cpu")" + variants), kVerified, report, rules());
    EXPECT_EQ(cpu.variant, "cpu");
    EXPECT_EQ(cpu.status, RecommendStatus::DefaultUnverified);
}

TEST(RequireVerifiedAnswer, IsWantedWhenCallerOrRuleWantsIt) {
    EXPECT_TRUE(under_rule({}, kVerified).require_verified);
    EXPECT_TRUE(under_rule(kVerified, {}).require_verified);
    EXPECT_FALSE(under_rule({}, {}).require_verified);
}

}  // namespace require_verified_test
}  // namespace gpuprobe
