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

/// Three cards of one model and one of another, and candidates for a backend on each of them.
struct AlikeGpusTest : testing::Test {
    AlikeGpusTest() {
        for (const auto* id : {"pci:1", "pci:2", "pci:3", "pci:4"})
            report.gpus.push_back({.id = id, .name = "card"});
        report.gpus.back().name = "other card";
    }
    void add(const char* backend, std::initializer_list<const char*> ids) {
        for (const auto* id : ids)
            candidates.push_back({.backend = backend,
                                  .gpu = id,
                                  .verdict = Verdict::Accepted,
                                  .environment = {{"HIDES", "all"}, {"SHOWS", id}}});
    }
    Ids joined() {
        join_alike_gpus(candidates, report);
        Ids found;
        for (const auto& [backend, gpu, also, verdict, reasons, environment, others, why, variant] :
             candidates) {
            auto text = backend + " " + gpu.value_or("-");
            for (const auto& id : also)
                text += " " + id;
            found.push_back(text);
        }
        return found;
    }

    Report report = {};
    std::vector<Candidate> candidates = {};
};

TEST_F(AlikeGpusTest, ShareACandidate) {
    add("cuda", {"pci:1", "pci:2", "pci:3", "pci:4"});
    candidates.push_back({.backend = "cpu"});
    EXPECT_EQ(joined(), (Ids{"cuda pci:1 pci:2 pci:3", "cuda pci:4", "cpu -"}));
    // The value of one variable depends on the GPU.
    EXPECT_EQ(candidates.front().environment.at("SHOWS"), "pci:1");
    EXPECT_EQ(candidates.front().also_environment,
              (std::map<std::string, Ids>{{"SHOWS", {"pci:2", "pci:3"}}}));
    EXPECT_EQ(joined().size(), 3U) << "nothing more to join";
    const auto separate = separate_candidates(candidates);
    add("cuda", {"pci:1", "pci:2", "pci:3", "pci:4"});
    candidates.erase(candidates.begin(), candidates.begin() + 3);
    candidates.push_back({.backend = "cpu"});
    EXPECT_EQ(separate, candidates);
}

/// An application may compare the GPUs before the backends. A program tries accepted candidates in
/// this order.
TEST_F(AlikeGpusTest, ShareAnAcceptedCandidateOnlyWithoutAnotherBetween) {
    for (const auto* id : {"pci:1", "pci:2"})
        for (const auto* backend : {"cuda", "vulkan"})
            add(backend, {id});
    const auto all = candidates;
    for (auto& candidate : candidates)
        candidate.verdict = Verdict::Accepted;
    EXPECT_EQ(joined(), (Ids{"cuda pci:1", "vulkan pci:1", "cuda pci:2", "vulkan pci:2"}));
    candidates = all;
    for (auto& candidate : candidates)
        candidate.verdict = Verdict::Rejected;
    EXPECT_EQ(joined(), (Ids{"cuda pci:1 pci:2", "vulkan pci:1 pci:2"}));
}

TEST_F(AlikeGpusTest, KeepTheOrderOfTheGpus) {
    add("cuda", {"pci:1", "pci:4", "pci:2"});
    EXPECT_EQ(joined(), (Ids{"cuda pci:1", "cuda pci:4", "cuda pci:2"}));
}

TEST_F(AlikeGpusTest, HaveTheirOwnCandidatesIfSomethingDiffers) {
    add("cuda", {"pci:1", "pci:2", "pci:3"});
    const auto joins_none = [this](auto change) {
        const auto all = candidates;
        for (auto& candidate : candidates)
            change(candidate);
        EXPECT_EQ(joined(), (Ids{"cuda pci:1", "cuda pci:2", "cuda pci:3"}));
        candidates = all;
    };
    joins_none([](Candidate& each) { each.variant = each.gpu; });
    joins_none([](Candidate& each) { each.environment[*each.gpu] = "1"; });
    joins_none([](Candidate& each) {
        each.reasons = {because("no-permission", {{"node", "/dev/" + *each.gpu}})};
    });
    joins_none([](Candidate& each) {
        each.reasons = {because("no-device")};
        each.reasons.front().words = std::make_shared<ReasonWords>(ReasonWords{.fix = each.gpu});
    });
    candidates[1].verdict = Verdict::Unknown;
    EXPECT_EQ(joined().size(), 3U);
}

/// Without a name, two GPUs are of the same model only if they have the same PCI ids.
TEST_F(AlikeGpusTest, AreOfTheSameModel) {
    add("vulkan", {"pci:1", "pci:2"});
    const auto all = candidates;
    const auto joined_with = [&](auto change) {
        candidates = all;
        change(report.gpus[0], report.gpus[1]);
        return joined().size() == 1;
    };
    EXPECT_TRUE(joined_with([](Gpu& one, Gpu& other) { one.name = other.name = std::nullopt; }));
    EXPECT_FALSE(joined_with([](Gpu& one, Gpu& other) {
        one.vendor = "amd";
        other.vendor = "intel";
    }));
    EXPECT_FALSE(joined_with([](Gpu& one, Gpu& other) {
        other.vendor = one.vendor;
        one.pci = PciInfo{.vendor_id = "1002", .device_id = "744c"};
        other.pci = PciInfo{.vendor_id = "1002", .device_id = "7480"};
    }));
    EXPECT_TRUE(joined_with([](Gpu& one, Gpu& other) { other.pci = one.pci; }));
    EXPECT_FALSE(joined_with([](Gpu& one, Gpu& other) {
        one.kind = other.kind = GpuKind::Virtual;
    })) << "a virtual GPU may be any GPU of the host";
    EXPECT_TRUE(joined_with(
        [](Gpu& one, Gpu& other) { one.memory.allocatable = other.memory.allocatable = gib(8); }));
}

/// The order of a list is part of a reason, unless the list names the GPUs.
TEST_F(AlikeGpusTest, KeepTheOrderOfOtherLists) {
    add("rocm", {"pci:1", "pci:2"});
    for (auto& candidate : candidates) {
        candidate.reasons = {because("arch-not-in-build", {{"targets", to_value(Ids{"b", "a"})}})};
        candidate.reasons.front().words = std::make_shared<ReasonWords>(ReasonWords{.text = "why"});
    }
    const auto all = candidates;
    EXPECT_EQ(joined(), Ids{"rocm pci:1 pci:2"});
    const auto separate = separate_candidates(candidates);
    EXPECT_EQ(separate, all);
    EXPECT_TRUE(separate.back().reasons.front().words) << "no message would name the wrong GPU";
}

/// Each reason names the GPU of its candidate, and the other GPUs.
TEST_F(AlikeGpusTest, ShareReasonsThatNameThem) {
    add("vulkan", {"pci:1", "pci:2", "pci:3"});
    const Ids others[] = {{"pci:2", "pci:3"}, {"pci:1", "pci:3"}, {"pci:1", "pci:2"}};
    for (std::size_t i = 0; i < 3; ++i)
        candidates[i].reasons = {because("not-told-apart", {{"gpu", to_value(candidates[i].gpu)},
                                                            {"gpus", to_value(others[i])}})};
    const auto all = candidates;
    EXPECT_EQ(joined(), Ids{"vulkan pci:1 pci:2 pci:3"});
    EXPECT_EQ(separate_candidates(candidates), all);
}

}  // namespace documents_test
}  // namespace gpuprobe
