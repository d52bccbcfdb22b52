// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "policy/environment.h"
#include "unit/policy/machines.h"

/// Tests of src/policy/caller_variables.cpp: variables of the caller that hide GPUs.
namespace gpuprobe {
namespace caller_variables_test {

using support::amd_card;
using support::intel_graphics;
using support::kFirstUuid;
using support::kSecondUuid;
using support::reading;
using support::report_of;
using support::seen;
using support::two_identical_cards;

struct HiddenRow {
    const char* variable;
    const char* value;
    const char* backend;
    bool is_hidden;
};
class HiddenByTheCaller : public ::testing::TestWithParam<HiddenRow> {};

TEST_P(HiddenByTheCaller, IsReportedIfItIsKnown) {
    const auto& row = GetParam();
    auto report = two_identical_cards();
    report.gpus[1].apis["opencl"].driver = "/etc/OpenCL/vendors/nvidia.icd";
    report.gpus[1].apis["opencl"].outcome = Outcome::Answered;
    const auto access =
        access_of(reading({"cuda", "vulkan", "opencl"}, {"cuda", "ggml-vulkan", "opencl"}));
    const auto reasons =
        hidden_by({{row.variable, row.value}}, access, row.backend, report.gpus[1],
                  {.report = report, .gpus = {&report.gpus[1]}}, {{"CUDA_VISIBLE_DEVICES", "x"}});
    ASSERT_EQ(reasons.size(), row.is_hidden ? 1U : 0U);
    if (!row.is_hidden)
        return;
    EXPECT_EQ(reasons[0].code, "hidden-by-environment");
    EXPECT_EQ(reasons[0].detail.at("variable"), Value{row.variable});
    EXPECT_EQ(reasons[0].detail.at("value"), Value{row.value});
    EXPECT_EQ(reasons[0].detail.at("replaced"),
              Value{std::string_view{row.variable} == "CUDA_VISIBLE_DEVICES"});
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    HiddenByTheCaller,
    ::testing::Values(HiddenRow{"CUDA_VISIBLE_DEVICES", "", "cuda", true},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", "-1", "cuda", true},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", "0", "cuda", true},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", "1", "cuda", false},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", "x,1", "cuda", true},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", kSecondUuid, "cuda", false},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", kFirstUuid, "cuda", true},
                      HiddenRow{"CUDA_VISIBLE_DEVICES", "", "vulkan", false},
                      HiddenRow{"HIP_VISIBLE_DEVICES", "-1", "cuda", false},
                      HiddenRow{"GGML_VK_VISIBLE_DEVICES", "", "vulkan", true},
                      HiddenRow{"GGML_VK_VISIBLE_DEVICES", "0", "vulkan", false},
                      HiddenRow{"VK_DRIVER_FILES", "/nowhere", "vulkan", true},
                      HiddenRow{"VK_DRIVER_FILES", "", "vulkan", false},
                      HiddenRow{"VK_DRIVER_FILES", support::kNvidiaManifest, "vulkan", false},
                      HiddenRow{"VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/", "vulkan", false},
                      HiddenRow{"VK_ICD_FILENAMES", "/a.json:/b.json", "vulkan", true},
                      HiddenRow{"VK_LOADER_DRIVERS_DISABLE", "*", "vulkan", true},
                      HiddenRow{"VK_LOADER_DRIVERS_DISABLE", "*NVIDIA*", "vulkan", true},
                      HiddenRow{"VK_LOADER_DRIVERS_DISABLE", "radeon*,intel*", "vulkan", false},
                      HiddenRow{"VK_LOADER_DRIVERS_SELECT", "radeon*", "vulkan", true},
                      HiddenRow{"VK_LOADER_DRIVERS_SELECT", "*icd.json", "vulkan", false},
                      HiddenRow{"OCL_ICD_VENDORS", "/nowhere", "opencl", true},
                      HiddenRow{"OCL_ICD_VENDORS", "/etc/OpenCL/vendors", "opencl", false}));

