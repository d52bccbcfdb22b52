// SPDX-License-Identifier: Apache-2.0
#include "wire/connection.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gpuprobe::bus {
namespace connection_test {

/// An event loop with one timer, which the test ends.
class OneTimer final : public EventLoop {
public:
    [[nodiscard]] EventHandle watch(int,
                                    std::uint32_t,
                                    Priority,
                                    std::function<void(std::uint32_t)>) override {
        return nullptr;
    }
    [[nodiscard]] EventHandle after(Duration, Callback due) override {
        due_ = std::move(due);
        return std::make_unique<EventSource>();
    }
    [[nodiscard]] EventHandle defer(Callback) override { return nullptr; }
    [[nodiscard]] MonotonicTime now() const override { return {}; }

    /// Ends the timer and calls its callback. Returns false if there is no callback.
    bool end() {
        const auto due = std::exchange(due_, nullptr);
        if (due)
            due();
        return due != nullptr;
    }

private:
    Callback due_ = {};
};

class RefusalsTest : public testing::Test {
protected:
    static Error error() { return {ErrorCode::TooManyRequests, "too many"}; }

    OneTimer loop = {};
    bool may_send = true;
    std::vector<std::string> sent = {};
    Refusals refusals{loop,
                      [this](const std::string& sender, std::uint32_t serial, const Error& why) {
                          sent.push_back(sender + " " + std::to_string(serial) + " " + why.text);
                      },
                      [this] { return may_send; }};
};

TEST_F(RefusalsTest, ComeLaterAndOneSenderAfterTheOther) {
    refusals.add(":1.1", 7, error());
    refusals.add(":1.1", 8, error());
    refusals.add(":1.2", 3, error());
    EXPECT_TRUE(sent.empty());
    EXPECT_TRUE(loop.end());
    EXPECT_EQ(sent,
              (std::vector<std::string>{":1.1 7 too many", ":1.2 3 too many", ":1.1 8 too many"}));
    EXPECT_EQ(refusals.size(), 0U);
    EXPECT_FALSE(loop.end());
}

TEST_F(RefusalsTest, AreFewAtOnce) {
    for (std::uint32_t serial = 1; serial <= 2 * Refusals::kAtOnce; ++serial)
        refusals.add(":1.1", serial, error());
    EXPECT_TRUE(loop.end());
    EXPECT_EQ(sent.size(), Refusals::kAtOnce);
    EXPECT_TRUE(loop.end());
    EXPECT_EQ(sent.size(), 2 * Refusals::kAtOnce);
    EXPECT_FALSE(loop.end());
}

TEST_F(RefusalsTest, WaitWhileTheBusTakesNothing) {
    may_send = false;
    refusals.add(":1.1", 7, error());
    EXPECT_TRUE(loop.end());
    EXPECT_TRUE(sent.empty());
    may_send = true;
    EXPECT_TRUE(loop.end());
    EXPECT_EQ(sent.size(), 1U);
}

TEST_F(RefusalsTest, ComeAtOnceWhenTooManyWait) {
    for (std::uint32_t serial = 1; serial <= Refusals::kMax; ++serial)
        refusals.add(":1.1", serial, error());
    EXPECT_TRUE(sent.empty());
    refusals.add(":1.2", 5, error());
    EXPECT_EQ(sent, std::vector<std::string>{":1.2 5 too many"});
}

}  // namespace connection_test
}  // namespace gpuprobe::bus
