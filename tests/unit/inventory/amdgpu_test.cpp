// SPDX-License-Identifier: Apache-2.0
#include "inventory/amdgpu.h"

#include <gtest/gtest.h>

#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace amdgpu_test {

using Names = std::vector<std::string>;

std::string node_folder(int number) {
    return "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(number);
}

void kfd_node(const FakeMachine& machine, int number, const std::string& properties) {
    machine.file(node_folder(number) + "/properties", properties);
}

std::string gpu_properties(const std::string& location, const std::string& render) {
    return "cpu_cores_count 0\nsimd_count 24\nsimd_per_cu 2\ngfx_target_version 110003\n"
           "location_id " +
           location + "\ndomain 0\ndrm_render_minor " + render + "\nunique_id 0\n";
}

void bank(const FakeMachine& machine, int node, int number, const std::string& properties) {
    machine.file(node_folder(node) + "/mem_banks/" + std::to_string(number) + "/properties",
                 properties);
}

std::vector<std::string> readings(const HardwareDevice& device) {
    std::vector<std::string> texts;
    for (const auto& reading : device.memory)
        texts.push_back(reading.source + " " + reading.what + " " +
                        std::to_string(reading.bytes.count));
    return texts;
}

TEST(Amdgpu, IsNamedByItsRevision) {
    const auto named = [](const std::string& revision) {
        const FakeMachine machine;
        machine.file("/usr/share/libdrm/amdgpu.ids",
                     "# device_id,\trevision_id,\tproduct_name\n\n1.0.0\n"
                     "744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n"
                     "744C,\tD0,\tAMD Radeon Graphics\n744C,\tD1\n744C");
        const auto path = machine.pci("0000:03:00.0", "1002", "744c", "030000", "vfio-pci");
        machine.file(path + "/revision", "0x" + revision + "\n");
        return scanned(machine).devices.at(0).model;
    };
    EXPECT_EQ(named("c8"), "AMD Radeon RX 7900 XTX");
    EXPECT_EQ(named("cc"), "AMD Radeon RX 7900 XT");
    EXPECT_EQ(named("d0"), std::nullopt);  // less specific than pci.ids
    EXPECT_EQ(named("d1"), std::nullopt);
    EXPECT_EQ(named("01"), std::nullopt);
}

TEST(Amdgpu, GivesMemorySerialAndName) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "1002", "740f", "038000", "amdgpu");
    machine.file(path + "/mem_info_vram_total", "68702699520\n");
    machine.file(path + "/mem_info_vram_used", "0\n");
    machine.file(path + "/mem_info_vis_vram_total", "68702699520\n");
    machine.file(path + "/mem_info_vis_vram_used", "4096\n");
    machine.file(path + "/mem_info_gtt_total", "0\n");
    machine.file(path + "/mem_info_gtt_used", "9\n");
    machine.file(path + "/unique_id", "18f68e602b8a790f\n");
    machine.file(path + "/product_name", "AMD INSTINCT MI210\n");
    machine.file(path + "/mem_info_vram_vendor", "samsung\n");
    machine.file(path + "/current_compute_partition", "CPX\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(readings(device),
              (Names{"amdgpu-sysfs total 68702699520", "amdgpu-sysfs used 0",
                     "amdgpu-sysfs visible-total 68702699520", "amdgpu-sysfs visible-used 4096",
                     "amdgpu-sysfs gtt-used 9"}));
    EXPECT_EQ(device.uuid, "18f68e602b8a790f");
    EXPECT_EQ(device.model, "AMD INSTINCT MI210");
    EXPECT_EQ(device.extra.at("vram_vendor"), Value{"samsung"});
    EXPECT_EQ(device.extra.at("compute_partition"), Value{"cpx"});
}

TEST(Amdgpu, DoesNotBelieveImpossibleSizesAndSerials) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:03:00.0", "1002", "740f", "038000", "amdgpu");
    machine.file(path + "/mem_info_vram_total", "18446744073709551615\n");
    machine.file(path + "/mem_info_vram_used", "-1\n");
    machine.file(path + "/mem_info_gtt_total", "\n");
    machine.file(path + "/unique_id", "0000000000000000\n");
    machine.file(path + "/product_name", "\n");
    const auto device = scanned(machine).devices.at(0);
    EXPECT_TRUE(device.memory.empty());
    EXPECT_EQ(device.uuid, std::nullopt);
    EXPECT_EQ(device.model, std::nullopt);
}

