// SPDX-License-Identifier: Apache-2.0
#include "inventory/bus_devices.h"

#include <gtest/gtest.h>

#include "inventory/sysfs.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace bus_devices_test {

using Ids = std::vector<std::string>;

TEST(CandidateClass, TakesDisplaysCoProcessorsAndAccelerators) {
    for (const auto* wanted : {"0300", "0301", "0302", "0380", "0001", "0b40", "1200", "1280"})
        EXPECT_TRUE(is_candidate_class(wanted)) << wanted;
    for (const auto* other : {"", "03", "0000", "0200", "0403", "0604", "1180", "1201", "4000"})
        EXPECT_FALSE(is_candidate_class(other)) << other;
}

TEST(PciFunctions, ReadsTheFactsFromSysfs) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:01:00.0", "10de", "2684", "030000", "nvidia");
    machine.file(path + "/subsystem_vendor", "0x1043\n");
    machine.file(path + "/subsystem_device", "0x889A\n");
    machine.file(path + "/revision", "0xa1\n");
    machine.file(path + "/numa_node", "-1\n");
    machine.file(path + "/boot_vga", "1\n");
    machine.file(path + "/modalias", "pci:v000010DEd00002684sv00001043sd0000889Abc03sc00i00\n");
    machine.file(path + "/power/runtime_status", "active\n");
    const auto devices = scanned(machine).devices;
    ASSERT_EQ(devices.size(), 1U);
    const auto& device = devices.front();
    EXPECT_EQ(device.id, "pci:0000:01:00.0");
    EXPECT_EQ(device.bus, HardwareBus::Pci);
    EXPECT_EQ(device.sysfs_path, path);
    EXPECT_EQ(device.pci, (PciAddress{0, 1, 0, 0}));
    EXPECT_EQ(device.vendor_id, "10de");
    EXPECT_EQ(device.device_id, "2684");
    EXPECT_EQ(device.subsystem_vendor_id, "1043");
    EXPECT_EQ(device.subsystem_device_id, "889a");
    EXPECT_EQ(device.pci_class, "0300");
    EXPECT_EQ(device.revision, "a1");
    EXPECT_EQ(device.numa_node, std::nullopt);
    EXPECT_EQ(device.driver, "nvidia");
    EXPECT_EQ(device.boot_vga, true);
    EXPECT_EQ(device.runtime_status, "active");
}

TEST(PciFunctions, KeepsANumaNodeThatTheFirmwareNames) {
    const FakeMachine machine;
    machine.file(machine.pci("0000:01:00.0", "10de", "2335", "030200") + "/numa_node", "1\n");
    EXPECT_EQ(scanned(machine).devices.at(0).numa_node, 1);
}

TEST(PciFunctions, LeavesOutOtherClasses) {
    const FakeMachine machine;
    machine.pci("0000:00:1f.3", "8086", "51c8", "040300");
    machine.pci("0000:00:00.0", "8086", "4641", "060000");
    machine.pci("0000:6a:01.0", "8086", "0b25", "120100");
    EXPECT_EQ(ids_of(scanned(machine)), Ids{});
}

/// gpustack/gpustack#5170: two K100_AI with the class "bridge".
TEST(PciFunctions, IncludesAKnownDeviceOfAnyClass) {
    const FakeMachine machine;
    machine.pci("0000:06:00.0", "1d94", "6210", "068000", "hydcu");
    machine.pci("0000:07:00.0", "1d94", "6210", "ff0000");
    machine.pci("0000:08:00.0", "1d94", "1450", "068000");
    EXPECT_EQ(ids_of(scanned(machine)), (Ids{"pci:0000:06:00.0", "pci:0000:07:00.0"}));
}

TEST(PciFunctions, TakesAnyClassThatHasAnAccelNode) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:c5:00.1", "1022", "1502", "118000", "amdxdna");
    machine.pci("0000:c5:00.2", "1022", "15c7", "118000");
    machine.class_member("accel", "accel0", path, "261:0");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Ids{"pci:0000:c5:00.1"});
    EXPECT_TRUE(result.devices.at(0).is_accel);
    EXPECT_FALSE(result.devices.at(0).is_drm);
}

TEST(PciFunctions, TakesTheSecondFunctionOfAnIntegratedGpuForAPartOfTheFirst) {
    const FakeMachine machine;
    machine.pci("0000:00:02.0", "8086", "2a42", "030000", "i915");
    machine.pci("0000:00:02.1", "8086", "2a43", "038000");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Ids{"pci:0000:00:02.0"});
}

TEST(PciFunctions, KeepsALaterFunctionThatTheTableKnows) {
    const FakeMachine machine;
    machine.pci("0000:05:00.0", "1002", "740f", "038000");
    machine.pci("0000:05:00.1", "1002", "740f", "038000");
    EXPECT_EQ(ids_of(scanned(machine)), (Ids{"pci:0000:05:00.0", "pci:0000:05:00.1"}));
}

