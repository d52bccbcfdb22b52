// SPDX-License-Identifier: Apache-2.0
#include "explain/driver_choice.h"

#include <gtest/gtest.h>

#include "support/case_name.h"

namespace gpuprobe::test {
namespace driver_choice_test {

/// A GPU with that device id. `served`: NVIDIA's driver of that version and flavor serves it.
Gpu gpu(const char* id, const char* device, const char* version = "", const char* flavour = "") {
    Gpu gpu{.id = id, .kind = GpuKind::Discrete, .vendor = "nvidia"};
    gpu.pci = PciInfo{.vendor_id = "10de", .device_id = device};
    if (*version)
        gpu.driver = {.name = "nvidia", .version = version, .flavour = flavour};
    else
        gpu.findings = {because("no-driver")};
    return gpu;
}

constexpr const char* kFermi = "06c0";      // GTX 480
constexpr const char* kKepler = "128b";     // GT 710
constexpr const char* kPascal = "1b06";     // GTX 1080 Ti
constexpr const char* kTuring = "1f08";     // RTX 2060
constexpr const char* kBlackwell = "2b85";  // RTX 5090

struct Case {
    const char* name;
    const char* target;
    std::vector<Gpu> others;
    const char* role;  ///< empty: no role
};
class Roles : public ::testing::TestWithParam<Case> {};

TEST_P(Roles, SuitTheGpuAndTakeNoneAway) {
    Report report{.gpus = {gpu("pci:1", GetParam().target)}};
    for (const auto& other : GetParam().others)
        report.gpus.push_back(other);
    EXPECT_EQ(DriverChoice{report}.role_for("pci:1").value_or(""), GetParam().role);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Roles,
    ::testing::Values(
        Case{"Fermi", kFermi, {}, ""},
        Case{"Kepler", kKepler, {}, "nvidia-legacy"},
        Case{"Pascal", kPascal, {}, "nvidia-driver-580"},
        Case{"Turing", kTuring, {}, "nvidia-driver"},
        Case{"Blackwell", kBlackwell, {}, "nvidia-driver-open"},
        Case{"Unknown", "fffe", {}, "nvidia-driver"},
        Case{"PascalBesideTuring",
             kPascal,
             {gpu("pci:2", kTuring, "560.35.03", "open")},
             "nvidia-driver-580"},
        Case{"TuringBesidePascal",
             kTuring,
             {gpu("pci:2", kPascal, "570.1", "proprietary")},
             "nvidia-driver-580"},
        Case{"TuringBesideUnservedPascal", kTuring, {gpu("pci:2", kPascal)}, "nvidia-driver-580"},
        Case{"PascalBesideBlackwell", kPascal, {gpu("pci:2", kBlackwell, "570.1", "open")}, ""},
        Case{"BlackwellBesidePascal",
             kBlackwell,
             {gpu("pci:2", kPascal, "570.1", "proprietary")},
             ""},
        Case{"BlackwellBesideUnservedPascal",
             kBlackwell,
             {gpu("pci:2", kPascal)},
             "nvidia-driver-open"},
        Case{"TuringBesideBlackwell", kTuring, {gpu("pci:2", kBlackwell)}, "nvidia-driver-open"},
        Case{"KeplerBesidePascal",
             kKepler,
             {gpu("pci:2", kPascal, "470.1", "proprietary")},
             "nvidia-legacy"},
        Case{"KeplerBesideAda", kKepler, {gpu("pci:2", "2684", "550.1", "proprietary")}, ""},
        // The proprietary module does not support Blackwell GPUs.
        Case{"PascalBesideBrokenBlackwell",
             kPascal,
             {gpu("pci:2", kBlackwell, "570.1", "proprietary")},
             "nvidia-driver-580"}),
    support::case_name);

TEST(DriverChoice, KnowsTheLastBranchAndTheNewestCudaOfAGpu) {
    const Report report{.gpus = {gpu("pci:1", kKepler, "470.256.02", "proprietary"),
                                 gpu("pci:2", kTuring, "550.54", "open")}};
    const DriverChoice choice{report};
    EXPECT_FALSE(choice.may_update_to("pci:1", "525.60.13"));
    EXPECT_TRUE(choice.may_update_to("pci:1", "470.300"));
    EXPECT_FALSE(choice.may_update_to("pci:1", "450")) << "it has that already";
    EXPECT_TRUE(choice.may_update_to("pci:2", "580"));
    EXPECT_TRUE(choice.may_update_to("", "580")) << "one of them";
    EXPECT_FALSE(choice.may_support_cuda("pci:1", "12.0"));
    EXPECT_TRUE(choice.may_support_cuda("pci:1", "11.4"));
    EXPECT_TRUE(choice.may_support_cuda("pci:2", "13.0"));
    EXPECT_EQ(choice.last_branch("pci:1"), "470");
    EXPECT_EQ(choice.last_branch("pci:2"), std::nullopt);
    EXPECT_TRUE(choice.may_update_to("pci:9", "580")) << "nothing is known of it";
}

TEST(DriverChoice, SuggestsADriverIfThereIsNone) {
    Report report{.gpus = {gpu("pci:1", kFermi)}};
    EXPECT_EQ(DriverChoice{report}.without_role("pci:1"),
              "use the open driver nouveau: branch 390 was the last NVIDIA driver for this "
              "GPU, and no distribution packages it");
    report.host.setup = KernelSetup{.blacklist = std::vector<std::string>{"nouveau"}};
    EXPECT_NE(DriverChoice{report}.without_role("pci:1").find("remove it from the blacklist"),
              std::string::npos);
    report.gpus = {gpu("pci:1", kPascal), gpu("pci:2", kBlackwell, "570.1", "open")};
    EXPECT_NE(DriverChoice{report}.without_role("pci:1").find(
                  "use the open driver nouveau for this GPU or for pci:2"),
              std::string::npos);
}

}  // namespace driver_choice_test
}  // namespace gpuprobe::test
