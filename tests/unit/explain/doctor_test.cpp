// SPDX-License-Identifier: Apache-2.0
#include "explain/doctor.h"

#include <algorithm>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "unit/explain/one_card.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace doctor_test {

using Ids = std::vector<std::string>;

Ids sorted(Ids ids) {
    std::ranges::sort(ids);
    return ids;
}

Ids ids_of(const std::vector<Finding>& findings) {
    Ids ids;
    for (const auto& finding : findings)
        ids.push_back(finding.id);
    return sorted(std::move(ids));
}

struct Case {
    const char* name;
    void (*harm)(Report&, Surroundings&);
    Ids ids;
    Severity severity;
};
class Examine : public testing::TestWithParam<Case> {};

TEST_P(Examine, FindsWhatIsWrong) {
    auto report = healthy();
    Surroundings surroundings;
    GetParam().harm(report, surroundings);
    const auto findings = examine(report, surroundings);
    EXPECT_EQ(ids_of(findings), sorted(GetParam().ids));
    EXPECT_EQ(gravest(findings), GetParam().severity);
}

INSTANTIATE_TEST_SUITE_P(
    Machine,
    Examine,
    testing::Values(
        Case{"Nothing", [](Report&, Surroundings&) {}, {}, Severity::Ok},
        Case{"NoGpu",
             [](Report& r, Surroundings&) { r.gpus.clear(); },
             {"no-gpu"},
             Severity::Warning},
        Case{"ContainerWithoutGpu",
             [](Report& r, Surroundings&) {
                 r.gpus.clear();
                 r.host.container = "docker";
             },
             {"container-without-gpu"},
             Severity::Warning},
        Case{"ContainerWithGpu",
             [](Report& r, Surroundings&) { r.host.container = "docker"; },
             {},
             Severity::Ok},
        Case{"WslWithoutLibraries",
             [](Report& r, Surroundings& s) {
                 r.host.wsl = true;
                 s.has_wsl_libraries = false;
             },
             {"wsl-libraries-missing"},
             Severity::Error},
        Case{"WslUnknown", [](Report& r, Surroundings&) { r.host.wsl = true; }, {}, Severity::Ok},
        Case{"SecureBootAlone",
             [](Report& r, Surroundings&) { r.host.setup = KernelSetup{.secure_boot = true}; },
             {},
             Severity::Ok},
        Case{"SecureBootWithoutDriver",
             [](Report& r, Surroundings&) {
                 r.host.setup = KernelSetup{.secure_boot = true};
                 lose_driver(r);
             },
             {"secure-boot", "no-driver"},
             Severity::Error},
        Case{"Nomodeset",
             [](Report& r, Surroundings&) {
                 r.host.setup = KernelSetup{.parameters = Ids{"quiet", "nomodeset"}};
                 r.gpus[0].backends.clear();
             },
             {"nomodeset"},
             Severity::Warning},
        Case{"NomodesetInAnotherWord",
             [](Report& r, Surroundings&) {
                 r.host.setup = KernelSetup{.parameters = Ids{"xnomodeset=1", "nomodesetx"}};
             },
             {},
             Severity::Ok},
        Case{"OnlySoftware",
             [](Report& r, Surroundings&) {
                 gpu_of(r).apis.erase("vulkan");
                 r.software = {{.api = "vulkan", .name = "llvmpipe"}};
             },
             {"only-software"},
             Severity::Warning},
        Case{"SoftwareToo",
             [](Report& r, Surroundings&) { r.software = {{.api = "vulkan", .name = "llvmpipe"}}; },
             {},
             Severity::Ok},
        Case{"LibraryWithoutDevice",
             [](Report& r, Surroundings&) { r.runtimes["hip"].loader = "libhsa-runtime64.so.1"; },
             {"library-without-device"},
             Severity::Info},
        Case{"LibraryWithDevice",
             [](Report& r, Surroundings&) { r.runtimes["cuda"].loader = "libcuda.so.1"; },
             {},
             Severity::Ok},
        Case{"DevicesHidden",
             [](Report&, Surroundings& s) { s.environment["CUDA_VISIBLE_DEVICES"] = "1"; },
             {"devices-hidden"},
             Severity::Warning},
        Case{"DriversOverridden",
             [](Report&, Surroundings& s) { s.environment["VK_ICD_FILENAMES"] = "/x"; },
             {"drivers-overridden"},
             Severity::Warning},
        Case{"ArchitectureOverridden",
             [](Report&, Surroundings& s) { s.environment["HSA_OVERRIDE_GFX_VERSION"] = "11.0.0"; },
             {"architecture-overridden"},
             Severity::Warning},
        Case{"AnotherVariable",
             [](Report&, Surroundings& s) { s.environment["HOME"] = "/"; },
             {},
             Severity::Ok},
        Case{"Layers",
             [](Report&, Surroundings& s) { s.vulkan_layers = {"/x.json"}; },
             {"vulkan-layers"},
             Severity::Info},
        Case{"MesasLayer",
             [](Report&, Surroundings& s) {
                 s.vulkan_layers = {
                     "/usr/share/vulkan/implicit_layer.d/VkLayer_MESA_device_select.json"};
             },
             {},
             Severity::Ok},
        Case{"Of32Bits",
             [](Report& r, Surroundings&) { r.host.arch = "i686"; },
             {"word-size"},
             Severity::Info},
        Case{"Notes",
             [](Report& r, Surroundings&) {
                 r.notes = {because("no-hotplug"), because("unreadable"), because("conflict"),
                            because("application-ignored"), Reason{.code = "another"}};
             },
             {"application-ignored", "conflict", "unreadable", "no-hotplug"},
             Severity::Warning}),
    [](const auto& row) { return std::string{row.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    Hardware,
    Examine,
    testing::Values(
        Case{"NoDriver",
             [](Report& r, Surroundings&) { lose_driver(r); },
             {"no-driver"},
             Severity::Error},
        Case{"NoDriverHidesItsConsequences",
             [](Report& r, Surroundings&) {
                 lose_driver(r);
                 say(r, "vulkan", kAbsent, because("driver-missing"));
             },
             {"no-driver"},
             Severity::Error},
        Case{"Passthrough",
             [](Report& r, Surroundings&) { find(r, because("passthrough")); },
             {"passthrough"},
             Severity::Info},
        Case{"Firmware",
             [](Report& r, Surroundings&) {
                 gpu_of(r).kind = GpuKind::DisplayOnly;
                 gpu_of(r).driver.name = "simpledrm";
                 gpu_of(r).backends.clear();
             },
             {"no-gpu", "firmware-framebuffer"},
             Severity::Warning},
        Case{"DisplayOnly",
             [](Report& r, Surroundings&) {
                 r.gpus.push_back(
                     {.id = "bmc", .kind = GpuKind::DisplayOnly, .driver = {.name = "ast"}});
             },
             {},
             Severity::Ok},
        Case{"Nouveau",
             [](Report& r, Surroundings&) { gpu_of(r).driver.name = "nouveau"; },
             {"nouveau"},
             Severity::Warning},
        Case{"MismatchOnce",
             [](Report& r, Surroundings&) {
                 find(r, because("driver-mismatch", {{"kernel", "1"}, {"userspace", "2"}}));
                 say(r, "cuda", kFailed, because("driver-mismatch", {{"call", "cuInit"}}));
             },
             {"driver-mismatch"},
             Severity::Error},
        Case{"MismatchFromADriverAlone",
             [](Report& r, Surroundings&) {
                 say(r, "cuda", kFailed, because("driver-mismatch", {{"call", "cuInit"}}));
             },
             {"driver-mismatch"},
             Severity::Error},
        Case{"NoPermissionOnceForAFindingAndItsBackends",
             [](Report& r, Surroundings&) {
                 find(r, because("no-permission", {{"node", "/dev/nvidia0"}}));
                 for (const auto* backend : {"cuda", "vulkan"})
                     judge(r, backend, because("no-permission", {{"node", "/dev/nvidia0"}}));
             },
             {"no-permission"},
             Severity::Error},
        Case{"NoPermissionForTwoNodes",
             [](Report& r, Surroundings&) {
                 find(r, because("no-permission", {{"node", "/dev/nvidia0"}}));
                 judge(r, "cuda", because("no-permission", {{"node", "/dev/nvidia-uvm"}}));
             },
             {"no-permission", "no-permission"},
             Severity::Error},
        Case{"NodeMissing",
             [](Report& r, Surroundings&) {
                 find(r, because("node-missing", {{"node", "/x"}}));
             },
             {"node-missing"},
             Severity::Error},
        Case{"DeviceDenied",
             [](Report& r, Surroundings&) {
                 find(r, because("device-denied", {{"node", "/x"}}));
             },
             {"device-denied"},
             Severity::Error},
        Case{"ProberShutOut",
             [](Report& r, Surroundings&) {
                 judge(r, "cuda", because("prober-no-permission", {{"node", "/x"}}));
             },
             {"prober-no-permission"},
             Severity::Warning},
        Case{"UvmMissing",
             [](Report& r, Surroundings&) {
                 find(r, because("uvm-missing"));
                 gpu_of(r).apis["cuda"] = {.outcome = kFailed};
             },
             {"uvm-missing"},
             Severity::Warning},
        Case{"UvmNotMissed",
             [](Report& r, Surroundings&) { find(r, because("uvm-missing")); },
             {},
             Severity::Ok},
        Case{"KfdMissing",
             [](Report& r, Surroundings&) {
                 be_amd(r);
                 r.nodes.clear();
             },
             {"kfd-missing"},
             Severity::Warning},
        Case{"KfdThere", [](Report& r, Surroundings&) { be_amd(r); }, {}, Severity::Ok},
        Case{"KfdUnknown",
             [](Report& r, Surroundings&) {
                 be_amd(r);
                 r.nodes.clear();
                 gpu_of(r).nodes[0].accessible.reset();
             },
             {},
             Severity::Ok}),
    [](const auto& row) { return std::string{row.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    Libraries,
    Examine,
    testing::Values(
        Case{"CudaLibrary",
             [](Report& r, Surroundings&) { say(r, "cuda", kAbsent, because("loader-missing")); },
             {"cuda-library-missing"},
             Severity::Error},
        Case{"CudaLibraryWithoutItsModule",
             [](Report& r, Surroundings&) {
                 gpu_of(r).driver.name = "nouveau";
                 say(r, "cuda", kAbsent, because("loader-missing"));
             },
             {"nouveau"},
             Severity::Warning},
        Case{"Loaders",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", kAbsent, because("loader-missing"));
                 say(r, "opencl", kAbsent, because("loader-missing"));
             },
             {"vulkan-loader-missing", "opencl-loader-missing"},
             Severity::Info},
        Case{"TheOnlyLoader",
             [](Report& r, Surroundings&) {
                 gpu_of(r).backends = {{"cuda", BackendView{.usable = false}}};
                 say(r, "vulkan", kAbsent, because("loader-missing"));
             },
             {"vulkan-loader-missing"},
             Severity::Warning},
        Case{"Drivers",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", kAbsent, because("driver-missing", {{"vendor", "nvidia"}}));
                 say(r, "opencl", kAbsent, because("driver-missing", {{"vendor", "nvidia"}}));
             },
             {"vulkan-driver-missing", "opencl-driver-missing"},
             Severity::Info},
        Case{"AnotherVendorsRuntimeIsNotMissed",
             [](Report& r, Surroundings&) {
                 say(r, "hip", kAbsent, because("loader-missing"));
                 say(r, "level_zero", kAbsent, because("loader-missing"));
             },
             {},
             Severity::Ok},
        Case{"Rocm",
             [](Report& r, Surroundings&) {
                 be_amd(r);
                 say(r, "hip", kAbsent, because("loader-missing"));
             },
             {"rocm-missing"},
             Severity::Info},
        Case{"LevelZero",
             [](Report& r, Surroundings&) {
                 gpu_of(r).vendor = "intel";
                 gpu_of(r).driver.name = "xe";
                 say(r, "level_zero", kAbsent, because("loader-missing"));
             },
             {"level-zero-missing"},
             Severity::Info},
        Case{"StaleManifest",
             [](Report& r, Surroundings&) {
                 say(r, "opencl", kAbsent, because("driver-missing", {{"driver", "/etc/x.icd"}}));
             },
             {"stale-manifest"},
             Severity::Warning},
        Case{"Manifests",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", kFailed, because("malformed-manifest"));
                 say(r, "opencl", kFailed, because("unreadable-manifest"));
             },
             {"malformed-manifest", "unreadable-manifest"},
             Severity::Warning},
        Case{"Headless",
             [](Report& r, Surroundings&) {
                 gpu_of(r).apis["vulkan"].reasons = {because("nvidia-icd-needs-egl")};
             },
             {"nvidia-icd-needs-egl"},
             Severity::Warning},
        Case{"Cuda",
             [](Report& r, Surroundings&) {
                 gpu_of(r).apis["cuda"] = {
                     .outcome = kFailed,
                     .reasons = {because("stub-library"), because("system-not-ready")}};
                 judge(r, "cuda", because("compute-prohibited"));
             },
             {"stub-library", "fabric-manager-not-ready", "compute-prohibited"},
             Severity::Error},
        Case{"Crash",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", Outcome::Crashed, because("driver-crashed"));
             },
             {"driver-crashed"},
             Severity::Warning},
        Case{"Hang",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", Outcome::TimedOut, because("driver-timed-out"));
             },
             {"driver-timed-out"},
             Severity::Warning},
        Case{"FailureThatTheDriverExplains",
             [](Report& r, Surroundings&) {
                 gpu_of(r).apis["cuda"] = {
                     .outcome = kFailed,
                     .reasons = {because("driver-failed"),
                                 because("api-refused", {{"call", "cuInit"}, {"code", 999}})}};
             },
             {"cuda-unknown-error"},
             Severity::Error},
        Case{"FailureWithACause",
             [](Report& r, Surroundings&) {
                 say(r, "cuda", kFailed, because("driver-failed"));
                 find(r, because("driver-mismatch"));
             },
             {"driver-mismatch"},
             Severity::Error},
        Case{"NobodyToAskTheDriver",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", kFailed, because("worker-not-started", {{"problem", "no pid"}}));
             },
             {"worker-not-started"},
             Severity::Warning},
        Case{"FailureWithTheCauseOfAnother",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", kFailed, because("driver-failed"));
                 find(r, because("no-permission", {{"node", "/dev/kfd"}}));
             },
             {"no-permission", "driver-failed"},
             Severity::Error},
        Case{"Failure",
             [](Report& r, Surroundings&) { say(r, "vulkan", kFailed, because("driver-failed")); },
             {"driver-failed"},
             Severity::Warning},
        Case{"Skipped",
             [](Report& r, Surroundings&) {
                 say(r, "vulkan", Outcome::Skipped, because("asleep"));
                 say(r, "opencl", Outcome::Skipped, because("quarantined"));
             },
             {"quarantined", "asleep"},
             Severity::Warning},
        Case{"Doubts",
             [](Report& r, Surroundings&) {
                 gpu_of(r).apis["vulkan"].reasons = {because("ambiguous"), because("joined-weakly"),
                                                     because("inconclusive")};
                 find(r, because("memory-mismatch"));
             },
             {"inconclusive", "ambiguous", "joined-weakly", "memory-mismatch"},
             Severity::Warning}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Examine, NamesTheGpuAndTheFacts) {
    auto report = healthy();
    gpu_of(report).apis["vulkan"] = {
        .outcome = Outcome::Crashed,
        .driver = "/etc/x.json",
        .reasons = {because("driver-crashed", {{"note", "in enumerate"}}),
                    because("worker-output", {{"lines", Value{Value::Array{"boom"}}}})}};
    const auto finding = only(examine(report, {}), "driver-crashed");
    EXPECT_EQ(finding.gpu, gpu_of(report).id);
    EXPECT_EQ(finding.severity, Severity::Warning);  // another API works
    EXPECT_EQ(finding.evidence, (Value{Value::Object{{"note", "in enumerate"},
                                                     {"api", "vulkan"},
                                                     {"driver", "/etc/x.json"},
                                                     {"output", Value{Value::Array{"boom"}}}}}));
}

