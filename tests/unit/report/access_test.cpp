// SPDX-License-Identifier: Apache-2.0
#include "report/access.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace access_test {

constexpr std::uint32_t kRender = 105;
constexpr std::uint32_t kAlice = 1000;
constexpr const char* kH200 = "pci:0000:00:06.0";

Caller someone(std::vector<std::uint32_t> groups = {kAlice}, std::uint32_t uid = kAlice) {
    return {.uid = uid, .groups = std::move(groups)};
}

DeviceNode owned(std::string path, std::uint32_t mode, std::vector<AclEntry> acl = {}) {
    return {.path = std::move(path),
            .mode = mode,
            .uid = 0,
            .gid = kRender,
            .group = "render",
            .acl = std::move(acl),
            .accessible = true};
}

struct AccessCase {
    const char* name;
    DeviceNode node;
    Caller caller;
    std::optional<bool> open;
};
class MayOpen : public testing::TestWithParam<AccessCase> {};

TEST_P(MayOpen, AsTheKernelWouldDecide) {
    EXPECT_EQ(may_open(GetParam().node, GetParam().caller), GetParam().open);
}

const std::vector<AclEntry> kSeat{{.tag = "user", .id = kAlice, .mode = 6},
                                  {.tag = "owning-group", .mode = 6},
                                  {.tag = "mask", .mode = 6}};
const std::vector<AclEntry> kMaskedSeat{{.tag = "user", .id = kAlice, .mode = 6},
                                        {.tag = "owning-group", .mode = 6},
                                        {.tag = "mask", .mode = 4}};
const std::vector<AclEntry> kTeam{{.tag = "owning-group", .mode = 0},
                                  {.tag = "group", .id = 2000, .mode = 6},
                                  {.tag = "group", .id = 2001, .mode = 4},
                                  {.tag = "mask", .mode = 6}};

DeviceNode of_alice(std::uint32_t mode) {
    auto node = owned("/dev/x", mode);
    node.uid = kAlice;
    return node;
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    MayOpen,
    testing::Values(
        AccessCase{"EveryoneMay", owned("/dev/x", 0666), someone(), true},
        AccessCase{"AMemberMay", owned("/dev/x", 0660), someone({kAlice, kRender}), true},
        AccessCase{"TheOwnerMay", of_alice(0600), someone(), true},
        AccessCase{"RootMayWhatNobodyMay", owned("/dev/x", 0), someone({0}, 0), true},
        AccessCase{"WhoSitsInFrontMay", owned("/dev/x", 0660, kSeat), someone(), true},
        AccessCase{"AnAclsGroupMay", owned("/dev/x", 0660, kTeam), someone({2000}), true},
        AccessCase{"OneOfTwoGroupsIsEnough", owned("/dev/x", 0660, kTeam), someone({2001, 2000}),
                   true},
        AccessCase{"WithoutGroupsEveryoneStillMay", owned("/dev/x", 0666), {.uid = kAlice}, true},
        AccessCase{"AStrangerMayNot", owned("/dev/x", 0660), someone(), false},
        AccessCase{"ReadingIsNotEnough", owned("/dev/x", 0664), someone(), false},
        AccessCase{"WritingIsNotEnough", owned("/dev/x", 0662), someone(), false},
        AccessCase{"AMemberMayLessThanOthers", owned("/dev/x", 0606), someone({kRender}), false},
        AccessCase{"TheOwnerMayLessThanOthers", of_alice(0066), someone({kRender}), false},
        AccessCase{"TheMaskTakesAway", owned("/dev/x", 0640, kMaskedSeat), someone(), false},
        AccessCase{"AnotherUserIsNotNamed", owned("/dev/x", 0660, kSeat), someone({1001}, 1001),
                   false},
        AccessCase{"AGroupWithoutLeaveShutsOthersOut", owned("/dev/x", 0666, kTeam),
                   someone({kRender}), false},
        AccessCase{
            "WithoutGroupsAMemberIsUnknown", owned("/dev/x", 0660), {.uid = kAlice}, std::nullopt},
        AccessCase{"ANodeThatNobodyLookedAt", DeviceNode{.path = "/dev/x"}, someone(),
                   std::nullopt}),
    [](const auto& row) { return std::string{row.param.name}; });

/// The H200 whose device node has this mode.
Report h200(std::uint32_t mode) {
    auto fixture = headless_h200();
    fixture.machine.devices[0].nodes = {owned("/dev/nvidia0", mode)};
    fixture.machine.shared_nodes = {owned("/dev/nvidiactl", 0666), owned("/dev/nvidia-uvm", 0666)};
    return assembled(fixture);
}

