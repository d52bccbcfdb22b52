// SPDX-License-Identifier: Apache-2.0
#include "service/call_server.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/memory_files.h"
#include "support/served_machine.h"

namespace gpuprobe {
namespace call_server_test {

using support::HandLoop;
using support::ServedMachine;

// AnswerCache -------------------------------------------------------------------------------------

SharedText text_of(std::string bytes) {
    return std::make_shared<const Text>(Text{std::move(bytes)});
}

/// Stores an answer of this many bytes in the cache.
SharedText keep(AnswerCache& cache, const std::string& question, std::size_t bytes) {
    auto text = text_of(std::string(bytes, 'x'));
    cache.keep(question, text, bytes);
    return text;
}

bool knows(AnswerCache& cache, const std::string& question, MonotonicTime now = {}) {
    return cache.find(question, now) != nullptr;
}

TEST(AnswerCache, KnowsWhatWasKept) {
    AnswerCache cache;
    EXPECT_FALSE(knows(cache, "a"));
    const auto text = keep(cache, "a", 1);
    const auto* found = cache.find("a", {});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(std::get<SharedText>(*found), text);
    EXPECT_FALSE(knows(cache, "b"));
}

TEST(AnswerCache, HasOneAnswerToAQuestion) {
    AnswerCache cache;
    keep(cache, "a", 1);
    const auto second = keep(cache, "a", 2);
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_EQ(std::get<SharedText>(*cache.find("a", {})), second);
}

TEST(AnswerCache, DropsAnAnswerThatIsNotValidAnyMore) {
    AnswerCache cache;
    cache.keep("a", text_of("x"), 1, MonotonicTime{std::chrono::seconds{2}});
    EXPECT_TRUE(knows(cache, "a", MonotonicTime{std::chrono::seconds{1}}));
    EXPECT_FALSE(knows(cache, "a", MonotonicTime{std::chrono::seconds{2}}));
    EXPECT_EQ(cache.size(), 0U);
}

TEST(AnswerCache, KeepsTheMostRecentlyUsedAnswersWhenItShrinks) {
    AnswerCache cache;
    const std::size_t half = AnswerCache::kMaxAtRest.count / 2 - AnswerCache::kMaxQuestion.count;
    for (const char* question : {"used", "unused", "last"})
        keep(cache, question, half);
    EXPECT_TRUE(knows(cache, "used"));
    cache.shrink(AnswerCache::kMaxAtRest);
    EXPECT_TRUE(knows(cache, "used"));
    EXPECT_TRUE(knows(cache, "last"));
    EXPECT_FALSE(knows(cache, "unused"));
    EXPECT_EQ(cache.take_dropped(), 0U);
}

TEST(AnswerCache, DropsEverythingWhenCleared) {
    AnswerCache cache;
    keep(cache, "a", 1);
    keep(cache, "b", 1);
    cache.clear();
    EXPECT_EQ(cache.size(), 0U);
    EXPECT_FALSE(knows(cache, "a"));
}

TEST(AnswerCache, DropsTheLeastRecentlyUsedAnswersWhenItIsFull) {
    AnswerCache cache;
    const auto quarter = AnswerCache::kMaxBytes.count / 4 - AnswerCache::kMaxQuestion.count;
    for (const char* question : {"used", "unused", "c", "d"})
        keep(cache, question, quarter);
    EXPECT_EQ(cache.size(), 4U);
    EXPECT_TRUE(knows(cache, "used"));
    keep(cache, "e", quarter);
    EXPECT_EQ(cache.size(), 4U);
    EXPECT_FALSE(knows(cache, "unused"));
    for (const char* question : {"used", "c", "d", "e"})
        EXPECT_TRUE(knows(cache, question)) << question;
}

TEST(AnswerCache, CountsQuestionsAsWellAsAnswers) {
    AnswerCache cache;
    const auto kept = AnswerCache::kMaxBytes.count / AnswerCache::kMaxQuestion.count;
    for (std::size_t i = 0; i < kept + 10; ++i) {
        auto question = std::to_string(i);
        question.resize(AnswerCache::kMaxQuestion.count, '.');
        keep(cache, question, 0);
    }
    EXPECT_GT(cache.size(), kept / 2);
    EXPECT_LE(cache.size(), kept);
}

TEST(AnswerCache, KeepsNoQuestionAndNoAnswerOverItsLimit) {
    AnswerCache cache;
    const std::string longest(AnswerCache::kMaxQuestion.count, 'x');
    keep(cache, longest + "x", 1);
    keep(cache, "large", AnswerCache::kMaxAnswer.count + 1);
    EXPECT_EQ(cache.size(), 0U);
    keep(cache, longest, 1);
    keep(cache, "large", AnswerCache::kMaxAnswer.count);
    EXPECT_EQ(cache.size(), 2U);
}

/// The memory of an answer is charged to clients only if the cache does not count this memory.
TEST(AnswerCache, MarksTheTextsThatItKeeps) {
    AnswerCache cache;
    const auto text = keep(cache, "a", 1);
    EXPECT_TRUE(text->is_kept);
    cache.clear();
    EXPECT_FALSE(text->is_kept);
    EXPECT_FALSE(keep(cache, "large", AnswerCache::kMaxAnswer.count + 1)->is_kept);
}

TEST(AnswerCache, CountsDroppedTextsThatClientsStillReceive) {
    AnswerCache cache;
    const auto received = keep(cache, "received", 100);
    keep(cache, "sent", 10);
    cache.clear();
    EXPECT_EQ(cache.dropped(), 100U);
    EXPECT_EQ(cache.take_dropped(), 100U);
    EXPECT_EQ(cache.dropped(), 0U);
}

// ReportViews -------------------------------------------------------------------------------------

using Groups = std::vector<std::uint32_t>;
const Caller kRootCaller{.uid = 0, .groups = Groups{0}};
const Caller kAnna{.uid = 1000, .groups = Groups{1000}};
const Caller kBert{.uid = 1001, .groups = Groups{1001}};
const Caller kMember{.uid = 1002, .groups = Groups{1002, ServedMachine::kGroup}};

class ReportViewsTest : public ::testing::Test {
protected:
    HandLoop loop = {};
    ServedMachine machine{loop};
    ReportViews views{*machine.engine};
};

TEST_F(ReportViewsTest, ShowTheReportItselfToCallersWhoMayOpenAllNodes) {
    for (const auto& caller : {kRootCaller, kMember}) {
        const auto view = views.report_for(caller);
        EXPECT_EQ(view.access, "");
        EXPECT_EQ(view.report, &machine.engine->report());
        EXPECT_EQ(&views.json_for(caller), &machine.engine->report_json());
    }
}

TEST_F(ReportViewsTest, AreSharedByCallersWhoMayOpenTheSameNodes) {
    const auto annas = views.report_for(kAnna);
    const auto berts = views.report_for(kBert);
    EXPECT_EQ(annas.report, berts.report);
    EXPECT_EQ(annas.access, berts.access);
    EXPECT_NE(annas.access, "");
}

TEST_F(ReportViewsTest, HideIdentifiersFromCallersWhoMayNotOpenTheGpu) {
    const auto uuid = machine.engine->report().gpus.at(0).identity.nvidia_uuid.value();
    EXPECT_EQ(views.report_for(kAnna).report->gpus.at(0).identity.nvidia_uuid, std::nullopt);
    EXPECT_EQ(views.json_for(kAnna).find(uuid), std::string::npos);
    EXPECT_NE(views.json_for(kMember).find(uuid), std::string::npos);
    EXPECT_EQ(views.json_for(kAnna), json_line(to_value(*views.report_for(kAnna).report)));
}

TEST_F(ReportViewsTest, HaveFindingsForRootAndForOthers) {
    const auto has_finding = [](const std::vector<Finding>& findings, std::string_view id) {
        return std::ranges::find(findings, id, &Finding::id) != findings.end();
    };
    EXPECT_TRUE(has_finding(views.findings_for(kAnna), "no-permission"));
    EXPECT_FALSE(has_finding(views.findings_for(kMember), "no-permission"));
    // Root and the member of the group see the same report. In a report of a captured machine, the
    // caller does not matter.
    EXPECT_EQ(views.findings_for(kMember), views.findings_for(kRootCaller));
}

TEST_F(ReportViewsTest, AreMadeAgainForANewReport) {
    const auto before = views.report_for(kAnna).report->generation;
    machine.engine->reload();
    EXPECT_EQ(views.report_for(kAnna).report->generation, machine.engine->report().generation);
    EXPECT_GT(machine.engine->report().generation, before);
}

// CallServer --------------------------------------------------------------------------------------

class CallServerTest : public ::testing::Test {
protected:
    /// A caller's call, and the answers to it.
    struct Call {
        std::shared_ptr<ServedCall> served = std::make_shared<ServedCall>();
        std::vector<MethodAnswer> answers = {};
        std::string key = {};  ///< the key of the last answer
        bool is_wanted = true;
    };

