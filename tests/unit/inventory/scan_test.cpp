// SPDX-License-Identifier: Apache-2.0
#include "inventory/scan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/fact_key.h"
#include "report/hardware.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace scan_test {

using Ids = std::vector<std::string>;

/// A laptop's sleeping AMD GPU with all the files that would wake it.
std::string sleeping_gpu(const FakeMachine& machine) {
    auto path = machine.pci("0000:03:00.0", "1002", "7480", "030000", "amdgpu");
    machine.class_member("drm", "card1", path, "226:1");
    machine.class_member("drm", "renderD128", path, "226:128");
    machine.file(path + "/drm/card1/card1-eDP-1/status", "disconnected\n");
    machine.link("/sys/class/drm/card1-eDP-1", path + "/drm/card1/card1-eDP-1");
    machine.file(path + "/power/runtime_status", "suspended\n");
    machine.file(path + "/mem_info_vram_total", "8573157376\n");
    machine.file(path + "/mem_info_vram_used", "0\n");
    machine.file(path + "/unique_id", "946d7e1ef9b172dd\n");
    machine.file(path + "/resource", "0xd0000000 0xdfffffff 0x0014220c\n");
    for (const auto* waking : {"config",
                               "current_link_speed",
                               "current_link_width",
                               "max_link_speed",
                               "max_link_width",
                               "gpu_busy_percent",
                               "mem_busy_percent",
                               "gpu_metrics",
                               "pp_dpm_sclk",
                               "pp_dpm_mclk",
                               "pp_dpm_pcie",
                               "pcie_bw",
                               "vbios_version",
                               "power_dpm_state",
                               "pp_od_clk_voltage",
                               "hwmon/hwmon3/in1_input",
                               "hwmon/hwmon3/power1_average",
                               "current_memory_partition",
                               "current_compute_partition",
                               "rom",
                               "resource0"})
        machine.file(path + "/" + waking, "1\n");
    return path;
}

bool wakes(const std::string& path) {
    const auto name = path.substr(path.rfind('/') + 1);
    return name == "config" || name == "rom" || name == "power" || name == "gpu_metrics" ||
           name.find("link") != std::string::npos || name.find("busy") != std::string::npos ||
           name.starts_with("pp_") || name.starts_with("pcie_") || name.starts_with("power_") ||
           name.starts_with("resource0") || name.starts_with("current_") ||
           name.starts_with("vbios") || path.find("hwmon") != std::string::npos ||
           path.starts_with("/dev/");
}

/// The names of sensors come from the kernel's tables; only reading a sensor accesses the hardware.
bool lists_sensors(const std::string& folder) {
    return folder.ends_with("/hwmon") || folder.ends_with("/hwmon/hwmon3");
}

