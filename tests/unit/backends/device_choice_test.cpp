// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/compute/stages.h"
#include "recording_sink.h"

namespace gpuprobe::backends {
namespace device_choice_test {

const DeviceFacts kDevice{.index = 1, .pci = PciAddress{.bus = 1}};

bool wants(std::optional<std::string> device) {
    return is_wanted(ProbeTarget{.stage = "verify", .device = std::move(device)}, kDevice);
}

TEST(DeviceChoice, GoesByAddressOrPosition) {
    EXPECT_TRUE(wants("pci:0000:01:00.0"));
    EXPECT_TRUE(wants("index:1"));
}

TEST(DeviceChoice, OfAMigInstanceGoesByItsUuid) {
    const DeviceFacts instance{.index = 0, .pci = PciAddress{.bus = 1}, .uuid = "MIG-1"};
    EXPECT_TRUE(is_wanted(ProbeTarget{.device = "uuid:MIG-1"}, instance));
    EXPECT_FALSE(is_wanted(ProbeTarget{.device = "uuid:MIG-2"}, instance));
    EXPECT_FALSE(is_wanted(ProbeTarget{.device = "uuid:MIG-1"}, kDevice));
}

TEST(DeviceChoice, TakesNoOtherForIt) {
    for (const auto* other : {"pci:0000:01:00.1", "pci:0000:02:00.0", "pci:", "pci:x", "index:0",
                              "index:", "index:-1", "index:1 ", "index:4294967297", "1", ""})
        EXPECT_FALSE(wants(other)) << other;
    EXPECT_FALSE(wants(std::nullopt));
    const DeviceFacts unknown;
    for (const auto* any : {"pci:0000:00:00.0", "index:0"})
        EXPECT_FALSE(is_wanted(ProbeTarget{.device = any}, unknown)) << any;
}

/// A driver with three devices, and the results of enumerating them.
struct Visits {
    std::vector<std::uint32_t> seen = {};
};
Visits visits;
Answer enumerate_three(const ProbeTarget& target, Sink&, const VisitDevice& visit) {
    for (std::uint32_t index = 0; index < 3; ++index) {
        visits.seen.push_back(index);
        if (!visit(DeviceFacts{.index = index}, nullptr))
            break;
    }
    return target.api == "broken" ? Answer{.outcome = Outcome::Failed, .note = "no"} : Answer{};
}
Answer note_index(DeviceFacts facts, const OpenDevice&, Sink& sink) {
    sink.device(facts);
    return Answer{.note = "ran on " + std::to_string(*facts.index)};
}

TEST(DeviceChoice, RunsAStageOnOneDevice) {
    visits = {};
    RecordingSink sink;
    const auto answer =
        run_stage(enumerate_three, note_index, ProbeTarget{.device = "index:1"}, sink);
    EXPECT_EQ(answer.note, "ran on 1");
    EXPECT_EQ(sink.devices.size(), 1U);
    EXPECT_EQ(visits.seen, (std::vector<std::uint32_t>{0, 1}));
}

TEST(DeviceChoice, NamesTheMissingDevice) {
    RecordingSink sink;
    const auto answer =
        run_stage(enumerate_three, note_index, ProbeTarget{.device = "index:7"}, sink);
    EXPECT_EQ(answer.outcome, Outcome::Absent);
    ASSERT_EQ(answer.reasons.size(), 1U);
    EXPECT_EQ(answer.reasons[0].code, "device-not-found");
    EXPECT_EQ(answer.reasons[0].detail.at("device"), Value{"index:7"});
    EXPECT_TRUE(sink.devices.empty());
}

TEST(DeviceChoice, LetsTheDriversOwnRefusalStand) {
    RecordingSink sink;
    const auto answer = run_stage(enumerate_three, note_index,
                                  ProbeTarget{.api = "broken", .device = "index:7"}, sink);
    EXPECT_EQ(answer.note, "no");
}

TEST(DeviceChoice, ReportsEveryDevice) {
    RecordingSink sink;
    (void)query_devices<enumerate_three>(ProbeTarget{}, sink);
    EXPECT_EQ(sink.devices.size(), 3U);
}

}  // namespace device_choice_test
}  // namespace gpuprobe::backends
