// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/trials.h"

namespace gpuprobe::engine {
namespace trial_queue_test {

ProbeTarget verify(const char* api) {
    return {.api = api, .stage = "verify", .device = "index:0"};
}
ProbeTarget measure(const char* api) {
    return {.api = api, .stage = "measure", .device = "index:0"};
}
using Targets = std::vector<ProbeTarget>;

TEST(TrialQueue, VerifiesInParallelAndMeasuresAlone) {
    TrialQueue queue;
    queue.add({verify("a"), verify("b"), measure("a"), measure("b"), verify("c")}, {});
    EXPECT_EQ(queue.take_startable(), (Targets{verify("a"), verify("b")}));
    EXPECT_TRUE(queue.take_startable().empty());
    (void)queue.finish(verify("b"));
    EXPECT_TRUE(queue.take_startable().empty()) << "one still computes";
    (void)queue.finish(verify("a"));
    EXPECT_EQ(queue.take_startable(), Targets{measure("a")});
    EXPECT_TRUE(queue.take_startable().empty()) << "nobody overtakes";
    (void)queue.finish(measure("a"));
    EXPECT_EQ(queue.take_startable(), Targets{measure("b")});
    (void)queue.finish(measure("b"));
    EXPECT_EQ(queue.take_startable(), Targets{verify("c")});
    (void)queue.finish(verify("c"));
    EXPECT_TRUE(queue.empty());
}

TEST(TrialQueue, RunsATargetOfTwoCallersOnce) {
    TrialQueue queue;
    int first = 0;
    int second = 0;
    std::vector<double> shares;
    queue.add(
        {verify("a"), verify("b")},
        {.progress = [&](double share) { shares.push_back(share); }, .done = [&] { ++first; }});
    (void)queue.take_startable();
    queue.add({verify("b"), verify("c")}, {.done = [&] { ++second; }});
    EXPECT_EQ(queue.take_startable(), Targets{verify("c")});
    const auto end = [&](const char* api) {
        for (const auto& waiter : queue.finish(verify(api)))
            waiter.done();
    };
    end("b");
    EXPECT_EQ(first + second, 0);
    end("c");
    EXPECT_EQ(second, 1) << "it waits for its own only";
    EXPECT_EQ(first, 0);
    end("a");
    EXPECT_EQ(first, 1);
    EXPECT_EQ(shares, (std::vector<double>{0.5, 1}));
    EXPECT_TRUE(queue.empty());
}

}  // namespace trial_queue_test
}  // namespace gpuprobe::engine
