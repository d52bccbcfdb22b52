// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "cli/choice.h"

namespace gpuprobe {
namespace gpu_environment_test {

using enum SelectorKind;

GpuSelector selector(const char* api,
                     SelectorKind kind,
                     std::map<std::string, std::string> variables,
                     std::map<std::string, std::string> environment = {}) {
    return {.api = api,
            .kind = kind,
            .variables = std::move(variables),
            .environment = std::move(environment)};
}

const std::vector<GpuSelector> kSelectors{
    selector("cuda", Stable, {{"CUDA", "GPU-1"}}),
    selector("cuda", Index, {{"CUDA", "0"}}, {{"ORDER", "PCI"}}),
    selector("level_zero", Index, {{"SELECT", "level_zero:1"}}, {{"ORDER", "PCI"}}),
    selector("level_zero", Index, {{"MASK", "1"}}, {{"ORDER", "PCI"}}),
    selector("other", Index, {{"OTHER", "1"}}, {{"ORDER", "FAST"}}),
};

EnvironmentLines lines_of(const std::vector<GpuSelector>& selectors) {
    std::map<std::string, std::string> settings;
    for (const auto* chosen : chosen_selectors(selectors))
        settings.merge(needs_of(*chosen));
    return environment_lines(selectors, settings);
}

TEST(EnvironmentLines, SetOnePositionOfAnApiThatHasNothingBetter) {
    const auto lines = lines_of(kSelectors);
    EXPECT_EQ(lines.settings, "CUDA=GPU-1\nORDER=PCI\nSELECT=level_zero:1\n");
    EXPECT_EQ(lines.comments,
              "# cuda, by position: CUDA=0 ORDER=PCI\n"
              "# level_zero, by position: MASK=1 ORDER=PCI\n"
              "# other, by position: ORDER=FAST OTHER=1\n")
        << "one variable can't have two values";
}

TEST(EnvironmentLines, QuoteForAShellAndNeverBreakAComment) {
    auto whole = selector("opencl", Stable, {{"NAME", "a b"}});
    auto part = selector("cuda", Stable, {{"UUID", "MIG-1\nrm -r"}});
    part.partition = "mig:1";
    const auto unsettable = selector("vulkan", Stable, {{"A B", "1"}});
    const auto lines = lines_of({whole, part, unsettable});
    EXPECT_EQ(lines.settings, "NAME='a b'\n");
    EXPECT_EQ(std::count(lines.comments.begin(), lines.comments.end(), '\n'), 2);
    EXPECT_TRUE(lines.comments.starts_with("# cuda, partition mig:1: UUID="));
}

TEST(EnvironmentLines, CommentOnWhatIsAWord) {
    GpuSelector word{.api = "container", .argument = "nvidia.com/gpu=GPU-1"};
    const auto lines = lines_of({word});
    EXPECT_EQ(lines.settings, "");
    EXPECT_EQ(lines.comments, "# container: nvidia.com/gpu=GPU-1\n");
}

TEST(Settable, IsWhatAShellTakes) {
    EXPECT_TRUE(is_settable("CUDA_VISIBLE_DEVICES", "0"));
    EXPECT_TRUE(is_settable("_x1", ""));
    for (const char* name : {"", "1X", "A-B", "A B", "A=B", "A;reboot", "É"})
        EXPECT_FALSE(is_settable(name, "0")) << name;
    EXPECT_FALSE(is_settable("A", std::string_view{"0\0", 2}));
}

}  // namespace gpu_environment_test
}  // namespace gpuprobe
