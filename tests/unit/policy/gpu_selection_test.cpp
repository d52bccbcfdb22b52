// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "policy/environment.h"
#include "policy/fact.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace gpu_selection_test {

using support::amd_card;
using support::fact;
using support::hybrid_laptop;
using support::intel_graphics;
using support::kFirstUuid;
using support::kSecondUuid;
using support::nvidia_card;
using support::report_of;
using support::seen;
using support::two_identical_cards;

/// Formats a selector: "cuda stable A=1 | B=2 word". The variables after "|" must also be set.
std::string line_of(const GpuSelector& selector) {
    std::string line =
        selector.api + (selector.kind == SelectorKind::Stable ? " stable" : " index");
    if (selector.partition)
        line += " of " + *selector.partition;
    for (const auto& [name, value] : selector.variables)
        line += " " + name + "=" + value;
    if (selector.argument)
        line += " " + *selector.argument;
    if (!selector.environment.empty())
        line += " |";
    for (const auto& [name, value] : selector.environment)
        line += " " + name + "=" + value;
    return line;
}

std::vector<std::string> lines_of(const Report& report, std::size_t place, std::string_view api) {
    std::vector<std::string> lines;
    for (const auto& selector : gpu_selectors(report, report.gpus.at(place)))
        if (selector.api == api)
            lines.push_back(line_of(selector));
    return lines;
}

using Lines = std::vector<std::string>;

TEST(GpuSelectors, NameAnNvidiaCardByUuidAndByPlaceOnTheBus) {
    const auto report = two_identical_cards();
    const auto uuid = std::string{kSecondUuid};
    EXPECT_EQ(lines_of(report, 1, "cuda"),
              (Lines{"cuda stable CUDA_VISIBLE_DEVICES=" + uuid,
                     "cuda index CUDA_VISIBLE_DEVICES=1 | CUDA_DEVICE_ORDER=PCI_BUS_ID"}));
    EXPECT_EQ(lines_of(report, 1, "container"),
              (Lines{"container stable NVIDIA_VISIBLE_DEVICES=" + uuid,
                     "container stable nvidia.com/gpu=" + uuid}));
}

TEST(GpuSelectors, LeaveOutTheUuidThatNamesNothing) {
    auto report = two_identical_cards();
    report.gpus[1].identity.nvidia_uuid = "GPU-XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX";
    EXPECT_EQ(lines_of(report, 1, "cuda"),
              Lines{"cuda index CUDA_VISIBLE_DEVICES=1 | CUDA_DEVICE_ORDER=PCI_BUS_ID"});
    EXPECT_EQ(lines_of(report, 1, "container"), Lines{});
}

TEST(GpuSelectors, HaveOneForEachMigInstanceWithAUuid) {
    auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    const std::string first = "MIG-7e611089-1272-699d-8985-ab84fef4311e";
    const std::string second = "MIG-8e611089-1272-699d-8985-ab84fef4311e";
    report.gpus[0].partitions = {{.name = "mig-3", .uuid = first},
                                 {.name = "mig-4", .uuid = second}};
    EXPECT_EQ(lines_of(report, 0, "cuda"),
              (Lines{"cuda stable CUDA_VISIBLE_DEVICES=" + first + "," + second,
                     "cuda stable of mig-3 CUDA_VISIBLE_DEVICES=" + first,
                     "cuda stable of mig-4 CUDA_VISIBLE_DEVICES=" + second}));
    report.gpus[0].partitions[1].uuid.reset();
    EXPECT_EQ(lines_of(report, 0, "cuda"),
              (Lines{"cuda stable of mig-3 CUDA_VISIBLE_DEVICES=" + first}));
}

TEST(GpuSelectors, KeepTheUuidsOfAnOldDriversInstances) {
    auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    const std::string uuid = "MIG-" + std::string{kFirstUuid} + "/3/0";
    report.gpus[0].partitions = {{.name = "mig-3", .uuid = uuid}};
    EXPECT_EQ(environment_for(report, report.gpus[0]).at("CUDA_VISIBLE_DEVICES"), uuid);
}

