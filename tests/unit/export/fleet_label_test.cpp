// SPDX-License-Identifier: Apache-2.0
#include "export/fleet_label.h"

#include <algorithm>

#include "partition/export/fleet.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace {

using namespace testing_fleet;

std::map<std::string, std::string> labels_of(const Report& report) {
    std::vector<ExportRemark> left_out;
    std::map<std::string, std::string> labels;
    const auto subject = subject_of(report);
    for (const auto& label : fact_labels(subject, exported_gpus(subject, left_out)))
        labels.emplace(label.name, label.value);
    return labels;
}

TEST(FleetLabel, CountsGpusByWhatTheyAre) {
    const auto labels = labels_of(mixed());
    EXPECT_EQ(labels.at("gpu.count"), "2");
    EXPECT_EQ(labels.at("gpu.discrete.count"), "1");
    EXPECT_EQ(labels.at("gpu.arch.gfx1036"), "1");
    EXPECT_EQ(labels.at("gpu.vendor.amd"), "1");
}

TEST(FleetLabel, NamesATargetOnlyWhereItsApiWorks) {
    const auto labels = labels_of(mixed());
    EXPECT_EQ(labels.at("api.cuda.sm_90"), "1");
    EXPECT_FALSE(labels.contains("api.rocm.gfx1036"));
    EXPECT_FALSE(labels.contains("api.rocm"));
}

TEST(FleetLabel, TellsTheLeastOfSeveral) {
    auto small = h200("0000:19:00.0", "1");
    small.memory.physical = gib(80);
    small.apis["vulkan"].version = "1.3.280";
    const auto labels = labels_of(report_of({h200(), small}));
    EXPECT_EQ(labels.at("gpu.discrete.memory.min-gib"), "80");
    EXPECT_EQ(labels.at("api.vulkan"), "1.3");
}

TEST(FleetLabel, TellsNoMoreOfVulkanThanTheLoaderGives) {
    auto report = mixed();
    report.runtimes["vulkan"] = {.outcome = Outcome::Answered, .version = "1.2.135"};
    EXPECT_EQ(labels_of(report).at("api.vulkan"), "1.2");
}

TEST(FleetLabel, PromisesNoMemoryWhenThatOfOneCardIsUnknown) {
    auto unknown = h200("0000:19:00.0", "1");
    unknown.memory = {};
    EXPECT_FALSE(labels_of(report_of({h200(), unknown})).contains("gpu.discrete.memory.min-gib"));
}

TEST(FleetLabel, IsThereForAMachineWithoutGpu) {
    const auto labels = labels_of(report_of({}));
    EXPECT_EQ(labels.at("gpu.count"), "0");
    EXPECT_EQ(labels.at("host.glibc.minor"), "36");
    for (const auto& [name, value] : labels)
        EXPECT_FALSE(name.starts_with("api.")) << name;
}

TEST(FleetLabel, LeavesDisplayAdaptersOut) {
    Gpu bmc{.id = "pci:0000:02:00.0", .kind = GpuKind::DisplayOnly, .vendor = "aspeed"};
    EXPECT_EQ(labels_of(report_of({bmc})).at("gpu.count"), "0");
}

TEST(FleetLabel, IsNoFactAboutOneCardAlone) {
    for (const auto& [name, value] : labels_of(mixed()))
        for (const auto* secret : {"4cf8db2d", "0000:", "580.95", "H200", "1795"})
            EXPECT_EQ((name + value).find(secret), std::string::npos) << name << "=" << value;
}

TEST(WithinBudget, DropsVerdictsFirst) {
    std::vector<ExportRemark> left_out;
    const std::vector<FleetLabel> facts(20, {"gpu.count", "1"});
    const std::vector<FleetLabel> verdicts(6, {"variant.a.b", "true"});
    EXPECT_EQ(within_budget(facts, verdicts, 24, left_out).size(), 24U);
    EXPECT_EQ(codes(left_out), std::vector<std::string>{"over-budget"});
    left_out.clear();
    EXPECT_EQ(within_budget(facts, verdicts, 26, left_out).size(), 26U);
    EXPECT_TRUE(left_out.empty());
}

TEST(WithinBudget, RefusesFactsThatDoNotFit) {
    std::vector<ExportRemark> left_out;
    EXPECT_TRUE(within_budget(std::vector<FleetLabel>(25), {}, 24, left_out).empty());
    EXPECT_EQ(codes(left_out), std::vector<std::string>{"over-budget"});
}

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
                         testing::case_name);

TEST(Verdicts, LeaveOutWhatNoEngineTakes) {
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
    testing::case_name);

}  // namespace
}  // namespace gpuprobe
