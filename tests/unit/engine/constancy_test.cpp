// SPDX-License-Identifier: Apache-2.0
#include "engine/constancy.h"

#include <optional>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

ProbeResult answer_of(std::size_t devices, std::uint64_t gibibytes, std::uint64_t free = 0) {
    ProbeResult answer{.api = "cuda", .outcome = Outcome::Answered};
    for (std::size_t i = 0; i < devices; ++i)
        answer.devices.push_back({.index = static_cast<std::uint32_t>(i),
                                  .memory = FactMemory{Bytes{gibibytes << 30}, Bytes{free}}});
    return answer;
}

class ConstancyOfAnswers : public ::testing::Test {
protected:
    /// Whether to ask once more.
    bool hears(ProbeResult answer) {
        auto heard = constancy_.hear(std::move(answer), believed_ ? &*believed_ : nullptr);
        believed_ = std::move(heard.believed);
        return heard.is_doubtful;
    }
    void become_unstable() {
        hears(answer_of(2, 8));
        EXPECT_TRUE(hears(answer_of(1, 8)));
        EXPECT_FALSE(hears(answer_of(2, 8))) << "once more is enough";
    }
    [[nodiscard]] std::size_t devices() const { return believed_->devices.size(); }
    [[nodiscard]] bool is_unstable() const { return has_reason(believed_->reasons, kUnstable); }

    Constancy constancy_ = {};
    std::optional<ProbeResult> believed_ = {};
};

TEST_F(ConstancyOfAnswers, BelievesWhatIsSaidAgain) {
    EXPECT_FALSE(hears(answer_of(2, 8)));
    EXPECT_FALSE(hears(answer_of(2, 8)));
    EXPECT_FALSE(is_unstable());
}

TEST_F(ConstancyOfAnswers, DoesNotMindWhatIsOfTheMoment) {
    hears(answer_of(2, 8, 5));
    EXPECT_FALSE(hears(answer_of(2, 8, 6)));
}

TEST_F(ConstancyOfAnswers, BelievesAChangeThatIsSaidTwice) {
    hears(answer_of(2, 8));
    EXPECT_TRUE(hears(answer_of(3, 8)));
    EXPECT_FALSE(hears(answer_of(3, 8)));
    EXPECT_EQ(devices(), 3u);
    EXPECT_FALSE(is_unstable());
}

TEST_F(ConstancyOfAnswers, BelievesOfTwoThatDifferTheOneThatPromisesLess) {
    become_unstable();
    EXPECT_EQ(devices(), 1u);
    EXPECT_TRUE(is_unstable());
    EXPECT_FALSE(hears(answer_of(1, 4)));
    EXPECT_EQ(believed_->devices.front().memory->total, gib(4));
    hears(answer_of(1, 6));
    EXPECT_EQ(believed_->devices.front().memory->total, gib(4)) << "less memory is less, too";
}

TEST_F(ConstancyOfAnswers, TakesAnAbsenceForTheLeast) {
    hears(answer_of(2, 8));
    hears(ProbeResult{.api = "cuda", .outcome = Outcome::Absent});
    hears(answer_of(2, 8));
    EXPECT_EQ(believed_->outcome, Outcome::Absent);
    EXPECT_TRUE(is_unstable());
}

TEST_F(ConstancyOfAnswers, TrustsItAgainAfterThreeThatAgree) {
    become_unstable();
    hears(answer_of(2, 8));
    EXPECT_EQ(devices(), 1u);
    EXPECT_TRUE(is_unstable());
    hears(answer_of(2, 8));
    EXPECT_EQ(devices(), 2u);
    EXPECT_FALSE(is_unstable());
}

TEST_F(ConstancyOfAnswers, SaysSinceWhen) {
    auto at = answer_of(2, 8);
    hears(at);
    hears(answer_of(1, 8));
    at.at = WallTime{std::chrono::microseconds{1234}};
    hears(at);
    const auto since = believed_->reasons.front().detail.at("since_usec");
    EXPECT_EQ(since, Value{1234});
    at = answer_of(3, 8);
    at.at = WallTime{std::chrono::microseconds{5678}};
    hears(at);
    ASSERT_EQ(believed_->reasons.size(), 1u);
    EXPECT_EQ(believed_->reasons.front().detail.at("since_usec"), since) << "not since now";
}

TEST_F(ConstancyOfAnswers, HearsAnewOnAnotherMachine) {
    become_unstable();
    constancy_.forget();
    EXPECT_FALSE(hears(answer_of(5, 8)));
    EXPECT_EQ(devices(), 5u);
    EXPECT_FALSE(is_unstable());
}

TEST_F(ConstancyOfAnswers, ComparesNothingWithACrash) {
    hears(answer_of(2, 8));
    EXPECT_FALSE(hears(ProbeResult{.api = "cuda", .outcome = Outcome::Crashed}));
    EXPECT_FALSE(hears(answer_of(2, 8)));
    EXPECT_FALSE(is_unstable());
}

}  // namespace
}  // namespace gpuprobe
