// SPDX-License-Identifier: Apache-2.0
#include "store/state_files.h"

#include "base/files.h"
#include "support/temporary_folder.h"

namespace gpuprobe::store {
namespace state_files_test {

using support::TemporaryFolder;

Override preferring(const char* backend) {
    Override entry{.set_at = WallTime{Duration{1700000000000000}}, .set_by = 1000};
    entry.rule["prefer"] = backend;
    return entry;
}

class OverridesTest : public ::testing::Test {
protected:
    TemporaryFolder folder_ = {};
    std::string path_ = folder_.path() + "/overrides";
};

TEST_F(OverridesTest, AreThereAfterARestart) {
    Overrides first{path_};
    ASSERT_TRUE(first.load());
    ASSERT_TRUE(first.set("ollama", preferring("vulkan")));
    Overrides second{path_};
    ASSERT_TRUE(second.load());
    ASSERT_NE(second.find("ollama"), nullptr);
    EXPECT_EQ(*second.find("ollama"), preferring("vulkan"));
    EXPECT_EQ(second.find("jan"), nullptr);
}

TEST_F(OverridesTest, AreClearedForGood) {
    Overrides first{path_};
    ASSERT_TRUE(first.set("ollama", preferring("vulkan")));
    EXPECT_TRUE(first.clear("ollama").value());
    EXPECT_FALSE(first.clear("ollama").value());
    Overrides second{path_};
    ASSERT_TRUE(second.load());
    EXPECT_TRUE(second.all().empty());
}

TEST_F(OverridesTest, WorkWithoutAFile) {
    Overrides overrides{std::nullopt};
    ASSERT_TRUE(overrides.load());
    ASSERT_TRUE(overrides.set("ollama", preferring("vulkan")));
    EXPECT_NE(overrides.find("ollama"), nullptr);
}

TEST_F(OverridesTest, KeepTheOldOnesWhenTheFileCannotBeWritten) {
    Overrides overrides{folder_.path() + "/none/overrides"};
    EXPECT_FALSE(overrides.set("ollama", preferring("vulkan")));
    EXPECT_EQ(overrides.find("ollama"), nullptr);
}

TEST_F(OverridesTest, SetABrokenFileAside) {
    folder_.write("overrides", "not ours");
    Overrides overrides{path_};
    EXPECT_EQ(overrides.load().error().code, ErrorCode::Malformed);
    ASSERT_TRUE(overrides.set("ollama", preferring("vulkan")));
    EXPECT_EQ(RootedFiles{}.read(path_ + ".broken", kib(1)).value(), "not ours");
}

TEST_F(OverridesTest, RefuseALargeRuleAndOneApplicationTooMany) {
    Overrides overrides{std::nullopt};
    Override large;
    large.rule["prefer"] = std::string(Overrides::kMaxRule.count, 'x');
    EXPECT_EQ(overrides.set("a", large).error().code, ErrorCode::TooLarge);
    for (std::size_t i = 0; i < Overrides::kMaxApplications; ++i)
        ASSERT_TRUE(overrides.set("application-" + std::to_string(i), preferring("vulkan")));
    EXPECT_EQ(overrides.set("one-more", preferring("vulkan")).error().code,
              ErrorCode::TooManyRequests);
    EXPECT_TRUE(overrides.set("application-0", preferring("cuda")));
}

constexpr WallTime kNow{Duration{1700000000000000}};
constexpr std::uint32_t kAnna = 1000;
constexpr std::uint32_t kBert = 1001;

FailedChoice failure_of(std::uint32_t uid,
                        const char* choice = "cuda",
                        std::optional<std::string> gpu = "pci:0000:01:00.0",
                        WallTime at = kNow) {
    return {.uid = uid,
            .application = "ollama",
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

TEST(Outcomes, CountForTheirApplicationAlone) {
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

TEST(Outcomes, OfManyUsersReplaceThoseOfTheUserWithTheMost) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(0)));
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "first")));
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "second")));
    for (std::uint32_t uid = 5000; outcomes.all().size() < Outcomes::kMaxAll; ++uid)
        ASSERT_TRUE(outcomes.failed(failure_of(uid)));
    ASSERT_TRUE(outcomes.failed(failure_of(kBert)));
    EXPECT_EQ(outcomes.all().size(), Outcomes::kMaxAll);
    EXPECT_EQ(outcomes.counting_for(kBert, "ollama", kNow).size(), 2u) << "root's, and its own";
    EXPECT_EQ(outcomes.counting_for(kAnna, "ollama", kNow).back().gpu, "second");
}

TEST(Outcomes, OfStrangersReplaceNoUsers) {
    const auto account_of = [](std::uint32_t uid) {
        return Outcomes::Account{.id = uid, .is_stranger = uid >= 100'000};
    };
    Outcomes outcomes{std::nullopt};
    for (std::uint32_t uid = 100'000; uid < 100'000 + 2 * Outcomes::kMaxAll; ++uid)
        ASSERT_TRUE(outcomes.failed(failure_of(uid), account_of));
    for (std::uint32_t uid = 1; uid <= Outcomes::kMaxAll; ++uid)
        ASSERT_TRUE(outcomes.failed(failure_of(uid), account_of)) << uid;
    EXPECT_EQ(outcomes.failed(failure_of(100'000), account_of).error().code,
              ErrorCode::TooManyRequests);
    EXPECT_TRUE(
        outcomes.failed(failure_of(9, "cuda", "other", kNow + Outcomes::kLasts), account_of))
        << "old ones make room";
}

TEST(Outcomes, OfAClockThatWasAheadExpire) {
    Outcomes outcomes{std::nullopt};
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "gpu", kNow + 2 * Outcomes::kLasts)));
    EXPECT_TRUE(outcomes.counting_for(kAnna, "ollama", kNow).empty());
    ASSERT_TRUE(outcomes.failed(failure_of(kAnna, "cuda", "gpu", kNow + Outcomes::kLasts)));
    EXPECT_EQ(outcomes.counting_for(kAnna, "ollama", kNow).size(), 1u);
}

TEST(Outcomes, OfSubordinateUidsAreTheirOwners) {
    const auto account_of = [](std::uint32_t uid) {
        return Outcomes::Account{.id = uid >= 100'000 ? kAnna : uid};
    };
    Outcomes outcomes{std::nullopt};
    for (std::uint32_t uid = 100'000; uid < 101'000; ++uid)
        ASSERT_TRUE(outcomes.failed(failure_of(uid), account_of));
    EXPECT_EQ(outcomes.all().size(), Outcomes::kMaxPerUser);
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

}  // namespace state_files_test
}  // namespace gpuprobe::store
