// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/scenario.h"

/// Tests of the choices with the manifests that tools/knowledge/import-manifest makes from other
/// projects' lists: tests/data/variants/imported.
namespace gpuprobe {
namespace imported_test {

using namespace testing_variants;

struct Choice {
    const char* name;
    const char* manifest;
    const char* machine;
    const char* variant;  ///< empty: none
};
class ImportedManifest : public ::testing::TestWithParam<Choice> {};

TEST_P(ImportedManifest, ChoosesAsTheProjectDoes) {
    const auto path = "/tests/data/variants/imported/" + std::string{GetParam().manifest} + ".json";
    const auto manifest = parse_manifest(file(path));
    ASSERT_TRUE(manifest) << manifest.error().text;
    const auto answer = recommend(*manifest, {}, machine(GetParam().machine), rules());
    EXPECT_EQ(answer.variant.value_or(""), GetParam().variant);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ImportedManifest,
    ::testing::Values(Choice{"GithubAmd", "github", "G09", "vulkan"},
                      // The tests of Unsloth's studio expect these results.
                      Choice{"UnslothTakesTheNewestRuntime", "unsloth", "G02", "cuda13-newer"},
                      Choice{"UnslothTakesTheNarrowBuildForAnOlderDriver", "unsloth", "G01",
                             "cuda12-newer"},
                      Choice{"UnslothCoversAllGpus", "unsloth", "G06", "cuda12-portable"},
                      Choice{"UnslothDoesNotCoverPascal", "unsloth", "G05", ""},
                      Choice{"UnslothDoesNotCoverVoltaAndBlackwell", "unsloth", "G07", ""},
                      Choice{"UnslothAmd", "unsloth", "G09", "app-gfx110X.tar.gz"},
                      // LocalAI makes the same choice.
                      Choice{"LocalaiCuda13", "localai", "G02", "nvidia-cuda-13"},
                      Choice{"LocalaiOlderDriver", "localai", "G01", "nvidia"},
                      Choice{"LocalaiAmd", "localai", "G09", "amd"},
                      Choice{"LocalaiFourGib", "localai", "G34", "default"}),
    support::case_name);

}  // namespace imported_test
}  // namespace gpuprobe
