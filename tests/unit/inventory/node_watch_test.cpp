// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_watch.h"

#include <gtest/gtest.h>

#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace {

using namespace std::chrono_literals;

/// A watch over a folder that stands for /dev, on a loop that gives up after a while.
class NodeWatchTest : public testing::Test {
protected:
    void SetUp() override {
        machine_.folder("/dev");
        auto loop = SystemLoop::create();
        ASSERT_TRUE(loop);
        loop_ = std::move(loop).value();
    }
    void watch() {
        auto created =
            NodeWatch::create(*loop_, machine_.root() + "/dev",
                              [this](const HardwareEvent& event) { events_.push_back(event); });
        ASSERT_TRUE(created) << created.error().text;
        watch_ = std::move(created).value();
    }
    /// Runs the loop until there are as many events.
    void wait_for(std::size_t count) {
        bool late = false;
        const auto limit = loop_->after(5s, [&late] { late = true; });
        ASSERT_TRUE(loop_->run_until([&] { return late || events_.size() >= count; }));
        ASSERT_FALSE(late);
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return machine_.root() + "/dev/" + name;
    }

    FakeMachine machine_;
    std::unique_ptr<SystemLoop> loop_ = {};
    std::vector<HardwareEvent> events_ = {};
    std::unique_ptr<NodeWatch> watch_ = {};
};

TEST_F(NodeWatchTest, SeesNvidiaNodesComeAndGo) {
    watch();
    machine_.file("/dev/nvidia-uvm", "");
    wait_for(1);
    EXPECT_EQ(events_[0].action, "add");
    EXPECT_EQ(events_[0].subsystem, "node");
    EXPECT_EQ(events_[0].sysfs_path, path("nvidia-uvm"));
    std::filesystem::remove(path("nvidia-uvm"));
    wait_for(2);
    EXPECT_EQ(events_[1].action, "remove");
}

TEST_F(NodeWatchTest, SeesWhoMayUseANodeChange) {
    machine_.file("/dev/dri/renderD128", "");
    machine_.file("/dev/tty99", "");
    watch();
    using std::filesystem::perms;
    std::filesystem::permissions(path("tty99"), perms::owner_read);
    std::filesystem::permissions(path("dri/renderD128"), perms::owner_read);
    wait_for(1);
    ASSERT_EQ(events_.size(), 1U);
    EXPECT_EQ(events_[0].action, "change");
    EXPECT_EQ(events_[0].sysfs_path, path("dri/renderD128"));
}

TEST_F(NodeWatchTest, TakesABurstForOneEvent) {
    watch();
    for (const auto* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"})
        machine_.file(std::string{"/dev/"} + name, "");
    wait_for(1);
    EXPECT_EQ(events_.size(), 1U);
}

TEST_F(NodeWatchTest, DoesNotWakeForOtherNodes) {
    watch();
    machine_.file("/dev/tty99", "");
    machine_.file("/dev/loop8", "");
    machine_.file("/dev/.nvidia-temporary", "");
    machine_.file("/dev/nvidia0", "");
    wait_for(1);
    ASSERT_EQ(events_.size(), 1U);
    EXPECT_EQ(events_[0].sysfs_path, path("nvidia0"));
}

TEST_F(NodeWatchTest, LooksIntoAFolderThatAppearsLater) {
    watch();
    machine_.folder("/dev/dri");
    wait_for(1);
    EXPECT_EQ(events_[0].sysfs_path, path("dri"));
    machine_.file("/dev/dri/renderD128", "");
    wait_for(2);
    EXPECT_EQ(events_[1].sysfs_path, path("dri/renderD128"));
}

TEST_F(NodeWatchTest, LooksIntoAFolderThatIsThere) {
    machine_.folder("/dev/accel");
    watch();
    machine_.file("/dev/accel/accel0", "");
    wait_for(1);
    EXPECT_EQ(events_[0].sysfs_path, path("accel/accel0"));
}

TEST_F(NodeWatchTest, MayBeDestroyedByItsCallback) {
    auto created =
        NodeWatch::create(*loop_, machine_.root() + "/dev", [this](const HardwareEvent& event) {
            watch_.reset();
            events_.push_back(event);
        });
    ASSERT_TRUE(created);
    watch_ = std::move(created).value();
    machine_.file("/dev/nvidia0", "");
    wait_for(1);
    EXPECT_EQ(watch_, nullptr);
}

TEST_F(NodeWatchTest, NeedsItsFolder) {
    const auto created =
        NodeWatch::create(*loop_, machine_.root() + "/nowhere", [](const HardwareEvent&) {});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace gpuprobe
