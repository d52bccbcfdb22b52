// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/select.h"
#include "unit/policy/scenario.h"

/// What is published for other platforms only is not offered on this one.

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

/// CUDA for x86-64, the CPU for both.
Manifest cuda_for_one() {
    return published(std::string{R"("linux-x86_64":)"} + kCudaAndCpu + R"(,"linux-aarch64":)" +
                     kCpuAlone);
}

/// G02's RTX 4090 in a machine with such a processor.
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

TEST(Published, ForAnotherProcessorAloneIsRefusedHere) {
    const auto application = cuda_for_one();
    EXPECT_EQ(choice(machine_with("x86_64"), application).backend, "cuda");
    for (const auto* arch : {"aarch64", "ppc64le"}) {
        const auto decision = choice(machine_with(arch), application);
        EXPECT_EQ(decision.backend, "cpu") << arch;
        const auto* why = refusal(decision);
        ASSERT_TRUE(why) << arch;
        EXPECT_TRUE(why->is("requirement-unmet"));
        EXPECT_EQ(why->detail.at("have"), Value{arch});
        EXPECT_EQ(why->detail.at("requirement"), Value{"arch=x86_64"});
        EXPECT_EQ(why->detail.at("build"), Value{"gpu"});
    }
}

TEST(Published, IsHeldAgainstNoMachineWhoseProcessorIsNotKnown) {
    EXPECT_EQ(choice(machine_with(std::nullopt), cuda_for_one()).backend, "cuda");
}

TEST(Published, IsNotAskedWhereTheCallerSaysWhatIsBuilt) {
    const SelectRequest built{.built = std::vector<std::string>{"cuda", "cpu"}};
    EXPECT_EQ(choice(machine_with("aarch64"), cuda_for_one(), built).backend, "cuda");
    const SelectRequest described{.installed = {.kernels = {{"", {"sm_89"}}}}};
    EXPECT_EQ(choice(machine_with("aarch64"), cuda_for_one(), described).backend, "cuda");
}

/// Whoever has a backend that nobody publishes has made the build.
TEST(Published, NowhereIsForTheProfileToSay) {
    const auto application = published(std::string{R"("linux-x86_64":)"} + kCpuAlone);
    EXPECT_EQ(choice(machine_with("x86_64"), application).backend, "cuda");
    EXPECT_EQ(choice(machine_with("aarch64"), application).backend, "cuda");
}

/// Every build of the platform in question needs another GPU: that is told, not the other
/// platform.
TEST(Published, HereAndElsewhereIsAskedOfHereAlone) {
    const auto application =
        published(std::string{R"("linux-x86_64":)"} + kCudaAndCpu +
                  R"(,"linux-aarch64":{"variants":{"gpu":{"requires":{"device":{"backend":"cuda",)"
                  R"("cuda":{"toolkit":"13.0","sass":["12.1"]}}}}}})");
    const auto decision = choice(machine_with("aarch64"), application);
    EXPECT_EQ(decision.backend, "cpu");
    ASSERT_TRUE(refusal(decision));
    EXPECT_TRUE(refusal(decision)->is("arch-not-in-build"));
}

TEST(Published, ForAnotherLibraryOfCIsRefusedHere) {
    const auto application = published(std::string{R"("linux-x86_64-glibc":)"} + kCudaAndCpu);
    auto report = machine_with("x86_64");
    report.host.libc = {.name = "musl"};
    const auto decision = choice(report, application);
    EXPECT_EQ(decision.backend, "cpu");
    ASSERT_TRUE(refusal(decision));
    EXPECT_TRUE(refusal(decision)->is("other-libc"));
    EXPECT_EQ(refusal(decision)->detail.at("want"), Value{"glibc"});
    report.host.libc = {};
    EXPECT_EQ(choice(report, application).backend, "cuda");
}

}  // namespace select_question_test
}  // namespace gpuprobe
