// SPDX-License-Identifier: Apache-2.0
#include "inventory/driver_files.h"

#include <gtest/gtest.h>

#include "knowledge/chips.h"
#include "knowledge/drivers.h"
#include "report/assemble.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace driver_files_test {

Report report_of(const FakeMachine& machine) {
    return assemble(scan_machine(RootedFiles{machine.root()}, RecordedNodes{}, Host{}), {},
                    ReportContext{});
}

TEST(DriverFiles, TellOfAVectorEngine) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:3b:00.0", "1bcf", "001c", "0b4000", "ve_drv");
    machine.file(path + "/ve/ve0/model", "109\n");
    machine.file(path + "/ve/ve0/memory_size", "48\n");
    machine.file(path + "/ve/ve0/fw_version", "5399\n");
    machine.link(path + "/ve/ve0/device", path);
    machine.link("/sys/class/ve/ve0", path + "/ve/ve0");
    const auto report = report_of(machine);
    ASSERT_EQ(report.accelerators.size(), 1U);
    const auto& engine = report.accelerators.front();
    EXPECT_EQ(engine.kind, "vector");
    EXPECT_EQ(engine.vendor, "nec");
    EXPECT_EQ(engine.name, "109");
    EXPECT_EQ(engine.firmware, "5399");
    EXPECT_EQ(engine.memory, gib(48));
    ASSERT_EQ(engine.nodes.size(), 1U);
    EXPECT_EQ(engine.nodes.front().path, "/dev/ve0");
    EXPECT_TRUE(report.gpus.empty());
}

TEST(DriverFiles, TellTheMemoryOfIntelsCards) {
    const FakeMachine machine;
    const auto tiles = machine.pci("0000:03:00.0", "8086", "0bd5", "038000", "xe");
    machine.file(tiles + "/tile0/physical_vram_size_bytes", "68719476736\n");
    machine.file(tiles + "/tile1/physical_vram_size_bytes", "68719476736\n");
    machine.file(tiles + "/tiles/physical_vram_size_bytes", "1\n");
    const auto card = machine.pci("0000:04:00.0", "8086", "56a0", "030000", "i915");
    machine.file(card + "/drm/card1/lmem_total_bytes", "17179869184\n");
    const auto none = machine.pci("0000:05:00.0", "8086", "56a0", "030000", "xe");
    machine.file(none + "/tile0/physical_vram_size_bytes", "0\n");
    const auto report = report_of(machine);
    const auto physical = [&report](const char* id) {
        const auto gpu = std::ranges::find(report.gpus, id, &Gpu::id);
        return gpu == report.gpus.end() ? Bytes{} : gpu->memory.physical.value_or(Bytes{});
    };
    EXPECT_EQ(physical("pci:0000:03:00.0"), gib(128));
    EXPECT_EQ(physical("pci:0000:04:00.0"), gib(16));
    EXPECT_EQ(physical("pci:0000:05:00.0"), Bytes{});
}

TEST(DriverFiles, SayWhenADeviceIsNotReady) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:19:00.0", "1da3", "1020", "120000", "habanalabs");
    machine.file(path + "/accel/accel0/dev", "261:0\n");
    machine.link(path + "/accel/accel0/device", path);
    machine.link("/sys/class/accel/accel0", path + "/accel/accel0");
    machine.file(path + "/device_type", "GAUDI2\n");
    machine.file(path + "/status", "In reset\n");
    const auto report = report_of(machine);
    ASSERT_EQ(report.accelerators.size(), 1U);
    EXPECT_EQ(report.accelerators.front().name, "GAUDI2");
    EXPECT_EQ(report.accelerators.front().health, "device-not-ready");
}

/// An Alveo has separate functions for management and for use; a guest has only the second.
TEST(DriverFiles, OfTwoFunctionsOfACardMakeOne) {
    for (const bool is_guest : {false, true}) {
        const FakeMachine machine;
        if (!is_guest)
            machine.pci("0000:03:00.0", "10ee", "5020", "120000", "xclmgmt");
        const auto user = machine.pci("0000:03:00.1", "10ee", "5021", "120000", "xocl");
        machine.class_member("drm", "renderD128", user, "226:128");
        const auto report = report_of(machine);
        EXPECT_TRUE(report.gpus.empty());
        ASSERT_EQ(report.accelerators.size(), 1U);
        const auto& card = report.accelerators.front();
        EXPECT_EQ(card.id, is_guest ? "pci:0000:03:00.1" : "pci:0000:03:00.0");
        EXPECT_EQ(card.kind, "fpga");
        ASSERT_EQ(card.nodes.size(), 1U);
        EXPECT_EQ(card.nodes.front().path, "/dev/dri/renderD128");
    }
}