    /// A call that has not been served yet. `parameters` is JSON. The question, which is the key in
    /// the cache, consists of the method and the parameters.
    std::unique_ptr<Call> call_of(const std::string& method,
                                  const std::string& parameters,
                                  const Caller& caller) {
        auto call = std::make_unique<Call>();
        auto& served = *call->served;
        served.call = {.method = "org.gpuprobe." + method,
                       .parameters = parse_json(parameters, kib(4)).value(),
                       .uid = caller.uid,
                       .groups = caller.groups};
        served.question = method + parameters;
        served.is_wanted = [heard = call.get()] { return heard->is_wanted; };
        served.heard = [heard = call.get()](const MethodAnswer& answer, const std::string& key) {
            heard->answers.push_back(answer);
            heard->key = key;
        };
        return call;
    }
    std::unique_ptr<Call> serve(const std::string& method,
                                const std::string& parameters,
                                const Caller& caller) {
        auto call = call_of(method, parameters, caller);
        server->serve(call->served);
        return call;
    }
    /// Serves a call and stores its answer in the cache, like an interface.
    void serve_and_keep(const std::string& method, const Caller& caller) {
        const auto call = serve(method, "{}", caller);
        ASSERT_EQ(call->answers.size(), 1U) << method;
        ASSERT_NE(call->key, "") << method;
        server->keep(call->key, text_of(call->answers[0].document), 1);
    }
    bool knows(const std::string& method, const Caller& caller) {
        const auto access = server->views().report_for(caller).access;
        return server->known(access, caller, method + "{}") != nullptr;
    }