/// ocl-icd accepts a file in OCL_ICD_VENDORS and ignores an empty value; Khronos' loader opens the
/// value as a folder.
TEST(HiddenByTheCaller, DependsOnTheOpenClLoader) {
    auto report = two_identical_cards();
    report.gpus[1].apis["opencl"].driver = "/etc/OpenCL/vendors/nvidia.icd";
    report.gpus[1].apis["opencl"].outcome = Outcome::Answered;
    const auto access = access_of(reading({"opencl"}, {"opencl"}));
    const auto hides = [&](const char* loader, const char* value) {
        report.runtimes["opencl"].loader_name = loader;
        return !hidden_by({{"OCL_ICD_VENDORS", value}}, access, "opencl", report.gpus[1],
                          {.report = report, .gpus = {&report.gpus[1]}}, {})
                    .empty();
    };
    constexpr const char* kKhronos = "khronos";
    EXPECT_FALSE(hides("ocl-icd", "/etc/OpenCL/vendors/nvidia.icd"));
    EXPECT_TRUE(hides(kKhronos, "/etc/OpenCL/vendors/nvidia.icd"));
    EXPECT_FALSE(hides("ocl-icd", ""));
    EXPECT_TRUE(hides(kKhronos, ""));
    EXPECT_FALSE(hides(kKhronos, "/etc/OpenCL/vendors"));
}

TEST(HiddenByTheCaller, OfOtherVendors) {
    auto report = report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0), intel_graphics()});
    report.gpus[1].apis["level_zero"] = seen(0);
    const auto access = access_of(reading({"rocm", "sycl"}, {"hip", "sycl", "level_zero"}));
    const auto is_hidden = [&](const char* variable, const char* value, const char* backend,
                               std::size_t place) {
        return !hidden_by({{variable, value}}, access, backend, report.gpus[place],
                          {.report = report, .gpus = {&report.gpus[place]}}, {})
                    .empty();
    };
    EXPECT_TRUE(is_hidden("HIP_VISIBLE_DEVICES", "-1", "rocm", 0));
    EXPECT_FALSE(is_hidden("HIP_VISIBLE_DEVICES", "", "rocm", 0));
    EXPECT_FALSE(is_hidden("HIP_VISIBLE_DEVICES", "0", "rocm", 0));
    EXPECT_TRUE(is_hidden("ROCR_VISIBLE_DEVICES", "", "rocm", 0));
    EXPECT_FALSE(is_hidden("ROCR_VISIBLE_DEVICES", "GPU-A1B2C3D4E5F60718", "rocm", 0));
    EXPECT_TRUE(is_hidden("ONEAPI_DEVICE_SELECTOR", "*:cpu", "sycl", 1));
    EXPECT_TRUE(is_hidden("ONEAPI_DEVICE_SELECTOR", "cuda:*;opencl:gpu", "sycl", 1));
    EXPECT_FALSE(is_hidden("ONEAPI_DEVICE_SELECTOR", "opencl:cpu;level_zero:0", "sycl", 1));
    EXPECT_TRUE(is_hidden("ZE_AFFINITY_MASK", "99", "sycl", 1));
    EXPECT_FALSE(is_hidden("ZE_AFFINITY_MASK", "0.1", "sycl", 1));
}

