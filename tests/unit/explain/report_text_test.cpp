// SPDX-License-Identifier: Apache-2.0
#include "explain/report_text.h"

#include <csignal>

#include <gtest/gtest.h>

#include "explain/screen.h"
#include "report/compute_view.h"
#include "unit/report/instances.h"

namespace gpuprobe::test {
namespace report_text_test {

const Screen kAscii{.is_unicode = false};

TEST(GpuTitle, IsTheNameElseTheIdsElseTheVendorElseTheId) {
    Gpu gpu{.id = "pci:0000:01:00.0", .vendor = "nvidia", .name = "NVIDIA H200"};
    EXPECT_EQ(gpu_title(gpu), "NVIDIA H200");
    gpu.name.reset();
    gpu.pci = PciInfo{.vendor_id = "10de", .device_id = "fff0"};
    EXPECT_EQ(gpu_title(gpu), "NVIDIA [10de:fff0]");
    gpu.vendor.reset();
    EXPECT_EQ(gpu_title(gpu), "[10de:fff0]");
    gpu.pci.reset();
    EXPECT_EQ(gpu_title(gpu), "pci:0000:01:00.0");
    gpu.vendor = "nvidia";
    EXPECT_EQ(gpu_title(gpu), "NVIDIA GPU");
}

TEST(NamedGpuTitle, HasTheIdAndIsOnlyTheIdOfAnUnknownGpu) {
    const auto report = with_cuda_on(kInstance);
    EXPECT_EQ(named_gpu_title(kCard, &report), "NVIDIA H200 (pci:0000:00:06.0)");
    EXPECT_EQ(named_gpu_title("pci:0000:00:06.0/mig-1", &report),
              "NVIDIA H200 MIG 3g.71gb (pci:0000:00:06.0/mig-1)");
    EXPECT_EQ(named_gpu_title("pci:0000:00:06.0/mig-9", &report), "pci:0000:00:06.0/mig-9");
    EXPECT_EQ(named_gpu_title("pci:0000:99:00.0", &report), "pci:0000:99:00.0");
    EXPECT_EQ(named_gpu_title(kCard, nullptr), kCard);
    EXPECT_EQ(named_gpu_title("a\x1b[31m", nullptr).find('\x1b'), std::string::npos);
    EXPECT_EQ(named_gpu_titles({}, &report, kAscii), std::nullopt);
    EXPECT_EQ(named_gpu_titles({"a", "b"}, nullptr, kAscii), "a, b");
}

TEST(NamedGpuTitles, NameEqualGpusOnce) {
    Report report;
    for (const auto* id : {"pci:1", "pci:2", "pci:3"})
        report.gpus.push_back({.id = id, .name = "NVIDIA H200"});
    report.gpus.push_back({.id = "pci:4", .name = "NVIDIA T4"});
    EXPECT_EQ(named_gpu_titles({"pci:1", "pci:4", "pci:2", "pci:3"}, &report, kAscii),
              "3 x NVIDIA H200 (pci:1 ...), NVIDIA T4 (pci:4)");
    EXPECT_EQ(named_gpu_titles({"pci:1", "pci:3"}, &report, kAscii),
              "2 x NVIDIA H200 (pci:1, pci:3)");
    EXPECT_EQ(named_gpu_titles({"pci:2"}, &report, kAscii), "NVIDIA H200 (pci:2)");
    EXPECT_EQ(named_gpu_titles({"a", "b"}, &report, kAscii), "a, b");
    EXPECT_EQ(first_and_more({"pci:1"}), "pci:1");
    EXPECT_EQ(first_and_more({"pci:1", "pci:2", "pci:3"}), "pci:1 and 2 more");
}

TEST(AcceleratorTitle, IsTheNameElseTheVendorAndTheKind) {
    EXPECT_EQ(accelerator_title({.kind = "training", .name = "GAUDI2"}), "GAUDI2");
    EXPECT_EQ(accelerator_title({.kind = "npu", .vendor = "amd", .name = "1022:17f0"}), "AMD NPU");
    EXPECT_EQ(accelerator_title({.kind = "npu", .vendor = "intel"}), "Intel NPU");
    EXPECT_EQ(accelerator_title({.kind = "video", .vendor = "rockchip"}), "Rockchip video codec");
    EXPECT_EQ(accelerator_title({.kind = "training", .vendor = "unheard-of"}),
              "unheard-of training accelerator");
    EXPECT_EQ(accelerator_title({}), "accelerator");
}

TEST(LikeAccelerators, DifferOnlyInIdentityPowerAndTemperature) {
    const Accelerator first{.id = "pci:1", .kind = "training", .name = "GAUDI2"};
    auto second = first;
    second.id = "pci:2";
    second.power.draw = 92'000'000;
    auto ill = first;
    ill.health = "lost";
    const LikeAccelerators all{&first, &ill, &second};
    const auto groups = like_accelerators(all, kAscii, false);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(title_of(groups[0]), "2 x GAUDI2");
    EXPECT_EQ(id_of(groups[0], kAscii), "pci:1 ...");
    EXPECT_EQ(id_of(groups[1], kAscii), "pci:1");
    EXPECT_EQ(like_accelerators(all, kAscii, true).size(), 3U);
}

TEST(LikeGpus, AreAlsoEqualPartitions) {
    const auto report = with_cuda_on(kInstance);
    const ComputeView view{report};
    ASSERT_EQ(view.report().gpus.size(), 2U);
    auto parts = view.report();
    EXPECT_EQ(like_gpus(parts, kAscii, false).size(), 2U) << "the profiles differ";
    parts.gpus[1] = parts.gpus[0];
    parts.gpus[1].id += "0";
    parts.gpus[1].partitions.front().id = parts.gpus[1].id;
    const auto groups = like_gpus(parts, kAscii, false);
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(index_text(groups[0].indices), "0-1");
    EXPECT_EQ(title_of(groups[0]), "2 x NVIDIA H200 MIG 3g.71gb");
}

TEST(Titles, OfVendorDriverSizeAndKindContainKnownFacts) {
    EXPECT_EQ(vendor_title("nvidia"), "NVIDIA");
    EXPECT_EQ(vendor_title("unheard-of"), "unheard-of");
    EXPECT_EQ(driver_title({}, kAscii), "-");
    EXPECT_EQ(driver_title({.name = "nvidia"}, kAscii), "nvidia");
    EXPECT_EQ(driver_title({.name = "nvidia", .version = "580.1", .flavour = "open"}, kAscii),
              "nvidia 580.1 (open)");
    EXPECT_EQ(size_or_unknown(gib(2)), "2.0 GiB");
    EXPECT_EQ(size_or_unknown({}), "?");
    EXPECT_EQ(kind_title({.kind = GpuKind::Discrete, .health = "ok"}), "discrete");
    EXPECT_EQ(kind_title({.kind = GpuKind::Integrated, .health = "no-driver"}), "integrated !");
}

TEST(BackendsCell, ListsWorkingBackendsThenUnknownOnes) {
    Gpu gpu;
    EXPECT_EQ(backends_cell(gpu, kAscii), (Cell{.text = "-", .tone = Tone::Faint}));
    gpu.backends["vulkan"].usable = std::nullopt;
    gpu.backends["cuda"].usable = false;
    EXPECT_EQ(backends_cell(gpu, kAscii), (Cell{.text = "vulkan?", .tone = Tone::Unsure}));
    gpu.backends["opencl"].usable = true;
    gpu.backends["cuda"].usable = true;
    gpu.backends["a-newer-one"].usable = true;
    EXPECT_EQ(backends_cell(gpu, kAscii),
              (Cell{.text = "cuda opencl a-newer-one vulkan?", .tone = Tone::Good}));
    EXPECT_EQ(usable_backends(gpu), (std::vector<std::string>{"cuda", "opencl", "a-newer-one"}));
}

TEST(BackendNames, AreOursThenOthersByName) {
    Report report;
    const auto ours = backend_names(report);
    EXPECT_EQ(std::ranges::find(ours, "cpu"), ours.end());
    report.gpus = {{.id = "a"}, {.id = "b"}};
    report.gpus[0].backends = {{"zeta", {}}, {"cuda", {}}, {"cpu", {}}};
    report.gpus[1].backends = {{"alpha", {}}, {"zeta", {}}};
    auto wanted = ours;
    wanted.insert(wanted.end(), {"alpha", "zeta"});
    EXPECT_EQ(backend_names(report), wanted);
}

struct ProblemRow {
    const char* name;
    ProbeEntry probe;
    const char* sentence;
    bool went_wrong;
};
class Problem : public testing::TestWithParam<ProblemRow> {};

TEST_P(Problem, ReportsHowTheProbeEnded) {
    EXPECT_EQ(problem_sentence(GetParam().probe), GetParam().sentence);
    EXPECT_EQ(went_wrong(GetParam().probe), GetParam().went_wrong);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Problem,
    testing::Values(
        ProblemRow{"Crashed",
                   {.api = "vulkan",
                    .driver = "/x/radeon_icd.json",
                    .stage = "query",
                    .outcome = Outcome::Crashed,
                    .duration = std::chrono::milliseconds{31},
                    .signal = SIGSEGV,
                    .note = "enumerate"},
                   "vulkan: /x/radeon_icd.json crashed with SIGSEGV after 31 ms: enumerate",
                   true},
        ProblemRow{"TimedOutWhileVerifying",
                   {.api = "cuda",
                    .stage = "verify",
                    .device = "pci:0000:01:00.0",
                    .outcome = Outcome::TimedOut},
                   "cuda: the driver did not answer in time while verifying pci:0000:01:00.0",
                   true},
        ProblemRow{"FailedWhileMeasuring",
                   {.api = "opencl", .stage = "measure", .outcome = Outcome::Failed},
                   "opencl: the driver failed while measuring a device",
                   true},
        ProblemRow{"Absent",
                   {.api = "hip", .stage = "query", .outcome = Outcome::Absent},
                   "hip: the driver failed",
                   false},
        ProblemRow{"Answered",
                   {.api = "hip", .stage = "query", .outcome = Outcome::Answered},
                   "hip: the driver failed",
                   false}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Quarantine, ReportsWhyAndUntilWhen) {
    const QuarantinedProbe held{.api = "vulkan",
                                .driver = "/x/radeon_icd.json",
                                .why = Harm::TimedOut,
                                .times = 3,
                                .until = WallTime{std::chrono::seconds{1'700'000'000}}};
    EXPECT_EQ(quarantine_sentence(held),
              "vulkan: /x/radeon_icd.json is in quarantine until 2023-11-14 22:13 UTC: it hung 3 "
              "times");
    EXPECT_EQ(harm_words(Harm::Crashed, 1), "it crashed");
    EXPECT_EQ(harm_words(Harm::Crashed, 0), "it crashed") << "it happened at least once";
    EXPECT_EQ(harm_words(Harm::Crashed, 2), "it crashed 2 times");
    EXPECT_EQ(harm_words(Harm::MachineWentDown, 2),
              "the machine went down while the driver was probed");
    EXPECT_EQ(harm_words(Harm::DaemonWentDown, 2),
              "the daemon went down while the driver was probed 2 times");
}

TEST(ProbeEnding, IsTheSignalElseTheExitCodeWithTheNote) {
    EXPECT_EQ(ending({}), "");
    EXPECT_EQ(ending({.exit_code = 0}), "");
    EXPECT_EQ(ending({.exit_code = 3}), "exit code 3");
    EXPECT_EQ(ending({.exit_code = 3, .signal = SIGKILL}), "SIGKILL");
    EXPECT_EQ(ending({.exit_code = 3, .note = "why"}), "exit code 3: why");
    EXPECT_EQ(ending({.note = "why"}), "why");
}

TEST(ProbeTable, ShowsDriversOrDevices) {
    EXPECT_EQ(probe_table({}, kAscii), "");
    EXPECT_EQ(driver_file({}, kAscii), "-");
    EXPECT_EQ(driver_file({.driver = "/x/a.json"}, kAscii), "a.json");
    const ProbeEntry query{.api = "vulkan", .driver = "/x/a.json", .outcome = Outcome::Answered};
    EXPECT_NE(probe_table({query}, kAscii).find("DRIVER"), std::string::npos);
    EXPECT_NE(probe_table({query}, kAscii).find("a.json"), std::string::npos);
    const ProbeEntry trial{.api = "vulkan", .driver = "/x/a.json", .device = "pci:0000:01:00.0"};
    EXPECT_NE(probe_table({trial}, kAscii).find("DEVICE"), std::string::npos);
    EXPECT_NE(probe_table({trial}, kAscii).find("pci:0000:01:00.0"), std::string::npos);
    EXPECT_EQ(tone_of(Outcome::Answered), Tone::Good);
    EXPECT_EQ(tone_of(Outcome::Absent), Tone::Faint);
    EXPECT_EQ(tone_of(Outcome::Skipped), Tone::Unsure);
    EXPECT_EQ(tone_of(Outcome::Crashed), Tone::Bad);
}

TEST(ProbeSummary, CountsByOutcome) {
    EXPECT_EQ(probe_summary({}), "0 probes");
    EXPECT_EQ(probe_summary({{.outcome = Outcome::Answered}}), "1 probe: 1 answered");
    EXPECT_EQ(probe_summary({{.outcome = Outcome::Absent},
                             {.outcome = Outcome::Answered},
                             {.outcome = Outcome::Answered}}),
              "3 probes: 2 answered, 1 absent");
}

}  // namespace report_text_test
}  // namespace gpuprobe::test
