// SPDX-License-Identifier: Apache-2.0
#include "service/fair_queue.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace fair_queue_test {

constexpr Payer kAnna{.id = 1000, .standing = Standing::User, .rank = 1};
constexpr Payer kBert{.id = 1001, .standing = Standing::User, .rank = 2};
constexpr Payer kRootPayer{.id = 0, .standing = Standing::Root, .rank = 3};

Payer stranger(uid_t id) {
    return {.id = id, .rank = id};
}

/// An event loop in which the test runs deferred calls and sets the time.
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

    /// Runs the deferred call. Returns false if there is none.
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

class FairQueueTest : public testing::Test {
protected:
    void wait(const Payer& payer, char name) {
        queue.wait(payer, [this, name] { served += name; });
    }

    HandLoop loop = {};
    bool has_input = false;
    unsigned sent = 0;
    std::string served = {};
    std::size_t untaken = 0;
    FairQueue queue{loop, [this] { ++sent; }, [this] { return has_input; },
                    [this] { return untaken; }};
};

TEST_F(FairQueueTest, ServesOneUserAfterTheOther) {
    for (int i = 0; i < 3; ++i)
        wait(kAnna, 'a');
    wait(kBert, 'b');
    wait(kRootPayer, 'r');
    EXPECT_EQ(served, "");
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "arbaa");
    EXPECT_EQ(sent, 5U);
    EXPECT_TRUE(queue.is_free());
}

TEST_F(FairQueueTest, ReadsAheadButNotForEver) {
    has_input = true;
    wait(kAnna, 'a');
    EXPECT_FALSE(queue.is_free());
    for (unsigned i = 1; i < FairQueue::kReadsPerTurn; ++i)
        EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "");
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "a");
    EXPECT_FALSE(loop.turn());
    EXPECT_FALSE(queue.is_free());  // calls that can be read come first
}

TEST_F(FairQueueTest, ReadsNoFurtherAheadThanItMayHold) {
    has_input = true;
    for (std::size_t i = 0; i <= FairQueue::kMaxWaitingOfAll; ++i)
        wait(kRootPayer, 'r');
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "r");
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "r");
}

TEST_F(FairQueueTest, RefusesMoreCallsOfOneUserThanMayWaitButNotRoots) {
    for (std::size_t i = 0; i < FairQueue::kMaxWaiting; ++i) {
        wait(kAnna, 'a');
        wait(kRootPayer, 'r');
    }
    EXPECT_EQ(queue.admit(kAnna).error().code, ErrorCode::TooManyRequests);
    EXPECT_TRUE(queue.admit(kBert));
    EXPECT_TRUE(queue.admit(kRootPayer));
    loop.turn();
    loop.turn();
    EXPECT_TRUE(queue.admit(kAnna));
}

TEST_F(FairQueueTest, OneUserHasItsShareOfTheTimeWhenOthersWantSome) {
    has_input = true;
    EXPECT_TRUE(queue.admit(kAnna));
    queue.spent(FairQueue::kShare);
    EXPECT_TRUE(queue.admit(kAnna));  // there are no other payers
    EXPECT_TRUE(queue.admit(kBert));
    EXPECT_EQ(queue.admit(kAnna).error().code, ErrorCode::TooManyRequests);
    has_input = false;
    EXPECT_TRUE(queue.admit(kAnna));  // no other payer waits
    has_input = true;
    loop.time += FairQueue::kWindow;
    EXPECT_TRUE(queue.admit(kAnna));
}

TEST_F(FairQueueTest, AnswersNobodyWhileTheBusTakesNothing) {
    untaken = 1;
    EXPECT_FALSE(queue.is_free());
    wait(kAnna, 'a');
    EXPECT_TRUE(loop.turn());
    EXPECT_FALSE(loop.turn()) << "until go_on()";
    EXPECT_EQ(served, "");
    wait(kBert, 'b');
    untaken = 0;
    queue.go_on();
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "ab");
}

TEST_F(FairQueueTest, AnswersWhoCameWhileTheBusTookTheLastAnswer) {
    untaken = 1;
    wait(kAnna, 'a');
    untaken = 0;  // the bus takes the answer before the queue checks this
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "a");
}

TEST_F(FairQueueTest, WhoWaitsComesBeforeReadingOnceTheBusHasTakenAll) {
    has_input = true;
    untaken = 1;
    wait(kAnna, 'a');
    queue.before_reading();
    EXPECT_EQ(served, "") << "the bus takes nothing";
    untaken = 0;
    queue.go_on();
    queue.before_reading();
    EXPECT_EQ(served, "a");
    wait(kAnna, 'b');
    queue.before_reading();
    EXPECT_EQ(served, "a") << "what can be read comes first otherwise";
}

