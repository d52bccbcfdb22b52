// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_sandbox.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace worker_sandbox_test {

TEST(WorkerEnvironment, ShowsVulkanOneDriverAndNoLayer) {
    const ProbeTarget target{.api = "vulkan", .driver = "/icd.d/a.json"};
    auto variables = worker_environment(target, "/cache", "", {});
    EXPECT_EQ(variables["VK_DRIVER_FILES"], "/icd.d/a.json");
    EXPECT_EQ(variables["VK_ICD_FILENAMES"], "/icd.d/a.json");
    EXPECT_EQ(variables["VK_LOADER_LAYERS_DISABLE"], "~all~");
    EXPECT_EQ(variables["VK_IMPLICIT_LAYER_PATH"], "/nonexistent");
    EXPECT_FALSE(variables.contains("OCL_ICD_VENDORS"));
}

TEST(WorkerEnvironment, ShowsALoaderWithoutDriverNone) {
    auto vulkan = worker_environment({.api = "vulkan"}, "/cache", "", {});
    EXPECT_EQ(vulkan["VK_DRIVER_FILES"], "/nonexistent/none.json");
    auto opencl = worker_environment({.api = "opencl"}, "/cache", "", {});
    EXPECT_EQ(opencl["OCL_ICD_VENDORS"], "/nonexistent");
}

TEST(WorkerEnvironment, ShowsOpenclOneFolder) {
    auto variables = worker_environment({.api = "opencl", .driver = "/x.icd"}, "/c", "/c/one", {});
    EXPECT_EQ(variables["OCL_ICD_VENDORS"], "/c/one");
    EXPECT_FALSE(variables.contains("VK_DRIVER_FILES"));
}

TEST(WorkerEnvironment, GivesDriversAHomeOfTheirOwn) {
    auto variables = worker_environment({.api = "pci"}, "/cache", "", {});
    for (const auto* name : {"HOME", "XDG_CACHE_HOME", "TMPDIR"})
        EXPECT_EQ(variables[name], "/cache") << name;
    EXPECT_EQ(variables["POCL_CACHE_DIR"], "/cache/pocl");
}

TEST(WorkerEnvironment, LetsTheCallerAddAndReplace) {
    const ProbeTarget target{.api = "vulkan", .driver = "/icd.d/a.json"};
    auto variables =
        worker_environment(target, "/cache", "", {{"LD_LIBRARY_PATH", "/lib"}, {"PATH", "/b"}});
    EXPECT_EQ(variables["LD_LIBRARY_PATH"], "/lib");
    EXPECT_EQ(variables["PATH"], "/b");
}

TEST(EnvironmentBlock, IsSortedText) {
    EXPECT_EQ(environment_block({{"B", "2=3"}, {"A", ""}}),
              (std::vector<std::string>{"A=", "B=2=3"}));
}

}  // namespace worker_sandbox_test
}  // namespace gpuprobe