/// In Level Zero's default order, the discrete GPU is at the position that the integrated GPU has
/// in PCI order.
TEST(HiddenByTheCaller, IsNotKnownOfAPositionThatMayBeEither) {
    auto report =
        report_of({intel_graphics(), support::gpu_at("0000:03:00.0", "intel", GpuKind::Discrete)});
    for (auto& gpu : report.gpus)
        gpu.apis["level_zero"] = seen(0);
    const auto access = access_of(reading({"sycl"}, {"sycl"}));
    const auto is_hidden = [&](Variables callers) {
        const auto& gpu = report.gpus[1];
        return !hidden_by(callers, access, "sycl", gpu, {.report = report, .gpus = {&gpu}}, {})
                    .empty();
    };
    EXPECT_FALSE(is_hidden({{"ZE_AFFINITY_MASK", "0"}}));
    EXPECT_FALSE(is_hidden({{"ZE_AFFINITY_MASK", "1"}}));
    EXPECT_TRUE(is_hidden({{"ZE_AFFINITY_MASK", "2"}}));
    EXPECT_TRUE(is_hidden({{"ZE_AFFINITY_MASK", "0"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}));
    EXPECT_FALSE(is_hidden({{"ZE_AFFINITY_MASK", "1"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}));
}

/// The variables in the answer number the GPUs from 0.
TEST(HiddenByTheCaller, IsAGpuWhoseNumberTheAnswerChanges) {
    const auto report = two_identical_cards();
    const auto access = access_of(reading({"vulkan"}, {"ggml-vulkan"}));
    const auto is_hidden = [&](const char* numbers, std::vector<const Gpu*> selected,
                               const Variables& answer) {
        return !hidden_by({{"GGML_VK_VISIBLE_DEVICES", numbers}}, access, "vulkan", report.gpus[1],
                          {.report = report, .gpus = std::move(selected)}, answer)
                    .empty();
    };
    const std::vector<const Gpu*> second{&report.gpus[1]};
    const std::vector<const Gpu*> both{&report.gpus[0], &report.gpus[1]};
    const Variables alone{{"MESA_VK_DEVICE_SELECT", "10de:2335!"}};
    const Variables files{{"VK_DRIVER_FILES", support::kNvidiaManifest}};
    EXPECT_TRUE(is_hidden("1", second, alone));
    EXPECT_FALSE(is_hidden("0", second, alone));
    EXPECT_FALSE(is_hidden("1", both, files));
    EXPECT_TRUE(is_hidden("0,2", both, files));
    EXPECT_FALSE(is_hidden("1", second, files)) << "the file has both";
    EXPECT_FALSE(is_hidden("1", second, {{"GGML_VK_VISIBLE_DEVICES", "0"}}));
}

TEST(HiddenByTheCaller, IsAnyGpuExceptTheOneThatMesaShows) {
    const auto report =
        report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0), intel_graphics()});
    const auto access = access_of(reading({"vulkan"}, {"vulkan"}));
    const auto hidden_with = [&](const char* value, const Variables& answer = {}) {
        return hidden_by({{"DRI_PRIME", value}}, access, "vulkan", report.gpus[0],
                         {.report = report, .gpus = {&report.gpus[0]}}, answer);
    };
    EXPECT_EQ(hidden_with("pci-0000_00_02_0!").size(), 1U);
    EXPECT_EQ(hidden_with("8086:46A6!").size(), 1U);
    for (const auto* value :
         {"pci-0000_00_02_0", "pci-0000_03_00_0!", "1002:744c!", "1!", "pci-0000_99_00_0!", ""})
        EXPECT_TRUE(hidden_with(value).empty()) << value;
    auto older = report;
    older.gpus[0].apis["vulkan"].device["driver_info"] = "Mesa 22.3.6-1";
    EXPECT_TRUE(hidden_by({{"DRI_PRIME", "8086:46a6!"}}, access, "vulkan", older.gpus[0],
                          {.report = older, .gpus = {&older.gpus[0]}}, {})
                    .empty())
        << "the mark means nothing to Mesa 22.3";
    auto without_layer = report;
    without_layer.host.libraries = {"libvulkan.so.1"};
    EXPECT_TRUE(hidden_by({{"DRI_PRIME", "8086:46a6!"}}, access, "vulkan", without_layer.gpus[0],
                          {.report = without_layer, .gpus = {&without_layer.gpus[0]}}, {})
                    .empty())
        << "nothing reads it";
    EXPECT_EQ(hidden_with("8086:46a6!")[0].detail.at("replaced"), Value{false});
    EXPECT_EQ(hidden_with("8086:46a6!", {{"MESA_VK_DEVICE_SELECT", "1002:744c!"}})[0].detail.at(
                  "replaced"),
              Value{true});
}

// One row per form of list and case
// -----------------------------------------------------------------

/// The caller's variables on a machine with two GPUs, and whether the first GPU is hidden.
struct FormRow {
    const char* name;
    const char* backend;
    Variables callers;
    bool is_hidden;
};

std::string form_name(const ::testing::TestParamInfo<FormRow>& row) {
    return row.param.name;
}