TEST(GpuSelectors, NameARadeonByItsIdAndPositions) {
    auto report = report_of(
        {amd_card("0000:03:00.0", "", 0), amd_card("0000:83:00.0", "a1b2c3d4e5f60718", 1)});
    EXPECT_EQ(lines_of(report, 1, "hip"),
              (Lines{"hip stable HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=GPU-a1b2c3d4e5f60718",
                     "hip index HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=1",
                     "hip index HIP_VISIBLE_DEVICES=1", "hip index ROCR_VISIBLE_DEVICES=1"}));
    EXPECT_EQ(lines_of(report, 0, "hip"),
              (Lines{"hip index HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0",
                     "hip index HIP_VISIBLE_DEVICES=0", "hip index ROCR_VISIBLE_DEVICES=0"}));
}

TEST(GpuSelectors, CountIntelCardsOnlyInPciOrder) {
    auto report =
        report_of({support::gpu_at("0000:83:00.0", "intel", GpuKind::Discrete), intel_graphics()});
    report.gpus[0].apis["level_zero"] = seen(0);
    report.gpus[1].apis["level_zero"] = seen(1);
    const std::string order =
        " | ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 "
        "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE";
    EXPECT_EQ(
        lines_of(report, 0, "level_zero"),
        (Lines{"level_zero index ONEAPI_DEVICE_SELECTOR=level_zero:0 ZE_AFFINITY_MASK=1" + order,
               "level_zero index ONEAPI_DEVICE_SELECTOR=level_zero:1" + order,
               "level_zero index ZE_AFFINITY_MASK=1" + order}));
}

TEST(GpuSelectors, NameTheManifestThatNoOtherDeviceUses) {
    const std::string files = " VK_DRIVER_FILES=" + std::string{support::kNvidiaManifest} +
                              " VK_ICD_FILENAMES=" + support::kNvidiaManifest;
    EXPECT_EQ(lines_of(hybrid_laptop(), 0, "vulkan"), Lines{"vulkan stable" + files});
    EXPECT_EQ(lines_of(two_identical_cards(), 0, "vulkan"),
              Lines{"vulkan index GGML_VK_VISIBLE_DEVICES=0 | NODEVICE_SELECT=1" + files});
}

TEST(GpuSelectors, CountEveryDeviceBehindAManifest) {
    const auto has_own = [](const Report& report) {
        return lines_of(report, 0, "vulkan").front().starts_with("vulkan stable VK_DRIVER_FILES");
    };
    ASSERT_TRUE(has_own(hybrid_laptop()));
    auto as_alternative = hybrid_laptop();
    Value other;
    other["driver"] = support::kNvidiaManifest;
    as_alternative.gpus[1].apis["vulkan"].device["alternatives"].push_back(other);
    EXPECT_FALSE(has_own(as_alternative));
    auto joined_weakly = two_identical_cards();
    joined_weakly.gpus[1].apis["vulkan"].joined_by = "weak";
    EXPECT_FALSE(has_own(joined_weakly));
    auto left_out = hybrid_laptop();
    left_out.notes = {because("ambiguous", {{"driver", support::kNvidiaManifest}})};
    EXPECT_FALSE(has_own(left_out));
}

TEST(GpuSelectors, TellMesaByIdsAndTwinsByAddress) {
    const std::string files = " VK_DRIVER_FILES=" + std::string{support::kRadvManifest} +
                              " VK_ICD_FILENAMES=" + support::kRadvManifest;
    const std::string force = " MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE=1";
    const auto one = report_of({amd_card("0000:03:00.0", "", 0)});
    EXPECT_EQ(lines_of(one, 0, "vulkan"),
              (Lines{"vulkan stable MESA_VK_DEVICE_SELECT=1002:744c |" + force + files,
                     "vulkan stable DRI_PRIME=pci-0000_03_00_0 |" + force + files,
                     "vulkan stable" + files}));
    EXPECT_EQ(lines_of(one, 0, "opengl"), Lines{"opengl stable DRI_PRIME=pci-0000_03_00_0"});
    const auto two = report_of({amd_card("0000:03:00.0", "", 0), amd_card("10000:83:00.0", "", 1)});
    EXPECT_EQ(lines_of(two, 1, "vulkan"),
              (Lines{"vulkan stable DRI_PRIME=pci-10000_83_00_0 |" + force + files,
                     "vulkan index GGML_VK_VISIBLE_DEVICES=1 | NODEVICE_SELECT=1" + files}));
}

