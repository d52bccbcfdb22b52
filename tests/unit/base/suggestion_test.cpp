// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuprobe {
namespace suggestion_test {

const std::vector<std::string> kVerbs{"status", "list", "show", "select", "probe", "--json"};

TEST(Suggestion, FindsTheWordThatWasMeant) {
    EXPECT_EQ(closest("statsu", kVerbs), "status");  // swapped
    EXPECT_EQ(closest("sttus", kVerbs), "status");   // dropped
    EXPECT_EQ(closest("lists", kVerbs), "list");     // inserted
    EXPECT_EQ(closest("shaw", kVerbs), "show");      // changed
    EXPECT_EQ(closest("SELECT", kVerbs), "select");
    EXPECT_EQ(closest("--jsno", kVerbs), "--json");
}

TEST(Suggestion, StaysSilentWhenNothingIsNear) {
    EXPECT_EQ(closest("frobnicate", kVerbs), std::nullopt);
    EXPECT_EQ(closest("", kVerbs), std::nullopt);
    EXPECT_EQ(closest("x", {"y"}), std::nullopt);
    EXPECT_EQ(closest(std::string(10'000, 'a'), kVerbs), std::nullopt);
}

TEST(Suggestion, NamesTheNearestOrAll) {
    EXPECT_EQ(suggestion("torhc", {"jax", "torch"}), "; did you mean 'torch'?");
    EXPECT_EQ(suggestion("llama", {"jax", "torch"}), "; known values: jax, torch");
    EXPECT_EQ(suggestion("llama", {"llama.cpp", "ollama"}), "; did you mean 'llama.cpp'?");
    EXPECT_EQ(suggestion("llama", {}), "");
}

TEST(DidYouMean, NamesWordsWithThatPart) {
    const std::vector<std::string> known{"cyllama",    "faster-whisper", "llama.app",
                                         "llama.cpp",  "node-llama-cpp", "ollama",
                                         "whisper.cpp"};
    EXPECT_EQ(did_you_mean("llama", known), "did you mean 'llama.app' or 'llama.cpp'?");
    EXPECT_EQ(did_you_mean("Whisper", known), "did you mean 'whisper.cpp'?");
    EXPECT_EQ(did_you_mean("cpp", known),
              "did you mean 'llama.cpp', 'node-llama-cpp' or "
              "'whisper.cpp'?");
    EXPECT_EQ(did_you_mean("--memory", {"--gpu", "--min-memory"}), "did you mean '--min-memory'?");
}

TEST(DidYouMean, NamesWordsThatAreAPart) {
    EXPECT_EQ(did_you_mean("min_memory", {"host-memory", "memory", "os"}),
              "did you mean 'memory'?");
    EXPECT_EQ(did_you_mean("need-mib", {"margin", "need"}), "did you mean 'need'?");
    EXPECT_EQ(did_you_mean("of-no-os", {"os", "no"}), "") << "too short";
    EXPECT_EQ(did_you_mean("memoryless", {"memory"}), "") << "not a complete part";
}

TEST(DidYouMean, IsEmptyIfNoWordIsSimilar) {
    EXPECT_EQ(did_you_mean("frobnicate", {"list"}), "");
    EXPECT_EQ(did_you_mean("", {"list"}), "");
    EXPECT_EQ(did_you_mean("--", {"--list"}), "");
    EXPECT_EQ(did_you_mean(std::string(10'000, '-'), {"list", "-"}), "");
    EXPECT_EQ(did_you_mean("list", {}), "");
}

}  // namespace suggestion_test
}  // namespace gpuprobe