bool is_first_hidden(const Report& report, const FormRow& row, const Variables& answer = {}) {
    const auto access = access_of(
        reading({"cuda", "rocm", "sycl", "vulkan", "opencl"},
                {"cuda", "hip", "level_zero", "sycl", "vulkan", "ggml-vulkan", "opencl"}));
    return !hidden_by(row.callers, access, row.backend, report.gpus[0],
                      {.report = report, .gpus = {&report.gpus[0]}}, answer)
                .empty();
}

class ListsOfNvidia : public ::testing::TestWithParam<FormRow> {};

TEST_P(ListsOfNvidia, HideAGpuThatTheyLeaveOut) {
    auto report = two_identical_cards();
    // CUDA's default order is not the order of the bus.
    report.gpus[0].apis["cuda"].index = 1;
    report.gpus[1].apis["cuda"].index = 0;
    EXPECT_EQ(is_first_hidden(report, GetParam()), GetParam().is_hidden);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ListsOfNvidia,
    ::testing::Values(
        FormRow{"OwnIndex", "cuda", {{"CUDA_VISIBLE_DEVICES", "1"}}, false},
        FormRow{"OtherIndex", "cuda", {{"CUDA_VISIBLE_DEVICES", "0"}}, true},
        FormRow{"IndexInPciOrder",
                "cuda",
                {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "0"}},
                false},
        FormRow{"OtherIndexInPciOrder",
                "cuda",
                {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", "1"}},
                true},
        FormRow{"OtherOrder",
                "cuda",
                {{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}, {"CUDA_VISIBLE_DEVICES", "1"}},
                false},
        FormRow{"StartOfTheUuid", "cuda", {{"CUDA_VISIBLE_DEVICES", "GPU-1111"}}, false},
        FormRow{"StartOfAnotherUuid", "cuda", {{"CUDA_VISIBLE_DEVICES", "GPU-6666"}}, true},
        FormRow{"InAnotherCase",
                "cuda",
                {{"CUDA_VISIBLE_DEVICES", "GPU-66666666-7777-8888-9999-AAAAAAAAAAAA"}},
                true},
        FormRow{"AnyInstanceMayBeOfThisGpu", "cuda", {{"CUDA_VISIBLE_DEVICES", "MIG-1"}}, false},
        FormRow{"SecondItem", "cuda", {{"CUDA_VISIBLE_DEVICES", " 0 , 1 "}}, false},
        FormRow{"BehindAnInvalidItem", "cuda", {{"CUDA_VISIBLE_DEVICES", "0,-1,1"}}, true},
        FormRow{"NotSet", "cuda", {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, false},
        FormRow{"OlderManifests", "vulkan", {{"VK_ICD_FILENAMES", "/x.json"}}, true},
        FormRow{"OlderManifestsOverruled",
                "vulkan",
                {{"VK_DRIVER_FILES", support::kNvidiaManifest}, {"VK_ICD_FILENAMES", "/x.json"}},
                false},
        FormRow{"FolderOfTheManifest",
                "vulkan",
                {{"VK_DRIVER_FILES", "/usr/share/vulkan/icd.d//"}},
                false},
        FormRow{"FolderAbove", "vulkan", {{"VK_DRIVER_FILES", "/usr/share/vulkan"}}, true},
        FormRow{"OneOfTwoManifests",
                "vulkan",
                {{"VK_DRIVER_FILES", std::string{"/x.json:"} + support::kNvidiaManifest}},
                false},
        FormRow{"PciIds", "vulkan", {{"MESA_VK_DEVICE_SELECT", "10DE:2335!"}}, false},
        FormRow{"OtherPciIds", "vulkan", {{"MESA_VK_DEVICE_SELECT", "1002:744c!"}}, true},
        FormRow{"PreferredPciIds", "vulkan", {{"MESA_VK_DEVICE_SELECT", "1002:744c"}}, false},
        FormRow{"ForcedPciIds",
                "vulkan",
                {{"MESA_VK_DEVICE_SELECT", "1002:744c"},
                 {"MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE", "1"}},
                true},
        FormRow{"OwnForcedPciIds",
                "vulkan",
                {{"MESA_VK_DEVICE_SELECT", "10de:2335"},
                 {"MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE", "1"}},
                false},
        FormRow{"DeviceId", "vulkan", {{"VK_LOADER_DEVICE_ID_FILTER", "1,0x2335"}}, false},
        FormRow{"DecimalDeviceId", "vulkan", {{"VK_LOADER_DEVICE_ID_FILTER", "9013"}}, false},
        FormRow{
            "RangeOfDeviceIds", "vulkan", {{"VK_LOADER_DEVICE_ID_FILTER", "0x2300:0x23FF"}}, false},
        FormRow{
            "OtherDeviceIds", "vulkan", {{"VK_LOADER_DEVICE_ID_FILTER", "0x744c,1:9012"}}, true},
        FormRow{"NoDeviceIds", "vulkan", {{"VK_LOADER_DEVICE_ID_FILTER", ""}}, false},
        FormRow{"NumbersWithoutANumber", "vulkan", {{"GGML_VK_VISIBLE_DEVICES", "x"}}, true},
        FormRow{"Numbers", "vulkan", {{"GGML_VK_VISIBLE_DEVICES", "7"}}, false}),
    form_name);

class Patterns : public ::testing::TestWithParam<FormRow> {};

TEST_P(Patterns, AreComparedWithTheNameOfTheManifest) {
    EXPECT_EQ(is_first_hidden(two_identical_cards(), GetParam()), GetParam().is_hidden);
}

/// The driver's manifest in these rows is nvidia_icd.json.
FormRow off(const char* name, const char* patterns, bool is_hidden) {
    return {name, "vulkan", {{"VK_LOADER_DRIVERS_DISABLE", patterns}}, is_hidden};
}
FormRow on(const char* name, const char* patterns, bool is_hidden) {
    return {name, "vulkan", {{"VK_LOADER_DRIVERS_SELECT", patterns}}, is_hidden};
}

INSTANTIATE_TEST_SUITE_P(Table,
                         Patterns,
                         ::testing::Values(off("Whole", "nvidia_icd.json", true),
                                           off("Part", "nvidia", false),
                                           off("Start", "NVIDIA*", true),
                                           off("OtherStart", "icd*", false),
                                           off("End", "*.json", true),
                                           off("OtherEnd", "*nvidia", false),
                                           off("Within", "*ia_i*", true),
                                           off("NotWithin", "*radeon*", false),
                                           off("LongerThanTheName", "*xnvidia_icd.json", false),
                                           off("Folder", "*icd.d*", false),
                                           off("Second", "radeon*, nvidia*", true),
                                           off("Empty", "", false),
                                           on("Selected", "*nvidia*", false),
                                           on("NotSelected", "*radeon*", true),
                                           on("SelectsNothing", "", false)),
                         form_name);

class ListsOfOthers : public ::testing::TestWithParam<FormRow> {};

TEST_P(ListsOfOthers, HideAGpuThatTheyLeaveOut) {
    auto report = report_of(
        {amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 1), amd_card("0000:83:00.0", "", 0)});
    if (std::string_view{GetParam().backend} == "sycl") {
        report = report_of({intel_graphics()});
        report.gpus[0].apis["level_zero"] = seen(0);
    }
    EXPECT_EQ(is_first_hidden(report, GetParam()), GetParam().is_hidden);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ListsOfOthers,
    ::testing::Values(
        FormRow{"Index", "rocm", {{"HIP_VISIBLE_DEVICES", "1"}}, false},
        FormRow{"OtherIndex", "rocm", {{"HIP_VISIBLE_DEVICES", "0"}}, true},
        // HIP numbers only the devices that ROCr leaves visible.
        FormRow{"IndexBehindRocr",
                "rocm",
                {{"HIP_VISIBLE_DEVICES", "0"}, {"ROCR_VISIBLE_DEVICES", "1"}},
                false},
        FormRow{"RocrIndex", "rocm", {{"ROCR_VISIBLE_DEVICES", "0"}}, true},
        FormRow{"RocrId", "rocm", {{"ROCR_VISIBLE_DEVICES", "GPU-a1b2c3d4e5f60718"}}, false},
        FormRow{"OtherRocrId", "rocm", {{"ROCR_VISIBLE_DEVICES", "GPU-0000000000000001"}}, true},
        FormRow{"Backend", "sycl", {{"ONEAPI_DEVICE_SELECTOR", "LEVEL_ZERO:GPU"}}, false},
        FormRow{"BackendAlone", "sycl", {{"ONEAPI_DEVICE_SELECTOR", "level_zero"}}, false},
        FormRow{"AnyBackend", "sycl", {{"ONEAPI_DEVICE_SELECTOR", "*:gpu"}}, false},
        FormRow{"OtherBackend", "sycl", {{"ONEAPI_DEVICE_SELECTOR", "opencl:*"}}, true},
        FormRow{"OnlyTheCpu", "sycl", {{"ONEAPI_DEVICE_SELECTOR", "level_zero:cpu"}}, true},
        FormRow{"Excluding", "sycl", {{"ONEAPI_DEVICE_SELECTOR", "!opencl:*"}}, false},
        FormRow{"NoSelector", "sycl", {{"ONEAPI_DEVICE_SELECTOR", ""}}, false},
        FormRow{"Rank", "sycl", {{"ZE_AFFINITY_MASK", "0"}}, false},
        FormRow{"Subdevice", "sycl", {{"ZE_AFFINITY_MASK", "0.1"}}, false},
        FormRow{"OtherRank", "sycl", {{"ZE_AFFINITY_MASK", "1"}}, true},
        FormRow{"NoMask", "sycl", {{"ZE_AFFINITY_MASK", ""}}, false}),
    form_name);

