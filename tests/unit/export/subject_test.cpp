// SPDX-License-Identifier: Apache-2.0
#include "export/subject.h"

#include <gtest/gtest.h>

#include "export/fleet_label.h"
#include "policy/fact.h"
#include "support/case_name.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace subject_test {

using namespace testing_fleet;

struct Name {
    const char* name;
    std::string text;
    bool is_label;
    bool is_fleet_name;
};
class Names : public ::testing::TestWithParam<Name> {};

TEST_P(Names, AreTakenByTheirLetters) {
    EXPECT_EQ(is_label_value(GetParam().text), GetParam().is_label);
    EXPECT_EQ(is_fleet_name(GetParam().text), GetParam().is_fleet_name);
}

INSTANTIATE_TEST_SUITE_P(Table,
                         Names,
                         ::testing::Values(Name{"Usual", "llama.cpp", true, true},
                                           Name{"Digit", "9", true, true},
                                           Name{"Empty", "", false, false},
                                           Name{"Capital", "Ollama", true, false},
                                           Name{"DotFirst", ".a", false, false},
                                           Name{"DashLast", "a-", false, false},
                                           Name{"Space", "a b", false, false},
                                           Name{"Umlaut", "ä", false, false},
                                           Name{"LongestName", std::string(31, 'a'), true, true},
                                           Name{"TooLongName", std::string(32, 'a'), true, false},
                                           Name{"LongestLabel", std::string(63, 'a'), true, false},
                                           Name{"TooLong", std::string(64, 'a'), false, false}),
                         support::case_name);

TEST(Verdicts, LeaveOutNamesThatNoOrchestratorAccepts) {
    const auto report = mixed();
    auto answer = llama();
    answer.candidates.push_back(judged("Bad Name", Verdict::Accepted));
    auto other = llama();
    other.application = "../etc";
    std::vector<ExportRemark> left_out;
    const auto verdicts = verdicts_of(subject_of(report, {answer, other}), left_out);
    ASSERT_EQ(verdicts.size(), 1U);
    EXPECT_EQ(verdicts[0].supported, (std::vector<std::string>{"cuda13", "cuda12", "vulkan"}));
    EXPECT_EQ(verdicts[0].unsupported, std::vector<std::string>{"rocm7"});
    EXPECT_EQ(codes(left_out), (std::vector<std::string>{"unfit-name", "unfit-name"}));
}

TEST(Verdicts, TakeNoOtherForTheBestWhoseNameIsUnfit) {
    const auto report = mixed();
    Recommendation answer{
        .application = "llama.app",
        .status = RecommendStatus::Ok,
        .variant = "cuda/90",
        .candidates = {judged("cuda/90", Verdict::Accepted), judged("vulkan", Verdict::Accepted)}};
    std::vector<ExportRemark> left_out;
    const auto verdicts = verdicts_of(subject_of(report, {answer}), left_out);
    EXPECT_EQ(verdicts[0].best, std::nullopt);
    EXPECT_EQ(verdicts[0].supported, std::vector<std::string>{"vulkan"});
}

TEST(Verdicts, TakeNoDefaultThatIsRejected) {
    const auto report = mixed();
    Recommendation answer{.application = "a",
                          .status = RecommendStatus::DefaultUnverified,
                          .variant = "cpu",
                          .candidates = {judged("cpu", Verdict::Rejected)}};
    std::vector<ExportRemark> left_out;
    EXPECT_EQ(verdicts_of(subject_of(report, {answer}), left_out)[0].best, std::nullopt);
}

struct Arch {
    const char* name;
    Architecture architecture;
    std::optional<std::string> word;
};
class Archs : public ::testing::TestWithParam<Arch> {};

