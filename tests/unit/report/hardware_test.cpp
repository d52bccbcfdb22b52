// SPDX-License-Identifier: Apache-2.0
#include "report/hardware.h"

#include <gtest/gtest.h>

#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace hardware_test {

/// A device id that is in no table, so that only the rules apply.
constexpr const char* kUnlisted = "fff0";

struct RoleCase {
    const char* name;
    const char* vendor;
    const char* device;
    const char* pci_class;
    const char* driver;  ///< "" for no driver
    Role want;
};
class RoleOf : public testing::TestWithParam<RoleCase> {};

TEST_P(RoleOf, GoesByDriverVendorAndClass) {
    auto device =
        pci_device("0000:03:00.0", GetParam().vendor, GetParam().device, GetParam().pci_class);
    if (*GetParam().driver)
        device.driver = GetParam().driver;
    EXPECT_EQ(role_of(device), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    RoleOf,
    testing::Values(RoleCase{"NvidiaWithoutDriver", "10de", "2684", "0300", "", Role::Gpu},
                    RoleCase{"NvidiaPassedThrough", "10de", "2684", "0300", "vfio-pci", Role::Gpu},
                    RoleCase{"Headless3D", "10de", "2335", "0302", "nvidia", Role::Gpu},
                    RoleCase{"InstinctAsAccelerator", "1002", "74a1", "1200", "amdgpu", Role::Gpu},
                    RoleCase{"InstinctAsOther", "1002", "740f", "0380", "amdgpu", Role::Gpu},
                    RoleCase{"VmwareWith3D", "15ad", "0405", "0300", "vmwgfx", Role::Gpu},
                    RoleCase{"Virtio", "1af4", "1050", "0300", "virtio-pci", Role::Gpu},
                    RoleCase{"Ast", "1a03", "2000", "0300", "ast", Role::DisplayOnly},
                    RoleCase{"AstUnbound", "1a03", "2000", "0300", "", Role::DisplayOnly},
                    RoleCase{"Mgag200", "102b", "0536", "0300", "mgag200", Role::DisplayOnly},
                    RoleCase{"HisiliconBmc", "19e5", "1711", "0300", "", Role::DisplayOnly},
                    RoleCase{"OtherHuawei", "19e5", "d802", "1200", "", Role::Accelerator},
                    RoleCase{"QemuVga", "1234", "1111", "0300", "bochs-drm", Role::DisplayOnly},
                    RoleCase{"Vmware2D", "15ad", "0405", "0300", "", Role::DisplayOnly},
                    RoleCase{"OldVga", "1234", "0001", "0001", "", Role::DisplayOnly},
                    RoleCase{"Gaudi", "1da3", "1020", "1200", "habanalabs", Role::Accelerator},
                    RoleCase{"GaudiUnbound", "1da3", "1020", "1200", "", Role::Accelerator},
                    RoleCase{"IntelNpu", "8086", "7d1d", "1200", "intel_vpu", Role::Accelerator},
                    RoleCase{"AmdNpu", "1022", "1502", "1180", "amdxdna", Role::Accelerator},
                    RoleCase{"XeonPhi", "8086", "225c", "0b40", "", Role::Accelerator},
                    RoleCase{"QuickAssist", "8086", "37c8", "0b40", "c6xx", Role::Dropped},
                    RoleCase{"Sdxi", "1022", "1640", "1201", "", Role::Dropped},
                    RoleCase{"Vkms", "1234", "0000", "0300", "vkms", Role::Dropped},
                    RoleCase{"TestDevice", "1b36", "0005", "1200", "", Role::Dropped},
                    RoleCase{"Ec2", "1d0f", "1111", "0300", "", Role::DisplayOnly},
                    RoleCase{"Bhyve", "fb5d", "40fb", "0300", "", Role::DisplayOnly},
                    RoleCase{"Parallels", "1ab8", "4005", "0300", "", Role::DisplayOnly},
                    RoleCase{"Sis", "1039", "6330", "0300", "", Role::DisplayOnly},
                    RoleCase{"RageXl", "1002", "4752", "0300", "", Role::DisplayOnly},
                    RoleCase{"Loongson", "0014", "7a06", "0300", "loongson", Role::DisplayOnly},
                    RoleCase{"Phytium", "1db7", "dc22", "0380", "", Role::DisplayOnly},
                    RoleCase{"PowerUnit", "10de", "0aa3", "0b40", "", Role::Dropped},
                    RoleCase{"NobodyKnown", "beef", "0001", "0300", "", Role::DisplayOnly},
                    RoleCase{"NewOfAGpuVendor", "10de", kUnlisted, "0302", "", Role::Gpu},
                    RoleCase{"3DOfAnUnlistedMaker", "beef", "0001", "0302", "beefgpu", Role::Gpu},
                    RoleCase{"3DWithoutDriver", "beef", "0001", "0302", "", Role::DisplayOnly},
                    RoleCase{"3DForAGuest", "beef", "0001", "0302", "vfio-pci", Role::DisplayOnly},
                    RoleCase{"Trainium", "1d0f", "7164", "0880", "neuron", Role::Accelerator},
                    RoleCase{"Hailo", "1e60", "2864", "0b40", "hailo", Role::Accelerator},
                    RoleCase{"NewHailo", "1e60", kUnlisted, "0b40", "", Role::Accelerator},
                    RoleCase{"HygonAsCoprocessor", "1d94", "62b7", "0b40", "", Role::Gpu},
                    RoleCase{"NewHygonDriven", "1d94", kUnlisted, "0b40", "hydcu", Role::Gpu},
                    RoleCase{"MetaxDriven", "9999", kUnlisted, "1200", "metax", Role::Gpu},
                    RoleCase{"HeldByXen", "10de", "2684", "0300", "pciback", Role::Gpu}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(RoleOf, TakesWhatRendersForAGpuWhoeverMadeIt) {
    auto device = pci_device("0000:03:00.0", "beef", "0001", "0300");
    with_drm(device, 0, 128);
    EXPECT_EQ(judge_role(device).role, Role::Gpu);
    EXPECT_EQ(judge_role(device).basis, Basis::Rule);
}

TEST(RoleOf, SaysWhatItRestsOn) {
    EXPECT_EQ(judge_role(pci_device("0000:03:00.0", "10de", "2684", "0300")).basis, Basis::Table);
    EXPECT_EQ(judge_role(pci_device("0000:03:00.0", "10de", kUnlisted, "0300")).basis, Basis::Rule);
    auto bound = pci_device("0000:03:00.0", "1a03", "2000", "0300");
    bound.driver = "ast";
    EXPECT_EQ(judge_role(bound).basis, Basis::Driver);
}

/// If the table lacks the second function, only the scan can drop it, after the first function.
TEST(RoleOf, DropsTheSecondFunctionOfAnIntegratedGpu) {
    EXPECT_EQ(role_of(pci_device("0000:00:02.1", "8086", "2a43", "0380")), Role::Dropped);
    EXPECT_EQ(role_of(pci_device("0000:00:02.1", "8086", kUnlisted, "0380")), Role::Gpu);
}

TEST(RoleOf, TellsRenderAndDisplayControllersOfASocApart) {
    HardwareDevice display{.id = "platform:gpu", .bus = HardwareBus::Platform};
    display.driver = "vc4";
    display.is_drm = true;
    display.drm.primary = "226:0";
    EXPECT_EQ(role_of(display), Role::Dropped);
    HardwareDevice render{.id = "platform:v3d", .bus = HardwareBus::Platform};
    render.driver = "v3d";
    with_drm(render, 1, 128);
    EXPECT_EQ(role_of(render), Role::Gpu);
    HardwareDevice firmware{.id = "platform:simple-framebuffer.0", .bus = HardwareBus::Platform};
    firmware.driver = "simple-framebuffer";
    EXPECT_EQ(role_of(firmware), Role::DisplayOnly);
    HardwareDevice fake{.id = "platform:vgem", .bus = HardwareBus::Platform};
    fake.driver = "vgem";
    with_drm(fake, 2, 130);
    EXPECT_EQ(role_of(fake), Role::Dropped);
}

struct PassedThroughRow {
    const char* name;
    std::optional<std::string> driver;
    bool is_passed_through;
};
class PassedThrough : public testing::TestWithParam<PassedThroughRow> {};

TEST_P(PassedThrough, IsRecognizedByTheDriver) {
    auto device = pci_device("0000:03:00.0", "10de", "2684", "0300");
    device.driver = GetParam().driver;
    EXPECT_EQ(is_passed_through(device), GetParam().is_passed_through);
}

INSTANTIATE_TEST_SUITE_P(Table,
                         PassedThrough,
                         testing::Values(PassedThroughRow{"Vfio", "vfio-pci", true},
                                         PassedThroughRow{"VfioOfXe", "xe-vfio-pci", true},
                                         PassedThroughRow{"VfioOfNvidia", "nvgrace_gpu_vfio_pci",
                                                          true},
                                         PassedThroughRow{"Xen", "pciback", true},
                                         PassedThroughRow{"Nvidia", "nvidia", false},
                                         PassedThroughRow{"VfioWithin", "vfio-pci-x", false},
                                         PassedThroughRow{"NoDriver", {}, false}),
                         [](const auto& row) { return std::string{row.param.name}; });

TEST(Vendors, MakeGpusAcceleratorsOrBoth) {
    EXPECT_TRUE(makes_gpus("10de"));
    EXPECT_TRUE(makes_gpus("8086"));
    EXPECT_FALSE(makes_gpus("1a03")) << "only displays";
    EXPECT_FALSE(makes_gpus("1e60"));
    EXPECT_TRUE(makes_only_accelerators("1e60"));
    EXPECT_FALSE(makes_only_accelerators("8086")) << "Intel makes GPUs too";
    EXPECT_FALSE(makes_only_accelerators("1a03"));
    for (const auto* unknown : {"beef", ""}) {
        EXPECT_FALSE(makes_gpus(unknown));
        EXPECT_FALSE(makes_only_accelerators(unknown));
        EXPECT_EQ(vendor_word(unknown), std::nullopt);
    }
    EXPECT_EQ(vendor_word("10de"), "nvidia");
}

TEST(VendorOf, IsTheOneOfTheIdElseOfTheChipElseOfTheDriver) {
    HardwareDevice device{.id = "platform:gpu", .bus = HardwareBus::Platform};
    EXPECT_EQ(vendor_of(device), std::nullopt);
    device.driver = "panthor";
    EXPECT_EQ(vendor_of(device), "arm");
    device.compatible = {"apple,agx-g13g"};
    EXPECT_EQ(vendor_of(device), "apple");
    device.vendor_id = "10de";
    EXPECT_EQ(vendor_of(device), "nvidia");
    device.vendor_id = "beef";
    EXPECT_EQ(vendor_of(device), std::nullopt) << "an unknown id is not replaced by a guess";
}

TEST(VendorOfApi, IsKnownForApisOfOneVendor) {
    EXPECT_EQ(vendor_of_api("cuda"), "nvidia");
    EXPECT_EQ(vendor_of_api("hip"), "amd");
    EXPECT_EQ(vendor_of_api("vulkan"), std::nullopt);
    EXPECT_EQ(vendor_of_api("nothing"), std::nullopt);
}

TEST(DriverRow, OfADeviceThatADriverCreatedIsFoundByItsName) {
    const auto is_known = [](const char* id) {
        return driver_row_of({.id = id, .bus = HardwareBus::Platform}) != nullptr;
    };
    EXPECT_TRUE(is_known("platform:vgem"));
    EXPECT_TRUE(is_known("platform:vgem.0"));
    EXPECT_TRUE(is_known("platform:amdgpu_xcp_3"));
    EXPECT_FALSE(is_known("pci:vgem"));
    EXPECT_FALSE(is_known("platform:"));
    EXPECT_FALSE(is_known("platform:123"));
}

TEST(VirtualGpu, IsRecognizedByChipOrDriver) {
    EXPECT_TRUE(is_virtual_gpu(pci_device("0000:00:01.0", "1af4", "1050", "0300")));
    EXPECT_TRUE(is_virtual_gpu(pci_device("0000:00:0f.0", "15ad", "0405", "0300")));
    EXPECT_FALSE(is_virtual_gpu(pci_device("0000:01:00.0", "10de", "2684", "0300")));
    HardwareDevice mmio{.id = "platform:a000000.virtio_mmio", .bus = HardwareBus::Platform};
    EXPECT_FALSE(is_virtual_gpu(mmio));
    mmio.driver = "virtio_gpu";
    EXPECT_TRUE(is_virtual_gpu(mmio));
}

}  // namespace hardware_test
}  // namespace gpuprobe::test
