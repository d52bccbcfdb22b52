// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/places.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace golden_test {

std::string golden_path(const MachineFixture& fixture) {
    return GPUPROBE_SOURCE_DIR "/tests/data/golden/report-" + fixture.name + ".json";
}

std::string content(const std::string& path) {
    std::ifstream file{path};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

class Golden : public testing::TestWithParam<MachineFixture> {};

TEST_P(Golden, IsWhatTheMachineReports) {
    const auto json = json_pretty(to_value(assembled(GetParam())));
    if (std::getenv("GPUPROBE_ACCEPT"))
        std::ofstream{golden_path(GetParam())} << json;
    EXPECT_EQ(json, content(golden_path(GetParam())));
}

TEST_P(Golden, IsReadBackAsTheSameReport) {
    const auto report = parse_report(content(golden_path(GetParam())));
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(*report, assembled(GetParam()));
}

TEST_P(Golden, DoesNotDependOnTheOrderOfAnything) {
    const auto wanted = assembled(GetParam());
    std::mt19937 random{1};  // the same shuffles each run
    for (int round = 0; round < 50; ++round) {
        auto fixture = GetParam();
        std::ranges::shuffle(fixture.machine.devices, random);
        std::ranges::shuffle(fixture.probes, random);
        for (auto& probe : fixture.probes)
            std::ranges::shuffle(probe.devices, random);
        ASSERT_EQ(assembled(fixture), wanted);
    }
}

TEST_P(Golden, KeepsMemoryInOrder) {
    for (const auto& gpu : assembled(GetParam()).gpus) {
        const auto& memory = gpu.memory;
        // An unknown size is not an obstacle.
        const auto limit = Bytes{std::numeric_limits<std::uint64_t>::max()};
        EXPECT_LE(memory.free.value_or(Bytes{}), memory.allocatable.value_or(limit)) << gpu.id;
        if (memory.kind != MemoryKind::Carveout) {
            EXPECT_LE(memory.allocatable.value_or(Bytes{}), memory.physical.value_or(limit))
                << gpu.id;
        }
        EXPECT_NE(memory.physical, Bytes{}) << gpu.id;
        EXPECT_NE(memory.allocatable, Bytes{}) << gpu.id;
    }
}

INSTANTIATE_TEST_SUITE_P(MachineFixtures,
                         Golden,
                         testing::ValuesIn(fixtures()),
                         [](const auto& fixture) {
                             std::string name = fixture.param.name;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST(ParseReport, RefusesAGoldenCutAtAnyByte) {
    // The JSON is compact, so that every truncation removes more than white space.
    const auto json = json_line(to_value(assembled(software_only())));
    for (std::size_t size = 0; size < json.size(); ++size)
        ASSERT_FALSE(parse_report(json.substr(0, size))) << size;
    EXPECT_TRUE(parse_report(json));
}

TEST(ParseReport, RefusesAnotherSchema) {
    auto value = to_value(assembled(software_only()));
    value["schema"] = 2;
    EXPECT_FALSE(parse_report(json_line(value)));
}

}  // namespace golden_test
}  // namespace gpuprobe::test
