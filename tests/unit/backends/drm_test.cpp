// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/drm.h"

#include <gtest/gtest.h>

#include "fake_drm.h"
#include "recording_sink.h"
#include "support/temporary_folder.h"

namespace gpuprobe::backends {
namespace drm_test {

const std::string kPciRoot = "/sys/devices/pci0000:00/";

/// Render nodes below a temporary folder. Each opening of a node is counted.
class Machine {
public:
    /// Returns the device's folder.
    std::string card(const std::string& address, int minor) {
        const auto device = kPciRoot + address;
        folder_.write(device + "/vendor", "0x1002\n");
        folder_.write(device + "/device", "0x744c\n");
        folder_.link(device + "/subsystem", "../../../bus/pci");
        node(device, minor);
        return device;
    }
    void node(const std::string& device, int minor) {
        const auto name = "renderD" + std::to_string(minor);
        folder_.write(device + "/drm/" + name + "/dev", "226:" + std::to_string(minor) + "\n");
        folder_.write(device + "/drm/card" + std::to_string(minor - 128) + "/dev",
                      "226:" + std::to_string(minor - 128) + "\n");
        folder_.link(device + "/drm/" + name + "/device", device);
        folder_.link("/sys/class/drm/" + name, device + "/drm/" + name);
    }
    void write(const std::string& path, const std::string& text) { folder_.write(path, text); }
    void link(const std::string& path, const std::string& target) { folder_.link(path, target); }

