// SPDX-License-Identifier: Apache-2.0
#include "inventory/nvidia.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace nvidia_test {

using Names = std::vector<std::string>;

constexpr const char* kOpen =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  "
    "(dvs-builder@U22-I3-AM02-24-3)  Tue Jan  6 19:48:33 UTC 2026\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
constexpr const char* kProprietary =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n"
    "GCC version:  gcc version 11.3.0\n";
constexpr const char* kInformation =
    "Model: \t\t NVIDIA H200\n"
    "IRQ:   \t\t 45\n"
    "GPU UUID: \t GPU-2f7c1a90-63f5-4d0e-9b1c-0c5f6a1f9a11\n"
    "Video BIOS: \t 96.00.bc.00.02\n"
    "Bus Type: \t PCIe\n"
    "Bus Location: \t 0000:00:06.0\n"
    "Device Minor: \t 3\n"
    "GPU Firmware: \t 580.159.04\n"
    "GPU Excluded:\t No\n";

TEST(NvidiaVersion, DistinguishesTheOpenModuleFromTheProprietaryOne) {
    EXPECT_EQ(parse_nvidia_version(kOpen), (NvidiaModule{"580.159.04", "open"}));
    EXPECT_EQ(parse_nvidia_version(kProprietary), (NvidiaModule{"535.54.03", "proprietary"}));
}

TEST(NvidiaVersion, OfAnythingElseIsUnknown) {
    for (const auto* text : {"", "\n", "NVRM version:", "NVRM version: none", "Linux 6.12.1"})
        EXPECT_EQ(parse_nvidia_version(text), NvidiaModule{}) << text;
}

TEST(NvidiaVersion, SurvivesACutAtAnyByte) {
    const std::string whole = kOpen;
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto module = parse_nvidia_version(whole.substr(0, length));
        if (module.version) {
            EXPECT_TRUE(std::string_view{"580.159.04"}.starts_with(*module.version)) << length;
        }
    }
}

TEST(NvidiaInformation, HasModelUuidAndMinor) {
    EXPECT_EQ(parse_nvidia_information(kInformation),
              (NvidiaInformation{.model = "NVIDIA H200",
                                 .uuid = "GPU-2f7c1a90-63f5-4d0e-9b1c-0c5f6a1f9a11",
                                 .minor = 3}));
}

TEST(NvidiaInformation, DoesNotTakeAPlaceholderForAUuid) {
    for (const auto* line :
         {"GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n",
          "GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000\n", "GPU UUID: \t N/A\n",
          "GPU UUID:\n"})
        EXPECT_EQ(parse_nvidia_information(line).uuid, std::nullopt) << line;
}

TEST(NvidiaInformation, OfAnUninitialisedGpuHasNoUuid) {
    const auto information =
        parse_nvidia_information("Model: \t\t Unknown\nIRQ:   \t\t 0\nDevice Minor: \t x\n");
    EXPECT_EQ(information, NvidiaInformation{});
}

TEST(NvidiaInformation, SurvivesACutAtAnyByte) {
    const std::string whole = kInformation;
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_LE(parse_nvidia_information(whole.substr(0, length)).minor.value_or(0), 3U);
}

/// An H200 with the open kernel module.
std::string h200(const FakeMachine& machine) {
    auto path = machine.pci("0000:00:06.0", "10de", "2335", "030200", "nvidia");
    machine.file("/sys/module/nvidia/version", "580.159.04\n");
    machine.file("/proc/driver/nvidia/version", kOpen);
    machine.file("/proc/driver/nvidia/gpus/0000:00:06.0/information", kInformation);
    return path;
}

TEST(NvidiaFacts, NameAndPlaceTheGpu) {
    const FakeMachine machine;
    h200(machine);
    const auto device = scanned(machine, R"({"/dev/nvidia3":{"major":195,"minor":3,"mode":438,
                                             "accessible":true}, "/dev/nvidia-uvm":{}})")
                            .devices.at(0);
    EXPECT_EQ(device.driver_version, "580.159.04");
    EXPECT_EQ(device.driver_flavour, "open");
    EXPECT_EQ(device.model, "NVIDIA H200");
    EXPECT_EQ(device.uuid, "GPU-2f7c1a90-63f5-4d0e-9b1c-0c5f6a1f9a11");
    EXPECT_EQ(device.extra.at("nvidia_minor"), Value{3});
    ASSERT_EQ(device.nodes.size(), 1U);
    EXPECT_EQ(device.nodes[0].path, "/dev/nvidia3");
    EXPECT_EQ(device.nodes[0].device, "195:3");
    EXPECT_TRUE(device.findings.empty());
}