/// Two Radeons with different or equal device ids, and this version of Mesa.
Report two_radeons(const char* mesa, const char* second_id) {
    auto report = report_of({amd_card("0000:03:00.0", "", 0), amd_card("0000:83:00.0", "", 1)});
    report.gpus[1].pci->device_id = second_id;
    for (auto& gpu : report.gpus)
        gpu.apis["vulkan"].device["driver_info"] = mesa;
    return report;
}

/// The variables that select the second GPU in Vulkan, without variables that must also be set.
Lines second_by(const Report& report) {
    Lines lines;
    for (const auto& selector : gpu_selectors(report, report.gpus[1]))
        if (selector.api == "vulkan")
            lines.push_back(selector.variables.begin()->first);
    return lines;
}

TEST(GpuSelectors, UseWhatTheVersionOfMesaSupports) {
    const std::string ids = "MESA_VK_DEVICE_SELECT";
    const std::string address = "DRI_PRIME";
    const std::string place = "GGML_VK_VISIBLE_DEVICES";
    EXPECT_EQ(second_by(two_radeons("Mesa 23.1.0", "73bf")), (Lines{ids, address, place}));
    EXPECT_EQ(second_by(two_radeons("Mesa 23.0.3 (git-1)", "73bf")), (Lines{ids, place}));
    EXPECT_EQ(second_by(two_radeons("Mesa 22.2.0-1", "73bf")), (Lines{ids, place}));
    for (const auto* old_or_unknown : {"Mesa 22.1.7", "Mesa", "", "RADV 25.0"})
        EXPECT_EQ(second_by(two_radeons(old_or_unknown, "73bf")), Lines{place}) << old_or_unknown;
    EXPECT_EQ(second_by(two_radeons("Mesa 23.1.0", "744c")), (Lines{address, place}));
    EXPECT_EQ(second_by(two_radeons("Mesa 22.3.6", "744c")), Lines{place});
}

TEST(GpuSelectors, UseMesasDeviceSelectLayerOnlyIfItIsInstalled) {
    const std::string place = "GGML_VK_VISIBLE_DEVICES";
    auto report = two_radeons("Mesa 25.0.7-2", "73bf");
    report.host.libraries = {"libVkLayer_MESA_device_select.so", "libvulkan.so.1"};
    EXPECT_EQ(second_by(report), (Lines{"MESA_VK_DEVICE_SELECT", "DRI_PRIME", place}));
    EXPECT_EQ(seen_beside(report, report.gpus[1]), Lines{});
    report.host.libraries = {"libvulkan.so.1"};
    EXPECT_EQ(second_by(report), Lines{place});
    EXPECT_EQ(seen_beside(report, report.gpus[1]), Lines{"pci:0000:03:00.0"});
    report.runtimes["vulkan"].version = "1.4.326";
    EXPECT_EQ(second_by(report), (Lines{"VK_LOADER_DEVICE_ID_FILTER", place}));
    EXPECT_EQ(seen_beside(report, report.gpus[1]), Lines{});
}

TEST(EnvironmentOfAGpu, ReportsTheGpusThatItDoesNotHide) {
    const auto beside = [](const Report& report) { return seen_beside(report, report.gpus[1]); };
    const Lines first{"pci:0000:03:00.0"};
    const Lines none;
    EXPECT_EQ(beside(two_radeons("Mesa 22.3.6", "744c")), first);
    EXPECT_EQ(beside(two_radeons("Mesa 22.1.0", "73bf")), first);
    EXPECT_EQ(beside(two_radeons("Mesa 22.3.6", "73bf")), none);
    EXPECT_EQ(beside(two_radeons("Mesa 23.1.0", "744c")), none);
    auto hidden = two_radeons("Mesa 22.3.6", "744c");
    hidden.gpus[0].apis.erase("vulkan");
    EXPECT_EQ(beside(hidden), none);
    EXPECT_EQ(beside(hybrid_laptop()), none);
}

