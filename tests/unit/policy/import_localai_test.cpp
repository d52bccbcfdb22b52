// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/import_manifest.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace {

using namespace testing_variants;

const std::string kIndex = R"(---
## metas
- &llamacpp
  name: "llama-cpp"
  license: mit
  description: |
    LLM inference: in C/C++
  tags: [text-to-text, GPU]
  capabilities:
    default: "cpu-llama-cpp"
    nvidia: "cuda12-llama-cpp"
    nvidia-cuda-12: "cpu-llama-cpp"
    nvidia-cuda-13: "cuda13-llama-cpp"
    amd: "rocm-llama-cpp"
    intel: "gone-llama-cpp"
    metal: "metal-llama-cpp"
    vulkan: "web-llama-cpp"
    nvidia-l4t: "l4t-llama-cpp"
- &piper
  name: piper
  uri: quay.io/x:latest-piper
- !!merge <<: *llamacpp
  name: "llama-cpp-development"
  capabilities:
    default: "cuda12-llama-cpp"
    cpu: "cpu-llama-cpp"
- !!merge <<: *llamacpp
  name: "cpu-llama-cpp"
  uri: "quay.io/x:latest-cpu-llama-cpp"
- <<: *llamacpp
  name: "cuda12-llama-cpp"
  uri: "quay.io/x:latest-gpu-nvidia-cuda-12-llama-cpp"
- <<: [*llamacpp, *piper]
  name: "cuda13-llama-cpp"
  uri: "oci://quay.io/x:latest-gpu-nvidia-cuda-13-llama-cpp"
- !!merge <<: *llamacpp
  name: "rocm-llama-cpp"
  uri: "quay.io/x:latest-gpu-rocm-hipblas-llama-cpp"
- !!merge <<: *llamacpp
  name: "web-llama-cpp"
  uri: "https://example.org/vulkan"
- !!merge <<: *llamacpp
  name: "l4t-llama-cpp"
  uri: "quay.io/x:latest-nvidia-l4t-cuda-13-arm64-llama-cpp"
- !!merge <<: *llamacpp
  name: "cpu-llama-cpp"
  uri: "quay.io/x:a-second-one"
)";

Manifest imported(const std::string& entry) {
    const auto made = import_localai(kIndex, entry);
    EXPECT_TRUE(made) << made.error().text;
    auto manifest = parse_manifest(json_line(made->manifest));
    EXPECT_TRUE(manifest) << manifest.error().text;
    return std::move(manifest).value();
}

struct Choice {
    const char* name;
    const char* machine;
    const char* variant;
    const char* ref;
};
class LocalaiChoice : public ::testing::TestWithParam<Choice> {};

TEST_P(LocalaiChoice, IsAsLocalaisOwn) {
    const auto answer = recommend(imported("llama-cpp"), {}, machine(GetParam().machine), rules());
    EXPECT_EQ(answer.variant, GetParam().variant);
    EXPECT_EQ(answer.artifact.at("ref"), Value{GetParam().ref});
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    LocalaiChoice,
    ::testing::Values(
        Choice{"Cuda13", "G02", "nvidia-cuda-13", "quay.io/x:latest-gpu-nvidia-cuda-13-llama-cpp"},
        Choice{"OlderDriver", "G01", "nvidia", "quay.io/x:latest-gpu-nvidia-cuda-12-llama-cpp"},
        Choice{"Amd", "G09", "amd", "quay.io/x:latest-gpu-rocm-hipblas-llama-cpp"},
        Choice{"FourGib", "G34", "default", "quay.io/x:latest-cpu-llama-cpp"}),
    testing::case_name);

TEST(ImportLocalai, NamesWhatItLeavesOut) {
    const auto made = import_localai(kIndex, "llama-cpp");
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(
        made->skipped,
        (std::vector<std::string>{
            "intel: no backend with uri: gone-llama-cpp", "metal: stands for no GPU known on Linux",
            "nvidia-cuda-12: a build for processors: quay.io/x:latest-cpu-llama-cpp",
            "vulkan: not an OCI reference: https://example.org/vulkan"}));
    EXPECT_EQ(made->manifest.at("name"), Value{"localai-llama-cpp"});
}