struct Sensor {
    std::string file;
    std::string text;
};
/// The power of a card whose driver provides these files.
AcceleratorPower power_of(const std::vector<Sensor>& sensors,
                          const std::string& driver = "tenstorrent",
                          const std::string& vendor = "1e52",
                          const std::string& id = "401e") {
    const FakeMachine machine;
    const auto path = machine.pci("0000:19:00.0", vendor, id, "120000", driver);
    for (const auto& sensor : sensors)
        machine.file((sensor.file.starts_with('/') ? "" : path + "/") + sensor.file, sensor.text);
    const auto report = report_of(machine);
    return report.accelerators.empty() ? AcceleratorPower{} : report.accelerators.front().power;
}

TEST(Sensors, AreReadFromTheHwmonOfTheCard) {
    const auto power = power_of({{"hwmon/hwmon3/power1_input", "78500000\n"},
                                 {"hwmon/hwmon3/power1_max", "160000000\n"},
                                 {"hwmon/hwmon3/temp1_input", "-3500\n"},
                                 {"power/runtime_status", "active\n"}});
    EXPECT_EQ(power, (AcceleratorPower{.runtime_status = "active",
                                       .draw = 78'500'000,
                                       .limit = 160'000'000,
                                       .temperature = -3500}));
}

TEST(Sensors, AreReadFromTheDriversOwnFiles) {
    EXPECT_EQ(power_of({{"max_power", "600000\n"},
                        {"status", "Operational\n"},
                        {"hwmon/hwmon0/power1_input", "93000000\n"}},
                       "habanalabs", "1da3", "1020"),
              (AcceleratorPower{.draw = 93'000'000, .limit = 600'000'000}));
    EXPECT_EQ(power_of({{"temp", "44050\n"}, {"status", "ALIVE\n"}}, "apex", "1ac1", "089a"),
              (AcceleratorPower{.temperature = 44050}));
}

TEST(Sensors, AreNotAskedWhileACardSleepsOrIsNotReady) {
    const Sensor draw{"hwmon/hwmon0/power1_input", "93000000\n"};
    EXPECT_EQ(power_of({draw, {"power/runtime_status", "suspended\n"}}),
              (AcceleratorPower{.runtime_status = "suspended"}));
    EXPECT_EQ(power_of({draw, {"status", "In reset\n"}}, "habanalabs", "1da3", "1020"),
              AcceleratorPower{});
}

TEST(Sensors, SayNothingThatNoCardCanBe) {
    for (const auto* text : {"0\n", "-5\n", "100000000001\n", "99999999999999999999\n", "12 W\n"})
        EXPECT_EQ(power_of({{"hwmon/hwmon0/power1_input", text}}), AcceleratorPower{}) << text;
    for (const auto* text : {"300001\n", "-100001\n", "hot\n"})
        EXPECT_EQ(power_of({{"hwmon/hwmon0/temp1_input", text}}), AcceleratorPower{}) << text;
    EXPECT_EQ(power_of({{"max_power", "9223372036854775807\n"}}, "habanalabs", "1da3", "1020"),
              AcceleratorPower{});
}

TEST(Sensors, AreNotReadAfterOneThatCannotBeRead) {
    EXPECT_EQ(power_of({{"hwmon/hwmon0/power1_input", "\n"},
                        {"hwmon/hwmon0/power1_max", "160000000\n"},
                        {"hwmon/hwmon0/temp1_input", "40000\n"}}),
              AcceleratorPower{});
}

TEST(Sensors, OfAGpuAreNotRead) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "1002", "744c", "030000", "amdgpu");
    machine.file(path + "/hwmon/hwmon0/power1_average", "93000000\n");
    const auto scanned =
        scan_machine(RootedFiles{machine.root()}, RecordedNodes{}, Host{}).devices.at(0);
    EXPECT_TRUE(scanned.extra.at("power_draw").is_null());
}

/// The thermal zone of the NPU is found by its type, not by its number.
TEST(Sensors, OfASystemOnChipAreItsThermalZones) {
    const FakeMachine machine;
    const std::string npu = "/sys/devices/platform/fdab0000.npu";
    machine.file(npu + "/uevent", "DRIVER=RKNPU\nOF_COMPATIBLE_0=rockchip,rk3588-rknpu\n");
    machine.link(npu + "/subsystem", "/sys/bus/platform");
    machine.link(npu + "/driver", "/sys/bus/platform/drivers/RKNPU");
    machine.link("/sys/bus/platform/drivers/RKNPU/fdab0000.npu", npu);
    machine.file("/sys/class/thermal/thermal_zone0/type", "soc-thermal\n");
    machine.file("/sys/class/thermal/thermal_zone0/temp", "30000\n");
    machine.file("/sys/class/thermal/thermal_zone6/type", "npu-thermal\n");
    machine.file("/sys/class/thermal/thermal_zone6/temp", "46230\n");
    const auto report = report_of(machine);
    ASSERT_EQ(report.accelerators.size(), 1U);
    EXPECT_EQ(report.accelerators.front().power.temperature, 46230);
}

