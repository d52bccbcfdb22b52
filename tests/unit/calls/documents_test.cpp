// SPDX-License-Identifier: Apache-2.0
#include "calls/documents.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace documents_test {

using Ids = std::vector<std::string>;

/// A card, and a card that is divided into two instances.
Report two_cards() {
    Gpu whole{.id = "pci:0000:01:00.0", .vendor = "amd"};
    Gpu divided{.id = "pci:0000:02:00.0", .vendor = "nvidia"};
    for (const std::uint32_t instance : {1U, 2U}) {
        const auto name = mig_name(instance, std::nullopt);
        divided.partitions.push_back(
            {.name = name, .id = divided.id + "/" + name, .gpu_instance = instance});
    }
    Report report;
    report.gpus = {std::move(whole), std::move(divided)};
    return report;
}

Ids tested_on(std::optional<Ids> gpus) {
    Ids ids;
    const auto answer = tested({"vendor=amd"}, std::move(gpus), two_cards());
    EXPECT_TRUE(answer) << answer.error().text;
    for (const auto& term : answer ? answer->terms : std::vector<TestedTerm>{})
        ids.push_back(term.gpu.value_or("none"));
    return ids;
}

TEST(Terms, AreTestedOnAllGpusOrThoseThatAreNamed) {
    EXPECT_EQ(tested_on({}), (Ids{"pci:0000:01:00.0", "pci:0000:02:00.0"}));
    EXPECT_EQ(tested_on(Ids{}), Ids{});
    EXPECT_EQ(tested_on(Ids{"02:00.0", "PCI:0000:02:00.0"}), Ids{"pci:0000:02:00.0"});
}

TEST(Terms, AreTestedOnAUnitThatIsNamed) {
    EXPECT_EQ(tested_on(Ids{"pci:0000:02:00.0/MIG-2"}), Ids{"pci:0000:02:00.0/mig-2"});
}

TEST(Terms, AreNotEvaluatedOnUnknownGpus) {
    const auto answer = tested({"vendor=amd"}, Ids{"pci:0000:03:00.0"}, two_cards());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::UnknownDevice);
}

TEST(ProbeAnswer, HoldsTheProbesOfTheStageAndTheApis) {
    Report report{.generation = 3};
    report.probes = {{.api = "vulkan", .stage = "query"},
                     {.api = "opencl", .stage = "query"},
                     {.api = "opencl", .stage = "verify", .device = "index:0"}};
    const auto count = [&report](const std::vector<std::string>& apis,
                                 const char* stage = "query") {
        return probe_answer_of(report, stage, apis).probes.size();
    };
    EXPECT_EQ(count({}), 2U);
    EXPECT_EQ(count({"opencl"}), 1U);
    EXPECT_EQ(count({"cuda"}), 0U);
    EXPECT_EQ(count({}, "verify"), 1U);
    EXPECT_EQ(count({"vulkan"}, "verify"), 0U);
    EXPECT_EQ(probe_answer_of(report, "query", {}).generation, 3U);
}

Decision decision_for(const char* application) {
    return {.application = application,
            .summary = "requested=auto detected=[] selected=none",
            .candidates = {{.backend = "cuda",
                            .verdict = Verdict::Rejected,
                            .reasons = {because("vendor-mismatch", {{"needs", "nvidia"}})}},
                           {.backend = "rocm",
                            .gpu = "pci:a",
                            .verdict = Verdict::Rejected,
                            .reasons = {because("no-permission", {{"node", "/dev/kfd"}})}}}};
}

TEST(NoMatch, NamesTheCandidateThatIsClosest) {
    const auto no_match = no_match_of(decision_for("whisper"));
    EXPECT_EQ(
        no_match.failure.message,
        "nothing on this machine satisfies 'whisper'; the closest candidate is rocm on pci:a: no "
        "permission to open /dev/kfd");
    EXPECT_EQ(no_match.failure.name, "org.gpuprobe.GpuProbe1.Error.NoMatch");
    EXPECT_EQ(no_match.failure.candidates.size(), 2U);
    EXPECT_EQ(no_match.decision, "requested=auto detected=[] selected=none");
}

TEST(NoMatch, IsOneShortLine) {
    auto decision = decision_for("whisper\n\x1b[2J");
    decision.application += std::string(10'000, 'x');
    decision.candidates.clear();
    const auto message = no_match_of(decision).failure.message;
    EXPECT_LE(message.size(), 256U);
    EXPECT_EQ(message.find_first_of("\n\x1b"), std::string::npos);
}

}  // namespace documents_test
}  // namespace gpuprobe