TEST(Examine, ReportsEqualFindingsOfSeveralGpusOnce) {
    auto report = healthy();
    say(report, "vulkan", kAbsent, because("loader-missing"));
    report.gpus.push_back(report.gpus[0]);
    report.gpus[1].id = "pci:0000:02:00.0";
    const auto finding = only(examine(report, {}), "vulkan-loader-missing");
    EXPECT_EQ(finding.gpu, report.gpus[0].id);
    EXPECT_EQ(finding.gpus, (Ids{report.gpus[0].id, report.gpus[1].id}));
}

TEST(Examine, NeverSuggestsJoiningTheGroupOfRoot) {
    const auto shut = [](const char* node, const char* group, const char* mode) {
        auto report = healthy();
        judge(report, "cuda",
              because("no-permission", {{"node", node}, {"group", group}, {"mode", mode}}));
        return case_of(report, "no-permission");
    };
    EXPECT_EQ(shut("/dev/dri/renderD128", "render", "0660"), Value{"group"});
    EXPECT_EQ(shut("/dev/dri/renderD128", "render", "0600"), Value{"udev"});
    EXPECT_EQ(shut("/dev/kfd", "root", "0660"), Value{"udev"});
    EXPECT_EQ(shut("/dev/nvidia0", "root", "0660"), Value{"nvidia"});
    EXPECT_EQ(shut("/dev/dri/renderD128", "992", "0660"), Value{"udev"});
    EXPECT_EQ(shut("/dev/dri/renderD128", "nogroup", "0660"), Value{"udev"});
}

