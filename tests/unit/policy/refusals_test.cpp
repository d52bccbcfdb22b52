// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "unit/policy/scenario.h"

/// What a consumer does not use a build of it is not for.
namespace gpuprobe {
namespace {

using namespace testing_variants;

Manifest cuda_and_cpu() {
    auto manifest = parse_product(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("gpu":{"family":"cuda","tier":9,"requires":{"device":{"cuda":{"toolkit":"12.4"}}}},)"
        R"("cpu":{}}}}})");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

Profile with_cuda() {
    return Profile{.name = "p", .backends = {"cuda", "cpu"}};
}

Recommendation for_consumer(const Profile& profile, const Report& report) {
    return recommend(cuda_and_cpu(), {}, report, rules(), {}, refusals_of(profile, report));
}

/// G02's RTX 4090, whose CUDA crashes.
Report crashing_machine() {
    auto report = machine("G02");
    auto& view = report.gpus[0].backends["cuda"];
    view.usable = false;
    view.reasons = {because("driver-crashed", {{"api", "cuda"}})};
    return report;
}

TEST(Refusals, KeepABuildFromAGpuThatTheConsumerCannotUse) {
    EXPECT_EQ(for_consumer(with_cuda(), machine("G02")).variant, "gpu");
    const auto report = crashing_machine();
    const auto answer = for_consumer(with_cuda(), report);
    EXPECT_EQ(answer.variant, "cpu");
    const auto* rejected = candidate(answer, "gpu");
    ASSERT_TRUE(rejected);
    ASSERT_EQ(rejected->reasons.size(), 1U);
    EXPECT_TRUE(rejected->reasons[0].is("driver-crashed"));
    EXPECT_EQ(rejected->reasons[0].detail.at("where"), Value{report.gpus[0].id});
    EXPECT_EQ(rejected->reasons[0].detail.at("predicate"), Value{"backend"});
}

TEST(Refusals, KeepABuildFromVendorsThatTheConsumerLeavesOut) {
    auto profile = with_cuda();
    profile.vendors = {{"amd", {"cuda"}}};
    const auto answer = for_consumer(profile, machine("G02"));
    EXPECT_EQ(answer.variant, "cpu");
    EXPECT_TRUE(candidate(answer, "gpu")->reasons[0].is("not-in-profile-for-vendor"));
}

TEST(Refusals, AreNoneOfWhatNobodyKnowsOrTheProfileDoesNotName) {
    auto report = crashing_machine();
    report.gpus[0].backends.erase("cuda");
    EXPECT_EQ(for_consumer(with_cuda(), report).variant, "gpu");
    EXPECT_EQ(
        for_consumer(Profile{.name = "p", .backends = {"vulkan"}}, crashing_machine()).variant,
        "gpu");
}

}  // namespace
}  // namespace gpuprobe