TEST(AsSeenBy, IsTheSameForWhoMayAsMuchAsTheProber) {
    const auto report = h200(0660);
    EXPECT_EQ(as_seen_by(report, someone({kRender})), report);
    EXPECT_EQ(as_seen_by(report, someone({0}, 0)), report);
    EXPECT_EQ(access_class(report, someone({kRender})), "");
}

TEST(AsSeenBy, TakesBackendsFromWhoMayNot) {
    const auto report = h200(0660);
    ASSERT_EQ(gpu_at(report, kH200).backends.at("cuda").usable, true);
    const auto gpu = gpu_at(as_seen_by(report, someone()), kH200);
    EXPECT_EQ(gpu.nodes[0].accessible, false);
    EXPECT_EQ(gpu.nodes[0].reason, "no-permission");
    EXPECT_EQ(gpu.health, "no-permission");
    const auto& cuda = gpu.backends.at("cuda");
    EXPECT_EQ(cuda.usable, false);
    ASSERT_FALSE(cuda.reasons.empty());
    EXPECT_EQ(cuda.reasons[0],
              because("no-permission",
                      {{"node", "/dev/nvidia0"}, {"group", "render"}, {"mode", "0660"}}));
    EXPECT_EQ(gpu.backends.at("rocm"), gpu_at(report, kH200).backends.at("rocm"));
}

TEST(AsSeenBy, LooksAtTheNodesOfTheDriver) {
    auto report = h200(0666);
    report.nodes[1] = owned("/dev/nvidia-uvm", 0600);
    const auto gpu = gpu_at(as_seen_by(report, someone()), kH200);
    EXPECT_EQ(gpu.backends.at("cuda").usable, false);
    EXPECT_EQ(gpu.backends.at("cuda").reasons[0].detail.at("node"), Value{"/dev/nvidia-uvm"});
    EXPECT_EQ(gpu.identity, gpu_at(report, kH200).identity) << "the GPU itself is open";
}

TEST(AsSeenBy, DoesNotKnowWhatTheProberCouldNotAsk) {
    auto fixture = headless_h200();
    auto shut = owned("/dev/nvidia0", 0660);
    shut.accessible = false;
    shut.reason = "no-permission";
    fixture.machine.devices[0].nodes = {shut};
    fixture.probes = {probe("cuda", "", Outcome::Absent)};
    fixture.probes[0].reasons = {because("no-device")};
    const auto report = assembled(fixture);
    ASSERT_EQ(gpu_at(report, kH200).backends.at("cuda").usable, false);
    const auto gpu = gpu_at(as_seen_by(report, someone({kRender})), kH200);
    EXPECT_EQ(gpu.health, "ok");
    EXPECT_EQ(gpu.backends.at("cuda").usable, std::nullopt);
    EXPECT_TRUE(has_reason(gpu.backends.at("cuda").reasons, "prober-no-permission"));
    EXPECT_FALSE(has_reason(gpu.backends.at("cuda").reasons, "no-permission"));
}

TEST(AsRecorded, CountsNodesThatWereClosedAlthoughDriversAnswered) {
    auto report = h200(0660);
    auto& node = report.gpus[0].nodes[0];
    node.accessible = false;
    node.reason = "no-permission";
    const auto recorded = as_recorded(report);
    EXPECT_EQ(gpu_at(recorded, kH200).backends.at("cuda").usable, false);
    // Users who may open the nodes can use the APIs that answered.
    const auto root = gpu_at(as_seen_by(recorded, someone({0}, 0)), kH200).backends.at("cuda");
    EXPECT_EQ(root.usable, true);
    EXPECT_TRUE(root.reasons.empty());
}

TEST(AsSeenBy, KeepsWhatRulesABackendOutAnyway) {
    auto report = h200(0660);
    auto& cuda = report.gpus[0].backends.at("cuda");
    cuda = {.usable = false, .reasons = {because("loader-missing", {{"api", "cuda"}})}};
    const auto gpu = gpu_at(as_seen_by(report, someone()), kH200);
    EXPECT_EQ(gpu.backends.at("cuda"), cuda);
}

TEST(AsSeenBy, LeavesNodesThatNobodyLookedAt) {
    const auto report = assembled(headless_h200());  // nodes without owner and group
    EXPECT_EQ(as_seen_by(report, someone()), report);
    EXPECT_EQ(access_class(report, someone()), "");
}

