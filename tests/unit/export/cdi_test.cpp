// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "export/formats.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace cdi_test {

using namespace testing_fleet;

TEST(Cdi, LeavesNvidiaToItsOwnTool) {
    const auto report = report_of({h200()});
    const auto exported = write_cdi(subject_of(report));
    EXPECT_FALSE(exported.text);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"no-device"});
    EXPECT_EQ(codes(exported.notes), std::vector<std::string>{"vendor-cdi"});
}

TEST(Cdi, NamesComputeNodeWhereThereIsOne) {
    auto report = report_of({raphael()});
    EXPECT_EQ(write_cdi(subject_of(report)).text->find("/dev/kfd"), std::string::npos);
    report.nodes = {node("/dev/kfd")};
    EXPECT_NE(write_cdi(subject_of(report)).text->find("/dev/kfd"), std::string::npos);
}

TEST(Cdi, NamesADeviceWithItsNodesAndItsVariable) {
    auto report = report_of({raphael()});
    report.nodes = {node("/dev/kfd")};
    const auto document = parse_json(*write_cdi(subject_of(report)).text, mib(1));
    ASSERT_TRUE(document);
    const auto& device = document->at("devices").as_array()->at(0);
    EXPECT_EQ(device.at("name"), Value{"0000-c5-00.0"});
    std::vector<std::string> paths;
    for (const auto& one : *device.at("containerEdits").at("deviceNodes").as_array())
        paths.push_back(*one.at("path").as_string());
    EXPECT_EQ(paths,
              (std::vector<std::string>{"/dev/dri/card2", "/dev/dri/renderD129", "/dev/kfd"}));
    EXPECT_EQ(device.at("containerEdits").at("env"),
              (Value{Value::Array{Value{"GPUPROBE_GPU_0000_C5_00_0=amd:gfx1036"}}}));
}

TEST(Cdi, LeavesOutAGpuWithoutARenderNode) {
    auto gpu = raphael();
    gpu.nodes = {node("/dev/dri/card2")};
    const auto report = report_of({gpu, raphael()});
    const auto exported = write_cdi(subject_of(report));
    ASSERT_TRUE(exported.text);
    EXPECT_EQ(codes(exported.left_out), std::vector<std::string>{"no-render-node"});
    EXPECT_FALSE(write_cdi(subject_of(report_of({gpu}))).text);
}

TEST(Cdi, TakesNoComputeNodeThatIsMissing) {
    auto report = report_of({raphael()});
    report.nodes = {{.path = "/dev/kfd", .reason = "missing"}};
    EXPECT_EQ(write_cdi(subject_of(report)).text->find("/dev/kfd"), std::string::npos);
}

}  // namespace cdi_test
}  // namespace gpuprobe