TEST(HiddenByTheCaller, IsNoGpuThroughAVariableThatTheProgramDoesNotRead) {
    const auto report = two_identical_cards();
    const auto hides = [&report](const char* reader, const char* variable) {
        const auto access = access_of(reading({"cuda", "vulkan"}, {reader}));
        return !hidden_by({{variable, "*"}, {"CUDA_VISIBLE_DEVICES", ""}}, access,
                          std::string_view{variable}.starts_with("VK") ? "vulkan" : "cuda",
                          report.gpus[0], {.report = report, .gpus = {&report.gpus[0]}}, {})
                    .empty();
    };
    EXPECT_TRUE(hides("cuda", "CUDA_X"));
    EXPECT_FALSE(hides("vulkan", "CUDA_X"));
    EXPECT_TRUE(hides("vulkan", "VK_LOADER_DRIVERS_DISABLE")) << "each Vulkan loader reads it";
    EXPECT_FALSE(hides("cuda", "VK_LOADER_DRIVERS_DISABLE"));
}

TEST(HiddenByTheCaller, IsNoGpuThatTheApiDoesNotList) {
    auto report = two_identical_cards();
    report.gpus[0].apis.erase("cuda");
    EXPECT_FALSE(is_first_hidden(report, {"", "cuda", {{"CUDA_VISIBLE_DEVICES", ""}}, false}));
}

