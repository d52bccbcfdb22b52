// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "recommend/import_github.h"
#include "support/case_name.h"
#include "unit/recommend/scenario.h"

namespace gpuprobe {
namespace {

using namespace testing_variants;

constexpr const char* kHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

std::string asset(const std::string& name, const std::string& digest) {
    return R"({"name":")" + name + R"(","size":7,"browser_download_url":"https://a/)" + name +
           R"(","digest":)" + digest + "}";
}

std::string release(const std::string& assets) {
    return R"({"tag_name":"b1","published_at":"2026-08-22T00:00:00Z","draft":false,"assets":[)" +
           assets + "]}";
}

const std::string kDigest = std::string{"\"sha256:"} + kHash + "\"";
const std::string kOverlay = R"({"schema":"gpuprobe.overlay/1","name":"llama.cpp",
    "platforms":{"linux-x86_64":{"default":"cpu"}},
    "rules":[{"pattern":"llama-*-vulkan-x64.tar.gz","platform":"linux-x86_64","variant":"vulkan",
              "family":"vulkan","tier":200,"requires":{"device":{"backend":"vulkan"}}},
             {"pattern":"llama-*-ubuntu-x64.tar.gz","platform":"linux-x86_64","variant":"cpu"}]})";

TEST(ImportGithub, MakesAManifestAndNamesWhatItLeavesOut) {
    const auto imported =
        import_github(release(asset("llama-b1-ubuntu-vulkan-x64.tar.gz", kDigest) + "," +
                              asset("llama-b1-ubuntu-x64.tar.gz", kDigest) + "," +
                              asset("llama-b1-ubuntu-rocm-9-x64.tar.gz", kDigest) + "," +
                              asset("llama-b2-vulkan-x64.tar.gz", "null")),
                      kOverlay);
    ASSERT_TRUE(imported) << imported.error().text;
    EXPECT_EQ(imported->skipped,
              (std::vector<std::string>{"llama-b1-ubuntu-rocm-9-x64.tar.gz: no rule of the overlay",
                                        "llama-b2-vulkan-x64.tar.gz: no SHA-256 digest"}));
    const auto manifest = parse_manifest(json_line(imported->manifest));
    ASSERT_TRUE(manifest) << manifest.error().text;
    EXPECT_EQ(manifest->version, "b1");
    const auto answer = recommend(*manifest, {}, machine("G09"), rules());
    EXPECT_EQ(answer.variant, "vulkan");
    EXPECT_EQ(answer.artifact.at("sha256"), Value{kHash});
    EXPECT_EQ(answer.artifact.at("size"), Value{7});
    EXPECT_EQ(answer.fallback, std::vector<std::string>{"cpu"});
}

struct Bad {
    const char* name;
    std::string release;
    std::string overlay;
    const char* problem;
};
class BadImport : public ::testing::TestWithParam<Bad> {};

TEST_P(BadImport, IsRefusedWithItsPlace) {
    const auto imported = import_github(GetParam().release, GetParam().overlay);
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().text, GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadImport,
    ::testing::Values(
        Bad{"NoJson", "<html>", kOverlay, "release: not JSON at byte 1"},
        Bad{"NoRelease", R"({"message":"Not Found"})", kOverlay, "release: tag_name: missing"},
        Bad{"NoOverlay", release(""), "{}", "overlay: schema: missing"},
        Bad{"OtherOverlay", release(""), R"({"schema":"x"})",
            "overlay: schema: not gpuprobe.overlay/1"},
        Bad{"RuleWithoutPattern", release(""),
            R"({"schema":"gpuprobe.overlay/1","rules":[{"platform":"linux-x86_64","variant":"v"}]})",
            "overlay: rules[0].pattern: missing"},
        Bad{"NothingLeft", release(""), kOverlay, "manifest: platforms: needs 1 to 64 platforms"},
        Bad{"TwoFilesForOne",
            release(asset("llama-1-vulkan-x64.tar.gz", kDigest) + "," +
                    asset("llama-2-vulkan-x64.tar.gz", kDigest)),
            kOverlay, "overlay: two files for linux-x86_64/vulkan"},
        Bad{"ZeroDigest",
            release(asset("llama-1-vulkan-x64.tar.gz", "\"sha256:" + std::string(64, '0') + "\"") +
                    "," + asset("llama-1-ubuntu-x64.tar.gz", kDigest)),
            kOverlay,
            "manifest: platforms.linux-x86_64.variants.vulkan.artifact.sha256: a placeholder: all "
            "zero"}),
    testing::case_name);

TEST(Pattern, StandsForAnyTextBetweenItsPieces) {
    EXPECT_TRUE(matches_pattern("a*c", "abc"));
    EXPECT_TRUE(matches_pattern("a*c", "ac"));
    EXPECT_TRUE(matches_pattern("*", ""));
    EXPECT_TRUE(matches_pattern("a*b*c", "a-b-b-c"));
    EXPECT_TRUE(matches_pattern("abc", "abc"));
    EXPECT_FALSE(matches_pattern("abc", "abcd"));
    EXPECT_FALSE(matches_pattern("a*c", "acd"));
    EXPECT_FALSE(matches_pattern("ab*ba", "aba"));
    EXPECT_FALSE(matches_pattern("", "a"));
}

}  // namespace
}  // namespace gpuprobe
