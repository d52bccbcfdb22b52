// SPDX-License-Identifier: Apache-2.0
#include "inventory/installed_build.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "inventory/object_file.h"

namespace gpuprobe {
namespace installed_build_test {

// This test program contains the tables of the report component with the names of all loaders, so
// the reader treats it as a program that loads them.
constexpr const char* kOwnProgram = "/proc/self/exe";

std::vector<std::string> needs_with(std::vector<std::string> sonames) {
    const auto build = read_installed_build(kOwnProgram, {.sonames = std::move(sonames)});
    EXPECT_TRUE(build) << build.error().text;
    EXPECT_EQ(build->parts.size(), 1U);
    return build->parts.empty() ? std::vector<std::string>{} : build->parts.front().needs;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

TEST(InstalledBuild, LooksUpLibrariesThatNoReportListsInTheLinkersCache) {
    EXPECT_TRUE(contains(needs_with({}), "libzstd.so.1"));
    EXPECT_FALSE(contains(needs_with({"libzstd.so.1"}), "libzstd.so.1"));
    // Libraries that every report lists are not checked here.
    EXPECT_TRUE(contains(needs_with({"libstdc++.so.6"}), "libstdc++.so.6"));
    EXPECT_FALSE(contains(needs_with({}), "libc.so.6"));
}

TEST(InstalledBuild, ReportsTheApisThatAProgramLoads) {
    const auto build = read_installed_build(kOwnProgram, {});
    ASSERT_TRUE(build);
    EXPECT_EQ(build->apis,
              (std::vector{Api::Cuda, Api::Hip, Api::LevelZero, Api::Vulkan, Api::OpenCl}));
    EXPECT_TRUE(contains(build->parts.at(0).kernels, "vulkan"));
}

}  // namespace installed_build_test
}  // namespace gpuprobe