TEST_F(FairQueueTest, HasNobodyToServeWhenTheLastWasServedBeforeReading) {
    untaken = 1;
    wait(kAnna, 'a');
    untaken = 0;
    queue.go_on();
    queue.before_reading();
    EXPECT_EQ(served, "a");
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "a");
    EXPECT_TRUE(queue.is_free());
}

TEST_F(FairQueueTest, OneUserHasFewAnswersThatTheBusDoesNotTake) {
    for (std::size_t i = 0; i < FairQueue::kMaxUntaken; ++i) {
        EXPECT_TRUE(queue.admit(kAnna));
        ++untaken;
        queue.spent({});
    }
    EXPECT_EQ(queue.admit(kAnna).error().code, ErrorCode::TooManyRequests);
    queue.spent({});
    EXPECT_TRUE(queue.admit(kBert));
    EXPECT_TRUE(queue.admit(kRootPayer));
    untaken = 0;
    queue.go_on();
    EXPECT_TRUE(queue.admit(kAnna));
}

TEST_F(FairQueueTest, AdmitsUnidentifiedCallersWhileAnswersToOthersArePending) {
    untaken = 2 * FairQueue::kMaxUntakenOfUnidentified;
    for (std::size_t i = 0; i < FairQueue::kMaxUntakenOfUnidentified; ++i) {
        EXPECT_TRUE(queue.admit_unidentified());
        ++untaken;
        queue.spent({});
        ++untaken;  // as if no call of an unidentified caller were read
        queue.spent({});
    }
    EXPECT_EQ(queue.admit_unidentified().error().code, ErrorCode::TooManyRequests);
    queue.spent({});
    untaken = 0;
    queue.go_on();
    EXPECT_TRUE(queue.admit_unidentified());
}

TEST_F(FairQueueTest, ChargesTimeToNobodyElse) {
    has_input = true;
    EXPECT_TRUE(queue.admit(kAnna));
    EXPECT_TRUE(queue.admit(kBert));
    queue.spent(FairQueue::kShare);
    queue.spent(FairQueue::kShare);  // a message that is not a call
    EXPECT_TRUE(queue.admit(kAnna));
    EXPECT_FALSE(queue.admit(kBert));
}

TEST_F(FairQueueTest, ForgetsWhoIsSilent) {
    has_input = true;
    EXPECT_TRUE(queue.admit(kBert));
    loop.time += FairQueue::kMemory;
    EXPECT_TRUE(queue.admit(kAnna));
    queue.spent(FairQueue::kShare);
    EXPECT_TRUE(queue.admit(kAnna));
}

TEST_F(FairQueueTest, ServesThePayerThatHasUsedTheLeastTime) {
    queue.wait(kAnna, [this] {
        served += 'a';
        loop.time += std::chrono::milliseconds{5};
    });
    wait(kAnna, 'A');
    for (int i = 0; i < 3; ++i)
        queue.wait(kBert, [this] {
            served += 'b';
            loop.time += std::chrono::milliseconds{1};
        });
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "abbbA");
}

TEST_F(FairQueueTest, CountsACrowdOfStrangersAsOne) {
    for (uid_t uid = 100'000; uid < 100'100; ++uid)
        wait(stranger(uid), 's');
    wait(kAnna, 'a');
    wait(kAnna, 'a');
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "sasa");
}

TEST_F(FairQueueTest, ServesTheStrangerFirstWhoCalledFirst) {
    for (uid_t uid = 100'000; uid < 100'100; ++uid)
        wait(stranger(uid), 's');
    wait(stranger(7), 'x');
    EXPECT_TRUE(loop.turn());
    EXPECT_EQ(served, "x");
}

TEST_F(FairQueueTest, StrangersShareTheTimeForWhatIsAnsweredWhileItIsRead) {
    has_input = true;
    EXPECT_TRUE(queue.admit(kAnna));
    for (uid_t uid = 100'000; uid < 100'004; ++uid) {
        EXPECT_TRUE(queue.admit(stranger(uid)));
        queue.spent(FairQueue::kShare / 2);
    }
    EXPECT_FALSE(queue.admit(stranger(100'000)));
    EXPECT_TRUE(queue.admit(stranger(100'009))) << "has used nothing";
    EXPECT_TRUE(queue.admit(kAnna));
    loop.time += FairQueue::kWindow;
    EXPECT_TRUE(queue.admit(stranger(100'000)));
}

TEST_F(FairQueueTest, ACallMayAddCallsOfItsOwnPayer) {
    queue.wait(kAnna, [this] { wait(kAnna, 'b'); });
    wait(kBert, 'c');
    while (loop.turn()) {
    }
    EXPECT_EQ(served, "cb");
    EXPECT_TRUE(queue.is_free());
}

}  // namespace fair_queue_test
}  // namespace gpuprobe
