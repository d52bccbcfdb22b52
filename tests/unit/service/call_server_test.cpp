// SPDX-License-Identifier: Apache-2.0
#include "service/call_server.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/served_machine.h"

namespace gpuprobe {
namespace call_server_test {

using support::HandLoop;
using support::ServedMachine;

// AnswerCache -------------------------------------------------------------------------------------

SharedText text_of(std::string bytes) {
    return std::make_shared<const Text>(Text{std::move(bytes)});
}

/// Keeps an answer of so many bytes.
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

/// The memory of a text is charged to clients only if the cache does not count it.
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
    // Root and the member of the group see the same report, but root needs no sudo.
    const auto fixes_with_sudo = [this](const Caller& caller) {
        return std::ranges::count_if(views.findings_for(caller), [](const Finding& finding) {
            return finding.fix.value_or("").find("sudo ") != std::string::npos;
        });
    };
    EXPECT_GT(fixes_with_sudo(kMember), 0);
    EXPECT_EQ(fixes_with_sudo(kRootCaller), 0);
}

TEST_F(ReportViewsTest, AreMadeAgainForANewReport) {
    const auto before = views.report_for(kAnna).report->generation;
    machine.engine->reload();
    EXPECT_EQ(views.report_for(kAnna).report->generation, machine.engine->report().generation);
    EXPECT_GT(machine.engine->report().generation, before);
}

}  // namespace call_server_test
}  // namespace gpuprobe