TEST(ImportLocalai, TakesTheToolkitFromTheTag) {
    const auto made = import_localai(kIndex, "llama-cpp");
    ASSERT_TRUE(made) << made.error().text;
    const auto& arm = made->manifest.at("platforms").at("linux-aarch64").at("variants");
    const auto& device = arm.at("nvidia-l4t").at("requires").at("device");
    EXPECT_EQ(device.at("cuda").at("toolkit"), Value{"13.0"});
    EXPECT_FALSE(device.find("vram_min_mib"));
}

// What an entry says itself counts before what it merges; a default for GPUs is none.
TEST(ImportLocalai, PrefersOwnMembersToMergedOnes) {
    const auto made = import_localai(kIndex, "llama-cpp-development");
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(made->skipped,
              (std::vector<std::string>{
                  "default: a build for a GPU: quay.io/x:latest-gpu-nvidia-cuda-12-llama-cpp"}));
    const auto manifest = imported("llama-cpp-development");
    ASSERT_EQ(manifest.platforms.size(), 1u);
    EXPECT_EQ(manifest.platforms[0].fallback, "cpu");
    EXPECT_EQ(manifest.platforms[0].variants.size(), 1u);
}

TEST(ImportLocalai, NeedsNoNameForTheOnlyOne) {
    const auto made =
        import_localai("[{name: a, capabilities: {cpu: b}}, {name: b, uri: 'quay.io/x:cpu'}]", "");
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(made->manifest.at("name"), Value{"localai-a"});
}

/// "a: &a1 …" for as many levels, each naming the one before nine times.
std::string alias_bomb(std::size_t levels) {
    std::string text = "- &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (std::size_t i = 1; i <= levels; ++i) {
        const auto before = "*a" + std::to_string(i - 1);
        text += "- &a" + std::to_string(i) + " [" + before;
        for (int k = 0; k < 8; ++k)
            text += "," + before;
        text += "]\n";
    }
    return text;
}

/// Mappings that each merge the one before twice.
std::string merge_bomb(std::size_t levels) {
    std::string text = "- &a0 {name: x}\n";
    for (std::size_t i = 1; i <= levels; ++i) {
        const auto before = "*a" + std::to_string(i - 1);
        text += "- &a" + std::to_string(i) + " {<<: [" + before + "," + before + "]}\n";
    }
    return text;
}

std::string repeated(std::size_t count, const std::string& piece) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        text += piece;
    return text;
}

std::string with_members(std::size_t count) {
    std::string text = "- name: a\n  capabilities: {cpu: b}\n";
    for (std::size_t i = 2; i < count; ++i)
        text += "  k" + std::to_string(i) + ": v\n";
    return text + "- {name: b, uri: c}\n";
}

std::string with_entries(std::size_t count) {
    return "- {name: a, capabilities: {cpu: b}}\n" + repeated(count - 1, "- {name: b, uri: c}\n");
}

TEST(ImportLocalai, TakesAsMuchAsItsLimits) {
    EXPECT_TRUE(import_localai(with_members(64), ""));
    EXPECT_TRUE(import_localai(with_entries(4096), ""));
    EXPECT_TRUE(import_localai(with_entries(2) + "- {name: z, uri: d, deep: " +
                                   std::string(14, '[') + std::string(14, ']') + "}\n",
                               ""));
}

struct Bad {
    const char* name;
    std::string index;
    std::string entry;
    const char* problem;  ///< at its start; yaml-cpp 0.8 goes on about anchors
};
class BadLocalai : public ::testing::TestWithParam<Bad> {};