TEST(DriverFiles, FindAnAcceleratorOfAnOddClass) {
    const FakeMachine machine;
    machine.pci("0000:00:1f.0", "1d0f", "7164", "088000", "neuron-driver");
    machine.pci("0000:00:1e.0", "1ac1", "089a", "088000", "");
    machine.pci("0000:00:1d.0", "8086", "0001", "088000", "");
    const auto report = report_of(machine);
    ASSERT_EQ(report.accelerators.size(), 2U);
    EXPECT_EQ(report.accelerators.front().kind, "tpu");
    EXPECT_EQ(report.accelerators.front().health, "no-driver");
    EXPECT_EQ(report.accelerators.back().vendor, "aws");
}

TEST(DriverFiles, NeverLeadOutOfDev) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:c1:00.0", "19e5", "d802", "120000", "devdrv_device_driver");
    machine.file(path + "/dev_id", "../../etc/shadow\n");
    const auto report = report_of(machine);
    ASSERT_EQ(report.accelerators.size(), 1U);
    EXPECT_TRUE(report.accelerators.front().nodes.empty());
}

TEST(PlatformDevices, AreFoundByTheVendorsOwnDrivers) {
    const FakeMachine machine;
    const std::string mali = "/sys/devices/platform/fb000000.gpu";
    machine.file(mali + "/uevent",
                 "DRIVER=mali\nOF_FULLNAME=/gpu@fb000000\nOF_COMPATIBLE_0=arm,mali-bifrost\n"
                 "OF_COMPATIBLE_N=1\n");
    machine.link(mali + "/subsystem", "/sys/bus/platform");
    machine.link(mali + "/driver", "/sys/bus/platform/drivers/mali");
    machine.link("/sys/bus/platform/drivers/mali/fb000000.gpu", mali);
    const auto nodes = RecordedNodes::parse(
        R"({"/dev/mali0": {"major": 10, "minor": 126, "mode": 432, "accessible": true}})");
    ASSERT_TRUE(nodes);
    const auto report =
        assemble(scan_machine(RootedFiles{machine.root()}, *nodes, Host{}), {}, ReportContext{});
    ASSERT_EQ(report.gpus.size(), 1U);
    EXPECT_EQ(report.gpus.front().vendor, "arm");
    EXPECT_EQ(report.gpus.front().kind, GpuKind::Integrated);
    ASSERT_EQ(report.gpus.front().nodes.size(), 1U);
    EXPECT_EQ(report.gpus.front().nodes.front().path, "/dev/mali0");
}

/// A machine with a GPU, a V4L2 codec with two nodes, an image processor and a camera.
FakeMachine& with_codec(FakeMachine& machine) {
    (void)machine.pci("0000:03:00.0", "1002", "744c", "030000", "amdgpu");
    const auto codec = machine.platform("fdb50000.video-codec", "hantro-vpu");
    machine.class_member("video4linux", "video1", codec, "81:1");
    machine.class_member("video4linux", "video2", codec, "81:2");
    machine.file(codec + "/video4linux/video1/name", "rockchip,rk3568-vpu-dec\n");
    machine.link("/sys/bus/platform/drivers/hantro-vpu/fdb50000.video-codec", codec);
    const auto processor = machine.platform("fdb60000.rga", "rockchip-rga");
    machine.class_member("video4linux", "video0", processor, "81:0");
    const auto camera = machine.platform("usb-camera", "uvcvideo");
    machine.class_member("video4linux", "video3", camera, "81:3");
    return machine;
}

ProbeResult codec_probe(const std::string& node, const char* name) {
    DeviceFacts facts{.index = 0U};
    facts.extra["node"] = node;
    facts.extra["video"] = to_value(std::vector<VideoEntry>{
        {.direction = VideoDirection::Decode, .codec = "h264", .name = name}});
    return {.api = "v4l2", .driver = node, .outcome = Outcome::Answered, .devices = {facts}};
}

