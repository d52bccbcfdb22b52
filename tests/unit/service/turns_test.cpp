// SPDX-License-Identifier: Apache-2.0
#include "service/turns.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

constexpr uid_t kAnna = 1000;
constexpr uid_t kBert = 1001;

/// A loop whose deferred calls run by hand, at a time set by hand.
class HandLoop final : public EventLoop {
public:
    [[nodiscard]] EventHandle watch(int,
                                    std::uint32_t,
                                    Priority,
                                    std::function<void(std::uint32_t)>) override {
        return nullptr;
    }
    [[nodiscard]] EventHandle after(Duration, Callback) override { return nullptr; }
    [[nodiscard]] EventHandle defer(Callback next) override {
        next_ = std::move(next);
        return std::make_unique<EventSource>();
    }
    [[nodiscard]] MonotonicTime now() const override { return time; }

    /// False when nothing is deferred.
    bool turn() {
        const auto next = std::exchange(next_, nullptr);
        if (next)
            next();
        return next != nullptr;
    }

    MonotonicTime time = {};

private:
    Callback next_ = {};
};

class TurnsTest : public testing::Test {
protected:
    void wait(uid_t uid, char name) {
        turns.wait(uid, [this, name] { served += name; });
    }

    HandLoop loop = {};
    bool has_input = false;
    unsigned sent = 0;
    std::string served = {};
    std::size_t untaken = 0;
    Turns turns{loop, [this] { ++sent; }, [this] { return has_input; }, [this] { return untaken; }};
};

TEST_F(TurnsTest, ServesOneUserAfterTheOther) {
    for (int i = 0; i < 3; ++i)
        wait(kAnna, 'a');
    wait(kBert, 'b');
    wait(0, 'r');
    EXPECT_EQ(served, "");
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "abraa");
    EXPECT_EQ(sent, 5U);
    EXPECT_TRUE(turns.is_free());
}

TEST_F(TurnsTest, ReadsAheadButNotForEver) {
    has_input = true;
    wait(kAnna, 'a');
    EXPECT_FALSE(turns.is_free());
    for (unsigned i = 1; i < Turns::kReadsPerTurn; ++i)
        EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "");
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "a");
    EXPECT_FALSE(loop.turn());
    EXPECT_FALSE(turns.is_free());  // what can be read comes first
}

TEST_F(TurnsTest, ReadsNoFurtherAheadThanItMayHold) {
    has_input = true;
    for (std::size_t i = 0; i <= Turns::kMaxWaitingOfAll; ++i)
        wait(0, 'r');
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "r");
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "r");
}

TEST_F(TurnsTest, RefusesMoreCallsOfOneUserThanMayWaitButNotRoots) {
    for (std::size_t i = 0; i < Turns::kMaxWaiting; ++i) {
        wait(kAnna, 'a');
        wait(0, 'r');
    }
    EXPECT_EQ(turns.admit(kAnna).error().code, ErrorCode::TooManyRequests);
    EXPECT_TRUE(turns.admit(kBert));
    EXPECT_TRUE(turns.admit(0));
    loop.turn();
    loop.turn();
    EXPECT_TRUE(turns.admit(kAnna));
}

TEST_F(TurnsTest, OneUserHasItsShareOfTheTimeWhenOthersWantSome) {
    has_input = true;
    EXPECT_TRUE(turns.admit(kAnna));
    turns.spent(Turns::kShare);
    EXPECT_TRUE(turns.admit(kAnna));  // nobody else is there
    EXPECT_TRUE(turns.admit(kBert));
    EXPECT_EQ(turns.admit(kAnna).error().code, ErrorCode::TooManyRequests);
    has_input = false;
    EXPECT_TRUE(turns.admit(kAnna));  // nobody else waits
    has_input = true;
    loop.time += Turns::kWindow;
    EXPECT_TRUE(turns.admit(kAnna));
}

TEST_F(TurnsTest, AnswersNobodyWhileTheBusTakesNothing) {
    untaken = 1;
    EXPECT_FALSE(turns.is_free());
    wait(kAnna, 'a');
    EXPECT_TRUE(loop.turn());
    EXPECT_FALSE(loop.turn()) << "until go_on()";
    EXPECT_EQ(served, "");
    wait(kBert, 'b');
    untaken = 0;
    turns.go_on();
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "ab");
}

TEST_F(TurnsTest, AnswersWhoCameWhileTheBusTookTheLastAnswer) {
    untaken = 1;
    wait(kAnna, 'a');
    untaken = 0;  // before anybody has seen that it was not
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "a");
}

TEST_F(TurnsTest, WhoWaitsComesBeforeReadingOnceTheBusHasTakenAll) {
    has_input = true;
    untaken = 1;
    wait(kAnna, 'a');
    turns.before_reading();
    EXPECT_EQ(served, "") << "the bus takes nothing";
    untaken = 0;
    turns.go_on();
    turns.before_reading();
    EXPECT_EQ(served, "a");
    wait(kAnna, 'b');
    turns.before_reading();
    EXPECT_EQ(served, "a") << "what can be read comes first otherwise";
}

TEST_F(TurnsTest, HasNobodyToServeWhenTheLastWasServedBeforeReading) {
    untaken = 1;
    wait(kAnna, 'a');
    untaken = 0;
    turns.go_on();
    turns.before_reading();
    EXPECT_EQ(served, "a");
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "a");
    EXPECT_TRUE(turns.is_free());
}

TEST_F(TurnsTest, OneUserHasFewAnswersThatTheBusDoesNotTake) {
    for (std::size_t i = 0; i < Turns::kMaxUntaken; ++i) {
        EXPECT_TRUE(turns.admit(kAnna));
        ++untaken;
        turns.spent({});
    }
    EXPECT_EQ(turns.admit(kAnna).error().code, ErrorCode::TooManyRequests);
    turns.spent({});
    EXPECT_TRUE(turns.admit(kBert));
    EXPECT_TRUE(turns.admit(0));
    untaken = 0;
    turns.go_on();
    EXPECT_TRUE(turns.admit(kAnna));
}

TEST_F(TurnsTest, ChargesTimeToNobodyElse) {
    has_input = true;
    EXPECT_TRUE(turns.admit(kAnna));
    EXPECT_TRUE(turns.admit(kBert));
    turns.spent(Turns::kShare);
    turns.spent(Turns::kShare);  // a message that is no call
    EXPECT_TRUE(turns.admit(kAnna));
    EXPECT_FALSE(turns.admit(kBert));
}

TEST_F(TurnsTest, ForgetsWhoIsSilent) {
    has_input = true;
    EXPECT_TRUE(turns.admit(kBert));
    loop.time += Turns::kMemory;
    EXPECT_TRUE(turns.admit(kAnna));
    turns.spent(Turns::kShare);
    EXPECT_TRUE(turns.admit(kAnna));
}

}  // namespace
}  // namespace gpuprobe