/// A cause explains another cause only if both are about the same API.
TEST(Examine, LeavesOutReasonsThatAreExplainedForTheApi) {
    auto report = healthy();
    gpu_of(report).vendor = "amd";
    gpu_of(report).driver.name = "amdgpu";
    gpu_of(report).backends.clear();
    for (const auto* api : {"hip", "vulkan"})
        gpu_of(report).apis[api] = {.outcome = Outcome::Answered,
                                    .reasons = {because("inconclusive")}};
    const auto findings = examine(report, {});
    EXPECT_EQ(only(findings, "kfd-missing").evidence.at("api"), Value{"hip"});
    EXPECT_EQ(only(findings, "inconclusive").evidence.at("api"), Value{"vulkan"});
}

std::string fix_of(const Report& report, std::string_view id) {
    return only(examine(report, {}), id).fix.value_or("");
}

bool has(const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
}

/// The fix depends on the architecture, which is known from the chip even without a driver.
TEST(Examine, KnowsWhichDriverOfNvidiasServesAGpu) {
    const auto nouveau = [](const char* capability) {
        auto report = healthy();
        gpu_of(report).driver.name = "nouveau";
        gpu_of(report).architecture.cuda_compute_capability = capability;
        return fix_of(report, "nouveau");
    };
    const auto unloaded = [](const char* capability) {
        auto report = healthy();
        lose_driver(report);
        gpu_of(report).architecture.cuda_compute_capability = capability;
        report.host.setup = KernelSetup{.installed = {{"nvidia"}}};
        return fix_of(report, "module-not-loaded");
    };
    const auto unbuilt = [](const char* capability) {
        auto report = healthy();
        lose_driver(report);
        gpu_of(report).architecture.cuda_compute_capability = capability;
        report.host.setup = KernelSetup{.installed = {{"nouveau"}}};
        report.runtimes["cuda"].loader = "libcuda.so.1";
        return fix_of(report, "nvidia-module-not-built");
    };
    const auto taken_by_none = [](const char* capability) {
        auto report = healthy();
        lose_driver(report);
        gpu_of(report).architecture.cuda_compute_capability = capability;
        report.host.setup = KernelSetup{.loaded = {{"nvidia"}}};
        report.runtimes["cuda"].loader = "libcuda.so.1";
        return fix_of(report, "no-driver");
    };
    for (const auto& fix : std::vector<std::function<std::string(const char*)>>{
             nouveau, unloaded, unbuilt, taken_by_none}) {
        EXPECT_TRUE(has(fix("2.0"), "the open driver nouveau: branch 390"));  // Tesla C2070
        EXPECT_TRUE(has(fix("3.0"), "branch 470 of NVIDIA's driver"));        // GTX 680
        EXPECT_TRUE(has(fix("6.1"),
                        "branch 580 of NVIDIA's driver with the proprietary kernel"));  // GTX 1080
        EXPECT_TRUE(
            has(fix("7.0"), "branch 580 of NVIDIA's driver with the proprietary kernel"));  // V100
        EXPECT_TRUE(has(fix("12.0"), "the open kernel module, 570 or later"));  // RTX 5090
        EXPECT_FALSE(has(fix("9.0"), "branch")) << fix("9.0");                  // H100
    }
    // The capability is unknown for chips before CUDA, and for some later chips
    auto ion = healthy();
    gpu_of(ion).driver.name = "nouveau";
    gpu_of(ion).pci = PciInfo{.vendor_id = "10de", .device_id = "087d"};
    EXPECT_TRUE(has(fix_of(ion, "nouveau"), "keep the open driver nouveau: branch 340"));
}

