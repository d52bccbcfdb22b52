// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "knowledge/drivers.h"

namespace gpuprobe::test {
namespace setup_words_test {

using knowledge::SetupWords;

TEST(SetupWords, AreSortedForLookingUp) {
    const auto words =
        SetupWords::from(R"({"schema":"gpuprobe.setup/1","modules":["xe","amdgpu","nouveau"]})");
    ASSERT_TRUE(words);
    EXPECT_TRUE(words->has_module("amdgpu"));
    EXPECT_TRUE(words->has_module("xe"));
    EXPECT_FALSE(words->has_module("x"));
    EXPECT_TRUE(SetupWords::current().has_module("nvidia_uvm"));
}

TEST(SetupWords, HaveOnlyParametersOfModules) {
    for (const auto* name : {"gttsize", ".gttsize", "amdgpu.", "amdgpu./../../../../etc/shadow"})
        EXPECT_FALSE(SetupWords::from(R"({"schema":"gpuprobe.setup/1","parameters":[")" +
                                      std::string{name} + R"("]})"))
            << name;
    EXPECT_FALSE(SetupWords::from(R"({"schema":"gpuprobe.drivers/1"})"));
}

}  // namespace setup_words_test
}  // namespace gpuprobe::test
