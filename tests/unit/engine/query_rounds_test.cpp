// SPDX-License-Identifier: Apache-2.0
#include "engine/query_rounds.h"

#include <array>

#include <gtest/gtest.h>

namespace gpuprobe::engine {
namespace query_rounds_test {

using enum QueryState;
using Row = std::array<QueryState, 5>;

constexpr Row kStates{Idle, Deferred, Running, RunningDeferred, Outdated};

/// For each state in kStates, the state after the event.
Row row_after(QueryEvent event) {
    Row after{};
    for (std::size_t i = 0; i < kStates.size(); ++i)
        after[i] = state_after(kStates[i], event);
    return after;
}

TEST(QueryState, IsRunningWheneverAWorkerStarts) {
    EXPECT_EQ(row_after(QueryEvent::Start), (Row{Running, Running, Running, Running, Running}));
}

TEST(QueryState, RemembersThatItHasToWaitEvenWhileAWorkerRuns) {
    EXPECT_EQ(row_after(QueryEvent::Defer),
              (Row{Deferred, Deferred, RunningDeferred, RunningDeferred, Outdated}));
}

TEST(QueryState, IsOutdatedIfTheMachineChangesWhileAWorkerRuns) {
    EXPECT_EQ(row_after(QueryEvent::MachineChange),
              (Row{Idle, Deferred, Outdated, Outdated, Outdated}));
}

TEST(QueryState, IsDeferredAtTheEndUnlessItHasACurrentResult) {
    EXPECT_EQ(row_after(QueryEvent::End), (Row{Idle, Deferred, Idle, Deferred, Deferred}));
}

TEST(QueryState, RunsFromTheStartOfAWorkerToItsEnd) {
    for (const auto state : kStates)
        EXPECT_EQ(is_running(state), state != Idle && state != Deferred);
}

}  // namespace query_rounds_test
}  // namespace gpuprobe::engine