TEST(Amdgpu, DetectsAnApuByTheNamesOfItsSensors) {
    const FakeMachine machine;
    const auto apu = machine.pci("0000:04:00.0", "1002", "15bf", "030000", "amdgpu");
    machine.folder(apu + "/hwmon/hwmon6/in1_input");  // a folder, so reading it would fail
    machine.file(apu + "/hwmon/hwmon7/name", "other\n");
    const auto card = machine.pci("0000:05:00.0", "1002", "744c", "030000", "amdgpu");
    machine.file(card + "/hwmon/hwmon1/in0_label", "vddgfx\n");
    machine.file(card + "/board_info", "type : cem\n");
    const auto bare = machine.pci("0000:06:00.0", "1002", "744c", "030000", "amdgpu");
    machine.folder(bare + "/hwmon/hwmon2");
    const auto result = scanned(machine);
    EXPECT_EQ(result.devices.at(0).extra.at("has_vddnb"), Value{true});
    EXPECT_EQ(result.devices.at(1).extra.at("has_vddnb"), Value{false});
    EXPECT_EQ(result.devices.at(2).extra.at("has_vddnb"), Value{});
    EXPECT_EQ(result.devices.at(0).extra.at("has_board_info"), Value{});
    EXPECT_EQ(result.devices.at(1).extra.at("has_board_info"), Value{true});
    EXPECT_TRUE(result.notes.empty());
}

TEST(Amdgpu, WritesSerialsWithSixteenDigits) {
    EXPECT_EQ(amd_serial(0), std::nullopt);
    EXPECT_EQ(amd_serial(0xabc), "0000000000000abc");
    EXPECT_EQ(amd_serial(0xffffffffffffffff), "ffffffffffffffff");
}

TEST(GfxTarget, IsDecodedFromPairsOfDecimalDigits) {
    EXPECT_EQ(gfx_target_name(90010), "gfx90a");
    EXPECT_EQ(gfx_target_name(90000), "gfx900");
    EXPECT_EQ(gfx_target_name(90402), "gfx942");
    EXPECT_EQ(gfx_target_name(100300), "gfx1030");
    EXPECT_EQ(gfx_target_name(110003), "gfx1103");
    EXPECT_EQ(gfx_target_name(110501), "gfx1151");
    EXPECT_EQ(gfx_target_name(120001), "gfx1201");
    EXPECT_EQ(gfx_target_name(80003), "gfx803");
    EXPECT_EQ(gfx_target_name(0), std::nullopt);
    EXPECT_EQ(gfx_target_name(1000000), std::nullopt);
}

TEST(Kfd, JoinsANodeByAddress) {
    const FakeMachine machine;
    machine.pci("0000:64:00.0", "1002", "15bf", "030000", "amdgpu");
    machine.pci("0000:03:00.0", "1002", "7480", "030000", "amdgpu");
    kfd_node(machine, 0, "cpu_cores_count 16\nsimd_count 0\nlocation_id 0\n");
    kfd_node(machine, 1, gpu_properties("25600", "128") + "unique_id 5\n");
    bank(machine, 1, 0, "heap_type 1\nsize_in_bytes 31433977856\n");
    bank(machine, 1, 1, "heap_type 2\nsize_in_bytes 1024\n");
    bank(machine, 1, 2, "heap_type 0\nsize_in_bytes 99\n");
    const auto result = scanned(machine);
    const auto* device = device_in(result, "pci:0000:64:00.0");
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(device->extra.at("gfx_target"), Value{"gfx1103"});
    EXPECT_EQ(device->extra.at("kfd_node"), Value{1});
    EXPECT_EQ(device->extra.at("simd_count"), Value{24});
    EXPECT_EQ(device->extra.at("compute_units"), Value{12});
    EXPECT_EQ(readings(*device), Names{"kfd total 31433978880"});
    EXPECT_EQ(device->uuid, std::nullopt);
    EXPECT_TRUE(device_in(result, "pci:0000:03:00.0")->extra.at("kfd_node").is_null());
}

TEST(Kfd, JoinsANodeByDomain) {
    const FakeMachine machine;
    machine.pci("0000:03:00.0", "1002", "740f", "038000", "amdgpu");
    machine.pci("0001:03:00.0", "1002", "740f", "038000", "amdgpu");
    kfd_node(machine, 1,
             "simd_count 4\nlocation_id 768\ndomain 1\nunique_id 14073402507705256556\n");
    const auto result = scanned(machine);
    EXPECT_TRUE(device_in(result, "pci:0000:03:00.0")->extra.at("kfd_node").is_null());
    const auto* second = device_in(result, "pci:0001:03:00.0");
    EXPECT_EQ(second->uuid, "c34ec50444dd0a6c");
}

