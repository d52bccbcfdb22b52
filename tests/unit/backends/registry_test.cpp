// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

#include "backends/backend.h"

namespace gpuprobe::backends {
namespace {

const Backend& named(std::string_view api) {
    const auto found = std::ranges::find(registry(), api, &Backend::api);
    EXPECT_NE(found, registry().end()) << api;
    return *found;
}

TEST(Stages, AreThreeAndNoOthers) {
    const auto& cuda = named("cuda");
    EXPECT_EQ(stage_of(cuda, "query"), cuda.query);
    EXPECT_EQ(stage_of(cuda, "verify"), cuda.verify);
    EXPECT_EQ(stage_of(cuda, "measure"), cuda.measure);
    for (const auto* other : {"", "Query", "verify ", "bench"})
        EXPECT_EQ(stage_of(cuda, other), std::nullopt) << other;
}

TEST(Stages, OfWhatOnlyTellsFactsAreNotThere) {
    for (const auto* api : {"drm", "level_zero_sysman", "nvml", "pci"}) {
        EXPECT_TRUE(named(api).query) << api;
        EXPECT_FALSE(named(api).verify) << api;
        EXPECT_FALSE(named(api).measure) << api;
    }
}

TEST(Stages, OfTheProcessorAskNoDriver) {
    EXPECT_FALSE(named("cpu").query);
}

}  // namespace
}  // namespace gpuprobe::backends
