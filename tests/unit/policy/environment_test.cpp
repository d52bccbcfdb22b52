// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <gtest/gtest.h>

#include "unit/policy/machines.h"

namespace gpuprobe {
namespace environment_test {

using support::amd_card;
using support::chosen;
using support::fact;
using support::intel_graphics;
using support::kFirstUuid;
using support::kSecondUuid;
using support::nvidia_card;
using support::reading;
using support::report_of;
using support::seen;
using support::two_identical_cards;
using Environment = std::map<std::string, std::string>;
using Text = std::optional<std::string>;

/// The variables for a program that reads only the variables of its backend.
Environment default_environment(const std::string& backend,
                                const Report& report,
                                std::initializer_list<std::size_t> places) {
    static const std::map<std::string, std::string> readers{{"cuda", "cuda"},
                                                            {"rocm", "hip"},
                                                            {"sycl", "sycl"},
                                                            {"vulkan", "ggml-vulkan"},
                                                            {"opencl", "ggml-opencl"}};
    Profile profile;
    profile.backends = {backend};
    profile.reads = {readers.at(backend)};
    return environment_of(profile, backend, chosen(report, places), {});
}

Profile with_rules(std::vector<EnvironmentRule> rules) {
    Profile profile;
    profile.backends = {"cuda"};
    profile.environment["cuda"] = std::move(rules);
    profile.reads = {"A", "B", "C"};
    return profile;
}

// Rules -------------------------------------------------------------------------------------------

TEST(EnvironmentRules, ApplyWholeOrNotAtAll) {
    const auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    const auto profile =
        with_rules({{{"A", "1"}, {"B", "{hip_ids}"}}, {{"C", "x{nvidia_uuids}y{ordinals}"}}});
    EXPECT_EQ(environment_of(profile, "cuda", chosen(report, {0}), {}),
              (Environment{{"C", "x" + std::string{kFirstUuid} + "y0"}}));
}

TEST(EnvironmentRules, DoNotChangeVariablesOfEarlierRules) {
    const auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    const auto profile = with_rules({{{"A", "1"}}, {{"A", "2"}, {"B", "2"}}, {{"B", "3"}}});
    EXPECT_EQ(environment_of(profile, "cuda", chosen(report, {0}), {}),
              (Environment{{"A", "1"}, {"B", "3"}}));
}

TEST(EnvironmentRules, MayNameAnAnswer) {
    const auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    const auto profile = with_rules({{{"A", "{=capability}"}}});
    EXPECT_EQ(
        environment_of(profile, "cuda", chosen(report, {0}), {{"capability", "nvidia-cuda-13"}}),
        (Environment{{"A", "nvidia-cuda-13"}}));
    EXPECT_TRUE(environment_of(profile, "cuda", chosen(report, {0}), {}).empty());
}

// Use and hide ------------------------------------------------------------------------------------

TEST(Environment, HidesEveryOtherApiThatIsRead) {
    const auto report = two_identical_cards();
    const auto profile =
        reading({"cuda", "rocm", "vulkan", "cpu"}, {"cuda", "hip", "vulkan", "ggml-vulkan"});
    EXPECT_EQ(environment_of(profile, "cuda", chosen(report, {1}), {}),
              (Environment{{"CUDA_VISIBLE_DEVICES", kSecondUuid},
                           {"GGML_VK_VISIBLE_DEVICES", ""},
                           {"HIP_VISIBLE_DEVICES", "-1"},
                           {"ROCR_VISIBLE_DEVICES", ""},
                           {"VK_DRIVER_FILES", "/nonexistent"},
                           {"VK_ICD_FILENAMES", "/nonexistent"}}));
}

TEST(Environment, HidesAllForTheCpu) {
    const auto report = two_identical_cards();
    EXPECT_EQ(environment_of(reading({"cuda", "vulkan", "cpu"}, {"cuda", "ggml-vulkan"}), "cpu",
                             chosen(report, {}), {}),
              (Environment{{"CUDA_VISIBLE_DEVICES", ""}, {"GGML_VK_VISIBLE_DEVICES", ""}}));
    EXPECT_EQ(environment_of(reading({"sycl", "opencl", "cpu"}, {"sycl", "level_zero", "opencl"}),
                             "cpu", chosen(report, {}), {}),
              (Environment{{"ONEAPI_DEVICE_SELECTOR", "*:cpu"},
                           {"OCL_ICD_VENDORS", "/nonexistent"},
                           {"ZE_AFFINITY_MASK", "99"}}));
}

/// VA-API has no variable that hides a GPU.
TEST(Environment, NamesGpusThatNoVariableHides) {
    auto report = two_identical_cards();
    for (auto& gpu : report.gpus)
        gpu.apis["vaapi"].device["render_node"] = "/dev/dri/renderD128";
    const auto profile = reading({"cuda", "vaapi", "qsv", "cpu"}, {"cuda"});
    const auto reasons = not_hidden(profile, "cpu", chosen(report, {}));
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_TRUE(reasons[0].is("not-hidden"));
    EXPECT_EQ(json_line(reasons[0].detail),
              R"({"api":"vaapi","gpus":["pci:0000:06:00.0","pci:0000:41:00.0"]})");
    EXPECT_EQ(
        not_hidden(profile, "cuda", chosen(report, {0}))[0].detail.at("gpus").as_array()->size(),
        1U);
    EXPECT_TRUE(not_hidden(profile, "cuda", chosen(report, {0, 1})).empty());
    EXPECT_TRUE(not_hidden(profile, "vaapi", chosen(report, {0})).empty())
        << "the options name the GPU";
    EXPECT_TRUE(not_hidden(reading({"vaapi", "cpu"}, {}), "cpu", chosen(report, {})).empty())
        << "an installer opens no GPU";
    EXPECT_TRUE(not_hidden(reading({"cuda", "cpu"}, {"cuda"}), "cpu", chosen(report, {})).empty());
}

TEST(Environment, HidesLibrariesThatACallerAdds) {
    const auto access = access_of(reading({"cuda", "opencl", "cpu"}, {"cuda", "opencl"}));
    const Variables callers{{"OCL_ICD_FILENAMES", "libnvidia-opencl.so.1"}};
    const auto with = [&](Environment environment, const Variables& set) {
        hide_additions(access, set, environment);
        return environment;
    };
    const Environment hidden{{"OCL_ICD_VENDORS", "/nonexistent"}};
    EXPECT_EQ(with(hidden, callers), (Environment{{"OCL_ICD_FILENAMES", "/nonexistent"},
                                                  {"OCL_ICD_VENDORS", "/nonexistent"}}));
    EXPECT_EQ(with(hidden, {}), hidden);
    EXPECT_EQ(with(hidden, {{"OCL_ICD_FILENAMES", ""}}), hidden);
    EXPECT_EQ(with({}, callers), Environment{}) << "OpenCL is not hidden";
}

/// NVIDIA's OpenCL driver is part of the CUDA driver, and does not list devices hidden from CUDA.
TEST(Environment, NarrowsWhereHidingWouldReachTheChosenGpu) {
    const auto report = two_identical_cards();
    const auto profile = reading({"cuda", "opencl", "cpu"}, {"cuda", "hip", "opencl"});
    EXPECT_EQ(environment_of(profile, "opencl", chosen(report, {1}), {}),
              (Environment{{"CUDA_VISIBLE_DEVICES", kSecondUuid},
                           {"HIP_VISIBLE_DEVICES", "-1"},
                           {"ROCR_VISIBLE_DEVICES", ""}}));
}

TEST(Environment, SetsNothingThatTheProgramDoesNotRead) {
    const auto report = two_identical_cards();
    auto profile = reading({"cuda", "vulkan", "cpu"}, {});
    profile.forwards = {"CUDA_VISIBLE_DEVICES"};
    EXPECT_TRUE(environment_of(profile, "vulkan", chosen(report, {0}), {}).empty());
    EXPECT_TRUE(environment_of(profile, "cpu", chosen(report, {}), {}).empty());
    EXPECT_EQ(environment_of(profile, "cuda", chosen(report, {0}), {}),
              (Environment{{"CUDA_VISIBLE_DEVICES", kFirstUuid}}));
    auto nameless = report;
    nameless.gpus[0].identity.nvidia_uuid.reset();  // a position also needs CUDA_DEVICE_ORDER
    EXPECT_TRUE(environment_of(profile, "cuda", chosen(nameless, {0}), {}).empty());
}

TEST(Environment, OfAProfileThatDoesNotSayWhatItReadsIsThatOfItsLibraries) {
    const auto report = two_identical_cards();
    Profile profile;
    profile.backends = {"cuda", "vulkan", "cpu"};
    profile.environment["cuda"] = {{{"CUDA_VISIBLE_DEVICES", "0"}}};
    const Environment no_vulkan{{"VK_DRIVER_FILES", "/nonexistent"},
                                {"VK_ICD_FILENAMES", "/nonexistent"}};
    auto expected = no_vulkan;
    expected["CUDA_VISIBLE_DEVICES"] = "0";
    EXPECT_EQ(environment_of(profile, "cuda", chosen(report, {0}), {}), expected);
    expected["CUDA_VISIBLE_DEVICES"] = "";
    EXPECT_EQ(environment_of(profile, "cpu", chosen(report, {}), {}), expected);
    profile.environment["vulkan"] = {{{"GGML_VK_VISIBLE_DEVICES", "0"}}};
    expected["GGML_VK_VISIBLE_DEVICES"] = "";
    EXPECT_EQ(environment_of(profile, "cpu", chosen(report, {}), {}), expected);
}

// CUDA --------------------------------------------------------------------------------------------

TEST(CudaEnvironment, PrefersUuids) {
    EXPECT_EQ(default_environment("cuda", two_identical_cards(), {1, 0}),
              (Environment{{"CUDA_VISIBLE_DEVICES", std::string{kSecondUuid} + "," + kFirstUuid}}));
}

TEST(CudaEnvironment, CountsInPciOrderWhereAUuidIsMissing) {
    auto report = two_identical_cards();
    std::swap(report.gpus[0].apis["cuda"], report.gpus[1].apis["cuda"]);  // "fastest first"
    for (const auto& uuid :
         {Text{}, Text{"N/A"}, Text{"GPU-xxxxxxxx-xxxx"},
          Text{"GPU-00000000-0000-0000-0000-000000000000"},
          Text{"11111111-2222-3333-4444-555555555555"}, Text{"GPU-"}, Text{kSecondUuid}}) {
        report.gpus[0].identity.nvidia_uuid = uuid;
        EXPECT_EQ(
            default_environment("cuda", report, {0, 1}),
            (Environment{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}))
            << uuid.value_or("null");
        EXPECT_EQ(fact("cuda_pci_ranks", report, {1}), "1");
    }
}

TEST(CudaEnvironment, DoesNotCountWhereTheOrderIsUncertain) {
    auto report = two_identical_cards();
    report.gpus[0].apis["cuda"].outcome = Outcome::Skipped;
    EXPECT_EQ(fact("cuda_pci_ranks", report, {1}), std::nullopt);
    report = two_identical_cards();
    report.gpus[0].pci->address.reset();
    EXPECT_EQ(fact("cuda_pci_ranks", report, {1}), std::nullopt);
    report = two_identical_cards();
    report.gpus[0].partitions = {{.name = "mig-1"}};
    EXPECT_EQ(fact("cuda_pci_ranks", report, {1}), std::nullopt);
    report = two_identical_cards();
    report.gpus[1].apis["cuda"].joined_by = "weak";
    EXPECT_EQ(fact("cuda_pci_ranks", report, {0}), std::nullopt);
}

TEST(CudaEnvironment, CountsASingleGpuWithoutAnAddress) {
    auto report = report_of({nvidia_card("0000:06:00.0", "", 0), intel_graphics()});
    report.gpus[0].pci.reset();
    EXPECT_EQ(default_environment("cuda", report, {0}),
              (Environment{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "0"}}));
}

// ROCm --------------------------------------------------------------------------------------------

TEST(RocmEnvironment, NamesGpusByUniqueId) {
    const auto report = report_of({amd_card("0000:03:00.0", "GPU-a1b2c3d4e5f60718", 1),
                                   amd_card("0000:83:00.0", "A1B2C3D4E5F60719", 0)});
    EXPECT_EQ(default_environment("rocm", report, {0, 1}),
              (Environment{{"ROCR_VISIBLE_DEVICES", "GPU-a1b2c3d4e5f60718,GPU-a1b2c3d4e5f60719"},
                           {"HIP_VISIBLE_DEVICES", "0,1"}}));
}

TEST(RocmEnvironment, FallsBackToPositionsWithoutAUniqueId) {
    for (const auto* id : {"", "GPU-XX", "0000000000000000", "a1b2", "a1b2c3d4e5f6071g"}) {
        const auto report = report_of({amd_card("0000:03:00.0", id, 1)});
        EXPECT_EQ(default_environment("rocm", report, {0}),
                  (Environment{{"HIP_VISIBLE_DEVICES", "0"}, {"ROCR_VISIBLE_DEVICES", "1"}}))
            << id;
    }
}

TEST(RocmEnvironment, IsEmptyWithoutAnything) {
    auto report = report_of({amd_card("0000:03:00.0", "", 1)});
    report.gpus[0].apis["hip"].index.reset();
    EXPECT_TRUE(default_environment("rocm", report, {0}).empty());
}

// SYCL --------------------------------------------------------------------------------------------

TEST(SyclEnvironment, CountsIntelGpusInPciOrder) {
    auto report = report_of({support::gpu_at("0000:83:00.0", "intel", GpuKind::Discrete),
                             intel_graphics(), nvidia_card("0000:01:00.0", kFirstUuid, 0)});
    report.gpus[0].apis["level_zero"] = seen(0);
    report.gpus[1].apis["level_zero"] = seen(1);
    EXPECT_EQ(default_environment("sycl", report, {0}),
              (Environment{{"ONEAPI_DEVICE_SELECTOR", "level_zero:0"},
                           {"ZE_AFFINITY_MASK", "1"},
                           {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"},
                           {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}));
    report.gpus[1].apis.erase("level_zero");
    EXPECT_TRUE(default_environment("sycl", report, {0}).empty());
}

// Vulkan ------------------------------------------------------------------------------------------

TEST(VulkanEnvironment, NamesAManifestOnce) {
    EXPECT_EQ(default_environment("vulkan", two_identical_cards(), {0, 1}),
              (Environment{{"VK_DRIVER_FILES", support::kNvidiaManifest},
                           {"VK_ICD_FILENAMES", support::kNvidiaManifest}}));
}

TEST(VulkanEnvironment, NamesEveryManifest) {
    const auto report = report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0), intel_graphics()});
    EXPECT_EQ(fact("vulkan_manifests", report, {0, 1}),
              std::string{support::kNvidiaManifest} + ":" + support::kAnvManifest);
}