TEST(Kfd, DoesNotGuessAmongEqualAddressesWithoutADomain) {
    const FakeMachine machine;
    machine.pci("0000:03:00.0", "1002", "740f", "038000", "amdgpu");
    const auto second = machine.pci("0001:03:00.0", "1002", "740f", "038000", "amdgpu");
    kfd_node(machine, 1, "simd_count 4\nlocation_id 768\ndrm_render_minor 129\n");
    EXPECT_TRUE(scanned(machine).devices.at(1).extra.at("kfd_node").is_null());
    machine.class_member("drm", "renderD129", second, "226:129");
    const auto result = scanned(machine);
    EXPECT_TRUE(result.devices.at(0).extra.at("kfd_node").is_null());
    EXPECT_EQ(result.devices.at(1).extra.at("kfd_node"), Value{1});
}

TEST(Kfd, MakesPartitionsOfOneGpu) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:0c:00.0", "1002", "74a1", "120000", "amdgpu");
    machine.class_member("drm", "renderD128", path, "226:128");
    for (int i = 0; i < 2; ++i) {
        const auto name = "amdgpu_xcp_" + std::to_string(i);
        const auto render = std::to_string(129 + i);
        machine.class_member("drm", "renderD" + render, machine.platform(name, "amdgpu_xcp_drv"),
                             "226:" + render);
    }
    kfd_node(machine, 1, gpu_properties("3072", "128"));
    kfd_node(machine, 2, gpu_properties("268438528", "129"));
    kfd_node(machine, 3, gpu_properties("536873984", "130"));
    for (int node = 1; node <= 3; ++node)
        bank(machine, node, 0, "heap_type 1\nsize_in_bytes 1000\n");
    const auto result = scanned(machine);
    ASSERT_EQ(ids_of(result), Names{"pci:0000:0c:00.0"});
    const auto& device = result.devices.at(0);
    ASSERT_EQ(device.partitions.size(), 3U);
    EXPECT_EQ(device.partitions[1], (HardwarePartition{.name = "xcp-1",
                                                       .node = "/dev/dri/renderD129",
                                                       .nodes = {"/dev/dri/renderD129"},
                                                       .kfd_node = 2,
                                                       .memory = Bytes{1000}}));
    EXPECT_EQ(device.nodes.size(), 3U);
    EXPECT_EQ(readings(device), Names{"kfd total 3000"});
    EXPECT_EQ(device.drm.render, "226:128");
}

/// The values of location_id and unique_id for partitions in different kernels.
TEST(Kfd, FindsTheCardOfAPartitionInEveryEncoding) {
    struct Case {
        const char* name;
        const char* second;
    };
    for (const auto& [name, second] : std::to_array<Case>({
             {"low bits", "simd_count 4\ndomain 0\nlocation_id 3073\ndrm_render_minor 129\n"},
             {"high bits", "simd_count 4\ndomain 0\nlocation_id 268438528\ndrm_render_minor 129\n"},
             {"serial alone", "simd_count 4\nlocation_id 9\nunique_id 14073402507705256556\n"},
         })) {
        const FakeMachine machine;
        const auto path = machine.pci("0000:0c:00.0", "1002", "74a1", "120000", "amdgpu");
        machine.class_member("drm", "renderD128", path, "226:128");
        machine.pci("0001:0c:00.0", "1002", "74a1", "120000", "amdgpu");
        kfd_node(machine, 1,
                 "simd_count 4\ndomain 0\nlocation_id 3072\ndrm_render_minor 128\n"
                 "unique_id 14073402507705256556\n");
        kfd_node(machine, 2, second);
        const auto result = scanned(machine);
        EXPECT_EQ(device_in(result, "pci:0000:0c:00.0")->partitions.size(), 2U) << name;
        EXPECT_TRUE(device_in(result, "pci:0001:0c:00.0")->partitions.empty()) << name;
    }
}

