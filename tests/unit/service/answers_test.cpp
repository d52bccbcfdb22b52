// SPDX-License-Identifier: Apache-2.0
#include "service/answers.h"

#include <set>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace answers_test {

bus::BusEncoding encoding() {
    return spelling_for([](const std::string& id) { return "/" + id; });
}

Decision some_decision() {
    return {.application = "whisper",
            .backend = "vulkan",
            .gpus = {"a"},
            .summary = "requested=auto selected=vulkan",
            .candidates = {{.backend = "cuda",
                            .gpu = "a",
                            .verdict = Verdict::Rejected,
                            .reasons = {because("no-permission",
                                                {{"node", "/dev/kfd"}, {"group", "render"}})}}},
            .generation = 7};
}

std::set<std::string> keys_of(const bus::Dictionary& answer) {
    std::set<std::string> keys;
    for (const auto& [key, variant] : answer)
        keys.insert(key);
    return keys;
}

std::vector<bus::Dictionary> dictionaries_at(const bus::Dictionary& answer, const char* key) {
    return answer.at(key).get<std::vector<bus::Dictionary>>();
}

TEST(Answer, HoldsTheChoiceAlone) {
    const auto answer = answer_from(some_decision(), false, encoding());
    EXPECT_EQ(keys_of(answer),
              (std::set<std::string>{"Backend", "Decision", "Environment", "Generation", "Gpus"}));
    EXPECT_EQ(answer.at("Backend").get<std::string>(), "vulkan");
    EXPECT_EQ(answer.at("Gpus").get<std::vector<sdbus::ObjectPath>>(),
              std::vector{sdbus::ObjectPath{"/a"}});
    EXPECT_EQ(answer.at("Generation").get<std::uint64_t>(), 7U);
}

TEST(Answer, HoldsWhatAProfileAnswersWhereItDoes) {
    auto decision = some_decision();
    decision.answers = {{"variant", "v"}};
    decision.messages = {"words"};
    const auto keys = keys_of(answer_from(decision, false, encoding()));
    EXPECT_TRUE(keys.contains("Answers") && keys.contains("Messages"));
}

TEST(Answer, ExplainsEveryCandidate) {
    const auto answer = answer_from(some_decision(), true, encoding());
    const auto candidates = dictionaries_at(answer, "Candidates");
    ASSERT_EQ(candidates.size(), 1U);
    EXPECT_EQ(candidates[0].at("Verdict").get<std::string>(), "rejected");
    EXPECT_EQ(candidates[0].at("Gpu").get<sdbus::ObjectPath>(), "/a");
    const auto reasons = dictionaries_at(candidates[0], "Reasons");
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_EQ(reasons[0].at("Code").get<std::string>(), "no-permission");
    EXPECT_EQ(reasons[0].at("Text").get<std::string>(),
              "no permission to open /dev/kfd, which belongs to the group render");
    EXPECT_EQ(reasons[0].at("Fix").get<std::string>(),
              "join its group, then log in again: sudo usermod -aG render \"$USER\"");
    const auto detail = reasons[0].at("Detail").get<bus::Dictionary>();
    EXPECT_EQ(detail.at("node").get<std::string>(), "/dev/kfd");
}

TEST(Answer, HasTheFixesOfTheMachineThatItIsAbout) {
    int examined = 0;
    const auto here = spelling_for(
        [](const std::string& id) { return "/" + id; },
        [&examined] {
            ++examined;
            return std::vector{Finding{.id = "no-permission",
                                       .gpus = {"b"},
                                       .evidence = Value{Value::Object{{"node", "/dev/kfd"}}},
                                       .fix = "of another GPU"},
                               Finding{.id = "no-permission",
                                       .gpus = {"a"},
                                       .evidence = Value{Value::Object{{"node", "/dev/kfd"}}},
                                       .fix = "of this one"}};
        });
    auto decision = some_decision();
    decision.candidates.push_back(decision.candidates.front());
    const auto answer = answer_from(decision, true, here);
    for (const auto& candidate : dictionaries_at(answer, "Candidates"))
        EXPECT_EQ(dictionaries_at(candidate, "Reasons")[0].at("Fix").get<std::string>(),
                  "of this one");
    EXPECT_EQ(examined, 1);
    (void)answer_from(some_decision(), false, here);
    EXPECT_EQ(examined, 1) << "no reason was told";

    const auto backends = backends_from(
        {{"rocm",
          {.usable = false, .reasons = {because("no-permission", {{"node", "/dev/kfd"}})}}}},
        "a",
        {Finding{.id = "no-permission",
                 .gpus = {"a"},
                 .evidence = Value{Value::Object{{"node", "/dev/kfd"}}},
                 .fix = "of this one"}});
    EXPECT_EQ(dictionaries_at(backends.at("rocm"), "Reasons")[0].at("Fix").get<std::string>(),
              "of this one");
}