TEST(VulkanEnvironment, IsEmptyWhereTheDriverIsNoManifest) {
    auto report = report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0)});
    for (const auto& driver : {Text{}, Text{"NVIDIA"}, Text{"/a:b.json"}, Text{"/a.icd"}}) {
        report.gpus[0].apis["vulkan"].driver = driver;
        EXPECT_TRUE(default_environment("vulkan", report, {0}).empty());
    }
}

TEST(VulkanEnvironment, IsEmptyWhereOnlyTheProbeFoundAWay) {
    auto report = report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0)});
    report.gpus[0].apis["vulkan"].reasons = {because("nvidia-icd-needs-egl")};
    EXPECT_TRUE(default_environment("vulkan", report, {0}).empty());
}

TEST(VulkanEnvironment, CountsWithinTheManifestForOneOfTwoCards) {
    EXPECT_EQ(default_environment("vulkan", two_identical_cards(), {1}),
              (Environment{{"VK_DRIVER_FILES", support::kNvidiaManifest},
                           {"VK_ICD_FILENAMES", support::kNvidiaManifest},
                           {"NODEVICE_SELECT", "1"},
                           {"GGML_VK_VISIBLE_DEVICES", "1"}}));
}

TEST(VulkanEnvironment, DistinguishesTwoMesaCardsByAddress) {
    const auto report =
        report_of({amd_card("0000:03:00.0", "", 0), amd_card("0000:83:00.0", "", 1)});
    EXPECT_EQ(default_environment("vulkan", report, {1}),
              (Environment{{"VK_DRIVER_FILES", support::kRadvManifest},
                           {"VK_ICD_FILENAMES", support::kRadvManifest},
                           {"MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE", "1"},
                           {"DRI_PRIME", "pci-0000_83_00_0"}}));
    EXPECT_EQ(default_environment("vulkan", report, {0, 1}),
              (Environment{{"VK_DRIVER_FILES", support::kRadvManifest},
                           {"VK_ICD_FILENAMES", support::kRadvManifest}}));
}

