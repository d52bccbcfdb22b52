// SPDX-License-Identifier: Apache-2.0
#include "explain/phrase.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace phrase_test {

constexpr auto kChosen = "default {backend}[ on {gpu}][ and {more} more]";

TEST(Phrase, LeavesOutUnknownValues) {
    EXPECT_EQ(phrase(kChosen, {{"backend", "cuda"}, {"gpu", "NVIDIA H200"}, {"more", "3"}}),
              "default cuda on NVIDIA H200 and 3 more");
    EXPECT_EQ(phrase(kChosen, {{"backend", "cuda"}, {"gpu", "NVIDIA H200"}}),
              "default cuda on NVIDIA H200");
    EXPECT_EQ(phrase(kChosen, {{"backend", "cpu"}, {"gpu", std::nullopt}}), "default cpu");
}

TEST(Phrase, ReadsWordsInAnyOrderAndNoneOfTheirText) {
    EXPECT_EQ(phrase("auf {gpu} rechnet {backend}", {{"backend", "cuda"}, {"gpu", "{backend}"}}),
              "auf {backend} rechnet cuda");
    EXPECT_EQ(phrase("[{driver}|the driver] crashed", {{"driver", "[a]"}}), "[a] crashed");
    EXPECT_EQ(phrase("[{driver}|the driver] crashed", {{"driver", std::nullopt}}),
              "the driver crashed");
}

TEST(Plural, ChoosesTheSentence) {
    const auto words = [](std::uint64_t number) {
        return plural(number, "{number} GPU of {kind}", "{number} GPUs of {kind}",
                      {{"kind", "one kind"}});
    };
    EXPECT_EQ(words(0), "0 GPUs of one kind");
    EXPECT_EQ(words(1), "1 GPU of one kind");
    EXPECT_EQ(words(2), "2 GPUs of one kind");
    EXPECT_EQ(plural(1, "it crashed", "it crashed {number} times"), "it crashed");
}

TEST(Joined, HasAWordBetweenItems) {
    EXPECT_EQ(joined_with_and({"a", "b", "c"}), "a and b and c");
    EXPECT_EQ(joined_with_or({"a"}), "a");
    EXPECT_EQ(joined_with_or({}), "");
}

}  // namespace phrase_test
}  // namespace gpuprobe
