// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "service/answers.h"

namespace gpuprobe {
namespace answer_cache_test {

using Answers = AnswerCache<int>;

TEST(AnswerCache, KnowsWhatWasKept) {
    Answers cache;
    EXPECT_EQ(cache.find(1, "a"), nullptr);
    cache.keep("a", {});
    EXPECT_NE(cache.find(1, "a"), nullptr);
    EXPECT_EQ(cache.find(1, "b"), nullptr);
}

TEST(AnswerCache, ForgetsAnotherGeneration) {
    Answers cache;
    EXPECT_EQ(cache.find(1, "a"), nullptr);
    cache.keep("a", {});
    EXPECT_EQ(cache.find(2, "a"), nullptr);
    EXPECT_EQ(cache.find(1, "a"), nullptr);
}

TEST(AnswerCache, ForgetsWhenTold) {
    Answers cache;
    EXPECT_EQ(cache.find(1, "a"), nullptr);
    cache.keep("a", {});
    cache.clear();
    EXPECT_EQ(cache.find(1, "a"), nullptr);
}

TEST(AnswerCache, DropsWhatWasUnusedForLongest) {
    Answers cache;
    EXPECT_EQ(cache.find(1, "used"), nullptr);
    cache.keep("used", {});
    cache.keep("unused", {});
    for (std::size_t i = 2; i < Answers::kMaxAnswers; ++i)
        cache.keep(std::to_string(i), {});
    EXPECT_NE(cache.find(1, "used"), nullptr);
    cache.keep("one more", {});
    EXPECT_EQ(cache.size(), Answers::kMaxAnswers);
    EXPECT_NE(cache.find(1, "used"), nullptr);
    EXPECT_EQ(cache.find(1, "unused"), nullptr);
}

TEST(AnswerCache, KeepsNoQuestionOverItsLimit) {
    Answers cache;
    cache.keep(std::string(Answers::kMaxQuestion.count + 1, 'x'), {});
    EXPECT_EQ(cache.size(), 0U);
    cache.keep(std::string(Answers::kMaxQuestion.count, 'x'), {});
    EXPECT_EQ(cache.size(), 1U);
}

TEST(AnswerCache, TellsQuestionsApartByApplicationAndRequest) {
    const auto ask = [](const char* application, const char* key) {
        Value request;
        request[key] = Value{true};
        return question_of("", application, request);
    };
    EXPECT_EQ(ask("a", "strict"), ask("a", "strict"));
    EXPECT_NE(ask("a", "strict"), ask("b", "strict"));
    EXPECT_NE(ask("a", "strict"), ask("a", "built"));
}

}  // namespace answer_cache_test
}  // namespace gpuprobe
