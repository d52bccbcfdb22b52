// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

#include "backends/compute/stages.h"
#include "recording_sink.h"

namespace gpuprobe::backends {
namespace backend_test {

const Backend& named(std::string_view api) {
    const auto found = std::ranges::find(registry(), api, &Backend::api);
    EXPECT_NE(found, registry().end()) << api;
    return *found;
}

TEST(Stages, AreThreeAndNoOthers) {
    for (const auto* stage : {"query", "verify", "measure"})
        EXPECT_TRUE(is_stage(stage)) << stage;
    for (const auto* other : {"", "Query", "verify ", "bench"})
        EXPECT_FALSE(is_stage(other)) << other;
}

TEST(Stages, AreMissingForApisThatOnlyReportFacts) {
    for (const auto* api : {"drm", "level_zero_sysman", "nvml", "pci"}) {
        EXPECT_TRUE(named(api).query) << api;
        EXPECT_FALSE(named(api).compute) << api;
    }
}

TEST(Stages, OfTheProcessorAskNoDriver) {
    EXPECT_FALSE(named("cpu").query);
}

TEST(Stages, ThatABackendLacksAreRefused) {
    RecordingSink sink;
    for (const auto& [api, stage] : {std::pair{"cpu", "query"}, {"pci", "verify"}}) {
        const auto answer = ask(named(api), ProbeTarget{.api = api, .stage = stage}, sink);
        EXPECT_EQ(answer.outcome, Outcome::Failed);
        EXPECT_EQ(answer.note, std::string{api} + " does not support the stage " + stage);
        EXPECT_EQ(answer.reasons.at(0).code, "stage-not-offered");
    }
    EXPECT_TRUE(sink.phases.empty());
}

}  // namespace backend_test
}  // namespace gpuprobe::backends