    Answer survey(std::optional<Error> problem = {}) {
        const auto open = [&](const RenderNode& node) -> Result<std::unique_ptr<DrmDevice>> {
            opened_.push_back(node.path);
            if (problem)
                return *problem;
            return std::unique_ptr<DrmDevice>{std::make_unique<FakeDrm>("panthor")};
        };
        return survey_drm(RootedFiles{folder_.path()}, open, sink_);
    }
    [[nodiscard]] const std::vector<DeviceFacts>& devices() const { return sink_.devices; }
    [[nodiscard]] const std::vector<std::string>& opened() const { return opened_; }

private:
    support::TemporaryFolder folder_ = {};
    RecordingSink sink_ = {};
    std::vector<std::string> opened_ = {};
};

TEST(DrmSurvey, IsAbsentWithoutRenderNodes) {
    Machine machine;
    EXPECT_EQ(machine.survey().outcome, Outcome::Absent);
    machine.write("/sys/class/drm/card0/dev", "226:0\n");
    machine.write("/sys/class/drm/renderD/dev", "226:1\n");
    machine.write("/sys/class/drm/version", "drm 1.1.0 20060810\n");
    const auto answer = machine.survey();
    EXPECT_EQ(answer.outcome, Outcome::Absent);
    EXPECT_EQ(answer.reasons.at(0).code, "no-device");
    EXPECT_TRUE(machine.opened().empty());
}

TEST(DrmSurvey, ReportsTheDeviceOfEachNode) {
    Machine machine;
    machine.card("0000:03:00.0", 128);
    machine.card("0000:0a:00.0", 129);
    const auto answer = machine.survey();
    EXPECT_EQ(answer.outcome, Outcome::Answered);
    ASSERT_EQ(machine.devices().size(), 2U);
    const auto& second = machine.devices()[1];
    EXPECT_EQ(second.index, 1U);
    EXPECT_EQ(text_of(*second.pci), "0000:0a:00.0");
    EXPECT_EQ(second.vendor_id, "1002");
    EXPECT_EQ(second.device_id, "744c");
    EXPECT_EQ(second.drm, (DrmNodes{.primary = "226:1", .render = "226:129"}));
    EXPECT_EQ(*second.extra.at("node").as_string(), "/dev/dri/renderD129");
    EXPECT_EQ(*second.extra.at("driver_name").as_string(), "panthor");
}

TEST(DrmSurvey, DoesNotOpenSleepingDevices) {
    for (const std::string status : {"suspended", "suspending"}) {
        Machine machine;
        machine.card("0000:03:00.0", 128);
        machine.write(machine.card("0000:0a:00.0", 129) + "/power/runtime_status", status + "\n");
        const auto answer = machine.survey();
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        EXPECT_EQ(machine.opened(), std::vector<std::string>{"/dev/dri/renderD128"});
        ASSERT_EQ(answer.reasons.size(), 1U);
        EXPECT_EQ(answer.reasons[0], because("asleep", {{"device", "pci:0000:0a:00.0"}}));
    }
}

TEST(DrmSurvey, FailsWhenEveryDeviceSleeps) {
    Machine machine;
    machine.write(machine.card("0000:03:00.0", 128) + "/power/runtime_status", "suspended\n");
    const auto answer = machine.survey();
    EXPECT_EQ(answer.outcome, Outcome::Failed);
    EXPECT_EQ(answer.reasons.at(0).code, "asleep");
    EXPECT_TRUE(machine.opened().empty());
}

TEST(DrmSurvey, AsksDevicesThatAreAwakeOrNeverSleep) {
    for (const std::string status : {"active", "unsupported", "resuming"}) {
        Machine machine;
        machine.write(machine.card("0000:03:00.0", 128) + "/power/runtime_status", status + "\n");
        EXPECT_EQ(machine.survey().outcome, Outcome::Answered) << status;
    }
}

TEST(DrmSurvey, NamesTheNodeThatIsClosed) {
    Machine machine;
    machine.card("0000:03:00.0", 128);
    const auto answer = machine.survey(Error{ErrorCode::PermissionDenied, "no"});
    EXPECT_EQ(answer.outcome, Outcome::Failed);
    EXPECT_EQ(answer.reasons.at(0), because("no-permission", {{"node", "/dev/dri/renderD128"},
                                                              {"device", "pci:0000:03:00.0"}}));
}

TEST(DrmSurvey, NamesTheNodeThatAControlGroupDenies) {
    Machine machine;
    machine.card("0000:03:00.0", 128);
    const auto answer = machine.survey(Error{ErrorCode::NotAuthorized, "no"});
    EXPECT_EQ(answer.outcome, Outcome::Failed);
    EXPECT_EQ(answer.reasons.at(0), because("device-denied", {{"node", "/dev/dri/renderD128"},
                                                              {"device", "pci:0000:03:00.0"}}));
}

TEST(DrmSurvey, FindsThePciDeviceBehindVirtio) {
    Machine machine;
    const auto pci = kPciRoot + "0000:00:04.0";
    machine.link(pci + "/subsystem", "/sys/bus/pci");
    machine.write(pci + "/vendor", "0x1af4\n");
    machine.link(pci + "/virtio1/subsystem", "/sys/bus/virtio");
    machine.node(pci + "/virtio1", 128);
    ASSERT_EQ(machine.survey().outcome, Outcome::Answered);
    EXPECT_EQ(text_of(*machine.devices()[0].pci), "0000:00:04.0");
    EXPECT_EQ(machine.devices()[0].vendor_id, "1af4");
    EXPECT_EQ(machine.devices()[0].device_id, std::nullopt);
    EXPECT_EQ(machine.devices()[0].drm->primary, "226:0");
    machine.write(pci + "/power/runtime_status", "suspended\n");
    EXPECT_EQ(machine.survey().reasons.at(0).code, "asleep");
}

TEST(DrmSurvey, HasNoAddressForAPlatformDevice) {
    Machine machine;
    machine.link("/sys/devices/platform/fde60000.gpu/subsystem", "/sys/bus/platform");
    machine.node("/sys/devices/platform/fde60000.gpu", 128);
    ASSERT_EQ(machine.survey().outcome, Outcome::Answered);
    EXPECT_EQ(machine.devices()[0].pci, std::nullopt);
    EXPECT_EQ(machine.devices()[0].vendor_id, std::nullopt);
    EXPECT_EQ(machine.devices()[0].drm->render, "226:128");
}

TEST(DrmSurvey, PassesOverNodesWithoutANumber) {
    Machine machine;
    const auto device = machine.card("0000:03:00.0", 128);
    machine.write(device + "/drm/renderD128/dev", "rubbish\n");
    EXPECT_EQ(machine.survey().outcome, Outcome::Absent);
}

TEST(OpenDrmDevice, TakesOnlyTheDeviceThatSysfsSpeaksOf) {
    const support::TemporaryFolder folder;
    folder.write("renderD128", "a file");
    const auto file = open_drm_device(folder.path() + "/renderD128", "226:128");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::NotFound);
    const auto other = open_drm_device("/dev/null", "226:128");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::NotFound);
    const auto missing = open_drm_device(folder.path() + "/renderD129", "226:129");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST(OpenDrmDevice, ReturnsTheErrorOfTheKernel) {
    const auto device = open_drm_device("/dev/null", "1:3");
    ASSERT_TRUE(device);
    drm_version version = {};
    EXPECT_EQ((*device)->ask(DRM_IOCTL_VERSION, &version), ENOTTY);
}

}  // namespace drm_test
}  // namespace gpuprobe::backends