TEST(Scan, ReadsTheIommuDomainOfAGpu) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "10de", "2335", "030200", "nvidia");
    const auto iommu = [&machine] {
        return fact(scanned(machine).devices.at(0), kernel_facts::kIommu);
    };
    EXPECT_EQ(iommu(), std::nullopt) << "there is no IOMMU";
    machine.link(path + "/iommu_group", "../../../kernel/iommu_groups/17");
    machine.folder("/sys/kernel/iommu_groups/17");
    EXPECT_EQ(iommu(), std::nullopt) << "before Linux 5.11";
    const std::string type = "/sys/kernel/iommu_groups/17/type";
    for (const auto* known : {"dma", "dma-fq", "identity"}) {
        machine.file(type, std::string{known} + "\n");
        EXPECT_EQ(iommu(), known);
    }
    machine.file(type, "DMA-FQ\n");
    EXPECT_EQ(iommu(), "dma-fq") << "as the kernel spells it";
    for (const auto* no_answer : {"blocked", "unmanaged", "unknown", "", "dma fq"}) {
        machine.file(type, std::string{no_answer} + "\n");
        EXPECT_EQ(iommu(), std::nullopt) << no_answer;
    }
    machine.file(type, std::string(200'000, 'd'));
    EXPECT_EQ(iommu(), std::nullopt) << "more than an attribute has";
}

TEST(Scan, ReadsNothingThatWakesASleepingGpu) {
    const FakeMachine machine;
    const auto path = sleeping_gpu(machine);
    const WatchedFiles files{machine.root()};
    const auto result = scan_machine(files, RecordedNodes{}, test_host());
    ASSERT_EQ(ids_of(result), Ids{"pci:0000:03:00.0"});
    EXPECT_EQ(result.devices.at(0).runtime_status, "suspended");
    EXPECT_TRUE(files.read_paths().contains(path + "/mem_info_vram_total"));
    for (const auto& read : files.read_paths())
        EXPECT_FALSE(wakes(read)) << read;
    for (const auto& listed : files.listed_paths())
        EXPECT_TRUE(!wakes(listed) || lists_sensors(listed)) << listed;
    EXPECT_EQ(result.devices.at(0).extra.at("has_vddnb"), Value{true}) << "known by its name";
}

TEST(Scan, ReadsNothingThatWakesAnAwakeGpuNeither) {
    const FakeMachine machine;
    const auto path = sleeping_gpu(machine);
    machine.file(path + "/power/runtime_status", "active\n");
    const WatchedFiles files{machine.root()};
    (void)scan_machine(files, RecordedNodes{}, test_host());
    for (const auto& read : files.read_paths())
        EXPECT_TRUE(!wakes(read) || read.ends_with("_partition") || read.ends_with("_link_width"))
            << read;
}

TEST(Scan, FindsNothingOnAnEmptyMachine) {
    const FakeMachine machine;
    const auto result = scanned(machine);
    EXPECT_TRUE(result.devices.empty());
    EXPECT_TRUE(result.shared_nodes.empty());
    EXPECT_TRUE(result.notes.empty());
    EXPECT_EQ(result.host, test_host());
}

TEST(Scan, JoinsDrmNodesToTheirPciFunction) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:00:02.0", "8086", "46a6", "030000", "i915");
    machine.class_member("drm", "card0", path, "226:0");
    machine.class_member("drm", "renderD128", path, "226:128");
    machine.folder("/sys/class/drm/ttm");
    machine.file("/sys/class/drm/version", "drm 1.1.0 20060810\n");
    const auto result = scanned(machine, R"({
        "/dev/dri/card0": {"major":226,"minor":0,"mode":432,"group":"video","accessible":false},
        "/dev/dri/renderD128": {"major":226,"minor":128,"mode":438,"group":"render",
                                "accessible":true}})");
    ASSERT_EQ(ids_of(result), Ids{"pci:0000:00:02.0"});
    const auto& device = result.devices.at(0);
    EXPECT_TRUE(device.is_drm);
    EXPECT_EQ(device.drm, (DrmNodes{.primary = "226:0", .render = "226:128"}));
    ASSERT_EQ(device.nodes.size(), 2U);
    EXPECT_EQ(device.nodes[0], (DeviceNode{.path = "/dev/dri/card0",
                                           .device = "226:0",
                                           .mode = 0660,
                                           .group = "video",
                                           .accessible = false,
                                           .reason = "no-permission"}));
    EXPECT_EQ(device.nodes[1].accessible, true);
    EXPECT_EQ(device.driver_version, "6.12.1");
}

TEST(Scan, ReportsAMissingNodeOnlyIfNodesAreKnown) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:00:02.0", "8086", "46a6", "030000", "i915");
    machine.class_member("drm", "card0", path, "226:0");
    const auto unknown = scanned(machine).devices.at(0).nodes.at(0);
    EXPECT_EQ(unknown, (DeviceNode{.path = "/dev/dri/card0", .device = "226:0"}));
    const auto missing = scanned(machine, R"({"/dev/null":{}})").devices.at(0).nodes.at(0);
    EXPECT_EQ(missing.accessible, false);
    EXPECT_EQ(missing.reason, "missing");
}

