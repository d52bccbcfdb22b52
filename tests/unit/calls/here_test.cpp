// SPDX-License-Identifier: Apache-2.0
#include "calls/here.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/value_json.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

Report container_without_gpu(ReportSource source) {
    Report report{.source = source};
    report.host.container = "docker";
    return report;
}

std::string evidence_in(const std::vector<Finding>& findings, std::string_view id) {
    const auto found = std::ranges::find(findings, id, &Finding::id);
    return found == findings.end() ? "" : json_line(found->evidence);
}

TEST(FindingsFor, LookAtTheMachineAroundTheDaemon) {
    const testing::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    folder.write("etc/cdi/nvidia.yaml", "cdiVersion: 0.6.0\n");
    const auto live = findings_for(1000, {}, container_without_gpu(ReportSource::Live), files);
    EXPECT_NE(evidence_in(live, "container-without-gpu").find("/etc/cdi/nvidia.yaml"),
              std::string::npos);
    const auto replay = findings_for(1000, {}, container_without_gpu(ReportSource::Replay), files);
    EXPECT_EQ(evidence_in(replay, "container-without-gpu").find("nvidia.yaml"), std::string::npos);
    EXPECT_NE(evidence_in(replay, "container-without-gpu"), "");
}

TEST(FindingsFor, KnowTheEnvironmentThatTheCallerTells) {
    const testing::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    const auto report = container_without_gpu(ReportSource::Live);
    const auto silent = findings_for(1000, {}, report, files);
    const auto told = findings_for(1000, {{"VK_ICD_FILENAMES", "/nothing.json"}}, report, files);
    EXPECT_NE(json_line(to_value(silent)), json_line(to_value(told)));
    const auto other = findings_for(1000, {{"EDITOR", "vi"}}, report, files);
    EXPECT_EQ(json_line(to_value(silent)), json_line(to_value(other)));
}

}  // namespace
}  // namespace gpuprobe
