// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/import_manifest.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

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

std::string prebuilt(const std::string& profile,
                     const std::string& line,
                     const std::string& sms,
                     const std::string& more) {
    return R"({"asset_name":"app-)" + profile +
           R"(.tar.gz","install_kind":"linux-cuda","bundle_profile":")" + profile +
           R"(","runtime_line":")" + line + R"(","supported_sms":[)" + sms + "]," + more + "}";
}

const std::string kPrebuilt =
    R"({"component":"llama.cpp","upstream_tag":"b1","ggml_tree":"x","artifacts":[)" +
    prebuilt(
        "cuda12-older", "cuda12", R"("70","75","80")", R"("rank":10,"toolkit_version":"12.8")") +
    "," + prebuilt("cuda12-newer", "cuda12", R"("86","89","90")", R"("rank":20)") + "," +
    prebuilt("cuda12-portable", "cuda12", R"("70","75","80","86","89","90")", R"("rank":50)") +
    "," + prebuilt("cuda13-newer", "cuda13", R"("86","89","90","120")", R"("rank":10)") + R"(,
    {"asset_name":"app-gfx110X.tar.gz","install_kind":"linux-rocm","gfx_target":"gfx1100","mapped_targets":["gfx1100","gfx1101"]},
    {"asset_name":"app-win.zip","install_kind":"windows-cuda","supported_sms":["86"]},
    {"asset_name":"app-odd.tar.gz","install_kind":"linux-cuda","supported_sms":[]},
    {"asset_name":"app-unhashed.tar.gz","install_kind":"linux-rocm","gfx_target":"gfx906"}]})";

std::string prebuilt_hashes() {
    std::string list;
    for (const auto* name :
         {"app-cuda12-older.tar.gz", "app-cuda12-newer.tar.gz", "app-cuda12-portable.tar.gz",
          "app-cuda13-newer.tar.gz", "app-gfx110X.tar.gz", "app-win.zip", "app-odd.tar.gz"})
        list += (list.empty() ? "\"" : ",\"") + std::string{name} + R"(":{"sha256":")" + kHash +
                R"("})";
    return R"({"repo":"unslothai/llama.cpp","release_tag":"b1-x","artifacts":{)" + list + "}}";
}

/// The variant that the imported manifest gives a machine; empty for none.
std::string unsloths_choice(const Report& report) {
    const auto imported = import_unsloth(kPrebuilt, prebuilt_hashes());
    EXPECT_TRUE(imported) << imported.error().text;
    const auto manifest = parse_manifest(json_line(imported->manifest));
    EXPECT_TRUE(manifest) << manifest.error().text;
    return recommend(*manifest, {}, report, rules()).variant.value_or("");
}

// What studio's own tests of the selection expect.
TEST(ImportUnsloth, ChoosesAsItsInstallerDoes) {
    EXPECT_EQ(unsloths_choice(machine("G02")), "cuda13-newer");     // RTX 4090: newest runtime
    EXPECT_EQ(unsloths_choice(machine("G01")), "cuda12-newer");     // an older driver: narrow wins
    EXPECT_EQ(unsloths_choice(machine("G06")), "cuda12-portable");  // V100 and 3090: covers both
    EXPECT_EQ(unsloths_choice(machine("G05")), "");                 // Pascal: not covered
    EXPECT_EQ(unsloths_choice(machine("G07")), "");                 // V100 and 5090: not both
    EXPECT_EQ(unsloths_choice(machine("G09")), "app-gfx110X.tar.gz");
}

TEST(ImportUnsloth, NamesWhatItLeavesOutAndWhereFilesAre) {
    const auto imported = import_unsloth(kPrebuilt, prebuilt_hashes());
    ASSERT_TRUE(imported) << imported.error().text;
    EXPECT_EQ(imported->skipped,
              (std::vector<std::string>{"app-win.zip: of another kind: windows-cuda",
                                        "app-odd.tar.gz: does not say what it needs",
                                        "app-unhashed.tar.gz: no SHA-256"}));
    const auto& artifact = imported->manifest.at("platforms")
                               .at("linux-x86_64")
                               .at("variants")
                               .at("cuda12-newer")
                               .at("artifact");
    EXPECT_EQ(artifact.at("urls"),
              Value{Value::Array{Value{"https://github.com/unslothai/llama.cpp/releases/download/"
                                       "b1-x/app-cuda12-newer.tar.gz"}}});
    const auto none = import_unsloth("{}", prebuilt_hashes());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text, "list: component: missing");
}

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