TEST(Scan, TakesADeviceThatACaptureHoldsAsAPlainFolder) {
    const FakeMachine machine;
    machine.file("/sys/class/drm/card1/uevent", "MAJOR=226\nMINOR=1\nDEVNAME=dri/card1\n");
    machine.file("/sys/class/drm/card1/device/vendor", "0x8086\n");
    machine.file("/sys/class/drm/card1/device/uevent",
                 "DRIVER=xe\nPCI_CLASS=30000\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:09:00.0\n");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), Ids{"pci:0000:09:00.0"});
    const auto& device = result.devices.at(0);
    EXPECT_EQ(device.bus, HardwareBus::Pci);
    EXPECT_EQ(device.device_id, "e20b");
    EXPECT_EQ(device.driver, "xe");
    EXPECT_EQ(device.drm.primary, "226:1");
}

TEST(Scan, TakesADeviceThatACaptureHoldsTwiceForOne) {
    const FakeMachine machine;
    machine.pci("0000:09:00.0", "8086", "e20b", "030000", "xe");
    machine.file("/sys/class/drm/card1/device/uevent",
                 "DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:09:00.0\n");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Ids{"pci:0000:09:00.0"});
    EXPECT_EQ(result.devices.at(0).drm.primary, "226:1");
}

TEST(Scan, ClimbsFromVirtioToThePciFunction) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:00:05.0", "1af4", "1050", "038000", "virtio-pci");
    const auto child = path + "/virtio2";
    machine.link(child + "/subsystem", "/sys/bus/virtio");
    machine.link(child + "/driver", "/sys/bus/virtio/drivers/virtio_gpu");
    machine.class_member("drm", "card0", child, "226:0");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), Ids{"pci:0000:00:05.0"});
    EXPECT_EQ(result.devices.at(0).driver, "virtio-pci");
    EXPECT_TRUE(result.devices.at(0).is_drm);
}

TEST(Scan, ClimbsFromTheAuxiliaryBusToThePciFunction) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:01:00.0", "10de", "2684", "030000", "NovaCore");
    const auto child = path + "/NovaCore.nova-drm.0";
    machine.link(child + "/subsystem", "/sys/bus/auxiliary");
    machine.link(child + "/driver", "/sys/bus/auxiliary/drivers/NovaDrm");
    machine.class_member("drm", "card0", child, "226:0");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), Ids{"pci:0000:01:00.0"});
    EXPECT_EQ(result.devices.at(0).drm.primary, "226:0");
}

TEST(Scan, IgnoresANodeWhoseDeviceWasJustRemoved) {
    const FakeMachine machine;
    machine.link("/sys/class/drm/renderD133",
                 "../../devices/pci0000:00/0000:09:00.0/drm/renderD133");
    machine.folder("/sys/class/drm");
    EXPECT_EQ(ids_of(scanned(machine)), Ids{});
}

TEST(Scan, KnowsTheGpuThatShowedTheBootAlsoWhereItIsNoVgaDevice) {
    const FakeMachine machine;
    const auto path = machine.platform("fb000000.gpu", "panthor");
    machine.class_member("drm", "card0", path, "226:0");
    EXPECT_EQ(scanned(machine).devices.at(0).boot_vga, std::nullopt);
    machine.file(path + "/drm/card0/boot_display", "1\n");
    EXPECT_EQ(scanned(machine).devices.at(0).boot_vga, true);
}