TEST(VulkanEnvironment, SetsMesaVariablesOnlyForMesa) {
    auto report = report_of({amd_card("0000:03:00.0", "", 0)});
    report.gpus[0].apis["vulkan"].device["driver_id"] = "amd-open-source";
    EXPECT_FALSE(default_environment("vulkan", report, {0}).contains("MESA_VK_DEVICE_SELECT"));
}

TEST(VulkanEnvironment, DoesNotTrustAWeakJoin) {
    auto report = two_identical_cards();
    report.gpus[1].apis["vulkan"].joined_by = "weak";
    EXPECT_TRUE(default_environment("vulkan", report, {1}).empty());
}

// OpenCL ------------------------------------------------------------------------------------------

Report opencl_machine(const char* first, const char* second) {
    auto report = two_identical_cards();
    for (const auto& [place, name] : {std::pair{0, first}, std::pair{1, second}}) {
        auto& device = report.gpus[static_cast<std::size_t>(place)].apis["opencl"].device;
        device["platform_name"] = "NVIDIA CUDA";
        device["name"] = name;
    }
    return report;
}

TEST(OpenclEnvironment, NamesPlatformAndDevice) {
    EXPECT_EQ(default_environment("opencl", opencl_machine("NVIDIA A10", "NVIDIA L4"), {1}),
              (Environment{{"GGML_OPENCL_PLATFORM", "NVIDIA CUDA"},
                           {"GGML_OPENCL_DEVICE", "NVIDIA L4"}}));
}

TEST(OpenclEnvironment, IsEmptyWhereTheNameIsNotItsOwn) {
    EXPECT_TRUE(
        default_environment("opencl", opencl_machine("NVIDIA L4", "NVIDIA L4"), {1}).empty());
    EXPECT_TRUE(
        default_environment("opencl", opencl_machine("NVIDIA L40S", "NVIDIA L4"), {1}).empty());
    EXPECT_TRUE(default_environment("opencl", opencl_machine("A", "B\nC=1"), {1}).empty());
    EXPECT_TRUE(default_environment("opencl", opencl_machine("A", "B"), {0, 1}).empty());
    EXPECT_TRUE(default_environment("opencl", two_identical_cards(), {1}).empty());
}

}  // namespace environment_test
}  // namespace gpuprobe