TEST(EnvironmentOfAGpu, ReportsTheApisInWhichItHidesNothing) {
    const auto visible = [](const Report& report) { return not_hidden(report, report.gpus[1]); };
    using Visible = std::vector<VisibleGpus>;
    const Lines first{"pci:0000:03:00.0"};
    // seen_beside() reports the first Radeon for programs that do not read ggml's variable.
    auto radeons = two_radeons("Mesa 22.3.6", "744c");
    EXPECT_EQ(visible(radeons), Visible{});
    for (auto& gpu : radeons.gpus)
        gpu.apis["vaapi"].device["driver_version"] = "25.0";
    EXPECT_EQ(visible(radeons), (Visible{{.api = "vaapi", .gpus = first}}));
    // Mesa's OpenCL driver numbers its devices, but no variable contains this number.
    for (auto& gpu : radeons.gpus) {
        gpu.apis["opencl"] = support::seen(0);
        gpu.apis["opencl"].device["platform_name"] = "rusticl";
        gpu.apis["opencl"].device["name"] = "AMD Radeon";
    }
    radeons.gpus[0].vendor = radeons.gpus[1].vendor = "intel";
    EXPECT_EQ(visible(radeons),
              (Visible{{.api = "opencl", .gpus = first}, {.api = "vaapi", .gpus = first}}));
    // Only ggml reads the variables that contain the name of a device.
    radeons.gpus[1].apis["opencl"].device["name"] = "AMD Radeon 780M";
    EXPECT_TRUE(environment_for(radeons, radeons.gpus[1]).contains("GGML_OPENCL_DEVICE"));
    EXPECT_EQ(visible(radeons).front(), (VisibleGpus{.api = "opencl", .gpus = first}));
    // NVIDIA's OpenCL driver follows CUDA_VISIBLE_DEVICES.
    auto nvidia = two_identical_cards();
    EXPECT_EQ(visible(nvidia), Visible{});
    for (auto& gpu : nvidia.gpus)
        gpu.apis["vulkan"].index.reset();
    EXPECT_EQ(visible(nvidia), (Visible{{.api = "vulkan", .gpus = {nvidia.gpus[0].id}}}));
}

TEST(GpuSelectors, FilterByIdWhereTheVulkanLoaderCan) {
    auto report = two_identical_cards();
    report.gpus[1].pci->device_id = "2684";
    const auto with_loader = [&report](std::optional<std::string> version) {
        report.runtimes["vulkan"].version = std::move(version);
        return second_by(report);
    };
    const Lines old{"GGML_VK_VISIBLE_DEVICES"};
    EXPECT_EQ(with_loader("1.4.326"), (Lines{"VK_LOADER_DEVICE_ID_FILTER", old[0]}));
    EXPECT_EQ(with_loader("1.4.325"), old);
    EXPECT_EQ(with_loader(std::nullopt), old);
    report.gpus[1].pci->device_id = report.gpus[0].pci->device_id;
    EXPECT_EQ(with_loader("1.4.326"), old) << "both have this id";
}

TEST(GpuSelectors, HaveTheNamesOfGgml) {
    auto report = two_identical_cards();
    const std::string files = " VK_DRIVER_FILES=" + std::string{support::kNvidiaManifest} +
                              " VK_ICD_FILENAMES=" + support::kNvidiaManifest;
    EXPECT_EQ(lines_of(report, 1, "ggml"),
              (Lines{"ggml stable CUDA0 | CUDA_VISIBLE_DEVICES=" + std::string{kSecondUuid},
                     "ggml index CUDA1 | CUDA_DEVICE_ORDER=PCI_BUS_ID",
                     "ggml index Vulkan0 | GGML_VK_VISIBLE_DEVICES=1 NODEVICE_SELECT=1" + files,
                     "ggml index Vulkan1 | NODEVICE_SELECT=1" + files}));
    report.gpus[0].apis["vulkan"].index.reset();
    for (const auto& line : lines_of(report, 1, "ggml"))
        EXPECT_FALSE(line.starts_with("ggml index Vulkan1")) << "the other's place is not known";
}