TEST(Kfd, DoesNotSumMemoryThatPartitionsShare) {
    const FakeMachine machine;
    const auto path = machine.pci("0000:0c:00.0", "1002", "74a1", "120000", "amdgpu");
    machine.file(path + "/mem_info_vram_total", "1000000000\n");
    for (int i = 0; i < 8; ++i) {
        kfd_node(machine, 1 + i,
                 "simd_count 4\ndomain 0\nlocation_id " + std::to_string(3072 + i) + "\n");
        bank(machine, 1 + i, 0, "heap_type 1\nsize_in_bytes 1000000000\n");
    }
    const auto result = scanned(machine);
    EXPECT_EQ(result.devices.at(0).memory.back().bytes, Bytes{1000000000});
}

TEST(Kfd, TakesNoPartitionDeviceForAGpu) {
    const FakeMachine machine;
    machine.class_member("drm", "renderD129", "/sys/devices/platform/amdgpu_xcp_0", "226:129");
    machine.link("/sys/devices/platform/amdgpu_xcp_0/subsystem", "/sys/bus/platform");
    machine.class_member("drm", "renderD130", machine.platform("amdgpu_xcp.1", "amdgpu_xcp_drv"),
                         "226:130");
    EXPECT_TRUE(scanned(machine).devices.empty());
}

TEST(VirtualFunctions, ArePartitionsOfTheirCardWithEveryDriver) {
    const FakeMachine machine;
    const auto card = machine.pci("0000:85:00.0", "8086", "56c0", "038000", "i915");
    machine.class_member("drm", "renderD128", card, "226:128");
    for (const auto* address : {"0000:85:00.1", "0000:85:00.2"})
        machine.link(machine.pci(address, "8086", "56c0", "038000",
                                 std::string{address}.ends_with('2') ? "vfio-pci" : "") +
                         "/physfn",
                     card);
    const auto taken = machine.pci("0000:85:00.3", "8086", "56c0", "038000", "i915");
    machine.link(taken + "/physfn", card);
    machine.class_member("drm", "renderD129", taken, "226:129");
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), Names{"pci:0000:85:00.0"});
    const auto& partitions = result.devices.at(0).partitions;
    ASSERT_EQ(partitions.size(), 3U);
    EXPECT_EQ(partitions[0].name, "vf-0000:85:00.1");
    EXPECT_EQ(partitions[0].state, "idle");
    EXPECT_EQ(partitions[1].state, "vfio-pci");
    EXPECT_EQ(partitions[2].state, "i915");
    EXPECT_EQ(partitions[2].node, "/dev/dri/renderD129");
}

/// The host's driver is bound to virtual functions until they become vGPUs, and lists none of them
/// in /proc.
TEST(VirtualFunctions, ThatNvidiasDriverKeepsForGuestsAreIdlePartitions) {
    const FakeMachine machine;
    const auto card = machine.pci("0000:41:00.0", "10de", "2235", "030200", "nvidia");
    for (const auto* address : {"0000:41:00.4", "0000:41:00.5"})
        machine.link(machine.pci(address, "10de", "2235", "030200", "nvidia") + "/physfn", card);
    machine.pci("0000:42:00.0", "10de", "2235", "030200", "nvidia");  // as in a guest
    const auto result = scanned(machine);
    EXPECT_EQ(ids_of(result), (Names{"pci:0000:41:00.0", "pci:0000:42:00.0"}));
    const auto& partitions = result.devices.at(0).partitions;
    ASSERT_EQ(partitions.size(), 2U);
    EXPECT_EQ(partitions[0].name, "vf-0000:41:00.4");
    EXPECT_EQ(partitions[0].state, "idle");
}

TEST(Kfd, SurvivesPropertiesCutAtAnyByte) {
    const FakeMachine machine;
    machine.pci("0000:64:00.0", "1002", "15bf", "030000", "amdgpu");
    const auto whole = gpu_properties("25600", "128");
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        kfd_node(machine, 1, whole.substr(0, length));
        EXPECT_EQ(scanned(machine).devices.size(), 1U) << length;
    }
}

TEST(Kfd, IgnoresRubbish) {
    const FakeMachine machine;
    machine.pci("0000:64:00.0", "1002", "15bf", "030000", "amdgpu");
    kfd_node(machine, 1,
             "simd_count 99999999999999999999\nlocation_id -1\nfoo\n\xff\xfe 3\nsimd_count 1 2\n");
    machine.file("/sys/class/kfd/kfd/topology/nodes/readme", "");
    EXPECT_TRUE(scanned(machine).devices.at(0).extra.at("kfd_node").is_null());
}

}  // namespace amdgpu_test
}  // namespace gpuprobe
