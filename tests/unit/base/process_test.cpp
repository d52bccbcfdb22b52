// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <csignal>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace process_test {

TEST(SignalName, IsTheOneOfTheManual) {
    EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
    EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
    EXPECT_EQ(signal_name(SIGSYS), "SIGSYS");
    EXPECT_EQ(signal_name(SIGIO), "SIGPOLL") << "one number with two names";
    EXPECT_EQ(signal_name(SIGIOT), "SIGABRT");
}

TEST(SignalName, IsTheNumberOfASignalWithoutOne) {
    EXPECT_EQ(signal_name(SIGRTMIN), "signal " + std::to_string(SIGRTMIN));
    EXPECT_EQ(signal_name(0), "signal 0");
    EXPECT_EQ(signal_name(-1), "signal -1");
    EXPECT_EQ(signal_name(1000), "signal 1000");
}

TEST(SucceedsWithin, TriesOnceWithoutPatience) {
    int attempts = 0;
    EXPECT_FALSE(succeeds_within(Duration{0}, [&attempts] { return ++attempts > 1; }));
    EXPECT_EQ(attempts, 1);
    EXPECT_TRUE(succeeds_within(Duration{0}, [] { return true; }));
}

TEST(SucceedsWithin, StopsAtTheFirstSuccess) {
    int attempts = 0;
    EXPECT_TRUE(succeeds_within(std::chrono::seconds{30}, [&attempts] { return ++attempts == 3; }));
    EXPECT_EQ(attempts, 3);
}

TEST(SucceedsWithin, GivesUpWhenThePatienceHasPassed) {
    int attempts = 0;
    EXPECT_FALSE(succeeds_within(std::chrono::milliseconds{25}, [&attempts] {
        ++attempts;
        return false;
    }));
    EXPECT_GT(attempts, 1);
}

}  // namespace process_test
}  // namespace gpuprobe