TEST(PciFunctions, KeepsAVirtualFunctionOfTheSameSlot) {
    const FakeMachine machine;
    const auto physical = machine.pci("0000:4d:00.0", "8086", "56c0", "038000", "i915");
    const auto virtual_one = machine.pci("0000:4d:00.1", "8086", "56c0", "038000", "i915");
    machine.link(virtual_one + "/physfn", "../0000:4d:00.0");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Ids{"pci:0000:4d:00.0"});
    EXPECT_EQ(result.devices.at(0).physical_function, std::nullopt);
    EXPECT_EQ(result.devices.at(0).partitions.at(0).name, "vf-0000:4d:00.1");
}

TEST(PciFunctions, KeepsADisplayOnAHigherFunctionWithoutOneBelowIt) {
    const FakeMachine machine;
    machine.pci("0000:03:00.0", "10ec", "8168", "020000");
    machine.pci("0000:03:00.1", "1002", "744c", "038000");
    EXPECT_EQ(ids_of(scanned(machine)), Ids{"pci:0000:03:00.1"});
}

TEST(PciFunctions, ReadsDomainsWiderThanSixteenBits) {
    const FakeMachine machine;
    machine.pci("10000:e1:00.0", "10de", "2335", "030200", "nvidia");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Ids{"pci:10000:e1:00.0"});
    EXPECT_EQ(result.devices.at(0).pci, (PciAddress{0x10000, 0xe1, 0, 0}));
}

TEST(PciFunctions, TakesIdsFromTheUeventWhereFilesAreMissing) {
    const FakeMachine machine;
    machine.file("/sys/bus/pci/devices/0000:09:00.0/uevent",
                 "DRIVER=nvidia\nPCI_CLASS=30000\nPCI_ID=10DE:2704\nPCI_SUBSYS_ID=1462:5110\n"
                 "PCI_SLOT_NAME=0000:09:00.0\n"
                 "MODALIAS=pci:v000010DEd00002704sv00001462sd00005110bc03sc00i00\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.vendor_id, "10de");
    EXPECT_EQ(device.device_id, "2704");
    EXPECT_EQ(device.subsystem_vendor_id, "1462");
    EXPECT_EQ(device.subsystem_device_id, "5110");
    EXPECT_EQ(device.pci_class, "0300");
    EXPECT_EQ(device.driver, "nvidia");
    EXPECT_EQ(device.modalias, "pci:v000010DEd00002704sv00001462sd00005110bc03sc00i00");
}

TEST(PciFunctions, TakesIdsFromTheModaliasWhereNothingElseHasThem) {
    const FakeMachine machine;
    machine.file("/sys/bus/pci/devices/0000:0a:00.0/modalias",
                 "pci:v00001002d00006758sv0000174Bsd0000E194bc03sc00i00\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.vendor_id, "1002");
    EXPECT_EQ(device.subsystem_device_id, "e194");
    EXPECT_EQ(device.pci_class, "0300");
}

TEST(PciFunctions, TakesASubsystemOfVendorZeroForNone) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:00:02.0", "1234", "1111", "030000");
    machine.file(path + "/subsystem_vendor", "0x0000\n");
    machine.file(path + "/subsystem_device", "0x0000\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.subsystem_vendor_id, std::nullopt);
    EXPECT_EQ(device.subsystem_device_id, std::nullopt);
}

TEST(PciFunctions, DoesNotBelieveRubbish) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:01:00.0", "12345", "zz", "030000");
    machine.file(path + "/numa_node", "many\n");
    machine.file(path + "/boot_vga", "perhaps\n");
    machine.file(path + "/revision", "0x123\n");
    machine.file(path + "/resource", "not a resource\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.vendor_id, std::nullopt);
    EXPECT_EQ(device.device_id, std::nullopt);
    EXPECT_EQ(device.numa_node, std::nullopt);
    EXPECT_EQ(device.boot_vga, std::nullopt);
    EXPECT_EQ(device.revision, std::nullopt);
    EXPECT_EQ(device.largest_bar, std::nullopt);
}

TEST(PciFunctions, StopsAtItsLimitWithANote) {
    const FakeMachine machine;
    for (int bus = 0; bus < 17; ++bus)
        for (int slot = 0; slot < 32; ++slot) {
            char name[32] = {};
            std::snprintf(name, sizeof name, "0000:%02x:%02x.0", bus, slot);
            machine.file(std::string{"/sys/bus/pci/devices/"} + name + "/class", "0x030000\n");
        }
    const auto result = scanned(machine);
    EXPECT_EQ(result.devices.size(), 512U);
    EXPECT_EQ(result.notes, Ids{"/sys/bus/pci/devices: too many display functions"});
}

}  // namespace bus_devices_test
}  // namespace gpuprobe