/// The end of an environment.
constexpr const char* kEnd = nullptr;

TEST(HidingVariables, AreThoseOfEveryListAndTheOrderOfCuda) {
    for (const std::string name :
         {"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "DRI_PRIME", "GGML_VK_VISIBLE_DEVICES",
          "HIP_VISIBLE_DEVICES", "MESA_VK_DEVICE_SELECT", "OCL_ICD_FILENAMES", "OCL_ICD_VENDORS",
          "ONEAPI_DEVICE_SELECTOR", "ROCR_VISIBLE_DEVICES", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
          "VK_LOADER_DRIVERS_DISABLE", "VK_LOADER_DRIVERS_SELECT", "ZE_AFFINITY_MASK"}) {
        const auto entry = name + "=1";
        EXPECT_EQ(hiding_variables(std::array{"HOME=/", entry.c_str(), "A", kEnd}.data()),
                  (Variables{{name, "1"}}));
    }
}

TEST(HidingVariables, AreFoundBesideOthersAndWithoutAValue) {
    EXPECT_EQ(hiding_variables(std::array{"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                          "HIP_VISIBLE_DEVICES", "PATH=/usr/bin",
                                          "CUDA_DEVICE_ORDER=second", kEnd}
                                   .data()),
              (Variables{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"CUDA_VISIBLE_DEVICES", ""}}))
        << "as getenv(3) finds them";
    EXPECT_EQ(hiding_variables(std::array{"LANG=C", kEnd}.data()), Variables{});
    EXPECT_EQ(hiding_variables(&kEnd), Variables{});
}