TEST(Scan, FindsPlatformGpus) {
    const FakeMachine machine;
    const auto path = machine.platform("fb000000.gpu", "panthor");
    machine.file(path + "/of_node/compatible",
                 std::string_view{"rockchip,rk3588-mali\0arm,mali-valhall-csf\0", 43});
    machine.file(path + "/modalias", "of:NgpuT(null)Crockchip,rk3588-maliCarm,mali-valhall-csf\n");
    machine.class_member("drm", "card1", path, "226:1");
    machine.class_member("drm", "renderD129", path, "226:129");
    const auto display = machine.platform("display-subsystem", "rockchip-drm");
    machine.class_member("drm", "card0", display, "226:0");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), (Ids{"platform:display-subsystem", "platform:fb000000.gpu"}));
    const auto& gpu = result.devices.at(1);
    EXPECT_EQ(gpu.bus, HardwareBus::Platform);
    EXPECT_EQ(gpu.driver, "panthor");
    EXPECT_EQ(gpu.compatible, (Ids{"rockchip,rk3588-mali", "arm,mali-valhall-csf"}));
    EXPECT_EQ(gpu.drm.render, "226:129");
    EXPECT_EQ(gpu.vendor_id, std::nullopt);
    EXPECT_TRUE(gpu.findings.empty());
}

TEST(Scan, FindsAPlatformGpuThatNoDriverHasTaken) {
    const FakeMachine machine;
    const auto add = [&machine](const std::string& name, const std::string& uevent) {
        const auto path = "/sys/devices/platform/" + name;
        machine.file(path + "/uevent", uevent);
        machine.link(path + "/subsystem", "/sys/bus/platform");
        machine.link("/sys/bus/platform/devices/" + name, path);
    };
    add("fb000000.gpu",
        "OF_COMPATIBLE_0=rockchip,rk3588-mali\nOF_COMPATIBLE_1=arm,mali-valhall-csf\n");
    add("fd8d8000.syscon", "OF_COMPATIBLE_0=rockchip,rk3588-sys-grf\n");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), Ids{"platform:fb000000.gpu"});
    EXPECT_EQ(result.devices.at(0).driver, std::nullopt);
    EXPECT_EQ(vendor_of(result.devices.at(0)), "arm");
    EXPECT_EQ(role_of(result.devices.at(0)), Role::Gpu);
    ASSERT_EQ(result.devices.at(0).findings.size(), 1U);
    EXPECT_EQ(result.devices.at(0).findings.at(0).code, "no-driver");
    EXPECT_EQ(result.devices.at(0).findings.at(0).detail.at("drivers"),
              (Value{Value::Array{Value{"panthor"}, Value{"tyr"}, Value{"mali"}}}));
}

/// The three cores of an RK3588's NPU, as Linux 6.18 has them.
void add_cores(const FakeMachine& machine, const std::string& driver) {
    for (const auto* name : {"fdab0000.npu", "fdac0000.npu", "fdad0000.npu"}) {
        const auto path = "/sys/devices/platform/" + std::string{name};
        machine.file(path + "/uevent", (driver.empty() ? "" : "DRIVER=" + driver + "\n") +
                                           "OF_COMPATIBLE_0=rockchip,rk3588-rknn-core\n");
        machine.link(path + "/subsystem", "/sys/bus/platform");
        machine.link("/sys/bus/platform/devices/" + std::string{name}, path);
        if (!driver.empty()) {
            machine.link(path + "/driver", "/sys/bus/platform/drivers/" + driver);
            machine.link("/sys/bus/platform/drivers/" + driver + "/" + name, path);
        }
    }
}

TEST(Scan, CountsTheCoresOfAnNpuAsOneDevice) {
    for (const auto* driver : {"", "rocket"}) {
        const FakeMachine machine;
        add_cores(machine, driver);
        EXPECT_EQ(ids_of(scanned(machine)), Ids{"platform:fdab0000.npu"}) << driver;
    }
    const FakeMachine machine;
    add_cores(machine, "rocket");
    machine.link("/sys/devices/platform/rknn/subsystem", "/sys/bus/platform");
    machine.class_member("accel", "accel0", "/sys/devices/platform/rknn", "261:0");
    const auto whole = scanned(machine);
    EXPECT_EQ(ids_of(whole), Ids{"platform:rknn"});
    EXPECT_EQ(whole.devices.at(0).driver, "rocket");
}

