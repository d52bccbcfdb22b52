// SPDX-License-Identifier: Apache-2.0
#include "cli/device_use.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace device_use_test {

using watch::DeviceUse;
using watch::Doubt;

constexpr const char* kCard = "pci:0000:01:00.0";
constexpr const char* kOther = "pci:0000:02:00.0";
constexpr const char* kNpu = "pci:0000:00:0b.0";

/// Two GPUs and an NPU.
Report machine(const char* name = "NVIDIA H200", const char* other = "NVIDIA L40S") {
    Report report;
    report.gpus = {{.id = kCard, .name = name}, {.id = kOther, .name = other}};
    report.accelerators = {{.id = kNpu, .name = "An NPU"}};
    return report;
}

DeviceUse use_of(const char* device, std::vector<std::string> apis = {}) {
    return {.device = device, .apis = std::move(apis)};
}

// Expected and chosen -----------------------------------------------------------------------------

struct ExpectRow {
    const char* name;
    SeenUse seen;
    const char* word;
    std::optional<bool> is_as_expected;
};
class Expected : public ::testing::TestWithParam<ExpectRow> {};

TEST_P(Expected, IsDecidedByTheDevicesThatWereSeen) {
    EXPECT_EQ(is_as_expected(GetParam().seen, GetParam().word, machine()),
              GetParam().is_as_expected);
}

const SeenUse kNothing{};
const SeenUse kDoubtful{.doubts = {Doubt::NotReadable}};
const SeenUse kCuda{.devices = {use_of(kCard, {"cuda"})}};
const SeenUse kOnNpu{.devices = {use_of(kNpu, {"level_zero"})}};
const SeenUse kByUnknownApi{.devices = {use_of(kCard)}};

INSTANTIATE_TEST_SUITE_P(
    Table,
    Expected,
    ::testing::Values(
        ExpectRow{"NoGpu", kNothing, "cpu", true},
        ExpectRow{"NoGpuButABackendExpected", kNothing, "cuda", false},
        ExpectRow{"NoGpuWithDoubts", kDoubtful, "cpu", {}},
        ExpectRow{"NoGpuWithDoubtsButABackendExpected", kDoubtful, "cuda", {}},
        ExpectRow{"AGpuInsteadOfTheCpu", kCuda, "cpu", false},
        ExpectRow{"TheBackend", kCuda, "cuda", true},
        ExpectRow{"AnotherBackend", kCuda, "vulkan", false},
        ExpectRow{"AnUnknownApi", kByUnknownApi, "cuda", {}},
        ExpectRow{"OneOfTwoApis", {.devices = {use_of(kCard, {"vulkan", "cuda"})}}, "cuda", true},
        ExpectRow{"TheNameOfTheApi", {.devices = {use_of(kCard, {"hip"})}}, "hip", true},
        ExpectRow{"TheBackendOfTheApi", {.devices = {use_of(kCard, {"hip"})}}, "rocm", true},
        ExpectRow{"OnlyAnAccelerator", kOnNpu, "cpu", true},
        ExpectRow{"OnlyAnAcceleratorInsteadOfAGpu", kOnNpu, "sycl", false}),
    support::case_name);

struct ChosenRow {
    const char* name;
    SeenUse seen;
    ChosenUse chosen;
    std::optional<bool> is_as_chosen;
};
class Chosen : public ::testing::TestWithParam<ChosenRow> {};

TEST_P(Chosen, IsTheBackendOnTheseGpusOnly) {
    EXPECT_EQ(is_as_chosen(GetParam().seen, GetParam().chosen, machine()), GetParam().is_as_chosen);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Chosen,
    ::testing::Values(
        ChosenRow{"TheGpu", kCuda, {.backend = "cuda", .gpus = {kCard}}, true},
        ChosenRow{"AnotherGpu", kCuda, {.backend = "cuda", .gpus = {kOther}}, false},
        ChosenRow{"OneOfTwoChosen", kCuda, {.backend = "cuda", .gpus = {kOther, kCard}}, true},
        ChosenRow{"OneMoreThanChosen",
                  {.devices = {use_of(kCard, {"cuda"}), use_of(kOther, {"cuda"})}},
                  {.backend = "cuda", .gpus = {kCard}},
                  false},
        ChosenRow{
            "APartition", kCuda, {.backend = "cuda", .gpus = {"pci:0000:01:00.0/mig-1"}}, true},
        ChosenRow{"AnotherBackend", kCuda, {.backend = "vulkan", .gpus = {kCard}}, false},
        ChosenRow{"AnyGpu", kCuda, {.backend = "cuda"}, true},
        ChosenRow{"TheCpu", kNothing, {.backend = "cpu"}, true},
        ChosenRow{"Nothing", kNothing, {}, true},
        ChosenRow{"AGpuInsteadOfTheCpu", kCuda, {.backend = "cpu"}, false},
        ChosenRow{"AnUnknownApi", kByUnknownApi, {.backend = "cuda", .gpus = {kCard}}, {}},
        ChosenRow{"NoGpuWithDoubts", kDoubtful, {.backend = "cuda", .gpus = {kCard}}, {}}),
    support::case_name);

