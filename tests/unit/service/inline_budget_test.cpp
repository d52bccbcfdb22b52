// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "service/call_budget.h"

namespace gpuprobe {
namespace {

class HandClock final : public Clock {
public:
    [[nodiscard]] WallTime wall() const override { return {}; }
    [[nodiscard]] MonotonicTime monotonic() const override { return now; }
    MonotonicTime now = {};
};

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