TEST(Scan, TakesCompatibleFromTheUeventWithoutADeviceTreeNode) {
    const FakeMachine machine;
    machine.file("/sys/class/drm/renderD128/device/uevent",
                 "DRIVER=asahi\nOF_FULLNAME=/soc/gpu@406400000\n"
                 "OF_COMPATIBLE_0=apple,agx-g13x\nOF_COMPATIBLE_1=apple,agx-t6000\n");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), Ids{"platform:renderD128"});
    EXPECT_EQ(result.devices.at(0).compatible, (Ids{"apple,agx-g13x", "apple,agx-t6000"}));
}

TEST(Scan, ClimbsFromHost1xToThePlatformDevice) {
    const FakeMachine machine;
    const auto parent = machine.platform("50000000.host1x", "tegra-host1x");
    const auto child = parent + "/drm";
    machine.link(child + "/subsystem", "/sys/bus/host1x");
    machine.class_member("drm", "card0", child, "226:0");
    EXPECT_EQ(ids_of(scanned(machine)), Ids{"platform:50000000.host1x"});
}

TEST(Scan, FindsTegrasGpuWithoutADrmNode) {
    const FakeMachine machine;
    const auto path = machine.platform("17000000.gpu", "gk20a");
    machine.link("/sys/bus/platform/drivers/gk20a/17000000.gpu", path);
    machine.link("/sys/bus/platform/drivers/gk20a/module", "/sys/module/nvgpu");
    machine.file("/sys/bus/platform/drivers/gk20a/bind", "");
    EXPECT_EQ(ids_of(scanned(machine)), Ids{"platform:17000000.gpu"});
}

TEST(Scan, NamesADrmDeviceOfNoKnownBusAfterItsSubsystem) {
    const FakeMachine machine;
    machine.file("/sys/devices/faux/vkms/uevent", "\n");
    machine.link("/sys/devices/faux/vkms/subsystem", "/sys/bus/faux");
    machine.class_member("drm", "card2", "/sys/devices/faux/vkms", "226:2");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Ids{"faux:vkms"});
    EXPECT_EQ(result.devices.at(0).bus, HardwareBus::Other);
}

TEST(Scan, KnowsWhetherADisplayIsConnected) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:00:02.0", "8086", "46a6", "030000", "i915");
    machine.class_member("drm", "card0", path, "226:0");
    EXPECT_TRUE(scanned(machine).devices.at(0).extra.at("connected").is_null());
    machine.file("/sys/class/drm/card0-HDMI-A-1/status", "disconnected\n");
    EXPECT_EQ(scanned(machine).devices.at(0).extra.at("connected"), Value{false});
    machine.file("/sys/class/drm/card0-eDP-1/status", "connected\n");
    EXPECT_EQ(scanned(machine).devices.at(0).extra.at("connected"), Value{true});
}

TEST(Scan, ListsSharedNodesThatAreThere) {
    const FakeMachine machine;
    const auto result = scanned(machine, R"({"/dev/kfd":{"major":235,"minor":0,"accessible":true},
                                             "/dev/dxg":{}, "/dev/null":{}})");
    ASSERT_EQ(result.shared_nodes.size(), 2U);
    EXPECT_EQ(result.shared_nodes[0].path, "/dev/kfd");
    EXPECT_EQ(result.shared_nodes[0].device, "235:0");
    EXPECT_EQ(result.shared_nodes[1].path, "/dev/dxg");
}

TEST(Scan, TakesADriversOwnVersionBeforeTheKernels) {
    const FakeMachine machine;
    machine.pci("0000:03:00.0", "1002", "744c", "030000", "amdgpu");
    machine.pci("0000:04:00.0", "10de", "2684", "030000", "nvidia");
    machine.pci("0000:05:00.0", "1da3", "1020", "120000", "habanalabs");
    machine.file("/sys/module/amdgpu/version", "6.10.5\n");
    machine.file("/sys/module/habanalabs/taint", "OE\n");
    const auto result = scanned(machine);
    EXPECT_EQ(result.devices.at(0).driver_version, "6.10.5");
    EXPECT_EQ(result.devices.at(1).driver_version, std::nullopt);
    EXPECT_EQ(result.devices.at(2).driver_version, std::nullopt);
}

