// SPDX-License-Identifier: Apache-2.0
#include "store/outcomes.h"

#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

using testing::TemporaryFolder;

constexpr WallTime kNow{Duration{1700000000000000}};
constexpr std::uint32_t kAnna = 1000;
constexpr std::uint32_t kBert = 1001;

FailedChoice failure_of(std::uint32_t uid,
                        const char* choice = "cuda",
                        std::optional<std::string> gpu = "pci:0000:01:00.0",
                        WallTime at = kNow) {
    return {.uid = uid,
            .consumer = "ollama",
            .choice = choice,
            .gpu = std::move(gpu),
            .fingerprint = "nvidia 580",
            .detail = "out of memory",
            .at = at};
}

TEST(Outcomes, CountForTheirUserAlone) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna)));
    EXPECT_EQ(outcomes.counting_for(kAnna, "ollama", kNow).size(), 1u);
    EXPECT_TRUE(outcomes.counting_for(kBert, "ollama", kNow).empty());
    EXPECT_TRUE(outcomes.has_own(kAnna));
    EXPECT_FALSE(outcomes.has_own(kBert));
}

TEST(Outcomes, OfRootCountForEverybody) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(0)));
    EXPECT_EQ(outcomes.counting_for(kBert, "ollama", kNow).size(), 1u);
}

TEST(Outcomes, CountForTheirConsumerAlone) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna)));
    EXPECT_TRUE(outcomes.counting_for(kAnna, "jan", kNow).empty());
}

TEST(Outcomes, ExpireToTheMicrosecond) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna)));
    const auto last = kNow + Outcomes::kLasts - Duration{1};
    EXPECT_EQ(outcomes.counting_for(kAnna, "ollama", last).size(), 1u);
    EXPECT_TRUE(outcomes.counting_for(kAnna, "ollama", kNow + Outcomes::kLasts).empty());
}

TEST(Outcomes, OfLongAgoExpireHoweverLongAgo) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", std::nullopt, WallTime::min())));
    EXPECT_TRUE(outcomes.counting_for(kAnna, "ollama", kNow).empty());
}

TEST(Outcomes, AreReplacedByANewerReportOfTheSame) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna)));
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "pci:0000:01:00.0", kNow + Duration{1})));
    ASSERT_EQ(outcomes.all().size(), 1u);
    EXPECT_EQ(outcomes.all()[0].at, kNow + Duration{1});
}

TEST(Outcomes, AreForgottenOnSuccessOfTheSameUser) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna)));
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "pci:0000:02:00.0")));
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "vulkan")));
    ASSERT_TRUE(outcomes.failed(failure_of(kBert)));
    ASSERT_TRUE(outcomes.worked(failure_of(kAnna)));
    EXPECT_EQ(outcomes.all().size(), 3u);
    ASSERT_TRUE(outcomes.worked(failure_of(kAnna, "cuda", std::nullopt)));
    EXPECT_EQ(outcomes.counting_for(kAnna, "ollama", kNow).size(), 1u);
    EXPECT_EQ(outcomes.counting_for(kBert, "ollama", kNow).size(), 1u);
}

TEST(Outcomes, OfOneUserDoNotFillTheFile) {
    Outcomes outcomes{std::nullopt};
    for (std::size_t i = 0; i <= Outcomes::kMaxPerUser; ++i)
        ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "gpu-" + std::to_string(i))));
    EXPECT_EQ(outcomes.all().size(), Outcomes::kMaxPerUser);
    EXPECT_EQ(outcomes.all().front().gpu, "gpu-1");
}

TEST(Outcomes, OfManyUsersEndAtTheLimit) {
    Outcomes outcomes{std::nullopt};
    for (std::uint32_t uid = 1; uid <= Outcomes::kMaxAll; ++uid)
        ASSERT_TRUE(outcomes.failed(failure_of(uid)));
    EXPECT_EQ(outcomes.failed(failure_of(Outcomes::kMaxAll + 1)).error().code,
              ErrorCode::TooManyRequests);
    // Old ones make room.
    EXPECT_TRUE(outcomes.failed(failure_of(9, "cuda", "other", kNow + Outcomes::kLasts)));
}

TEST(Outcomes, AreThereAfterARestart) {
    const TemporaryFolder folder;
    Outcomes first{folder.path() + "/outcomes"};
    ASSERT_TRUE(first.load());
    ASSERT_TRUE(first.failed(failure_of(kAnna)));
    Outcomes second{folder.path() + "/outcomes"};
    ASSERT_TRUE(second.load());
    ASSERT_EQ(second.all().size(), 1u);
    EXPECT_EQ(second.all()[0], failure_of(kAnna));
}

TEST(Outcomes, OfABrokenFileAreNone) {
    const TemporaryFolder folder;
    folder.write("outcomes", "gpuprobe-outcomes 1 00000000\n{}");
    Outcomes outcomes{folder.path() + "/outcomes"};
    EXPECT_EQ(outcomes.load().error().code, ErrorCode::Malformed);
    EXPECT_TRUE(outcomes.failed(failure_of(kAnna)));
}

}  // namespace
}  // namespace gpuprobe
