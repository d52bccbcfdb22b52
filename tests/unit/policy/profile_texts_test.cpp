// SPDX-License-Identifier: Apache-2.0
#include "policy/profile_texts.h"

#include <gtest/gtest.h>

#include "policy/fact.h"
#include "policy/select.h"
#include "support/case_name.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace profile_texts_test {

using support::default_profile;
using support::one_nvidia_card;
using support::parsed;
using support::report_of;
using Names = std::vector<std::string>;

Decision decide(const Profile& profile, const SelectRequest& request, const Report& report) {
    auto decision = select(profile, request, report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? *decision : Decision{};
}

struct AnswerRow {
    const char* name;
    std::vector<AnswerRule> rules;
    std::optional<std::string> answer;
};
class ProfileAnswers : public ::testing::TestWithParam<AnswerRow> {};

TEST_P(ProfileAnswers, AreTheFirstThatHolds) {
    auto profile = default_profile();
    profile.answers["x"] = GetParam().rules;
    const auto answers = decide(profile, {}, one_nvidia_card()).answers;
    const auto found = answers.find("x");
    EXPECT_EQ(found == answers.end() ? std::nullopt : std::optional{found->second},
              GetParam().answer);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ProfileAnswers,
    ::testing::Values(AnswerRow{"First", {{{"a", {parsed("vendor=nvidia")}}}, {{"b", {}}}}, "a"},
                      AnswerRow{"Second", {{{"a", {parsed("vendor=amd")}}}, {{"b", {}}}}, "b"},
                      AnswerRow{"None", {{{"a", {parsed("vendor=amd")}}}}, {}},
                      AnswerRow{
                          "UnknownEndsTheSearch", {{{"a", {parsed("glibc>=2")}}}, {{"b", {}}}}, {}},
                      AnswerRow{"FactOfTheGpu", {{{"{driver} {vendor}", {}}}}, "570.86 nvidia"},
                      AnswerRow{"FactForEnvironments", {{{"{memory_mib}", {}}}}, "143360"},
                      AnswerRow{"UnknownFact", {{{"{kernel}", {}}}, {{"b", {}}}}, {}}),
    support::case_name);

TEST(Answers, AreGivenWithoutAChoiceToo) {
    auto profile = default_profile();
    profile.answers["vendor"] = {{{"nvidia", {parsed("vendors=nvidia")}}}};
    profile.answers["memory"] = {{{"{memory_mib}", {}}}};
    const auto decision = decide(profile, {.only = Names{"rocm"}}, one_nvidia_card());
    EXPECT_EQ(decision.backend, std::nullopt);
    EXPECT_EQ(decision.answers, (std::map<std::string, std::string>{{"vendor", "nvidia"}}));
}

struct NothingRow {
    const char* name;
    Report report;
    SelectRequest request;
    const char* message;
};
class NothingChosen : public ::testing::TestWithParam<NothingRow> {};

TEST_P(NothingChosen, IsExplainedByTheNearestCause) {
    auto profile = default_profile();
    profile.messages = {{"nothing-built", "built"},
                        {"too-little-memory", "{available_gb} of {required_gb}"},
                        {"software-only", "software"},
                        {"no-gpu", "no gpu"},
                        {"none", "none"}};
    auto request = GetParam().request;
    request.strict = true;
    EXPECT_EQ(decide(profile, request, GetParam().report).messages, Names{GetParam().message});
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    NothingChosen,
    ::testing::Values(
        NothingRow{"Built", one_nvidia_card(), {.built = Names{}}, "built"},
        NothingRow{"Memory", one_nvidia_card(), {.min_memory = gib(200)}, "150.3 of 214.7"},
        NothingRow{"Software", support::machine_without_gpu(), {}, "software"},
        NothingRow{"NoGpu", report_of({}), {}, "no gpu"},
        NothingRow{"DisplayOnly", report_of({support::management_display()}), {}, "no gpu"},
        NothingRow{"Other", one_nvidia_card(), {.only = Names{"rocm"}}, "none"}),
    support::case_name);

// Keys and texts of messages
// -----------------------------------------------------------------------

struct MessageRow {
    const char* name;
    std::map<std::string, std::string> messages;
    const char* word;
    std::optional<std::string> text;
};
class MessageFor : public ::testing::TestWithParam<MessageRow> {};

TEST_P(MessageFor, PrefersTheKeyWithTheWord) {
    Profile profile;
    profile.messages = GetParam().messages;
    const auto lookup = [](std::string_view name) {
        return name == "gpu" ? std::optional<std::string>{"H200"} : std::nullopt;
    };
    EXPECT_EQ(message_for(profile, "selected", GetParam().word, lookup), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    MessageFor,
    ::testing::Values(
        MessageRow{"Word", {{"selected", "any"}, {"selected:cuda", "CUDA"}}, "cuda", "CUDA"},
        MessageRow{"OtherWord", {{"selected", "any"}, {"selected:cuda", "CUDA"}}, "cpu", "any"},
        MessageRow{"NoWord", {{"selected", "any"}, {"selected:cuda", "CUDA"}}, "", "any"},
        MessageRow{"OnlyOtherWord", {{"selected:cuda", "CUDA"}}, "cpu", {}},
        MessageRow{"OtherSituation", {{"none", "none"}}, "cuda", {}},
        MessageRow{"None", {}, "cuda", {}},
        MessageRow{"Fact", {{"selected", "On {gpu}."}}, "cuda", "On H200."},
        MessageRow{"UnknownFact", {{"selected", "{gpu} {detail}"}}, "cuda", {}},
        // If a fact is unknown, the general text is not used instead.
        MessageRow{"UnknownFactForTheWord",
                   {{"selected", "any"}, {"selected:cuda", "{detail}"}},
                   "cuda",
                   {}}),
    support::case_name);

struct ProblemRow {
    const char* name;
    const char* key;
    std::string text;
    std::optional<std::string> problem;
};
class MessageProblem : public ::testing::TestWithParam<ProblemRow> {};

TEST_P(MessageProblem, IsInTheKeyOrInTheText) {
    EXPECT_EQ(message_problem(GetParam().key, GetParam().text), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    MessageProblem,
    ::testing::Values(ProblemRow{"Situation", "no-gpu", "text", {}},
                      ProblemRow{"SituationWithAWord", "selected:cuda", "text", {}},
                      ProblemRow{"TwoLines", "none", "a\nb", {}},
                      ProblemRow{"Longest", "none", std::string(1024, 'a'), {}},
                      ProblemRow{"Facts", "none", "{requested} {available_gb}", {}},
                      ProblemRow{"OtherSituation", "nothing", "text", "no such situation"},
                      ProblemRow{"NoSituation", ":cuda", "text", "no such situation"},
                      ProblemRow{"Empty", "none", "", "expected 1 to 1024 bytes"},
                      ProblemRow{"TooLong", "none", std::string(1025, 'a'),
                                 "expected 1 to 1024 bytes"},
                      ProblemRow{"Escape", "none", "\x1b[31m", "has a control character"},
                      ProblemRow{"Tab", "none", "a\tb", "has a control character"},
                      ProblemRow{"Delete", "none", "\x7f", "has a control character"}),
    support::case_name);

TEST(MessageProblem, IsAFactThatNoMessageMayName) {
    EXPECT_TRUE(message_problem("none", "{nvidia_uuids}"));
    EXPECT_TRUE(message_problem("none", "{gpu"));
}

// Messages of a decision
// ----------------------------------------------------------------------------

/// A profile in which the text for each situation is the situation's name, followed by the facts
/// that the text may contain.
Profile talkative() {
    auto profile = default_profile();
    profile.messages = {{"disabled", "disabled"},
                        {"simulated", "simulated"},
                        {"fake-ignored", "fake-ignored"},
                        {"unknown-backend", "unknown {requested}"},
                        {"not-built", "not-built {compiled}"},
                        {"not-available", "not-available {detected}"},
                        {"fell-back", "fell-back"},
                        {"reported-failed", "failed {failed}: {detail}"},
                        {"granted", "granted {selected}"},
                        {"selected", "selected {selected} on {gpu}"}};
    return profile;
}

struct SceneRow {
    const char* name;
    SelectRequest request;
    Names messages;
};
class Messages : public ::testing::TestWithParam<SceneRow> {};

TEST_P(Messages, AreThoseOfTheSituation) {
    auto profile = talkative();
    profile.unknown_request = UnknownRequest::Auto;
    profile.unavailable_request = UnavailableRequest::Auto;
    EXPECT_EQ(decide(profile, GetParam().request, one_nvidia_card()).messages, GetParam().messages);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Messages,
    ::testing::Values(
        SceneRow{"Choice", {}, {"selected cuda on NVIDIA H200"}},
        SceneRow{"Asked", {.backend = "vulkan"}, {"granted vulkan"}},
        SceneRow{"SwitchedOff", {.backend = "none"}, {"disabled"}},
        SceneRow{
            "Unknown", {.backend = "metal"}, {"unknown metal", "selected cuda on NVIDIA H200"}},
        SceneRow{"NotAvailable",
                 {.backend = "rocm"},
                 {"not-available cuda,vulkan,opencl,cpu", "selected cuda on NVIDIA H200"}},
        SceneRow{"NotBuilt",
                 {.built = Names{"cuda", "cpu"}, .backend = "rocm"},
                 {"not-built cuda, cpu", "selected cuda on NVIDIA H200"}},
        SceneRow{"FakeIgnored",
                 {.strict = true, .fake = Names{"rocm"}},
                 {"fake-ignored", "selected cuda on NVIDIA H200"}}),
    support::case_name);

TEST(MessagesAfterAFailure, HaveTheReportedDetail) {
    const Experience experience{.failures = {{.backend = "cuda", .detail = "out of\x1b memory"}}};
    const auto decision = select(talkative(), {}, one_nvidia_card(), experience);
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->messages,
              (Names{"failed cuda: out of\xef\xbf\xbd memory", "selected vulkan on NVIDIA H200"}));
}

TEST(MessagesOfAProfile, AreNoneIfItHasNone) {
    EXPECT_EQ(decide(default_profile(), {.backend = "none"}, one_nvidia_card()).messages, Names{});
}

TEST(Sizes, InMessagesAreRoundedDown) {
    auto profile = default_profile();
    profile.messages = {{"too-little-memory", "{available_gb} of {required_gb}"}};
    auto report = one_nvidia_card();
    const auto messages_for = [&](std::uint64_t have, std::uint64_t need) {
        report.gpus[0].memory.allocatable = Bytes{have};
        return decide(profile, {.strict = true, .min_memory = Bytes{need}}, report).messages;
    };
    EXPECT_EQ(messages_for(7'999'999'999, 8'000'000'000), Names{"7.9 of 8.0"});
    EXPECT_EQ(messages_for(99'999'999, 100'000'000), Names{"0.0 of 0.1"});
}

// Answers and words
// ---------------------------------------------------------------------------------

TEST(AnswerFact, IsAFactForEnvironmentsOrOneWithUnderscores) {
    EXPECT_TRUE(is_answer_fact("nvidia_uuids"));
    EXPECT_TRUE(is_answer_fact("compute_capability"));
    EXPECT_TRUE(is_answer_fact("vendor"));
    EXPECT_FALSE(is_answer_fact("compute-capability")) << "each fact has one spelling";
    EXPECT_FALSE(is_answer_fact("nothing"));
    EXPECT_FALSE(is_answer_fact(""));
}

TEST(KnownRequests, AreThoseOfTheProfileElseItsBackends) {
    Profile profile;
    profile.backends = {"cuda", "rocm", "cpu"};
    EXPECT_EQ(known_requests(profile), "cuda, rocm, cpu");
    profile.translate = {{"rocm", "hip"}};
    EXPECT_EQ(known_requests(profile), "cuda, hip, cpu");
    profile.requests = {{"gpu", {"cuda", "rocm"}}, {"amd", {"rocm"}}};
    EXPECT_EQ(known_requests(profile), "amd, gpu");
    profile.requests->clear();
    EXPECT_EQ(known_requests(profile), "");
}

}  // namespace profile_texts_test
}  // namespace gpuprobe