/// The kernel 5.14 of Enterprise Linux 9 contains drivers of much later kernels.
TEST(Examine, TakesNoEnterpriseKernelForAsOldAsItsNumber) {
    auto report = healthy();
    lose_driver(report);
    gpu_of(report).vendor = "amd";
    gpu_of(report).pci = PciInfo{.vendor_id = "1002", .device_id = "744c"};
    report.host.setup = KernelSetup{.installed = {{"amdgpu"}}};
    const auto ids = [&report](const char* kernel) {
        report.host.kernel = kernel;
        std::set<std::string> found;
        for (const auto& finding : examine(report, {}))
            found.insert(finding.id);
        return found;
    };
    EXPECT_TRUE(ids("5.14.0-generic").contains("kernel-before-rdna3"));
    EXPECT_FALSE(ids("5.14.0-generic").contains("module-not-loaded"));
    EXPECT_FALSE(ids("5.14.0-503.15.1.el9_5.x86_64").contains("kernel-before-rdna3"));
    EXPECT_TRUE(ids("5.14.0-503.15.1.el9_5.x86_64").contains("module-not-loaded"));
    report.host.setup->loaded = {{"amdgpu"}};
    EXPECT_TRUE(ids("5.14.0-503.15.1.el9_5.x86_64").contains("no-driver"));
    EXPECT_EQ(case_of(report, "no-driver"), Value{"backports"});
}