/// The variables that hide a GPU, as "variable/api", with " only" if programs can still use the GPU
/// through its vendor's API.
std::vector<std::string> hiding_of(const Variables& callers,
                                   std::size_t gpu,
                                   const Report& report) {
    std::vector<std::string> found;
    for (const auto& one : hiding(callers, report.gpus.at(gpu), report))
        found.push_back(one.variable + "/" + one.api + (one.leaves_own_api ? " only" : ""));
    return found;
}

using Hidden = std::vector<std::string>;

TEST(HidingVariables, AreComparedWithTheGpusOfTheMachine) {
    const auto report = two_identical_cards();
    const Variables all{{"CUDA_VISIBLE_DEVICES", "0,1"}};
    const Variables first{{"CUDA_VISIBLE_DEVICES", kFirstUuid}};
    const Variables none{{"CUDA_VISIBLE_DEVICES", ""}};
    const Variables of_others{{"HIP_VISIBLE_DEVICES", "-1"}, {"ROCR_VISIBLE_DEVICES", ""}};
    for (const std::size_t gpu : {0, 1}) {
        EXPECT_EQ(hiding_of({}, gpu, report), Hidden{});
        EXPECT_EQ(hiding_of(all, gpu, report), Hidden{});
        EXPECT_EQ(hiding_of(of_others, gpu, report), Hidden{});
        EXPECT_EQ(hiding_of(none, gpu, report), Hidden{"CUDA_VISIBLE_DEVICES/cuda"});
    }
    EXPECT_EQ(hiding_of(first, 0, report), Hidden{});
    EXPECT_EQ(hiding_of(first, 1, report), Hidden{"CUDA_VISIBLE_DEVICES/cuda"});
}

TEST(HidingVariables, LeaveTheApiOfTheVendor) {
    auto report = two_identical_cards();
    report.gpus[0].backends["cuda"].usable = true;
    EXPECT_EQ(hiding_of({{"GGML_VK_VISIBLE_DEVICES", ""}}, 0, report),
              Hidden{"GGML_VK_VISIBLE_DEVICES/vulkan only"});
    EXPECT_EQ(
        hiding_of({{"GGML_VK_VISIBLE_DEVICES", ""}, {"CUDA_VISIBLE_DEVICES", "-1"}}, 0, report),
        (Hidden{"CUDA_VISIBLE_DEVICES/cuda", "GGML_VK_VISIBLE_DEVICES/vulkan"}));
}

TEST(HidingVariables, AreJudgedBeforeTheApiAnswers) {
    auto report = two_identical_cards();
    for (auto& gpu : report.gpus)
        gpu.apis.clear();
    EXPECT_EQ(hiding_of({{"CUDA_VISIBLE_DEVICES", ""}}, 0, report),
              Hidden{"CUDA_VISIBLE_DEVICES/cuda"});
    // With two GPUs, the index of each GPU is unknown.
    EXPECT_EQ(hiding_of({{"CUDA_VISIBLE_DEVICES", "1"}}, 0, report), Hidden{});
    report.gpus.pop_back();
    EXPECT_EQ(hiding_of({{"CUDA_VISIBLE_DEVICES", "1"}}, 0, report),
              Hidden{"CUDA_VISIBLE_DEVICES/cuda"});
    EXPECT_EQ(hiding_of({{"CUDA_VISIBLE_DEVICES", "0"}}, 0, report), Hidden{});
    report.gpus[0].kind = GpuKind::DisplayOnly;
    EXPECT_EQ(hiding_of({{"CUDA_VISIBLE_DEVICES", ""}}, 0, report), Hidden{});
}

}  // namespace caller_variables_test
}  // namespace gpuprobe