TEST(EnvironmentOfAGpu, HidesWhereOnlyOtherGpusAre) {
    const auto report =
        report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0), amd_card("0000:03:00.0", "", 0)});
    const auto nvidia = environment_for(report, report.gpus[0]);
    EXPECT_EQ(nvidia.at("CUDA_VISIBLE_DEVICES"), kFirstUuid);
    EXPECT_EQ(nvidia.at("VK_DRIVER_FILES"), support::kNvidiaManifest);
    EXPECT_EQ(nvidia.at("HIP_VISIBLE_DEVICES"), "-1");
    EXPECT_EQ(nvidia.at("ROCR_VISIBLE_DEVICES"), "");
    EXPECT_FALSE(nvidia.contains("ZE_AFFINITY_MASK")) << "nothing of Intel's is here";
    const auto amd = environment_for(report, report.gpus[1]);
    EXPECT_EQ(amd.at("CUDA_VISIBLE_DEVICES"), "");
    EXPECT_EQ(amd.at("HIP_VISIBLE_DEVICES"), "0") << "a position, where there is no better name";
    EXPECT_EQ(amd.at("MESA_VK_DEVICE_SELECT"), "1002:744c");
}

/// A card that is asleep, or whose driver crashed, still exists for programs.
TEST(EnvironmentOfAGpu, HidesOtherGpusThatWereNotProbed) {
    auto report =
        report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0), amd_card("0000:03:00.0", "", 0)});
    report.gpus[0].apis.erase("cuda");
    report.gpus[0].backends["cuda"] = support::unclear("asleep");
    EXPECT_EQ(environment_for(report, report.gpus[1]).at("CUDA_VISIBLE_DEVICES"), "");
    report.gpus[1].backends["cuda"] = support::unclear("not-probed");
    EXPECT_FALSE(environment_for(report, report.gpus[1]).contains("CUDA_VISIBLE_DEVICES"))
        << "nobody knows of this one either";
    report.gpus[1].backends["cuda"] = support::unusable("vendor-mismatch");
    report.gpus[0].backends["cuda"] = support::unusable("driver-missing");
    EXPECT_FALSE(environment_for(report, report.gpus[1]).contains("CUDA_VISIBLE_DEVICES"));
}

TEST(GpuSelectors, OffloadGlxToTheOnlyNvidiaCardBesideTheDisplay) {
    auto report = hybrid_laptop();
    report.gpus[0].driver.name = "nvidia";
    EXPECT_EQ(lines_of(report, 0, "opengl"), Lines{});  // no GPU can draw
    report.gpus[1].primary = true;
    EXPECT_EQ(lines_of(report, 0, "opengl"),
              Lines{"opengl stable __GLX_VENDOR_LIBRARY_NAME=nvidia __NV_PRIME_RENDER_OFFLOAD=1 "
                    "__VK_LAYER_NV_optimus=NVIDIA_only"});
    auto twins = report;
    twins.gpus.push_back(twins.gpus[0]);
    EXPECT_EQ(lines_of(twins, 0, "opengl"), Lines{});
    report.gpus[0].primary = true;
    EXPECT_EQ(lines_of(report, 0, "opengl"), Lines{});
}

