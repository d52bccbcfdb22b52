// SPDX-License-Identifier: Apache-2.0
#include "store/overrides.h"

#include "base/files.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

using testing::TemporaryFolder;

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

TEST_F(OverridesTest, RefuseALargeRuleAndOneConsumerTooMany) {
    Overrides overrides{std::nullopt};
    Override large;
    large.rule["prefer"] = std::string(Overrides::kMaxRule.count, 'x');
    EXPECT_EQ(overrides.set("a", large).error().code, ErrorCode::TooLarge);
    for (std::size_t i = 0; i < Overrides::kMaxConsumers; ++i)
        ASSERT_TRUE(overrides.set("consumer-" + std::to_string(i), preferring("vulkan")));
    EXPECT_EQ(overrides.set("one-more", preferring("vulkan")).error().code,
              ErrorCode::TooManyRequests);
    EXPECT_TRUE(overrides.set("consumer-0", preferring("cuda")));
}

}  // namespace
}  // namespace gpuprobe