    CallServerTest() {
        own_files.write(
            "/etc/passwd",
            "anna:x:1000:1000::/home/anna:/bin/sh\nbert:x:1001:1001::/home/bert:/bin/sh\n");
    }

    support::MemoryFiles own_files = {};
    SystemClock clock = {};
    HandLoop loop = {};
    Admission admission{own_files, clock};  // outlives the engine, whose callbacks hold claims
    ServedMachine machine{loop};
    std::unique_ptr<CallServer> server =
        std::make_unique<CallServer>(loop, *machine.engine, *machine.files, admission);
};

TEST_F(CallServerTest, AnswersByWhatTheCallerMayOpen) {
    const auto backend_for = [this](const Caller& caller) {
        const auto call = serve("Select", R"({"application":"default"})", caller);
        EXPECT_EQ(call->answers.size(), 1U);
        EXPECT_EQ(call->answers.at(0).error, "");
        return parse_json(call->answers.at(0).document, mib(1)).value().at("backend");
    };
    EXPECT_EQ(backend_for(kMember), Value{"cuda"});
    EXPECT_EQ(backend_for(kAnna), Value{"cpu"});
}

TEST_F(CallServerTest, SharesAnswersBetweenCallersWhoMayOpenTheSameNodes) {
    EXPECT_FALSE(knows("Describe", kAnna));
    serve_and_keep("Describe", kAnna);
    EXPECT_TRUE(knows("Describe", kAnna));
    EXPECT_TRUE(knows("Describe", kBert));
    EXPECT_FALSE(knows("Describe", kMember)) << "who may open the GPU";
    EXPECT_FALSE(knows("ListGpus", kAnna)) << "another question";
}

/// Root and members of the group may open the same nodes, but fixes for root contain no sudo.
TEST_F(CallServerTest, SharesNoAnswersOfRootWithOthers) {
    serve_and_keep("Describe", kMember);
    EXPECT_FALSE(knows("Describe", kRootCaller));
    serve_and_keep("Describe", kRootCaller);
    EXPECT_TRUE(knows("Describe", kRootCaller));
}

/// A diagnosis depends on the caller's account, and on files that may change at any time.
TEST_F(CallServerTest, KeepsADiagnosisForItsCallerAndForASecond) {
    serve_and_keep("Diagnose", kAnna);
    EXPECT_TRUE(knows("Diagnose", kAnna));
    EXPECT_FALSE(knows("Diagnose", kBert));
    EXPECT_FALSE(knows("Diagnose", {.uid = 1000, .groups = Groups{1000, 27}})) << "a newer login";
    loop.time += std::chrono::milliseconds{999};
    EXPECT_TRUE(knows("Diagnose", kAnna));
    loop.time += std::chrono::milliseconds{1};
    EXPECT_FALSE(knows("Diagnose", kAnna));
}

TEST_F(CallServerTest, KeepsOnlyTheAnswersThatItsTableAllows) {
    for (const char* method : {"ListOverrides", "ListQuarantine", "ListApplications"})
        EXPECT_EQ(serve(method, "{}", kAnna)->key, "") << method;
    EXPECT_EQ(serve("ClearOverride", R"({"application":"torch"})", kAnna)->key, "");
    EXPECT_EQ(serve("NoSuchMethod", "{}", kAnna)->key, "");
}

/// Reported failures expire without a new report.
TEST_F(CallServerTest, KeepsNoAnswersForAUserWithReportedFailures) {
    serve_and_keep("Describe", kAnna);
    const auto outcome = serve(
        "ReportOutcome", R"({"application":"default","backend":"cuda","outcome":"failed"})", kAnna);
    ASSERT_EQ(outcome->answers.size(), 1U);
    ASSERT_EQ(outcome->answers[0].error, "") << outcome->answers[0].document;
    EXPECT_EQ(serve("Describe", "{}", kAnna)->key, "");
    EXPECT_FALSE(knows("Describe", kAnna));
    EXPECT_TRUE(knows("Describe", kBert));
}

TEST_F(CallServerTest, ForgetsAnswersWithTheReportOrTheData) {
    const auto age = server->refresh();
    EXPECT_EQ(server->refresh(), age);
    serve_and_keep("Describe", kAnna);
    server->update();
    EXPECT_FALSE(knows("Describe", kAnna));
    serve_and_keep("Describe", kAnna);
    machine.engine->reload();
    EXPECT_NE(server->refresh(), age);
    EXPECT_FALSE(knows("Describe", kAnna));
}

TEST_F(CallServerTest, AsksForPermissionBeforeACallRuns) {
    const auto call = call_of("SetOverride", R"({"application":"torch","rule":{}})", kAnna);
    std::vector<Action> asked;
    std::function<void(const Status&)> decide;
    call->served->ask = [&](const std::vector<Action>& needs,
                            std::function<void(const Status&)> done) {
        asked = needs;
        decide = std::move(done);
    };
    server->serve(call->served);
    EXPECT_EQ(asked, std::vector{Action::SetOverride});
    EXPECT_TRUE(call->answers.empty());
    decide(Error{ErrorCode::NotAuthorized, "no"});
    ASSERT_EQ(call->answers.size(), 1U);
    EXPECT_EQ(call->answers[0].error, "org.gpuprobe.NotAuthorized");
    EXPECT_EQ(call->answers[0].message, "no");
    EXPECT_EQ(call->key, "");
}

TEST_F(CallServerTest, SendsTheAnswerToAnEarlierEqualCall) {
    serve_and_keep("ListGpus", kAnna);
    const auto call = call_of("ListGpus", "{}", kAnna);
    std::string kept;
    call->served->send_kept = [&kept](const AnswerCache::Answer& answer) {
        kept = std::get<SharedText>(answer)->bytes;
    };
    server->serve(call->served);
    EXPECT_TRUE(call->answers.empty());
    EXPECT_NE(kept.find("gpus"), std::string::npos) << kept;
}

TEST_F(CallServerTest, ReportsAnAnswerThatCannotBeEncoded) {
    const auto call = call_of("ListGpus", "{}", kAnna);
    auto& heard = call->served->heard;
    heard = [record = heard](const MethodAnswer& answer, const std::string& key) {
        if (answer.error.empty())
            throw std::runtime_error{"too large"};
        record(answer, key);
    };
    server->serve(call->served);
    ASSERT_EQ(call->answers.size(), 1U);
    EXPECT_EQ(call->answers[0].error, "org.gpuprobe.Internal");
    EXPECT_EQ(call->answers[0].message, "too large");
    EXPECT_EQ(call->key, "");
}

TEST_F(CallServerTest, RunsACallThatIsPermitted) {
    const auto call = call_of("GetIdentifiers", R"({"gpu":"pci:0000:00:06.0"})", kAnna);
    call->served->ask = [](const std::vector<Action>& needs,
                           const std::function<void(const Status&)>& done) {
        EXPECT_EQ(needs, std::vector{Action::GetIdentifiers});
        done(Done{});
    };
    server->serve(call->served);
    ASSERT_EQ(call->answers.size(), 1U);
    EXPECT_NE(call->answers[0].document.find("nvidia_uuid"), std::string::npos);
}

TEST_F(CallServerTest, AsksForNoPermissionThatACallDoesNotNeed) {
    const auto ask = [](const std::vector<Action>&, const std::function<void(const Status&)>&) {
        ADD_FAILURE() << "permission was asked for";
    };
    for (const auto& [method, parameters] :
         {std::pair{"Select", "{}"},
          std::pair{"GetIdentifiers", R"({"gpu":"pci:0000:00:06.0"})"}}) {
        const auto call = call_of(method, parameters, kMember);
        call->served->ask = ask;
        server->serve(call->served);
        EXPECT_EQ(call->answers.size(), 1U) << method;
    }
}

TEST_F(CallServerTest, LetsATrustedCallerDoEverything) {
    const auto call =
        serve("SetOverride", R"({"application":"torch","rule":{"strict":true}})", kAnna);
    ASSERT_EQ(call->answers.size(), 1U);
    EXPECT_EQ(call->answers[0].error, "") << call->answers[0].document;
}

TEST_F(CallServerTest, DoesNotAnswerACallerWhoHasLeft) {
    const auto call = call_of("Select", "{}", kAnna);
    call->is_wanted = false;
    server->serve(call->served);
    EXPECT_TRUE(call->answers.empty());
}

TEST_F(CallServerTest, LimitsTheProbesThatOneUserWaitsFor) {
    std::vector<std::unique_ptr<Call>> waiting;
    for (int i = 0; i < 8; ++i)
        waiting.push_back(serve("Probe", "{}", kAnna));
    const auto refused = serve("Probe", "{}", kAnna);
    ASSERT_EQ(refused->answers.size(), 1U);
    EXPECT_EQ(refused->answers[0].error, "org.gpuprobe.TooManyRequests");
    EXPECT_EQ(refused->answers[0].message, kTooManyProbes);
    loop.run();
    for (const auto& call : waiting) {
        ASSERT_EQ(call->answers.size(), 1U);
        EXPECT_EQ(call->answers[0].error, "");
    }
    // The claims are released with the answers.
    const auto next = serve("Probe", "{}", kAnna);
    EXPECT_TRUE(next->answers.empty());
}

TEST_F(CallServerTest, LimitsExpensiveCallsPerMinute) {
    for (unsigned i = 0; i < CallRate::kCalls; ++i)
        EXPECT_EQ(serve("ClearOverride", R"({"application":"torch"})", kAnna)->answers.at(0).error,
                  "");
    const auto refused = serve("ClearOverride", R"({"application":"torch"})", kAnna);
    EXPECT_EQ(refused->answers.at(0).error, "org.gpuprobe.TooManyRequests");
    EXPECT_EQ(serve("Select", "{}", kAnna)->answers.at(0).error, "");
}

TEST_F(CallServerTest, RunsNothingAfterItsEnd) {
    const auto call =
        call_of("SetOverride", R"({"application":"torch","rule":{"strict":true}})", kAnna);
    std::function<void(const Status&)> decide;
    call->served->ask = [&](const std::vector<Action>&, std::function<void(const Status&)> done) {
        decide = std::move(done);
    };
    server->serve(call->served);
    const auto probe = serve("Probe", "{}", kBert);
    server.reset();
    decide(Done{});
    loop.run();
    EXPECT_TRUE(call->answers.empty());
    EXPECT_TRUE(machine.engine->overrides().empty());
}

}  // namespace call_server_test
}  // namespace gpuprobe
