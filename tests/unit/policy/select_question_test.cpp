// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/select.h"
#include "unit/policy/scenario.h"

/// Variants that are published only for other platforms are not offered on this platform.

namespace gpuprobe {
namespace select_question_test {

using namespace testing_variants;

Manifest published(const std::string& platforms) {
    auto manifest = parse_manifest(R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{)" +
                                   platforms + "}}");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

constexpr auto kCudaAndCpu =
    R"({"variants":{"gpu":{"requires":{"device":{"backend":"cuda"}}},"cpu":{}}})";
constexpr auto kCpuAlone = R"({"variants":{"cpu":{}}})";

/// CUDA variants for x86-64, and CPU variants for both architectures.
Manifest cuda_for_one() {
    return published(std::string{R"("linux-x86_64":)"} + kCudaAndCpu + R"(,"linux-aarch64":)" +
                     kCpuAlone);
}

/// G02's RTX 4090 in a machine with this architecture.
Report machine_with(std::optional<std::string> arch) {
    auto report = machine("G02");
    report.host.arch = std::move(arch);
    return report;
}

Decision choice(const Report& report,
                const Manifest& application,
                const SelectRequest& request = {},
                const std::vector<std::string>& backends = {"cuda", "cpu"}) {
    const Profile profile{.name = "p", .backends = backends};
    auto decision = select(profile, request, report, {}, &application);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? std::move(decision).value() : Decision{};
}

const Reason* refusal(const Decision& decision) {
    const auto found = std::ranges::find(decision.candidates, "cuda", &Candidate::backend);
    return found == decision.candidates.end() || found->verdict != Verdict::Rejected
               ? nullptr
               : &found->reasons.back();
}

std::optional<std::string> assumed(const Decision& decision) {
    return decision.assumes ? std::optional{decision.assumes->variant} : std::nullopt;
}

const Reason* warning(const Decision& decision, ReasonCode code) {
    const auto found = std::ranges::find_if(
        decision.warnings, [code](const Reason& reason) { return reason.is(code); });
    return found == decision.warnings.end() ? nullptr : &*found;
}

TEST(Published, VariantIsAssumed) {
    const auto decision = choice(machine_with("x86_64"), cuda_for_one());
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(assumed(decision), "gpu");
    EXPECT_EQ(decision.candidates.front().variant, "gpu");
    EXPECT_EQ(decision.candidates.back().variant, "cpu");
    EXPECT_TRUE(decision.warnings.empty());
}

/// A backend that is published only for another architecture can still be built for this
/// architecture.
TEST(Published, ForAnotherProcessorAloneIsNamedAsTheBetterBuild) {
    const auto decision = choice(machine_with("aarch64"), cuda_for_one());
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_EQ(assumed(decision), "cpu");
    ASSERT_TRUE(refusal(decision));
    EXPECT_TRUE(refusal(decision)->is("not-published"));
    const auto* unused = warning(decision, "gpu-unused");
    ASSERT_TRUE(unused);
    EXPECT_EQ(unused->detail.at("by"), Value{"cuda"});
    EXPECT_FALSE(warning(decision, "better-if-built")) << "that has been said";
}

/// If there is no variant for the platform, the user of the program must have built it.
TEST(Published, ForNoVariantOfThePlatformIsForTheProfileToDecide) {
    for (const auto& arch : {std::optional<std::string>{"ppc64le"}, std::optional<std::string>{}}) {
        const auto decision = choice(machine_with(arch), cuda_for_one());
        EXPECT_EQ(decision.backend, "cuda");
        EXPECT_EQ(assumed(decision), std::nullopt);
        EXPECT_TRUE(warning(decision, "no-published-variant"));
    }
}

TEST(Published, IsNotAskedWhereTheCallerSaysWhatIsBuilt) {
    const SelectRequest built{.built = std::vector<std::string>{"cuda", "cpu"}};
    EXPECT_EQ(choice(machine_with("aarch64"), cuda_for_one(), built).backend, "cuda");
    const SelectRequest described{.installed = {.kernels = {{"", {"sm_89"}}}}};
    EXPECT_EQ(choice(machine_with("aarch64"), cuda_for_one(), described).backend, "cuda");
}

/// Each variant for the platform needs a different GPU.
TEST(Published, ThatFitsNothingHereIsForABuildOfOnesOwn) {
    const auto application =
        published(std::string{R"("linux-x86_64":)"} + kCudaAndCpu +
                  R"(,"linux-aarch64":{"variants":{"gpu":{"requires":{"device":{"backend":"cuda",)"
                  R"("cuda":{"toolkit":"13.0","sass":["12.1"]}}}}}})");
    const auto decision = choice(machine_with("aarch64"), application);
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(assumed(decision), std::nullopt);
    const auto* none = warning(decision, "no-published-variant");
    ASSERT_TRUE(none);
    EXPECT_EQ(none->detail.at("reasons").as_array()->front().at("code"),
              Value{"arch-not-in-build"});
}

/// The archive for the GPU needs a newer host. The decision is for the build that can be installed,
/// and mentions the better build.
TEST(Published, HostRequirementsOfAVariantCount) {
    const auto application =
        published(R"("linux-x86_64":{"variants":{"gpu":{"requires":{"host":{"glibc_min":"2.39"},)"
                  R"("device":{"backend":"cuda"}}},"cpu":{}}})");
    auto report = machine_with("x86_64");
    report.host.libc = {.name = "glibc", .version = "2.36"};
    const auto decision = choice(report, application);
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_EQ(assumed(decision), "cpu");
    ASSERT_TRUE(refusal(decision));
    EXPECT_TRUE(refusal(decision)->is("glibc-too-old"));
    EXPECT_TRUE(warning(decision, "gpu-unused"));
    const SelectRequest forced{.backend = "cuda"};
    const auto own = choice(report, application, forced);
    EXPECT_EQ(own.backend, "cuda") << "no variant has it, so the user builds it";
    EXPECT_TRUE(warning(own, "no-published-variant"));
}

/// There is a suitable variant for another backend.
TEST(Published, BetterBackendIsNamedBesideAnotherOnTheSameGpu) {
    const auto application =
        published(R"("linux-x86_64":{"variants":{"gpu":{"requires":{"host":{"glibc_min":"2.39"},)"
                  R"("device":{"backend":"cuda"}}},)"
                  R"("other":{"requires":{"device":{"backend":"vulkan"}}}}})");
    auto report = machine_with("x86_64");
    report.host.libc = {.name = "glibc", .version = "2.36"};
    const auto decision = choice(report, application, {}, {"cuda", "vulkan", "cpu"});
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(assumed(decision), "other");
    const auto* better = warning(decision, "better-if-built");
    ASSERT_TRUE(better);
    EXPECT_EQ(better->detail.at("backend"), Value{"cuda"});
    EXPECT_EQ(better->detail.at("reasons").as_array()->front().at("code"), Value{"glibc-too-old"});
}

/// A request can name a variant instead of a backend.
TEST(Published, VariantCanBeRequestedByItsName) {
    const auto decision =
        choice(machine_with("x86_64"), cuda_for_one(), SelectRequest{.backend = "gpu"});
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(decision.candidates.front().verdict, Verdict::Accepted);
}

}  // namespace select_question_test
}  // namespace gpuprobe