TEST(Examine, ReportsHowMuchMoreMemoryAnApuCouldHave) {
    auto report = healthy();
    auto& gpu = gpu_of(report);
    gpu = {.id = "pci:0000:c5:00.0", .kind = GpuKind::Integrated, .vendor = "amd"};
    gpu.driver.name = "amdgpu";
    gpu.memory.evidence = {{.source = "amdgpu-sysfs", .what = "gtt-total", .bytes = gib(62)}};
    report.host.kernel = "6.18.0";
    report.host.memory.total = gib(124);
    const auto word = [&report] {
        return word_of(only(examine(report, {}), "gtt-half").evidence.at("word"));
    };
    EXPECT_EQ(word(), "ttm.pages_limit=24379392") << "93 GiB in pages of 4 KiB";
    report.host.setup = KernelSetup{.loaded = {{"amdgpu", "amdttm"}}};
    EXPECT_EQ(word(), "amdttm.pages_limit=24379392");
    gpu.memory.evidence.front().bytes = gib(100);
    EXPECT_EQ(std::ranges::count(ids_of(examine(report, {})), "gtt-half"), 0);
}

/// A chip in chips.json is identified by each of its device ids.
TEST(Examine, KnowsAChipByEachOfItsDeviceIds) {
    auto report = healthy();
    lose_driver(report);
    report.host.kernel = "6.8.0-64-generic";
    gpu_of(report).vendor = "intel";
    const auto is_found = [&report](const char* device) {
        gpu_of(report).pci = PciInfo{.vendor_id = "8086", .device_id = device};
        const auto findings = examine(report, {});
        return std::ranges::find(findings, "kernel-before-battlemage", &Finding::id) !=
               findings.end();
    };
    for (const auto* battlemage : {"e202", "e209", "e20b", "e212", "e220", "e223"})
        EXPECT_TRUE(is_found(battlemage)) << battlemage;
    for (const auto* other : {"56a0", "64a0", "ffff"})
        EXPECT_FALSE(is_found(other)) << other;
}

