// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace device_nodes_test {

using Paths = std::vector<std::string>;

TEST(LiveNodes, LookAtANodeWithoutOpeningIt) {
    const auto node = LiveNodes{}.find("/dev/null");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->path, "/dev/null");
    EXPECT_EQ(node->device, "1:3");
    EXPECT_EQ(node->mode, 0666U);
    EXPECT_EQ(node->accessible, true);
    EXPECT_EQ(node->reason, std::nullopt);
    EXPECT_TRUE(node->group);
}

/// The node of a new terminal. It belongs to the user who runs this test, and not all users may
/// open it.
std::string own_terminal(const UniqueFd& terminal) {
    char path[64] = {};
    EXPECT_EQ(::grantpt(terminal.get()), 0);
    EXPECT_EQ(::ptsname_r(terminal.get(), path, sizeof path), 0);
    EXPECT_EQ(::chmod(path, 0600), 0);
    return path;
}

TEST(LiveNodes, CheckTheAccessOfTheGivenUser) {
    const UniqueFd terminal{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    ASSERT_TRUE(terminal);
    const auto path = own_terminal(terminal);
    const auto seen_by = [&path](std::uint32_t uid) {
        return LiveNodes{Caller{.uid = uid, .groups = {{uid}}}}.find(path);
    };
    const auto others = seen_by(::getuid() + 1);
    ASSERT_TRUE(others);
    EXPECT_EQ(others->accessible, false);
    EXPECT_EQ(others->reason, "no-permission");
    const auto ours = seen_by(::getuid());
    ASSERT_TRUE(ours);
    EXPECT_EQ(ours->accessible, true);
    EXPECT_EQ(ours->reason, std::nullopt);
    const Caller nobody{.uid = 65534, .groups = {{65534}}};
    EXPECT_EQ(LiveNodes{nobody}.find("/dev/null")->accessible, true);
    EXPECT_EQ(LiveNodes{nobody}.find("/dev/none"), std::nullopt);
}

TEST(LiveNodes, TakeNothingElseForANode) {
    EXPECT_EQ(LiveNodes{}.find("/dev/no-such-node"), std::nullopt);
    EXPECT_EQ(LiveNodes{}.find("/dev"), std::nullopt);
    EXPECT_EQ(LiveNodes{}.find("/proc/version"), std::nullopt);
}

TEST(LiveNodes, ListAFolderSorted) {
    const auto paths = LiveNodes{}.list("/dev");
    EXPECT_TRUE(std::ranges::is_sorted(paths));
    EXPECT_NE(std::ranges::find(paths, "/dev/null"), paths.end());
    EXPECT_TRUE(LiveNodes{}.list("/dev/no-such-folder").empty());
}

TEST(RecordedNodes, AreReadWithAnyMemberMissing) {
    const auto nodes = RecordedNodes::parse(R"({
        "/dev/kfd": {"major":235,"minor":0,"mode":8624,"group":"render","accessible":false},
        "/dev/dxg": {},
        "/dev/nvidia0": {"major":195,"group":44,"accessible":null},
        "/dev/dri/card0": {"major":226,"minor":0,"accessible":false,"reason":"missing","more":1}})");
    ASSERT_TRUE(nodes);
    EXPECT_EQ(nodes->find("/dev/kfd"), (DeviceNode{.path = "/dev/kfd",
                                                   .device = "235:0",
                                                   .mode = 0660,
                                                   .group = "render",
                                                   .accessible = false,
                                                   .reason = "no-permission"}));
    EXPECT_EQ(nodes->find("/dev/dxg"), DeviceNode{.path = "/dev/dxg"});
    EXPECT_EQ(nodes->find("/dev/nvidia0"), (DeviceNode{.path = "/dev/nvidia0", .group = "44"}));
    EXPECT_EQ(nodes->find("/dev/dri/card0")->reason, "missing");
    EXPECT_EQ(nodes->find("/dev/null"), std::nullopt);
}

TEST(RecordedNodes, ListAFolderWithoutItsSubfolders) {
    const auto nodes =
        RecordedNodes::parse(R"({"/dev/kfd":{},"/dev/dri/card0":{},"/dev/dri/renderD128":{}})");
    ASSERT_TRUE(nodes);
    EXPECT_EQ(nodes->list("/dev"), Paths{"/dev/kfd"});
    EXPECT_EQ(nodes->list("/dev/dri"), (Paths{"/dev/dri/card0", "/dev/dri/renderD128"}));
    EXPECT_TRUE(nodes->list("/dev/d").empty());
}

TEST(RecordedNodes, NameTheMemberAtFault) {
    struct Row {
        const char* json;
        const char* text;
    };
    for (const auto& row :
         {Row{R"([])", "expected object, found array"},
          Row{R"({"/dev/kfd":3})", "/dev/kfd: expected object, found integer"},
          Row{R"({"/etc/passwd":{}})", "/etc/passwd: not below /dev"},
          Row{R"({"/dev/kfd":{"major":"x"}})",
              "/dev/kfd: major: expected non-negative integer, found string"},
          Row{R"({"/dev/kfd":{"minor":4294967296}})", "/dev/kfd: minor: number out of range"},
          Row{R"({"/dev/kfd":{"accessible":1}})",
              "/dev/kfd: accessible: expected boolean, found integer"}}) {
        const auto nodes = RecordedNodes::parse(row.json);
        ASSERT_FALSE(nodes) << row.json;
        EXPECT_EQ(nodes.error().code, ErrorCode::Malformed);
        EXPECT_EQ(nodes.error().text, row.text);
    }
}

TEST(RecordedNodes, CutAtAnyByteAreMalformed) {
    const std::string whole = R"({"/dev/kfd":{"major":235,"minor":0,"group":"render"}})";
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(RecordedNodes::parse(whole.substr(0, length))) << length;
    EXPECT_TRUE(RecordedNodes::parse(whole));
}

}  // namespace device_nodes_test
}  // namespace gpuprobe
