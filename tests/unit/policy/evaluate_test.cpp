// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "unit/policy/machines.h"
#include "unit/policy/scenario.h"

/// If an application does not use a GPU, no build of the application is for this GPU.
namespace gpuprobe {
namespace evaluate_test {

using namespace testing_variants;

Manifest cuda_and_cpu(const std::string& of_host = "{}") {
    auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("gpu":{"family":"cuda","tier":9,"requires":{"device":{"cuda":{"toolkit":"12.4"}},"host":)" +
        of_host + R"(}},"cpu":{}}}}})");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

Profile with_cuda() {
    return Profile{.name = "p", .backends = {"cuda", "cpu"}};
}

Recommendation for_application(const Profile& profile,
                               const Report& report,
                               const Manifest& manifest = cuda_and_cpu()) {
    return recommend(manifest, {}, report, rules(), {}, selection_view(profile, {}, report));
}

/// G02's RTX 4090, whose CUDA crashes.
Report crashing_machine() {
    auto report = machine("G02");
    auto& view = report.gpus[0].backends["cuda"];
    view.usable = false;
    view.reasons = {because("driver-crashed", {{"api", "cuda"}})};
    return report;
}

TEST(Refusals, KeepABuildFromAGpuThatTheApplicationCannotUse) {
    EXPECT_EQ(for_application(with_cuda(), machine("G02")).variant, "gpu");
    const auto report = crashing_machine();
    const auto answer = for_application(with_cuda(), report);
    EXPECT_EQ(answer.variant, "cpu");
    const auto* rejected = candidate(answer, "gpu");
    ASSERT_TRUE(rejected);
    ASSERT_EQ(rejected->reasons.size(), 1U);
    EXPECT_TRUE(rejected->reasons[0].is("driver-crashed"));
    EXPECT_EQ(rejected->reasons[0].detail.at("where"), Value{report.gpus[0].id});
    EXPECT_EQ(rejected->reasons[0].detail.at("predicate"), Value{"backend"});
}

/// A build does not repeat the rule about integrated GPUs that its application's selection has.
TEST(Refusals, OfIntegratedGpusAreLiftedByTheCallersVariables) {
    auto profile = with_cuda();
    profile.integrated = IntegratedPolicy::Never;
    profile.integrated_by = {{"P_INTEGRATED", "1"}};
    auto report = machine("G02");
    report.gpus[0].kind = GpuKind::Integrated;
    const auto answer = for_application(profile, report);
    EXPECT_EQ(answer.variant, "cpu");
    EXPECT_TRUE(has_reason(candidate(answer, "gpu")->reasons, "integrated-not-enabled"));
    const SelectRequest with_variable{.environment = {{"P_INTEGRATED", "1"}}};
    const auto lifted = recommend(cuda_and_cpu(), {}, report, rules(), {},
                                  selection_view(profile, with_variable, report));
    EXPECT_EQ(lifted.variant, "gpu");
}

/// A library that both the profile and the build require.
TEST(Refusals, AreNotRepeatedIfTheBuildReportsThem) {
    const auto manifest = cuda_and_cpu(R"({"libs":["libcudart.so.12"]})");
    auto profile = with_cuda();
    profile.floors["cuda"] = {support::parsed("library=libcudart.so.12")};
    auto report = machine("G02");
    report.host.libraries = std::vector<std::string>{"libgomp.so.1"};
    const auto answer = for_application(profile, report, manifest);
    const auto& reasons = candidate(answer, "gpu")->reasons;
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_TRUE(reasons[0].is("library-missing"));
    EXPECT_EQ(reasons[0].detail.at("predicate"), Value{"libs"});
}

/// The profile and the build require different libraries. The newer of the two required drivers is
/// enough for both.
TEST(Refusals, AreToldWhereTheBuildSaysTheSameOfSomethingElse) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("gpu":{"family":"cuda","tier":9,"requires":{"device":{"backend":"cuda",)"
        R"("driver_min":"9000"},"host":{"libs":["libcublas.so.12"]}}},"cpu":{}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    auto profile = with_cuda();
    profile.floors["cuda"] = {support::parsed("library=libcudart.so.12"),
                              support::parsed("driver>=9001")};
    auto report = machine("G02");
    report.host.libraries = std::vector<std::string>{"libgomp.so.1"};
    const auto answer = for_application(profile, report, *manifest);
    std::vector<std::string> codes;
    for (const auto& reason : candidate(answer, "gpu")->reasons)
        codes.push_back(reason.code);
    std::ranges::sort(codes);
    EXPECT_EQ(codes,
              (std::vector<std::string>{"driver-too-old", "library-missing", "library-missing"}));
    const auto& reasons = candidate(answer, "gpu")->reasons;
    EXPECT_EQ(std::ranges::find(reasons, "driver-too-old", &Reason::code)->detail.at("need"),
              Value{"9001"});
}

/// The host's library is reported once for all GPUs.
TEST(Refusals, OfTheHostAreOfTheHost) {
    auto profile = with_cuda();
    profile.floors["cuda"] = {support::parsed("library=libcudart.so.12")};
    auto report = machine("G02");
    report.host.libraries = std::vector<std::string>{"libgomp.so.1"};
    const auto answer = for_application(profile, report);
    const auto& reasons = candidate(answer, "gpu")->reasons;
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_EQ(reasons[0].detail.at("where"), Value{"host"});
}

TEST(Refusals, KeepABuildFromVendorsThatTheApplicationLeavesOut) {
    auto profile = with_cuda();
    profile.vendors = {{"amd", {"cuda"}}};
    const auto answer = for_application(profile, machine("G02"));
    EXPECT_EQ(answer.variant, "cpu");
    EXPECT_TRUE(candidate(answer, "gpu")->reasons[0].is("not-in-profile-for-vendor"));
}

/// The selection chooses no backend that was never probed, and no variant for such a backend.
TEST(Refusals, AreForABackendOfWhichNothingIsKnown) {
    auto report = crashing_machine();
    report.gpus[0].backends.erase("cuda");
    EXPECT_EQ(for_application(with_cuda(), report).variant, "cpu");
}

TEST(Refusals, AreNoneForABackendThatTheProfileDoesNotName) {
    EXPECT_EQ(
        for_application(Profile{.name = "p", .backends = {"vulkan"}}, crashing_machine()).variant,
        "gpu");
}

}  // namespace evaluate_test
}  // namespace gpuprobe
