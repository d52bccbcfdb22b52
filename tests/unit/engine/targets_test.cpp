// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/probe_targets.h"
#include "support/case_name.h"

namespace gpuprobe::engine {
namespace targets_test {

/// A laptop with an Intel GPU, an NVIDIA GPU, and another NVIDIA GPU in a dock.
Machine hybrid_laptop(const char* nvidia_status) {
    Machine machine;
    machine.devices = {HardwareDevice{.id = "pci:0000:00:02.0",
                                      .vendor_id = "8086",
                                      .driver = "i915",
                                      .runtime_status = "active",
                                      .nodes = {DeviceNode{.path = "/dev/dri/renderD128"}}},
                       HardwareDevice{.id = "pci:0000:01:00.0",
                                      .vendor_id = "10de",
                                      .driver = "nvidia",
                                      .runtime_status = nvidia_status,
                                      .nodes = {DeviceNode{.path = "/dev/dri/renderD129"}}},
                       HardwareDevice{.id = "pci:0000:02:00.0",
                                      .vendor_id = "10de",
                                      .driver = "nvidia",
                                      .runtime_status = "active",
                                      .nodes = {DeviceNode{.path = "/dev/dri/renderD130"}}}};
    return machine;
}

struct Case {
    const char* name;
    const char* api;
    const char* driver;
    bool wakes;
};
class ASleepingNvidia : public ::testing::TestWithParam<Case> {};

TEST_P(ASleepingNvidia, IsWokenOnlyByDriversThatMayUseIt) {
    const ProbeTarget target{.api = GetParam().api, .driver = GetParam().driver};
    const auto sleeper = sleeper_woken_by(target, hybrid_laptop("suspended"));
    EXPECT_EQ(sleeper,
              GetParam().wakes ? std::optional<std::string>{"pci:0000:01:00.0"} : std::nullopt);
}

/// Codecs sleep whenever they are idle, and no driver of a GPU opens them.
TEST(ASleepingCodec, KeepsNoGpuDriverFromRunning) {
    auto machine = hybrid_laptop("active");
    machine.devices.push_back(HardwareDevice{.id = "platform:fdf80200.rkvdec",
                                             .driver = "rkvdec",
                                             .runtime_status = "suspended",
                                             .nodes = {DeviceNode{.path = "/dev/video1"}}});
    const ProbeTarget rusticl{.api = "opencl", .driver = "/etc/OpenCL/vendors/rusticl.icd"};
    EXPECT_EQ(sleeper_woken_by(rusticl, machine), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ASleepingNvidia,
    ::testing::Values(
        Case{"NotByPci", "pci", "", false},
        Case{"ByItsVulkanDriver", "vulkan", "/usr/share/vulkan/icd.d/nvidia_icd.json", true},
        Case{"ByNouveau", "vulkan", "/usr/share/vulkan/icd.d/nouveau_icd.x86_64.json", true},
        Case{"NotByIntelVulkan", "vulkan", "/usr/share/vulkan/icd.d/intel_icd.x86_64.json", false},
        Case{"NotByLavapipe", "vulkan", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", false},
        Case{"NotByPocl", "opencl", "/etc/OpenCL/vendors/pocl.icd", false},
        Case{"ByAnUnknownDriver", "opencl", "/etc/OpenCL/vendors/rusticl.icd", true},
        Case{"ByCuda", "cuda", "", true},
        Case{"ByNvdec", "nvcodec", "", true},
        Case{"NotByHip", "hip", "", false},
        Case{"NotBySysman", "level_zero_sysman", "", false},
        Case{"NotByDrmWhichAsksEachNode", "drm", "", false},
        Case{"NotByTheVaDriverOfAnotherNode", "vaapi", "/dev/dri/renderD128", false},
        Case{"ByTheVaDriverOfItsNode", "vaapi", "/dev/dri/renderD129", true},
        Case{"ByTheVaDriverOfAnotherNvidia", "vaapi", "/dev/dri/renderD130", true}),
    support::case_name);

TEST(AnActiveGpu, IsWokenByNothing) {
    const ProbeTarget target{.api = "cuda"};
    EXPECT_EQ(sleeper_woken_by(target, hybrid_laptop("active")), std::nullopt);
}

TEST(SortForStart, BeginsWithTargetsThatNameGpusAndEndsWithTargetsWithoutGpus) {
    auto targets = std::vector<ProbeTarget>{
        {.api = "cuda"},
        {.api = "hip"},
        {.api = "nvml"},
        {.api = "drm"},
        {.api = "pci"},
        {.api = "vulkan", .driver = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"},
        {.api = "vulkan", .driver = "/usr/share/vulkan/icd.d/nvidia_icd.json"}};
    ProbeResults known;
    for (const auto& [target, time] : {std::pair{targets.at(0), std::chrono::milliseconds{200}},
                                       std::pair{targets.at(6), std::chrono::milliseconds{300}}})
        known.keep({.api = target.api,
                    .driver = target.driver,
                    .outcome = Outcome::Answered,
                    .duration = time});
    sort_for_start(targets, hybrid_laptop("active"), known);
    std::vector<std::string> order;
    for (const auto& target : targets)
        order.push_back(target.api + target.driver.substr(target.driver.rfind('/') + 1));
    EXPECT_EQ(order, (std::vector<std::string>{"nvml", "drm", "vulkannvidia_icd.json", "cuda",
                                               "pci", "hip", "vulkanlvp_icd.x86_64.json"}));
}

TEST(PathsOfADriver, AreItsManifestOrTheFoldersOfVaDrivers) {
    using Paths = std::vector<std::string>;
    const Host host{.arch = "riscv64"};
    EXPECT_EQ(paths_of_driver({.api = "cuda"}, host), Paths{});
    EXPECT_EQ(paths_of_driver({.api = "v4l2", .driver = "/dev/video10"}, host), Paths{});
    EXPECT_EQ(paths_of_driver({.api = "vulkan", .driver = "/a/b.json"}, host), Paths{"/a/b.json"});
    const auto folders = paths_of_driver({.api = "vaapi", .driver = "/dev/dri/renderD128"}, host);
    for (const auto* folder :
         {"/usr/lib/riscv64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib64/dri-nonfree",
          "/usr/lib64/dri-freeworld", "/usr/lib/dri", "/run/opengl-driver/lib/dri"})
        EXPECT_NE(std::ranges::find(folders, folder), folders.end()) << folder;
    EXPECT_EQ(std::ranges::find(folders, "/dev/dri/renderD128"), folders.end())
        << "a node is new at each boot";
}

TEST(SkippedAsleep, NamesTheDevice) {
    const auto probe = skipped_asleep(ProbeTarget{.api = "cuda"}, "pci:0000:01:00.0");
    EXPECT_EQ(probe.outcome, Outcome::Skipped);
    ASSERT_EQ(probe.reasons.size(), 1u);
    EXPECT_EQ(probe.reasons[0].code, "asleep");
    EXPECT_EQ(*probe.reasons[0].detail.at("device").as_string(), "pci:0000:01:00.0");
}

/// A GPU in MIG mode with two instances, of which CUDA shows the first, and the targets for it.
Gpu divided_gpu(const char* api, const char* backend) {
    Gpu gpu{.id = "pci:0000:01:00.0"};
    auto& view = gpu.apis[api];
    view = {.outcome = Outcome::Answered, .index = 0};
    view.device = value_of(DeviceFacts{.index = 0, .pci = PciAddress{.bus = 1}});
    gpu.backends[backend].usable = true;
    return gpu;
}

std::vector<std::string> devices_tried(const Gpu& gpu, const char* api, const char* asked) {
    const Report report{.gpus = {gpu}};
    const ProbeRequest request{.stage = "verify", .gpus = {asked}};
    std::vector<std::string> devices;
    for (const auto& [target, whole] : trial_targets(report, {{.api = api}}, request)) {
        EXPECT_EQ(whole, &report.gpus.front());
        devices.push_back(target.device.value_or(""));
    }
    return devices;
}

TEST(TrialTargets, OfADividedGpuAreItsInstances) {
    using Devices = std::vector<std::string>;
    auto gpu = divided_gpu("cuda", "cuda");
    EXPECT_EQ(devices_tried(gpu, "cuda", "pci:0000:01:00.0"), Devices{"pci:0000:01:00.0"});
    gpu.partitions = {{.name = "mig-1",
                       .id = "pci:0000:01:00.0/mig-1",
                       .uuid = "MIG-1",
                       .indices = {{"cuda", 0}}},
                      {.name = "mig-2", .id = "pci:0000:01:00.0/mig-2", .uuid = "MIG-2"},
                      {.name = "mig-3", .id = "pci:0000:01:00.0/mig-3"}};  // no key identifies it
    EXPECT_EQ(devices_tried(gpu, "cuda", "pci:0000:01:00.0"),
              (Devices{"uuid:MIG-1", "uuid:MIG-2"}));
    EXPECT_EQ(devices_tried(gpu, "cuda", "pci:0000:01:00.0/mig-2"), Devices{"uuid:MIG-2"});
}

/// If another GPU has MIG instances, CUDA lists a GPU only to programs that name it.
TEST(TrialTargets, OfAGpuThatIsListedWhenNamedGoByItsAddress) {
    using Devices = std::vector<std::string>;
    auto gpu = divided_gpu("cuda", "cuda");
    gpu.pci = PciInfo{.address = PciAddress{.bus = 1}};
    gpu.apis.at("cuda") = {.outcome = Outcome::Absent,
                           .reasons = {because("not-listed"), because("one-instance-listed")}};
    EXPECT_EQ(devices_tried(gpu, "cuda", "pci:0000:01:00.0"), Devices{"pci:0000:01:00.0"});
    gpu.partitions = {{.name = "mig-1", .id = "pci:0000:01:00.0/mig-1", .uuid = "MIG-1"},
                      {.name = "mig-2", .id = "pci:0000:01:00.0/mig-2", .uuid = "MIG-2"}};
    EXPECT_EQ(devices_tried(gpu, "cuda", "pci:0000:01:00.0"),
              (Devices{"uuid:MIG-1", "uuid:MIG-2"}));
    gpu.apis.at("cuda").reasons = {because("not-listed")};
    EXPECT_EQ(devices_tried(gpu, "cuda", "pci:0000:01:00.0"), Devices{});
}

TEST(TrialTargets, OfPartitionsAtOneAddressGoByTheirPlace) {
    auto gpu = divided_gpu("hip", "rocm");
    Value other;
    other["driver"] = "";
    other["device"] = value_of(DeviceFacts{.index = 1, .pci = PciAddress{.bus = 1}});
    gpu.apis.at("hip").device["alternatives"].push_back(std::move(other));
    gpu.partitions = {{.name = "xcp-0", .id = "pci:0000:01:00.0/xcp-0", .indices = {{"hip", 0}}},
                      {.name = "xcp-1", .id = "pci:0000:01:00.0/xcp-1", .indices = {{"hip", 1}}}};
    EXPECT_EQ(devices_tried(gpu, "hip", "pci:0000:01:00.0"),
              (std::vector<std::string>{"index:0", "index:1"}));
}

}  // namespace targets_test
}  // namespace gpuprobe::engine
