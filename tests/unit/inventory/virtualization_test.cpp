// SPDX-License-Identifier: Apache-2.0
#include "inventory/virtualization.h"

#include <gtest/gtest.h>

#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace virtualization_test {

TEST(Container, IsNoneOnAPlainMachine) {
    const FakeMachine machine;
    machine.file("/proc/1/cgroup", "0::/init.scope\n");
    EXPECT_EQ(container_of(RootedFiles{machine.root()}), std::nullopt);
}

struct ContainerRow {
    const char* name = "";
    const char* path = "";
    std::string content = {};
    const char* container = "";
};
class ContainerSign : public testing::TestWithParam<ContainerRow> {};

TEST_P(ContainerSign, NamesTheManager) {
    const FakeMachine machine;
    machine.file(GetParam().path, GetParam().content);
    EXPECT_EQ(container_of(RootedFiles{machine.root()}), GetParam().container);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ContainerSign,
    testing::Values(ContainerRow{"Interface", "/run/host/container-manager", "systemd-nspawn\n",
                                 "systemd-nspawn"},
                    ContainerRow{"Systemd", "/run/systemd/container", "lxc", "lxc"},
                    ContainerRow{"Environment", "/proc/1/environ",
                                 std::string{"A=b\0container=podman\0C=", 23}, "podman"},
                    ContainerRow{"Podman", "/run/.containerenv", "", "podman"},
                    ContainerRow{"Docker", "/.dockerenv", "", "docker"},
                    ContainerRow{"Kubernetes", "/proc/1/cgroup",
                                 "1:cpu:/kubepods/besteffort/pod1/abc\n", "kubernetes"},
                    ContainerRow{"DockerCgroup", "/proc/1/cgroup", "1:cpu:/docker/0123\n",
                                 "docker"},
                    ContainerRow{"OnlyOci", "/run/systemd/container", "oci", "container-other"}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Container, OciIsRefinedByAMarker) {
    const FakeMachine machine;
    machine.file("/run/systemd/container", "oci\n");
    machine.file("/.dockerenv", "");
    EXPECT_EQ(container_of(RootedFiles{machine.root()}), "docker");
}

TEST(Container, DoesNotRepeatRubbish) {
    const FakeMachine machine;
    machine.file("/run/systemd/container", "$(rm -rf /)\n");
    EXPECT_EQ(container_of(RootedFiles{machine.root()}), std::nullopt);
}

struct VmRow {
    const char* name = "";
    const char* flags = "";
    const char* product = "";
    const char* signature = "";
    std::optional<std::string> virtualization = {};
};
class HypervisorSign : public testing::TestWithParam<VmRow> {};

TEST_P(HypervisorSign, IsNamedAsSystemdNamesIt) {
    const FakeMachine machine;
    const auto& row = GetParam();
    const auto cpuinfo = *row.flags ? std::string{"flags\t\t: "} + row.flags + "\n" : "";
    machine.file("/sys/class/dmi/id/product_name", std::string{row.product} + "\n");
    EXPECT_EQ(virtualization_of(RootedFiles{machine.root()}, cpuinfo, row.signature),
              row.virtualization);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    HypervisorSign,
    testing::Values(VmRow{"BareMetal", "fpu sse", "ThinkPad X1", "", std::nullopt},
                    VmRow{"Kvm", "fpu hypervisor", "", "KVMKVMKVM", "kvm"},
                    VmRow{"KvmBeatsQemusDmi", "hypervisor", "QEMU Virtual Machine", "KVMKVMKVM",
                          "kvm"},
                    VmRow{"Emulated", "hypervisor", "Standard PC", "TCGTCGTCGTCG", "qemu"},
                    VmRow{"HyperV", "hypervisor", "Virtual Machine", "Microsoft Hv", "microsoft"},
                    VmRow{"Vmware", "hypervisor", "VMware7,1", "VMwareVMware", "vmware"},
                    VmRow{"Xen", "hypervisor", "HVM domU", "XenVMMXenVMM", "xen"},
                    VmRow{"VirtualBoxOnKvm", "hypervisor", "VirtualBox", "KVMKVMKVM", "oracle"},
                    VmRow{"Google", "hypervisor", "Google Compute Engine", "KVMKVMKVM", "google"},
                    VmRow{"Bhyve", "hypervisor", "BHYVE", "bhyve bhyve ", "bhyve"},
                    VmRow{"Unknown", "hypervisor", "", "SomethingNew", "vm-other"},
                    VmRow{"MetalInstance", "fpu sse", "Amazon EC2", "", std::nullopt},
                    VmRow{"ArmMetalInstance", "", "c7g.metal", "", std::nullopt},
                    VmRow{"ArmByDmi", "", "KVM Virtual Machine", "", "kvm"},
                    VmRow{"ArmWithoutAnything", "", "", "", std::nullopt}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Hypervisor, OfXensFirstDomainIsNone) {
    const FakeMachine machine;
    const auto* const cpuinfo = "flags\t\t: hypervisor\n";
    machine.file("/sys/hypervisor/type", "xen\n");
    EXPECT_EQ(virtualization_of(RootedFiles{machine.root()}, cpuinfo, ""), "xen");
    machine.file("/proc/xen/capabilities", "control_d\n");
    EXPECT_EQ(virtualization_of(RootedFiles{machine.root()}, cpuinfo, ""), std::nullopt);
}

TEST(Hypervisor, OnArmIsInTheDeviceTree) {
    const FakeMachine machine;
    machine.file("/proc/device-tree/hypervisor/compatible", std::string_view{"xen,xen\0", 8});
    EXPECT_EQ(virtualization_of(RootedFiles{machine.root()}, "", ""), "xen");
}

TEST(ContainerPart, KeepsOnlyWhatAScanUses) {
    using namespace std::string_literals;
    EXPECT_EQ(container_part("/proc/1/environ", "HOME=/root\0container=podman\0TOKEN=x\0"s),
              "container=podman\0"s);
    EXPECT_EQ(container_part("/proc/1/environ", "HOME=/root\0"s), "");
    EXPECT_EQ(container_part("/proc/1/cgroup", "0::/user.slice/marta/docker/abc\n"),
              "0::/docker\n");
    EXPECT_EQ(container_part("/proc/1/cgroup", "0::/user.slice/user-1000.slice\n"), "");
    EXPECT_EQ(container_part("/proc/cpuinfo", ""), std::nullopt);
}

}  // namespace virtualization_test
}  // namespace gpuprobe