TEST(NvidiaFacts, TakeTheVersionFromProcWhereTheModuleHidesIt) {
    const FakeMachine machine;
    machine.pci("0000:00:06.0", "10de", "2335", "030200", "nvidia");
    machine.file("/proc/driver/nvidia/version", kProprietary);
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.driver_version, "535.54.03");
    EXPECT_EQ(device.driver_flavour, "proprietary");
}

TEST(NvidiaFacts, FindTheirFolderByAddressNotBySpelling) {
    const FakeMachine machine;
    machine.pci("0000:0a:00.0", "10de", "2335", "030200", "nvidia");
    machine.file("/proc/driver/nvidia/gpus/00000000:0A:00.0/information", kInformation);
    EXPECT_EQ(scanned(machine).devices.at(0).model, "NVIDIA H200");
}

TEST(NvidiaFacts, ListMigInstances) {
    const FakeMachine machine;
    h200(machine);
    const std::string folder = "/proc/driver/nvidia/capabilities/gpu3/mig";
    machine.file(folder + "/config", "");
    machine.file(folder + "/gi1/access", "DeviceFileMinor: 417\nDeviceFileMode: 292\n");
    machine.file(folder + "/gi1/ci0/access", "DeviceFileMinor: 418\nDeviceFileMode: 292\n");
    machine.file(folder + "/gi1/ci1/access", "");
    machine.file(folder + "/gi9/access", "");
    machine.file(folder + "/gi10/access", "");
    machine.file(folder + "/gi10/ci0/access", "DeviceFileMinor: nonsense\n");
    const auto result = scanned(machine);
    const auto& parts = result.devices.at(0).partitions;
    ASSERT_EQ(parts.size(), 4U);
    EXPECT_EQ(parts[0], (HardwarePartition{.name = "mig-1",
                                           .gpu_instance = 1,
                                           .compute_instance = 0,
                                           .nodes = {"/dev/nvidia-caps/nvidia-cap417",
                                                     "/dev/nvidia-caps/nvidia-cap418"}}));
    EXPECT_EQ(parts[1].name, "mig-1.1");
    EXPECT_EQ(parts[2], (HardwarePartition{
                            .name = "mig-9", .gpu_instance = 9, .state = "no-compute-instance"}));
    EXPECT_EQ(parts[3].name, "mig-10");
}

TEST(NvidiaFacts, AreNotAskedForUnderAnotherDriver) {
    const FakeMachine machine;
    machine.pci("0000:00:06.0", "10de", "2335", "030200", "nouveau");
    machine.file("/proc/driver/nvidia/gpus/0000:00:06.0/information", kInformation);
    const auto device = scanned(machine).devices.at(0);
    EXPECT_EQ(device.model, std::nullopt);
    EXPECT_EQ(device.driver_version, "6.12.1");
}

const Reason* finding(const HardwareDevice& device, std::string_view code) {
    for (const auto& found : device.findings)
        if (found.code == code)
            return &found;
    return nullptr;
}

TEST(Findings, SeeALibraryOfAnotherVersionThanTheModule) {
    const FakeMachine machine;
    h200(machine);
    machine.file("/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05", "");
    machine.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.580.95.05");
    const auto device = scanned(machine).devices.at(0);
    const auto* mismatch = finding(device, "driver-mismatch");
    ASSERT_NE(mismatch, nullptr);
    EXPECT_EQ(mismatch->detail.at("kernel"), Value{"580.159.04"});
    EXPECT_EQ(mismatch->detail.at("userspace"), Value{"580.95.05"});
    EXPECT_EQ(mismatch->detail.at("library"),
              Value{"/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"});
}

TEST(Findings, AreSilentWhereVersionsAgreeOrAreUnknown) {
    struct Row {
        const char* folder;
        const char* target;
    };
    for (const auto& row :
         {Row{"/usr/lib64", "libcuda.so.580.159.04"},
          Row{"/usr/lib/x86_64-linux-gnu", "libcuda.so.1.1"}, Row{"/usr/lib", "libcuda-stub.so"}}) {
        const FakeMachine machine;
        h200(machine);
        machine.file(std::string{row.folder} + "/" + row.target, "");
        machine.link(std::string{row.folder} + "/libcuda.so.1", row.target);
        EXPECT_EQ(finding(scanned(machine).devices.at(0), "driver-mismatch"), nullptr)
            << row.target;
    }
}

TEST(Findings, FollowAlternativesToTheLibrary) {
    const FakeMachine machine;
    h200(machine);
    machine.file("/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.247.01", "");
    machine.link("/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1", "libcuda.so.535.247.01");
    machine.link("/etc/alternatives/nvidia--libcuda.so.1",
                 "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1");
    machine.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                 "/etc/alternatives/nvidia--libcuda.so.1");
    const auto device = scanned(machine).devices.at(0);
    ASSERT_NE(finding(device, "driver-mismatch"), nullptr);
    EXPECT_EQ(finding(device, "driver-mismatch")->detail.at("userspace"), Value{"535.247.01"});
}