/// Kernel parameters, and reasons from the kernel, are shown instead of "see why".
TEST(Examine, FindsADriverThatCreatedNoNode) {
    auto report = healthy();
    be_amd(report);
    gpu_of(report).nodes.clear();
    report.nodes = {{.path = "/dev/null", .accessible = true}};
    const auto ids = [&report](const Surroundings& here) {
        auto found = ids_of(examine(report, here));
        std::erase(found, "no-gpu");
        return found;
    };
    EXPECT_EQ(ids({}), Ids{"no-drm-node"});
    EXPECT_NE(only(examine(report, {}), "no-drm-node").fix.value_or("").find("dmesg"),
              std::string::npos);
    EXPECT_EQ(ids({.kernel_log = {"[3.1] amdgpu 0000:01:00.0: amdgpu: Fatal error during GPU "
                                  "init"}}),
              Ids{"log-amdgpu-init"});
    EXPECT_EQ(ids({.kernel_log = {"[3.1] amdgpu 0000:01:00.0: Direct firmware load for "
                                  "amdgpu/x.bin failed with error -2"}}),
              Ids{"log-firmware-amdgpu"});
    report.host.setup = KernelSetup{.parameters = Ids{"nomodeset"}};
    EXPECT_EQ(ids({}), Ids{"nomodeset"});
    report.host.setup->parameters = Ids{"amdgpu.modeset=0"};
    EXPECT_EQ(ids({}), Ids{"modeset-off"});
    report.host.setup->parameters = Ids{"quiet"};
    EXPECT_EQ(ids({}), Ids{"no-drm-node"});
    gpu_of(report).identity.drm.render = "226:128";
    EXPECT_EQ(ids({}), Ids{});
}

