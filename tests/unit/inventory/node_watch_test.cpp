// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_watch.h"

#include <gtest/gtest.h>

#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace node_watch_test {

/// A watch of a folder that is used instead of /dev, with a loop that has a time limit.
class NodeWatchTest : public testing::Test {
protected:
    void SetUp() override {
        machine_.folder("/dev");
        auto loop = SystemLoop::create();
        ASSERT_TRUE(loop);
        loop_ = std::move(loop).value();
    }
    void watch() {
        auto created = NodeWatch::create(*loop_, machine_.root() + "/dev", [this] { ++changes_; });
        ASSERT_TRUE(created) << created.error().text;
        watch_ = std::move(created).value();
    }
    /// The number of reported changes, after all events so far were handled. A deferred call runs
    /// after these events.
    [[nodiscard]] int changes() {
        bool is_over = false;
        const auto last = loop_->defer([&is_over] { is_over = true; });
        EXPECT_TRUE(loop_->run_until([&] { return is_over; }));
        return changes_;
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return machine_.root() + "/dev/" + name;
    }

    FakeMachine machine_;
    std::unique_ptr<SystemLoop> loop_ = {};
    int changes_ = 0;
    std::unique_ptr<NodeWatch> watch_ = {};
};

TEST_F(NodeWatchTest, SeesNvidiaNodesComeAndGo) {
    watch();
    machine_.file("/dev/nvidia-uvm", "");
    EXPECT_EQ(changes(), 1);
    std::filesystem::remove(path("nvidia-uvm"));
    EXPECT_EQ(changes(), 2);
    EXPECT_EQ(changes(), 2);
}

TEST_F(NodeWatchTest, DetectsChangesOfPermissions) {
    machine_.file("/dev/dri/renderD128", "");
    machine_.file("/dev/tty99", "");
    watch();
    using std::filesystem::perms;
    std::filesystem::permissions(path("tty99"), perms::owner_read);
    EXPECT_EQ(changes(), 0);
    std::filesystem::permissions(path("dri/renderD128"), perms::owner_read);
    EXPECT_EQ(changes(), 1);
}

TEST_F(NodeWatchTest, ReportsABurstOnce) {
    watch();
    for (const auto* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"})
        machine_.file(std::string{"/dev/"} + name, "");
    EXPECT_EQ(changes(), 1);
}

TEST_F(NodeWatchTest, DoesNotWakeForOtherNodes) {
    watch();
    machine_.file("/dev/tty99", "");
    machine_.file("/dev/loop8", "");
    machine_.file("/dev/.nvidia-temporary", "");
    EXPECT_EQ(changes(), 0);
    machine_.file("/dev/nvidia0", "");
    EXPECT_EQ(changes(), 1);
}

TEST_F(NodeWatchTest, LooksIntoAFolderThatAppearsLater) {
    watch();
    machine_.folder("/dev/dri");
    EXPECT_EQ(changes(), 1);
    machine_.file("/dev/dri/renderD128", "");
    EXPECT_EQ(changes(), 2);
}

TEST_F(NodeWatchTest, LooksIntoAFolderThatIsThere) {
    machine_.folder("/dev/accel");
    watch();
    machine_.file("/dev/accel/accel0", "");
    EXPECT_EQ(changes(), 1);
}

TEST_F(NodeWatchTest, MayBeDestroyedByItsCallback) {
    auto created = NodeWatch::create(*loop_, machine_.root() + "/dev", [this] {
        watch_.reset();
        ++changes_;
    });
    ASSERT_TRUE(created);
    watch_ = std::move(created).value();
    machine_.file("/dev/nvidia0", "");
    EXPECT_EQ(changes(), 1);
    EXPECT_EQ(watch_, nullptr);
}

TEST_F(NodeWatchTest, NeedsItsFolder) {
    const auto created = NodeWatch::create(*loop_, machine_.root() + "/nowhere", [] {});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::Unavailable);
}

}  // namespace node_watch_test
}  // namespace gpuprobe