TEST_P(BadLocalai, IsRefusedWithItsPlace) {
    const auto made = import_localai(GetParam().index, GetParam().entry);
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().text.starts_with(GetParam().problem)) << made.error().text;
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadLocalai,
    ::testing::Values(
        Bad{"Empty", "", "", "index: empty"},
        Bad{"NoList", "name: a\n", "", "index: not a list"},
        Bad{"EntryIsText", "- a\n", "", "index: [0]: not a mapping"},
        Bad{"NoName", "- {name: a, uri: b}\n- {uri: c}\n", "", "index: [1]: name: missing"},
        Bad{"NameIsList", "- {name: [a]}\n", "", "index: [0]: name: not a text"},
        Bad{"UriIsMapping", "- {name: a, uri: {}}\n", "", "index: [0] (a): uri: not a text"},
        Bad{"CapabilitiesAreText", "- {name: a, capabilities: b}\n", "",
            "index: [0] (a): capabilities: not a mapping"},
        Bad{"CapabilityIsList", "- {name: a, capabilities: {cpu: [b]}}\n", "",
            "index: a: capabilities.cpu: not a text"},
        Bad{"NoMeta", "- {name: a, uri: b}\n", "",
            "index: no entry with capabilities and without uri"},
        Bad{"TwoMetas", kIndex, "", "index: 2 entries, name one: llama-cpp, llama-cpp-development"},
        Bad{"UnknownEntry", kIndex, "vllm",
            "index: vllm: no entry with capabilities and without uri"},
        Bad{"EntryWithUri", kIndex, "piper",
            "index: piper: no entry with capabilities and without uri"},
        Bad{"NothingLeft", "- {name: a, capabilities: {metal: b}}\n", "",
            "manifest: platforms: needs 1 to 64 platforms"},
        Bad{"NoSuchAnchor", "- a\n- *b\n", "",
            "index: line 2: the referenced anchor is not defined"},
        Bad{"Twice", "- name: a\n  name: b\n", "", "index: line 2: twice: name"},
        Bad{"KeyIsList", "- {[a]: b}\n", "", "index: line 1: a key that is no text"},
        Bad{"TwoDocuments", "- a\n---\n- b\n", "", "index: line 2: a second document"},
        Bad{"MergesText", "- {<<: a, name: b}\n", "", "index: [0]: <<: not a mapping"},
        Bad{"MergesItself", "- &a\n  name: b\n  <<: *a\n", "",
            "index: [0]: merges more than 16 mappings"},
        Bad{"MergeBomb", merge_bomb(30), "", "index: [4]: merges more than 16 mappings"},
        Bad{"AliasBomb", alias_bomb(30), "", "index: [0]: not a mapping"},
        Bad{"SeventeenLevels", std::string(17, '[') + std::string(17, ']'), "",
            "index: line 1: more than 16 levels deep"},
        Bad{"TenThousandLevels", repeated(10'000, "- "), "",
            "index: line 1: more than 16 levels deep"},
        Bad{"SixtyFiveMembers", with_members(65), "", "index: line 65: more than 64 members"},
        Bad{"TooManyEntries", with_entries(4097), "", "index: more than 4096 entries"},
        Bad{"TooManyNodes", repeated(262'144, "- a\n"), "",
            "index: line 262144: more than 262144 nodes"},
        Bad{"TooLarge", std::string(kMaxRelease.count + 1, '#'), "", "index: over 4194304 bytes"}),
    testing::case_name);

TEST(ImportLocalai, CutAnywhereIsAManifestOrAnError) {
    std::size_t taken = 0;
    for (std::size_t length = 0; length < kIndex.size(); ++length) {
        const auto made = import_localai(std::string_view{kIndex}.substr(0, length), "llama-cpp");
        taken += made ? 1 : 0;
        if (!made) {
            EXPECT_FALSE(made.error().text.empty()) << length;
        }
    }
    EXPECT_GT(taken, 0u);
    EXPECT_LT(taken, kIndex.size());
}

}  // namespace
}  // namespace gpuprobe