TEST(Examine, DistinguishesConfidentialMachinesFromMachinesWithAFabric) {
    auto report = healthy();
    say(report, "cuda", kFailed, because("system-not-ready", {{"call", "cuInit"}, {"code", 802}}));
    const auto id = [&report](const char* name, bool is_virtual) {
        gpu_of(report).name = name;
        report.host.virtualization.reset();
        if (is_virtual)
            report.host.virtualization = "kvm";
        return ids_of(examine(report, {}));
    };
    EXPECT_EQ(id("NVIDIA H100 80GB HBM3", false), Ids{"fabric-manager-not-ready"});
    EXPECT_EQ(id("NVIDIA H100 PCIe", true), Ids{"confidential-not-ready"});
    EXPECT_EQ(id("NVIDIA H100 80GB HBM3", true), Ids{"fabric-manager-not-ready"});
    EXPECT_NE(only(examine(report, {}), "fabric-manager-not-ready").fix.value_or("").find("-srs 1"),
              std::string::npos);
    for (const auto& finding : examine(report, {}))
        EXPECT_TRUE(finding.sentence.starts_with("CUDA reports that the system is not ready"));
    EXPECT_EQ(explained(because("system-not-ready")).text,
              "CUDA reports that the system is not ready");
}

TEST(Examine, FindsALostGpuFromTheErrorOfItsDriver) {
    auto report = healthy();
    gpu_of(report).apis["nvml"].device =
        Value{Value::Object{{"index", 0}, {"error", "GPU is lost"}}};
    EXPECT_EQ(only(examine(report, {}), "lost").severity, Severity::Error);
    gpu_of(report).apis["nvml"].device["error"] = "Unknown Error";
    EXPECT_EQ(only(examine(report, {}), "device-error").evidence.at("note"),
              Value{"Unknown Error"});
}