TEST(Findings, SeeLibrariesOfTwoVersions) {
    const FakeMachine machine;
    h200(machine);
    const std::string folder = "/usr/lib/x86_64-linux-gnu/";
    machine.file(folder + "libcuda.so.580.159.04", "");
    machine.link(folder + "libcuda.so.1", "libcuda.so.580.159.04");
    machine.link(folder + "libnvidia-ml.so.1", "libnvidia-ml.so.580.159.04");
    machine.file(folder + "libnvidia-ml.so.580.159.04", "");
    EXPECT_EQ(finding(scanned(machine).devices.at(0), "driver-mixed"), nullptr);

    machine.link(folder + "libnvidia-ptxjitcompiler.so.1",
                 "libnvidia-ptxjitcompiler.so.535.247.01");
    machine.file(folder + "libnvidia-ptxjitcompiler.so.535.247.01", "");
    const auto device = scanned(machine).devices.at(0);
    const auto* mixed = finding(device, "driver-mixed");
    ASSERT_NE(mixed, nullptr);
    EXPECT_EQ(mixed->detail.at("version"), Value{"535.247.01"});
    EXPECT_EQ(mixed->detail.at("cuda"), Value{"580.159.04"});
    EXPECT_EQ(mixed->detail.at("library"),
              Value{folder + "libnvidia-ptxjitcompiler.so.535.247.01"});
}

TEST(Findings, MissTheUvmNodeOnlyWhereNodesAreKnown) {
    const FakeMachine machine;
    h200(machine);
    EXPECT_EQ(finding(scanned(machine).devices.at(0), "uvm-missing"), nullptr);
    EXPECT_EQ(finding(scanned(machine, R"({"/dev/nvidia3":{},"/dev/nvidia-uvm":{}})").devices.at(0),
                      "uvm-missing"),
              nullptr);
    const auto device = scanned(machine, R"({"/dev/nvidia3":{}})").devices.at(0);
    const auto* missing = finding(device, "uvm-missing");
    ASSERT_NE(missing, nullptr);
    EXPECT_EQ(missing->detail.at("node"), Value{"/dev/nvidia-uvm"});
    EXPECT_EQ(missing->detail.at("module_loaded"), Value{false});
}

TEST(Findings, NameAFunctionWithoutADriver) {
    const FakeMachine machine;
    machine.pci("0000:01:00.0", "10de", "2684", "030000");
    EXPECT_NE(finding(scanned(machine).devices.at(0), "no-driver"), nullptr);
}

TEST(Findings, ExpectNoDriverForDisplays) {
    const FakeMachine machine;
    machine.pci("0000:05:00.0", "1a03", "2000", "030000");
    EXPECT_TRUE(scanned(machine).devices.at(0).findings.empty());
}

TEST(Findings, DoNotTakeACaptureWithoutUeventForAMissingDriver) {
    const FakeMachine machine;
    machine.file("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    machine.file("/sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
    EXPECT_TRUE(scanned(machine).devices.at(0).findings.empty());
}

TEST(Findings, NameAFunctionKeptForAVirtualMachine) {
    for (const auto* driver : {"vfio-pci", "pci-stub", "pciback", "nvgrace-gpu-vfio-pci"}) {
        const FakeMachine machine;
        machine.pci("0000:01:00.0", "10de", "2684", "030000", driver);
        const auto device = scanned(machine).devices.at(0);
        const auto* kept = finding(device, "passthrough");
        ASSERT_NE(kept, nullptr) << driver;
        EXPECT_EQ(kept->detail.at("driver"), Value{driver});
    }
}

struct Release {
    const char* text;
    std::optional<std::string> wanted;
};

TEST(JetsonRelease, IsTheSecondWord) {
    const Release rows[] = {
        {"# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic\n", "R36"},
        {"# R35\n", "R35"},
        {"# X36\n", std::nullopt},
        {"# R\n", std::nullopt},
        {"# R36x\n", std::nullopt},
        {"#R36\n", std::nullopt},
        {"", std::nullopt},
    };
    for (const auto& row : rows) {
        const support::TemporaryFolder folder;
        folder.write("etc/nv_tegra_release", row.text);
        EXPECT_EQ(jetson_release(RootedFiles{folder.path()}), row.wanted) << row.text;
    }
    EXPECT_EQ(jetson_release(RootedFiles{"/nonexistent"}), std::nullopt);
}

}  // namespace nvidia_test
}  // namespace gpuprobe
