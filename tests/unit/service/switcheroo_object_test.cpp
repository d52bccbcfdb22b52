// SPDX-License-Identifier: Apache-2.0
#include "service/switcheroo_object.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace switcheroo_object_test {

using Words = std::vector<std::string>;

const Words kNvidia{"__GLX_VENDOR_LIBRARY_NAME", "nvidia",     "__NV_PRIME_RENDER_OFFLOAD", "1",
                    "__VK_LAYER_NV_optimus",     "NVIDIA_only"};

Gpu gpu_at(const char* address, const char* driver, const char* node, GpuKind kind) {
    Gpu gpu{.id = "pci:" + std::string{address},
            .kind = kind,
            .name = "A " + std::string{driver},
            .pci = PciInfo{.address = parse_text(std::string_view{address},
                                                 std::type_identity<PciAddress>{})},
            .driver = {.name = driver},
            .nodes = {{.path = node}}};
    return gpu;
}

Report laptop() {
    Report report;
    report.gpus = {gpu_at("0000:01:00.0", "nvidia", "/dev/dri/renderD128", GpuKind::Discrete),
                   gpu_at("0000:00:02.0", "i915", "/dev/dri/renderD129", GpuKind::Integrated)};
    report.gpus[1].primary = true;
    return report;
}

// Properties from the report ----------------------------------------------------------------------

TEST(SwitcherooGpus, AreSortedAndNameTheDefault) {
    const std::vector<SwitcherooGpu> wanted{
        {.name = "A i915", .environment = {"DRI_PRIME", "pci-0000_00_02_0"}, .is_default = true},
        {.name = "A nvidia", .environment = kNvidia, .is_discrete = true}};
    EXPECT_EQ(switcheroo_gpus(laptop()), wanted);
}

TEST(SwitcherooGpus, HaveADefaultOnlyIfItIsKnown) {
    auto report = laptop();
    report.gpus[1].primary = false;
    for (const auto& gpu : switcheroo_gpus(report))
        EXPECT_FALSE(gpu.is_default) << gpu.name;
    report.gpus.pop_back();
    ASSERT_EQ(switcheroo_gpus(report).size(), 1U);
    EXPECT_TRUE(switcheroo_gpus(report)[0].is_default) << "the only one";
}

TEST(SwitcherooGpus, LeaveOutWhatCannotRender) {
    auto report = laptop();
    report.gpus[0].nodes = {{.path = "/dev/dri/card0"}};
    report.gpus[1].kind = GpuKind::DisplayOnly;
    EXPECT_TRUE(switcheroo_gpus(report).empty());
}

TEST(SwitcherooGpus, HaveANameEvenIfTheReportHasNone) {
    auto report = laptop();
    report.gpus[1].name.reset();
    EXPECT_EQ(switcheroo_gpus(report)[0].name, "Unknown Graphics Controller");
}

// Properties with names from udev -----------------------------------------------------------------

RenderNode node_of(const char* path, const char* tag, const char* driver) {
    return {.path = path, .path_tag = tag, .driver = driver};
}

TEST(SwitcherooNodes, KeepTheirOrderAndTakeTheKindFromTheReport) {
    auto intel = node_of("/dev/dri/renderD129", "pci-0000_00_02_0", "i915");
    intel.is_boot_display = true;
    const auto nvidia = node_of("/dev/dri/renderD128", "pci-0000_01_00_0", "nvidia");
    const auto gpus = switcheroo_gpus(laptop(), {nvidia, intel});
    ASSERT_EQ(gpus.size(), 2U);
    EXPECT_EQ(gpus[0].environment, kNvidia);
    EXPECT_TRUE(gpus[0].is_discrete);
    EXPECT_FALSE(gpus[0].is_default);
    EXPECT_EQ(gpus[1].environment, (Words{"DRI_PRIME", "pci-0000_00_02_0"}));
    EXPECT_FALSE(gpus[1].is_discrete);
    EXPECT_TRUE(gpus[1].is_default);
}

TEST(SwitcherooNodes, LeaveOutWhatNoVariableSelects) {
    const auto unnamed = node_of("/dev/dri/renderD130", "", "vgem");
    const auto intel = node_of("/dev/dri/renderD129", "pci-0000_00_02_0", "i915");
    const auto gpus = switcheroo_gpus(laptop(), {unnamed, intel});
    ASSERT_EQ(gpus.size(), 1U);
    EXPECT_TRUE(gpus[0].is_default) << "the only one left";
}

struct NameRow {
    const char* name;
    std::optional<std::string> vendor;
    std::optional<std::string> model;
    const char* wanted;
};
class SwitcherooName : public ::testing::TestWithParam<NameRow> {};

TEST_P(SwitcherooName, IsWrittenAsSwitcherooControlDoes) {
    auto node = node_of("/dev/dri/renderD129", "pci-0000_00_02_0", "i915");
    node.vendor = GetParam().vendor;
    node.model = GetParam().model;
    EXPECT_EQ(switcheroo_gpus({}, {node}).at(0).name, GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(Table,
                         SwitcherooName,
                         ::testing::Values(NameRow{"Both", "Vendor", "Model", "Vendor Model"},
                                           NameRow{"Intel", "Intel(R)", "Iris Graphics Controller",
                                                   "Intel\xc2\xae Iris Graphics"},
                                           NameRow{"Amd", "AMD", "Radeon of AMD",
                                                   "AMD\xc2\xae Radeon of AMD\xc2\xae"},
                                           NameRow{"OnlyTheModel", {}, "AMD Model", "AMD Model"},
                                           NameRow{"OnlyTheVendor", "AMD", {}, "AMD"},
                                           NameRow{"None", {}, {}, "Unknown Graphics Controller"}),
                         [](const auto& row) { return std::string{row.param.name}; });

}  // namespace switcheroo_object_test
}  // namespace gpuprobe