TEST(AsSeenBy, ShowsNoIdentifiersOfAGpuThatIsShut) {
    auto report = h200(0660);
    report.gpus[0].partitions = {{.name = "mig-1", .uuid = "MIG-1"}};
    report.gpus[0].apis.at("cuda").device["alternatives"].push_back(
        Value{Value::Object{{"device", Value{Value::Object{{"uuid", "GPU-2"}}}}}});
    report.gpus[0].apis.at("cuda").device["chip_serial"] = "0042";
    ASSERT_TRUE(gpu_at(report, kH200).identity.nvidia_uuid);
    const auto seen = as_seen_by(report, someone());
    const auto gpu = gpu_at(seen, kH200);
    EXPECT_EQ(gpu.identity.nvidia_uuid, std::nullopt);
    EXPECT_TRUE(gpu.apis.at("cuda").device.at("uuid").is_null());
    EXPECT_FALSE(gpu.apis.at("cuda").device.at("name").is_null());
    EXPECT_EQ(gpu.partitions[0].uuid, std::nullopt);
    const auto text = json_line(to_value(seen));
    for (const auto* identifier : {kUuid, "MIG-1", "GPU-2", "0042"})
        EXPECT_EQ(text.find(identifier), std::string::npos) << identifier;
}

TEST(AsSeenBy, IgnoresTheDisplayAndRenderNodesOfNvidiasDriver) {
    auto fixture = headless_h200();
    fixture.machine.devices[0].nodes = {owned("/dev/dri/card0", 0660),
                                        owned("/dev/dri/renderD128", 0660),
                                        owned("/dev/nvidia0", 0666)};
    const auto report = assembled(fixture);
    const auto gpu = gpu_at(as_seen_by(report, someone()), kH200);
    EXPECT_EQ(gpu.backends.at("cuda").usable, true);
    EXPECT_EQ(gpu.health, "ok");
    EXPECT_TRUE(gpu.identity.nvidia_uuid);
}

/// An NPU whose node has this mode. The process that probed could not open the node.
Report closed_npu(std::uint32_t mode) {
    auto npu = pci_device("0000:00:0b.0", "8086", "7d1d", "1200");
    npu.driver = "intel_vpu";
    npu.is_accel = true;
    npu.nodes = {owned("/dev/accel/accel0", mode)};
    npu.nodes[0].accessible = false;
    npu.nodes[0].reason = "no-permission";
    return assembled({.machine = {.host = linux_host(), .devices = {npu}}});
}

TEST(AsSeenBy, OpensAnAcceleratorToCallersWithAccess) {
    const auto report = closed_npu(0660);
    ASSERT_EQ(report.accelerators.size(), 1U);
    ASSERT_EQ(report.accelerators[0].health, "no-permission");
    const auto seen = as_seen_by(report, someone({kRender})).accelerators[0];
    EXPECT_EQ(seen.nodes[0].accessible, true);
    EXPECT_EQ(seen.findings, std::vector<Reason>{});
    EXPECT_EQ(seen.health, "ok");
}

TEST(AsSeenBy, ClosesAnAcceleratorToCallersWithoutAccess) {
    auto report = as_seen_by(closed_npu(0660), someone({kRender}));
    report.accelerators[0].findings = {because("driver-missing")};
    const auto seen = as_seen_by(report, someone()).accelerators[0];
    EXPECT_TRUE(has_reason(seen.findings, "no-permission"));
    EXPECT_TRUE(has_reason(seen.findings, "driver-missing")) << "it concerns every caller";
    EXPECT_EQ(as_seen_by(closed_npu(0660), someone()).accelerators, closed_npu(0660).accelerators);
}

TEST(AsSeenBy, LeavesTheHealthOfAnAcceleratorWithoutNodesUnknown) {
    Report report;
    report.accelerators = {{.id = "hidden"}};
    EXPECT_EQ(as_seen_by(report, someone()).accelerators[0].health, std::nullopt);
}

TEST(AccessClass, IsSharedByThoseToWhomTheSameIsOpen) {
    const auto report = h200(0660);
    EXPECT_EQ(access_class(report, someone()), access_class(report, someone({1001}, 1001)));
    EXPECT_NE(access_class(report, someone()), access_class(report, someone({kRender})));
    EXPECT_NE(access_class(report, someone()), access_class(report, {.uid = kAlice}));
}

}  // namespace access_test
}  // namespace gpuprobe::test