TEST(Examine, FindsNoMismatchIfTheLibraryAnswers) {
    auto report = healthy();
    find(report, because("driver-mismatch"));
    EXPECT_TRUE(examine(report, {}).empty());
}

TEST(Examine, FindsWrongResults) {
    auto report = healthy();
    judge(report, "cuda", because("miscomputed", {{"words", 64}, {"wrong_words", 1}}));
    judge(report, "vulkan", because("not-computing", {{"result", "crashed"}}));
    EXPECT_EQ(only(examine(report, {}), "miscomputed").severity, Severity::Error);
    EXPECT_EQ(only(examine(report, {}), "not-computing").severity, Severity::Warning);
}

TEST(Examine, FindsThatNoDriverWasProbed) {
    auto report = healthy();
    gpu_of(report).apis.clear();
    gpu_of(report).backends = {
        {"cuda", {.reasons = {because("not-probed")}}},
        {"rocm", {.usable = false, .reasons = {because("vendor-mismatch")}}}};
    EXPECT_EQ(only(examine(report, {}), "not-probed").severity, Severity::Info);
}

TEST(Examine, ComparesVariablesWithTheGpus) {
    const auto found = [](const char* name, const char* value) {
        return examine(healthy(), {.environment = {{name, value}}});
    };
    EXPECT_TRUE(found("CUDA_VISIBLE_DEVICES", "0").empty());
    EXPECT_TRUE(found("HIP_VISIBLE_DEVICES", "-1").empty());
    EXPECT_TRUE(found("ROCR_VISIBLE_DEVICES", "").empty());
    EXPECT_TRUE(found("GPU_DEVICE_ORDINAL", "0,1").empty());
    const auto all = only(found("CUDA_VISIBLE_DEVICES", ""), "all-devices-hidden");
    EXPECT_EQ(all.severity, Severity::Error);
    EXPECT_EQ(all.gpu, "pci:0000:01:00.0");
    // CUDA still works.
    EXPECT_EQ(only(found("GGML_VK_VISIBLE_DEVICES", ""), "devices-hidden").severity,
              Severity::Info);
}

TEST(Examine, NamesTheVariable) {
    const std::set<std::string> kReported{"hides-devices", "chooses-drivers",
                                          "claims-architecture"};
    for (const auto& [name, kind] : Causes::current().variables()) {
        if (!kReported.contains(kind))
            continue;
        Surroundings surroundings;
        surroundings.environment[name] = "3";
        auto report = healthy();
        // Without a GPU, the doctor cannot find out what the variable hides.
        if (kind == "hides-devices")
            report.gpus.clear();
        auto findings = examine(report, surroundings);
        std::erase_if(findings, [](const Finding& finding) { return finding.id == "no-gpu"; });
        ASSERT_EQ(findings.size(), 1U) << name;
        EXPECT_EQ(findings[0].gpu, std::nullopt);
        EXPECT_EQ(findings[0].evidence.at("variable"), Value{name});
    }
}

TEST(Examine, FindsNothingGraveOnTheScenesThatWork) {
    for (const auto& fixture : {laptop(), two_identical()})
        EXPECT_LT(gravest(examine(assembled(fixture), {})), Severity::Error) << fixture.name;
}

}  // namespace doctor_test
}  // namespace gpuprobe::test
