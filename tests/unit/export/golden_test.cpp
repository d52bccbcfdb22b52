// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/places.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace golden_test {

using namespace testing_fleet;

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, IsTheTextOfTheMixedMachine) {
    const auto report = mixed();
    const auto* format = export_format(GetParam());
    ASSERT_NE(format, nullptr);
    const auto exported = format->write(subject_of(report, {llama()}));
    ASSERT_TRUE(exported.text);
    EXPECT_EQ(*exported.text, golden(std::string{GetParam()} + ".txt", *exported.text));
    EXPECT_EQ(codes(exported.left_out), (std::vector<std::string>{}));
}

TEST_P(Golden, DoesNotDependOnTheOrderOfTheReport) {
    const auto report = mixed();
    auto turned = report;
    std::ranges::reverse(turned.gpus);
    const auto* format = export_format(GetParam());
    EXPECT_EQ(format->write(subject_of(report, {llama()})).text,
              format->write(subject_of(turned, {llama()})).text);
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         Golden,
                         ::testing::Values("json",
                                           "prometheus",
                                           "otlp",
                                           "ansible",
                                           "facter",
                                           "nfd",
                                           "slurm-gres",
                                           "slurm-node",
                                           "cdi",
                                           "nomad-meta",
                                           "ray-labels"),
                         [](const auto& row) {
                             std::string name{row.param};
                             std::erase(name, '-');
                             return name;
                         });

TEST(Golden, IsOfEveryFormat) {
    for (const auto& format : export_formats())
        EXPECT_TRUE(RootedFiles{}.exists(std::string{GPUPROBE_SOURCE_DIR} + "/tests/data/fleet/" +
                                         std::string{format.name} + ".txt"))
            << format.name;
}

/// All users may read the labels of a fleet.
TEST(Golden, ExportsUuidsOnlyToPrometheus) {
    const auto report = mixed();
    for (const auto& format : export_formats()) {
        const auto text = format.write(subject_of(report)).text.value_or("");
        EXPECT_EQ(text.find("4cf8db2d") != std::string::npos, format.name == "prometheus")
            << format.name;
    }
}

}  // namespace golden_test
}  // namespace gpuprobe