TEST_P(Archs, AreCompilersNames) {
    EXPECT_EQ(arch_word(GetParam().architecture), GetParam().word);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Archs,
    ::testing::Values(Arch{"Nvidia", {.cuda_compute_capability = "9.0"}, "sm_90"},
                      Arch{"Blackwell", {.cuda_compute_capability = "12.0"}, "sm_120"},
                      Arch{"Amd", {.gfx_target = "gfx90a:sramecc+:xnack-"}, "gfx90a"},
                      Arch{"Alchemist", {.intel_ip = "12.55.8"}, "xe_hpg"},
                      Arch{"PonteVecchio", {.intel_ip = "12.60.7"}, "xe_hpc"},
                      Arch{"MeteorLake", {.intel_ip = "12.70.4"}, "xe_lpg"},
                      Arch{"TigerLake", {.intel_ip = "12.0.0"}, "xe_lp"},
                      Arch{"Battlemage", {.intel_ip = "20.1.0"}, "xe2"},
                      Arch{"PantherLake", {.intel_ip = "30.0.4"}, "xe3"},
                      Arch{"NobodyKnows", {.intel_ip = "99.0.0"}, std::nullopt},
                      Arch{"Odd", {.cuda_compute_capability = "nine"}, std::nullopt},
                      Arch{"Unknown", {}, std::nullopt}),
    support::case_name);

TEST(InstantText, IsInWholeSecondsOfUtc) {
    const auto text = [](std::int64_t microseconds) {
        return instant_text(WallTime{std::chrono::microseconds{microseconds}});
    };
    EXPECT_EQ(text(0), "1970-01-01T00:00:00Z");
    EXPECT_EQ(text(1'795'216'000'999'999), "2026-11-20T23:06:40Z");
    EXPECT_EQ(text(951'782'400'000'000), "2000-02-29T00:00:00Z");
    EXPECT_EQ(text(-1), "1969-12-31T23:59:59Z");
}

TEST(ExportedGpus, AreSortedAndNamedByTheirPlace) {
    auto hidden = h200();
    hidden.id = "cuda:0";
    hidden.pci.reset();
    auto display = h200("0000:01:00.0");
    display.kind = GpuKind::DisplayOnly;
    const auto report = report_of({raphael(), display, h200(), hidden});
    std::vector<ExportRemark> left_out;
    const auto subject = subject_of(report);
    const auto gpus = exported_gpus(subject, left_out);
    std::vector<std::string> places;
    for (const auto& gpu : gpus)
        places.push_back(gpu.place);
    EXPECT_EQ(places, (std::vector<std::string>{"cuda:0", "0000:18:00.0", "0000:c5:00.0"}));
    EXPECT_TRUE(left_out.empty());
    EXPECT_EQ(gpus[1].vendor, "nvidia");
    EXPECT_EQ(gpus[1].arch, "sm_90");
    EXPECT_EQ(gpus[1].card, "card0");
}

TEST(ExportedGpus, OfAVendorWithoutAnApiAreOfAnother) {
    auto gpu = h200();
    gpu.vendor = "mthreads";
    const auto report = report_of({gpu});
    std::vector<ExportRemark> left_out;
    EXPECT_EQ(exported_gpus(subject_of(report), left_out)[0].vendor, "other");
}

TEST(ExportedGpus, OverTheLimitAreLeftOutWithARemark) {
    auto report = report_of({});
    for (std::size_t i = 0; i < kMaxVariantGpus; ++i)
        report.gpus.push_back(h200());
    std::vector<ExportRemark> left_out;
    EXPECT_EQ(exported_gpus(subject_of(report), left_out).size(), kMaxVariantGpus);
    EXPECT_TRUE(left_out.empty());
    report.gpus.push_back(h200());
    EXPECT_EQ(exported_gpus(subject_of(report), left_out).size(), kMaxVariantGpus);
    EXPECT_EQ(left_out.size(), 1U);
}

TEST(IdentifierOf, KeepsLettersDigitsAndUnderscores) {
    EXPECT_EQ(identifier_of("llama.cpp-2_x"), "llama_cpp_2_x");
    EXPECT_EQ(identifier_of(""), "");
}

TEST(NodesOf, AreThoseThatExist) {
    auto gpu = h200();
    gpu.nodes.push_back({.path = "/dev/nvidia7", .reason = "missing"});
    EXPECT_EQ(nodes_of(gpu, "/dev/nvidia"), std::vector<std::string>{"/dev/nvidia0"});
    EXPECT_EQ(nodes_of(gpu, "/dev/kfd"), std::vector<std::string>{});
}

}  // namespace subject_test
}  // namespace gpuprobe