TEST(VideoCodecs, AreAcceleratorsWithTheFormatsOfTheirNodes) {
    FakeMachine machine;
    const auto scan =
        scan_machine(RootedFiles{with_codec(machine).root()}, RecordedNodes{}, Host{});
    const std::vector<ProbeResult> probes{codec_probe("/dev/video1", "S264"),
                                          codec_probe("/dev/video2", "H264"),
                                          codec_probe("/dev/video9", "gone")};
    const auto report = assemble(scan, probes, ReportContext{});
    ASSERT_EQ(report.accelerators.size(), 1U) << "no camera, and no other image processor";
    const auto& codec = report.accelerators.front();
    EXPECT_EQ(codec.id, "platform:fdb50000.video-codec");
    EXPECT_EQ(codec.kind, "video");
    EXPECT_EQ(codec.name, "rockchip,rk3568-vpu-dec");
    ASSERT_EQ(codec.nodes.size(), 2U);
    EXPECT_EQ(codec.nodes.back().path, "/dev/video2");
    EXPECT_EQ(codec.nodes.back().device, "81:2");
    ASSERT_TRUE(codec.video);
    ASSERT_EQ(codec.video->size(), 2U);
    EXPECT_EQ(codec.video->back().name, "H264");
    ASSERT_EQ(report.gpus.size(), 1U) << "a codec that is gone is not a GPU";
    EXPECT_FALSE(report.gpus.front().apis.contains("v4l2"));
    EXPECT_EQ(assemble(scan, {}, ReportContext{}).accelerators.front().video, std::nullopt);
}

TEST(PlatformDevices, AComponentNamesTheDisplayControllerThatHasItsNodes) {
    const FakeMachine machine;
    const std::string folder = "/sys/devices/platform/";
    machine.platform("3d00000.gpu", "adreno");
    machine.file(folder + "3d00000.gpu/uevent",
                 "DRIVER=adreno\nOF_COMPATIBLE_0=qcom,adreno-43050c01\n"
                 "OF_COMPATIBLE_1=qcom,adreno\nOF_COMPATIBLE_N=2\n");
    machine.link("/sys/bus/platform/drivers/adreno/3d00000.gpu", folder + "3d00000.gpu");
    const auto names = [&machine] {
        std::vector<std::string> all;
        const auto scan = scan_machine(RootedFiles{machine.root()}, RecordedNodes{}, Host{});
        for (const auto& gpu : assemble(scan, {}, ReportContext{}).gpus)
            all.push_back(gpu.name.value_or("none"));
        return all;
    };
    EXPECT_EQ(names(), std::vector<std::string>{"Adreno X1-85"});  // without any node
    const auto controller = machine.platform("ae01000.display-controller", "msm_dpu");
    machine.class_member("drm", "renderD128", controller, "226:128");
    EXPECT_EQ(names(), std::vector<std::string>{"Adreno X1-85"});
    const auto second = machine.platform("be01000.display-controller", "msm_dpu");
    machine.class_member("drm", "renderD129", second, "226:129");
    const std::vector<std::string> unknown(2, "none");
    EXPECT_EQ(names(), unknown);  // it is unknown which GPU belongs to which node
}

/// The kernel's release is never used as the version of NVIDIA's driver.
TEST(DriverVersion, OfATegraIsThatOfItsModuleOrRelease) {
    const FakeMachine machine;
    machine.platform("17000000.ga10b", "gk20a");
    machine.link("/sys/bus/platform/drivers/gk20a/17000000.ga10b",
                 "/sys/devices/platform/17000000.ga10b");
    const auto version_with = [&](std::optional<std::string> l4t) {
        const Host host{.kernel = "5.15.148-tegra", .l4t = std::move(l4t)};
        return scan_machine(RootedFiles{machine.root()}, RecordedNodes{}, host)
            .devices.at(0)
            .driver_version;
    };
    EXPECT_EQ(version_with({}), std::nullopt);
    EXPECT_EQ(version_with("R35"), "35");
    EXPECT_EQ(version_with("R36"), "540");
    EXPECT_EQ(version_with("R39"), std::nullopt);
    machine.file("/sys/module/nvidia/version", "540.4.0\n");
    EXPECT_EQ(version_with("R36"), "540.4.0");
}

TEST(Drivers, WithoutAUnitAreRefused) {
    EXPECT_FALSE(knowledge::Drivers::from(
        R"({"schema": "gpuprobe.drivers/1", "drivers": [{"driver": "x", "memory_unit": 0}]})"));
}

TEST(Drivers, AreCompiledInAndKnownToTheTableOfChips) {
    EXPECT_TRUE(knowledge::Drivers::current().find("ve_drv"));
    EXPECT_TRUE(knowledge::Drivers::current().find("cambricon-pci-drv_mlu500"));
    EXPECT_FALSE(knowledge::Drivers::current().find("ve_drv2"));
    for (const auto* driver : {"ve_drv", "mali", "hailo1x", "cambricon-pci-drv_mlu500"})
        EXPECT_TRUE(knowledge::Chips::current().find_driver(driver)) << driver;
}

}  // namespace driver_files_test
}  // namespace gpuprobe
