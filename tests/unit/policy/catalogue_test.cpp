// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "policy/recommend.h"
#include "scenario.h"
#include "support/case_name.h"

/// Tests of the answers for the applications in data/knowledge/applications. If a scenario contains
/// a project's own choice, the answer must be equal. The answers are also tested on additional
/// machines, which are derived from the scenarios.
namespace gpuprobe {
namespace catalogue_test {

using namespace testing_variants;

Manifest catalogue(const std::string& application) {
    const auto known = ApplicationSet::with_builtins();
    const auto* manifest = known.manifest(application);
    EXPECT_NE(manifest, nullptr) << application;
    return manifest ? *manifest : Manifest{};
}

/// Samples that the scenarios refer to, and the data file of the same application.
const std::map<std::string, std::string> kManifests = {{"torch-2.13", "torch"},
                                                       {"llama.cpp", "llama.cpp"},
                                                       {"llama-app", "llama.app"},
                                                       {"ollama", "ollama"},
                                                       {"jax", "jax"},
                                                       {"localai", "localai"},
                                                       {"tsuku-llm", "tsuku-llm"},
                                                       {"tsuku-llm-recipe", "tsuku-llm-recipe"}};
/// Names in an application's data file that differ from the names in the sample:
/// APPLICATION/SCENARIO or APPLICATION/VARIANT. The sample names llama.app's CPU builds by ggml's
/// scores, and the data file names them by features. The samples of torch and llama.cpp are older
/// than the data files.
const std::map<std::string, std::string> kNames = {{"llama.app/cpu/haswell", "cpu/ylkkk"},
                                                   {"llama.cpp/G13", "ubuntu-cuda-13.4-x64"},
                                                   {"torch/G03", "cu118"},
                                                   {"torch/cu130", "cu132"},
                                                   {"torch/rocm7.2", "rocm7.14"}};

/// The selection's rejections, for instance of integrated GPUs, which the builds do not repeat.
Refusals refusals_on(const std::string& application, const Report& report) {
    const auto known = ApplicationSet::with_builtins();
    const auto* profile = known.selection(application);
    return profile ? selection_view(*profile, {}, report).refusals : Refusals{};
}

struct Check {
    std::string name;
    std::string machine;
    std::string application;
    Value wanted;
};

std::vector<Check> checks() {
    std::vector<Check> list;
    const auto golden = document("/tests/data/variants/golden.json");
    for (const auto& scenario : *golden.at("scenarios").as_array())
        for (const auto& check : *scenario.at("checks").as_array()) {
            const auto* sample = check.at("manifest").as_string();
            if (!sample || !kManifests.contains(*sample))
                continue;
            const auto id = *scenario.at("id").as_string();
            list.push_back(
                {id + "_" + std::to_string(list.size()), id, kManifests.at(*sample), check});
        }
    return list;
}

class Catalogue : public ::testing::TestWithParam<Check> {};

TEST_P(Catalogue, ChoosesTheSameAsTheProject) {
    const auto& wanted = GetParam().wanted;
    const RecommendRequest request{.prefer = texts(wanted.at("prefer")),
                                   .exclude = texts(wanted.at("exclude"))};
    const auto report = machine(GetParam().machine);
    const auto answer = recommend(catalogue(GetParam().application), request, report, rules(), {},
                                  {.refusals = refusals_on(GetParam().application, report)});
    auto expected = text(wanted.at("expect"));
    for (const auto& key : {GetParam().machine, expected.value_or("")})
        if (const auto newer = kNames.find(GetParam().application + "/" + key);
            newer != kNames.end() && !std::ranges::count(request.prefer, key)) {
            expected = newer->second;
            break;
        }
    EXPECT_EQ(answer.variant, expected) << GetParam().application << json_pretty(to_value(answer));
    if (!answer.variant) {
        EXPECT_TRUE(answer.status == RecommendStatus::None);
    }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Catalogue, ::testing::ValuesIn(checks()), support::case_name);

TEST(Catalogues, AreAskedInTheseScenarios) {
    EXPECT_EQ(checks().size(), 59U);
}

// Additional machines ----------------------------------------------------------------------------

Report with(Report report, const std::function<void(Report&)>& change) {
    change(report);
    return report;
}
Report on_glibc(const std::string& scenario, const std::string& version) {
    return with(machine(scenario),
                [&](Report& r) { r.host.libc = {.name = "glibc", .version = version}; });
}
Report on_musl(const std::string& scenario) {
    return with(machine(scenario),
                [](Report& r) { r.host.libc = {.name = "musl", .version = "1.2"}; });
}
Report on_arm(const std::string& scenario) {
    return with(machine(scenario), [](Report& r) { r.host.arch = "aarch64"; });
}
Report with_libraries(const std::string& scenario, std::vector<std::string> sonames) {
    return with(machine(scenario), [&](Report& r) { r.host.libraries = std::move(sonames); });
}

struct Row {
    const char* name;  ///< the acceptance scenario and its subject
    const char* application;
    Report (*machine)();
    const char* variant;  ///< "" for none
    const char* rejected = "";
    const char* predicate = "";
};
class Further : public ::testing::TestWithParam<Row> {};

TEST_P(Further, IsAnsweredAsDocumented) {
    const auto answer =
        recommend(catalogue(GetParam().application), {}, GetParam().machine(), rules());
    EXPECT_EQ(answer.variant.value_or(""), GetParam().variant) << json_pretty(to_value(answer));
    if (*GetParam().rejected == '\0')
        return;
    const auto* found = candidate(answer, GetParam().rejected);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->verdict, Verdict::Rejected);
    const auto names = predicates_of(*found);
    EXPECT_NE(std::ranges::find(names, GetParam().predicate), names.end())
        << json_pretty(to_value(*found));
}

const std::vector<std::string> kOneApi = {"libimf.so", "libintlc.so.5", "libsvml.so",
                                          "libsycl.so.8", "libvulkan.so.1"};
INSTANTIATE_TEST_SUITE_P(
    Table,
    Further,
    ::testing::Values(
        Row{"C1_Driver550", "cyllama", [] { return machine("G01"); }, "cuda12"},
        Row{"C1_Driver535", "cyllama", [] { return machine("G04"); }, "vulkan", "cuda12",
            "cuda.driver"},
        Row{"C2_Pascal", "cyllama", [] { return machine("G05"); }, "vulkan", "cuda12", "cuda.code"},
        Row{"C3_Gfx1100", "cyllama", [] { return machine("G09"); }, "rocm"},
        Row{"C3_Gfx1031", "cyllama", [] { return machine("G14"); }, "vulkan", "rocm", "gfx"},
        Row{"C4_Glibc231", "cyllama", [] { return on_glibc("G09", "2.31"); }, "vulkan", "rocm",
            "glibc_min"},
        Row{"C4_Glibc235", "cyllama", [] { return on_glibc("G09", "2.35"); }, "rocm"},
        Row{"C5_ArcWithoutOneApi", "cyllama",
            [] { return with_libraries("G12", {"libvulkan.so.1"}); }, "vulkan", "sycl", "libs"},
        Row{"C5_ArcWithOneApi", "cyllama", [] { return with_libraries("G12", kOneApi); }, "sycl"},
        Row{"C6_Arm", "cyllama", [] { return on_arm("G01"); }, ""},
        Row{"C6_Musl", "cyllama", [] { return on_musl("G01"); }, ""},
        Row{"C_NoGpu", "cyllama", [] { return machine("G25"); }, "cpu"},
        Row{"T5_ArmNvidia", "tsuku-llm-recipe", [] { return on_arm("G01"); }, "cuda"},
        Row{"T5_ArmAmd", "tsuku-llm-recipe", [] { return on_arm("G09"); }, "vulkan"},
        Row{"T6_NoGpu", "tsuku-llm-recipe", [] { return machine("G25"); }, ""},
        Row{"T8_Musl", "tsuku-llm", [] { return on_musl("G01"); }, ""},
        Row{"T9_Driver470", "tsuku-llm", [] { return machine("G26"); }, "vulkan", "cuda",
            "cuda.driver"},
        Row{"T9_Driver470ByTheRecipe", "tsuku-llm-recipe", [] { return machine("G26"); }, "cuda"},
        Row{"S12_OldGlibc", "shimmy", [] { return on_glibc("G01", "2.38"); }, ""},
        Row{"S12_WithGpu", "shimmy", [] { return on_glibc("G01", "2.39"); }, "webgpu"},
        Row{"S12_WithoutGpu", "shimmy", [] { return on_glibc("G25", "2.39"); }, "legacy"},
        Row{"S12_Arm", "shimmy",
            [] {
                return with(on_glibc("G01", "2.39"), [](Report& r) { r.host.arch = "aarch64"; });
            },
            ""},
        Row{"LlamaCppOnArm", "llama.cpp",
            [] {
                return with(on_glibc("G01", "2.39"), [](Report& r) { r.host.arch = "aarch64"; });
            },
            "ubuntu-vulkan-arm64"},
        Row{"LlamaCppOnOlderArm", "llama.cpp",
            [] {
                return with(on_glibc("G01", "2.38"), [](Report& r) { r.host.arch = "aarch64"; });
            },
            "", "ubuntu-arm64", "glibc_min"},
        Row{"LocalAiOnIntel", "localai", [] { return machine("G12"); }, "intel"}),
    support::case_name);

TEST(Catalogues, ContainAnAnswerWithoutAGpu) {
    const auto answer = recommend(catalogue("tsuku-llm"), {}, machine("G25"), rules());
    EXPECT_EQ(answer.hint, "no GPU detected: tsuku-llm requires a GPU with at least 8 GB VRAM");
}

TEST(Catalogues, AdviseTheLibrariesThatAWheelLeavesOut) {
    const auto bare =
        recommend(catalogue("cyllama"), {}, with_libraries("G01", {"libvulkan.so.1"}), rules());
    EXPECT_EQ(bare.variant, "cuda12");
    EXPECT_FALSE(bare.warnings.empty());
    const auto whole = recommend(
        catalogue("cyllama"), {},
        with_libraries("G01", {"libcublas.so.12", "libcudart.so.12", "libvulkan.so.1"}), rules());
    EXPECT_TRUE(whole.warnings.empty());
}

TEST(Catalogues, AgeOnTheirDay) {
    const auto manifest = catalogue("torch");
    const auto day = instant_from(manifest.expires.value());
    ASSERT_TRUE(day);
    EXPECT_FALSE(staleness(manifest, *day - std::chrono::microseconds{1}));
    EXPECT_TRUE(staleness(manifest, *day + std::chrono::seconds{1}));
}

}  // namespace catalogue_test
}  // namespace gpuprobe
