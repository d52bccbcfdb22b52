// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_daemon.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace verb_daemon_test {

Report with(std::uint64_t generation, std::vector<const char*> ids) {
    Report report;
    report.generation = generation;
    report.state = ReportState::Ready;
    for (const char* id : ids) {
        Gpu gpu;
        gpu.id = id;
        gpu.name = "Card";
        report.gpus.push_back(gpu);
    }
    return report;
}

std::string text_of_changes(const Report& before, const Report& after) {
    std::string text;
    for (const auto& change : changes_between(before, after))
        text += change_text(change) + "\n";
    return text;
}

TEST(ReportChanges, ReportsAddedAndRemovedGpus) {
    EXPECT_EQ(text_of_changes(with(1, {"a", "b"}), with(2, {"b", "c"})),
              "gpu-removed  a  Card\n"
              "gpu-added    c  Card\n");
}

TEST(ReportChanges, NamesTheMembersThatDiffer) {
    auto after = with(2, {"a"});
    after.gpus[0].driver.name = "nvidia";
    after.gpus[0].health = "driver-crashed";
    EXPECT_EQ(text_of_changes(with(1, {"a"}), after), "gpu-changed  a  Card: driver, health\n");
}

TEST(ReportChanges, TakesFreeMemoryAndAgesForNoChange) {
    auto after = with(1, {"a"});
    after.gpus[0].memory.free = gib(1);
    after.gpus[0].memory.free_at = WallTime{Duration{5}};
    EXPECT_EQ(text_of_changes(with(1, {"a"}), after), "");
}

TEST(ReportChanges, FallsBackToStateAndGeneration) {
    auto probing = with(2, {"a"});
    probing.state = ReportState::Probing;
    EXPECT_EQ(text_of_changes(with(1, {"a"}), probing), "state        probing, generation 2\n");
    EXPECT_EQ(text_of_changes(with(1, {"a"}), with(2, {"a"})), "generation   2\n");
    EXPECT_EQ(text_of_changes(with(1, {"a"}), with(1, {"a"})), "");
}

}  // namespace verb_daemon_test
}  // namespace gpuprobe