TEST(Answer, HasAnEmptyBackendWhereNothingMatches) {
    auto decision = some_decision();
    decision.backend.reset();
    EXPECT_EQ(answer_from(decision, true, encoding()).at("Backend").get<std::string>(), "");
}

Recommendation recommendation_with(std::size_t candidates) {
    Recommendation answer{.variant = "v"};
    for (std::size_t i = 0; i < candidates; ++i)
        answer.candidates.push_back(
            {.variant = "v", .reasons = {because("fact-unknown", {{"predicate", "glibc"}})}});
    return answer;
}

TEST(RecommendAnswer, HoldsCandidatesOnRequest) {
    EXPECT_FALSE(answer_from(recommendation_with(1), false, encoding()).contains("Candidates"));
    EXPECT_EQ(
        dictionaries_at(answer_from(recommendation_with(1), true, encoding()), "Candidates").size(),
        1U);
}

TEST(RecommendAnswer, DropsDetailsThenReasonsOfManyCandidates) {
    const auto first_reasons = [](std::size_t count) {
        const auto answer = answer_from(recommendation_with(count), true, encoding());
        return dictionaries_at(dictionaries_at(answer, "Candidates").front(), "Reasons");
    };
    EXPECT_TRUE(first_reasons(1024).front().contains("Detail"));
    EXPECT_FALSE(first_reasons(1025).front().contains("Detail"));
    EXPECT_EQ(first_reasons(8192).front().at("Text").get<std::string>(), "not known");
    EXPECT_TRUE(first_reasons(8193).empty());
}

TEST(MemoryAnswer, LeavesOutWhatIsUnknown) {
    EXPECT_FALSE(answer_from(engine::LiveMemory{}).contains("Free"));
    const auto answer =
        answer_from(engine::LiveMemory{.kind = MemoryKind::Dedicated, .free = Bytes{0}});
    EXPECT_EQ(answer.at("Free").get<std::uint64_t>(), 0U);
    EXPECT_EQ(answer.at("Kind").get<std::string>(), "dedicated");
}

TEST(ProbeAnswer, HoldsTheProbesAskedFor) {
    Report report{.generation = 3};
    report.probes = {{.api = "vulkan", .stage = "query"},
                     {.api = "opencl", .stage = "query"},
                     {.api = "opencl", .stage = "verify", .device = "index:0"}};
    const auto count = [&report](const std::vector<std::string>& apis,
                                 const char* stage = "query") {
        const auto answer = probe_answer(report, {.apis = apis, .stage = stage});
        return answer.at("Probes").get<std::vector<bus::Dictionary>>().size();
    };
    EXPECT_EQ(count({}), 2U);
    EXPECT_EQ(count({"opencl"}), 1U);
    EXPECT_EQ(count({"cuda"}), 0U);
    EXPECT_EQ(count({}, "verify"), 1U);
    EXPECT_EQ(count({"vulkan"}, "verify"), 0U);
}

TEST(NoMatchMessage, IsOneShortLine) {
    auto decision = some_decision();
    decision.summary = "requested=auto detected=[] selected=none";
    EXPECT_EQ(no_match_message(decision),
              "no backend fits for whisper: requested=auto detected=[] selected=none");
    decision.summary = std::string(10'000, 'x') + "\n";
    EXPECT_LE(no_match_message(decision).size(), 1024U);
    EXPECT_EQ(no_match_message(decision).find('\n'), std::string::npos);
}

}  // namespace answers_test
}  // namespace gpuprobe