TEST(ExpectableWords, AreTheCpuBackendsAndTheirApis) {
    for (const auto* good : {"cpu", "cuda", "rocm", "hip", "sycl", "level_zero", "vulkan"})
        EXPECT_TRUE(is_expectable(good)) << good;
    for (const auto* bad : {"", "nvml", "pci", "metal", "CUDA"})
        EXPECT_FALSE(is_expectable(bad)) << bad;
    EXPECT_TRUE(is_same_api("hip", "rocm"));
    EXPECT_TRUE(is_same_api("rocm", "rocm"));
    EXPECT_FALSE(is_same_api("cuda", "rocm"));
    EXPECT_FALSE(is_same_api("", "")) << "no API is not the same API";
}

// Output for users --------------------------------------------------------------------------------

TEST(DevicesText, NamesTheApisOfEqualDevicesOnce) {
    auto first = use_of(kCard, {"cuda"});
    first.memory = gib(2);
    EXPECT_EQ(devices_text({first}, machine()), "NVIDIA H200, 2.0 GiB through CUDA");
    EXPECT_EQ(devices_text({first, use_of(kOther, {"cuda"})}, machine()),
              "NVIDIA H200, 2.0 GiB and NVIDIA L40S through CUDA");
    EXPECT_EQ(devices_text({first, use_of(kOther, {"vulkan"})}, machine()),
              "NVIDIA H200, 2.0 GiB through CUDA and NVIDIA L40S through Vulkan");
    EXPECT_EQ(devices_text({use_of(kCard, {"cuda", "vulkan"})}, machine()),
              "NVIDIA H200 through CUDA or Vulkan");
    EXPECT_EQ(devices_text({use_of(kNpu)}, machine()), "An NPU");
    EXPECT_EQ(devices_text({}, machine()), "");
}

TEST(DevicesText, DistinguishesGpusWithTheSameName) {
    const auto twins = machine("NVIDIA H200", "NVIDIA H200");
    EXPECT_EQ(devices_text({use_of(kOther)}, twins), "NVIDIA H200 (pci:0000:02:00.0)");
    EXPECT_EQ(devices_text({use_of("pci:0000:99:00.0")}, twins), "pci:0000:99:00.0");
}

TEST(ChosenText, NamesTheBackendAndTheGpus) {
    EXPECT_EQ(chosen_text({.backend = "cuda"}, machine()), "cuda");
    EXPECT_EQ(chosen_text({.backend = "cuda", .gpus = {kCard, kOther}}, machine()),
              "cuda on NVIDIA H200 and NVIDIA L40S");
}

TEST(OutcomeText, ReportsWhatWasUsedInsteadOfTheChoice) {
    const auto text = [](const SeenUse& seen, const ChosenUse& chosen) {
        return outcome_text(seen, chosen, machine());
    };
    const ChosenUse on_card{.backend = "cuda", .gpus = {kCard}};
    EXPECT_EQ(text(kCuda, on_card), "used NVIDIA H200 through CUDA");
    EXPECT_EQ(text(kCuda, {.backend = "cuda", .gpus = {kOther}}),
              "used NVIDIA H200 through CUDA, although cuda on NVIDIA L40S was chosen");
    EXPECT_EQ(text(kCuda, {.backend = "vulkan", .gpus = {kCard}}),
              "used NVIDIA H200 through CUDA, although vulkan was chosen");
    EXPECT_EQ(text(kByUnknownApi, on_card), "used NVIDIA H200");
    EXPECT_EQ(text(kNothing, {.backend = "cpu"}), "used no GPU, as chosen");
    EXPECT_EQ(text(kNothing, on_card), "used no GPU, although cuda was chosen");
    EXPECT_EQ(text(kDoubtful, on_card),
              "unknown whether a GPU was used: no permission to inspect one of "
              "the program's processes");
}

TEST(DoubtsText, HasEachDoubtInOneOrder) {
    EXPECT_EQ(doubts_text({}), "");
    EXPECT_EQ(
        doubts_text({Doubt::TooMany, Doubt::EndedTooSoon}),
        "the process ended before NVIDIA's driver library reported its GPU use; the process has "
        "too many child processes");
}

// Documents ---------------------------------------------------------------------------------------

TEST(UseDocuments, HaveNullForUnknownSizes) {
    auto use = use_of(kCard, {"cuda"});
    use.processes = 2;
    EXPECT_EQ(json_line(devices_document({use}, machine())),
              R"([{"device":"pci:0000:01:00.0","name":"NVIDIA H200","memory":null,)"
              R"("apis":["cuda"],"processes":2}])");
    EXPECT_EQ(json_line(devices_document({}, machine())), "[]");
    EXPECT_EQ(json_line(apis_document({Api::Vulkan, Api::Cuda})), R"(["cuda","vulkan"])");
    EXPECT_EQ(json_line(doubts_document({Doubt::NotReadable})), R"(["process-not-readable"])");
}

}  // namespace device_use_test
}  // namespace gpuprobe