/// An Arc Pro B70 with one virtual function to which the host's driver is bound.
std::string bound_virtual_function(const FakeMachine& machine) {
    const auto card = machine.pci("0000:03:00.0", "8086", "e223", "030000", "xe");
    machine.class_member("drm", "renderD128", card, "226:128");
    const auto function = machine.pci("0000:03:00.1", "8086", "e223", "030000", "xe");
    machine.class_member("drm", "renderD129", function, "226:129");
    machine.link(function + "/physfn", card);
    return function;
}

TEST(Scan, CountsAVirtualFunctionAsPartOfItsCard) {
    const FakeMachine machine;
    bound_virtual_function(machine);
    const auto devices = scanned(machine).devices;
    ASSERT_EQ(devices.size(), 1U);
    ASSERT_EQ(devices.front().partitions.size(), 1U);
    const auto& function = devices.front().partitions.front();
    EXPECT_EQ(function.name, "vf-0000:03:00.1");
    EXPECT_EQ(function.state, "xe");
    EXPECT_EQ(function.node, "/dev/dri/renderD129");
}

TEST(Scan, CountsAVirtualFunctionAsAGpuWhereOnlyItsNodesAre) {
    const FakeMachine machine;
    bound_virtual_function(machine);
    const auto container = scanned(machine, R"({"/dev/dri/renderD129":{"major":226,"minor":129,
                                                "mode":null,"group":null,"accessible":true}})");
    EXPECT_EQ(ids_of(container), (Ids{"pci:0000:03:00.0", "pci:0000:03:00.1"}));
    EXPECT_TRUE(container.devices.front().partitions.empty());
}

TEST(Scan, SortsDevicesById) {
    const FakeMachine machine;
    machine.pci("0000:c1:00.0", "1002", "744c", "030000", "amdgpu");
    machine.pci("0000:01:00.0", "10de", "2684", "030000", "nvidia");
    const auto path = machine.platform("simple-framebuffer.0", "simple-framebuffer");
    machine.class_member("drm", "card0", path, "226:0");
    EXPECT_EQ(ids_of(scanned(machine)),
              (Ids{"pci:0000:01:00.0", "pci:0000:c1:00.0", "platform:simple-framebuffer.0"}));
}

TEST(Scan, NotesUnreadableFiles) {
    if (geteuid() == 0)
        GTEST_SKIP() << "root may read everything";
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "1002", "744c", "030000", "amdgpu");
    machine.file(path + "/numa_node", "0\n");
    ASSERT_EQ(chmod((machine.root() + path + "/numa_node").c_str(), 0), 0);
    const auto result = scanned(machine);
    EXPECT_EQ(result.devices.size(), 1U);
    EXPECT_EQ(result.notes, Ids{path + "/numa_node: Permission denied"});
}

TEST(Scan, NotesPathsThatAreNotFiles) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "1002", "744c", "030000", "amdgpu");
    machine.folder(path + "/numa_node");
    const auto result = scanned(machine);
    EXPECT_EQ(result.devices.size(), 1U);
    EXPECT_EQ(result.notes, Ids{path + "/numa_node: not a regular file"});
}

TEST(Scan, ScrubsTextFromDrivers) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "1002", "744c", "030000", "amdgpu");
    machine.file(path + "/product_name", std::string(70000, 'x'));
    machine.file(path + "/unique_id", std::string_view{"946d7e1ef9b172dd\0\0\0\0", 20});
    machine.file(path + "/power/runtime_status", "act\xff\x01ive\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.model, std::nullopt);
    EXPECT_EQ(device.uuid, "946d7e1ef9b172dd");
    EXPECT_EQ(device.runtime_status, "act\uFFFD\uFFFDive");
}

}  // namespace scan_test
}  // namespace gpuprobe
