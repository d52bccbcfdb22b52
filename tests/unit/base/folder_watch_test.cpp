// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/event_loop.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace folder_watch_test {

constexpr Duration kSettle = std::chrono::milliseconds{20};
constexpr Duration kLonger = std::chrono::milliseconds{200};

class WatchedFolder : public ::testing::Test {
protected:
    void SetUp() override {
        loop_ = SystemLoop::create().value();
        watch_ = FolderWatch::begin(*loop_, {folder_.path(), folder_.path() + "/missing"},
                                    {".json"}, kSettle, [this] { ++calls_; })
                     .value();
    }
    /// Waits until no more calls are expected. Returns the number of calls.
    int calls_after_a_while() {
        bool is_over = false;
        const auto timer = loop_->after(kLonger, [&is_over] { is_over = true; });
        EXPECT_TRUE(loop_->run_until([&is_over] { return is_over; }));
        return std::exchange(calls_, 0);
    }

    support::TemporaryFolder folder_;
    std::unique_ptr<SystemLoop> loop_;
    std::unique_ptr<FolderWatch> watch_;
    int calls_ = 0;
};

TEST_F(WatchedFolder, ReportsManySimultaneousFilesOnce) {
    for (int i = 0; i < 50; ++i)
        folder_.write(std::to_string(i) + ".json", "{}");
    EXPECT_EQ(calls_after_a_while(), 1);
    EXPECT_EQ(calls_after_a_while(), 0);
}

TEST_F(WatchedFolder, ReportsFilesThatAreMovedOrRemoved) {
    folder_.write("a.json", "{}");
    EXPECT_EQ(calls_after_a_while(), 1);
    std::filesystem::rename(folder_.path() + "/a.json", folder_.path() + "/b.json");
    EXPECT_EQ(calls_after_a_while(), 1);
    std::filesystem::remove(folder_.path() + "/b.json");
    EXPECT_EQ(calls_after_a_while(), 1);
}

TEST_F(WatchedFolder, DoesNotReportOtherFiles) {
    folder_.write("a.json.new-abcdef", "{}");
    folder_.write("lock", "");
    folder_.folder("x.json.d");
    EXPECT_EQ(calls_after_a_while(), 0);
}

}  // namespace folder_watch_test
}  // namespace gpuprobe