TEST(GpuSelectors, NameOpenclPlatformAndDevice) {
    auto report = two_identical_cards();
    for (auto& gpu : report.gpus) {
        gpu.apis["opencl"].device["platform_name"] = "NVIDIA CUDA";
        gpu.apis["opencl"].device["name"] = "Card " + gpu.id;
    }
    const std::string by_name =
        "opencl stable GGML_OPENCL_DEVICE=Card pci:0000:41:00.0 GGML_OPENCL_PLATFORM=NVIDIA CUDA";
    // Only ocl-icd accepts a file in OCL_ICD_VENDORS.
    EXPECT_EQ(lines_of(report, 1, "opencl"), Lines{by_name});
    report.runtimes["opencl"].loader_name = "khronos";
    EXPECT_EQ(lines_of(report, 1, "opencl"), Lines{by_name});
    report.runtimes["opencl"].loader_name = kOclIcd;
    EXPECT_EQ(
        lines_of(report, 1, "opencl"),
        (Lines{by_name, "opencl index 0:1 | OCL_ICD_VENDORS=/etc/OpenCL/vendors/nvidia.icd"}));
    report.gpus[0].apis["opencl"].device["platform_name"] = "Another";
    // The number of the first platform is unknown.
    EXPECT_EQ(lines_of(report, 1, "opencl").size(), 1U);
}

TEST(GpuSelectors, CountRocmsOpenclDevices) {
    auto report = report_of({amd_card("0000:03:00.0", "", 0)});
    report.gpus[0].apis["opencl"] = seen(0, "/etc/OpenCL/vendors/amdocl64.icd");
    EXPECT_EQ(lines_of(report, 0, "opencl"), Lines{"opencl index GPU_DEVICE_ORDINAL=0"});
    report.gpus[0].apis["opencl"].driver = "/etc/OpenCL/vendors/rusticl.icd";
    EXPECT_EQ(lines_of(report, 0, "opencl"), Lines{});
}

TEST(GpuSelectors, AreNoneForAGpuThatNothingNames) {
    auto report = report_of({support::management_display()});
    EXPECT_TRUE(gpu_selectors(report, report.gpus[0]).empty());
}

// Facts for environments --------------------------------------------------------------------------

TEST(EnvironmentRules, NameNoFactForNoGpu) {
    const auto report = report_of({});
    for (const auto* name : {"nvidia_uuids", "ordinals", "vulkan_manifests", "memory_mib",
                             "mesa_device", "opencl_device", "pci_addresses"})
        EXPECT_EQ(fact(name, report, {}), std::nullopt) << name;
}

TEST(SelectorFacts, GiveAddressesAndMemory) {
    auto report = two_identical_cards();
    EXPECT_EQ(fact("pci_addresses", report, {1, 0}), "0000:41:00.0,0000:06:00.0");
    EXPECT_EQ(fact("memory_mib", report, {0, 1}), "143360,143360");
    report.gpus[0].memory.allocatable.reset();
    report.gpus[1].pci->address.reset();
    EXPECT_EQ(fact("memory_mib", report, {0, 1}), std::nullopt);
    EXPECT_EQ(fact("pci_addresses", report, {0, 1}), std::nullopt);
}

TEST(SelectorFacts, AreKnownByName) {
    EXPECT_TRUE(is_selector_fact("nvidia_uuids"));
    EXPECT_FALSE(is_selector_fact("uuids"));
    EXPECT_EQ(fact("uuids", two_identical_cards(), {0}), std::nullopt);
}

// A profile's variables for the CPU can contain any fact, although no GPU is selected.
TEST(SelectorFacts, AreUnknownIfNoGpuIsSelected) {
    auto report = hybrid_laptop();
    report.gpus[0].driver.name = "nvidia";
    report.gpus[1].primary = true;
    for (const auto* name :
         {"cuda_pci_ranks",      "glx_offload",    "hip_ids",          "hip_indices",
          "memory_mib",          "mesa_device",    "mesa_pci",         "mesa_tag",
          "nvidia_uuids",        "only_gpu",       "opencl_device",    "opencl_indices",
          "opencl_platform",     "opencl_vendor",  "ordinals",         "pci_addresses",
          "rocm_opencl_indices", "vulkan_indices", "vulkan_manifests", "vulkan_own_manifest",
          "vulkan_ranks"}) {
        ASSERT_TRUE(is_selector_fact(name)) << name;
        EXPECT_EQ(selector_fact(name, {.report = report}), std::nullopt) << name;
    }
}

}  // namespace gpu_selection_test
}  // namespace gpuprobe
