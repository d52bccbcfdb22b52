// SPDX-License-Identifier: Apache-2.0
#include "service/budgets.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace {

class HandClock final : public Clock {
public:
    [[nodiscard]] WallTime wall() const override { return {}; }
    [[nodiscard]] MonotonicTime monotonic() const override { return now; }
    MonotonicTime now = {};
};

constexpr uid_t kAnna = 1000;
constexpr uid_t kBert = 1001;

void use_up(CallBudget& budget, uid_t uid) {
    for (unsigned i = 0; i < CallBudget::kCalls; ++i)
        ASSERT_TRUE(budget.take(uid)) << i;
}

TEST(CallBudget, RefusesOneUserTooManyCallsUntilTheWindowEnds) {
    HandClock clock;
    CallBudget budget{clock};
    use_up(budget, kAnna);
    EXPECT_EQ(budget.take(kAnna).error().code, ErrorCode::TooManyRequests);
    EXPECT_TRUE(budget.take(kBert));
    clock.now = CallBudget::kWindow - Duration{1};
    EXPECT_FALSE(budget.take(kAnna));
    clock.now = CallBudget::kWindow;
    EXPECT_TRUE(budget.take(kAnna));
}

TEST(CallBudget, DoesNotCountRootsCalls) {
    const HandClock clock;
    CallBudget budget{clock};
    use_up(budget, 0);
    EXPECT_TRUE(budget.take(0));
}

TEST(CallBudget, RemembersABoundedNumberOfUsers) {
    const HandClock clock;
    CallBudget budget{clock};
    for (uid_t uid = 1; uid <= CallBudget::kMaxUsers; ++uid)
        ASSERT_TRUE(budget.take(uid));
    EXPECT_EQ(budget.take(CallBudget::kMaxUsers + 1).error().code, ErrorCode::TooManyRequests);
    EXPECT_TRUE(budget.take(1));
}

ErrorCode code_of(const Status& status) {
    return status ? ErrorCode::Internal : status.error().code;
}

TEST(InlineBudget, RefusesWhatNoReplyMayHold) {
    const HandClock clock;
    InlineBudget budget{clock};
    EXPECT_TRUE(budget.take(":1.1", InlineBudget::kMaxReply));
    const Bytes too_much{InlineBudget::kMaxReply.count + 1};
    EXPECT_EQ(code_of(budget.take(":1.1", too_much)), ErrorCode::TooLarge);
}

TEST(InlineBudget, RefusesASenderThatTookItsShareUntilTheWindowEnds) {
    HandClock clock;
    InlineBudget budget{clock};
    const auto replies = InlineBudget::kPerSender.count / InlineBudget::kMaxReply.count;
    for (std::uint64_t i = 0; i < replies; ++i)
        EXPECT_TRUE(budget.take(":1.1", InlineBudget::kMaxReply));
    EXPECT_EQ(code_of(budget.take(":1.1", Bytes{1})), ErrorCode::TooManyRequests);
    EXPECT_TRUE(budget.take(":1.2", Bytes{1}));
    clock.now = InlineBudget::kWindow - Duration{1};
    EXPECT_FALSE(budget.take(":1.1", Bytes{1}));
    clock.now = InlineBudget::kWindow;
    EXPECT_TRUE(budget.take(":1.1", Bytes{1}));
}

TEST(InlineBudget, RemembersABoundedNumberOfSenders) {
    const HandClock clock;
    InlineBudget budget{clock};
    for (std::size_t i = 0; i < InlineBudget::kMaxSenders; ++i)
        EXPECT_TRUE(budget.take(":1." + std::to_string(i), Bytes{1}));
    EXPECT_EQ(code_of(budget.take(":2.1", Bytes{1})), ErrorCode::TooManyRequests);
    EXPECT_TRUE(budget.take(":1.1", Bytes{1}));
}

}  // namespace
}  // namespace gpuprobe
