// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

/// Tests with the results that the tests of other projects expect: tests/data/variants/CASES.md.
namespace gpuprobe {
namespace recommend_cases_test {

using namespace testing_variants;

std::set<std::string> ids_in(const std::string& text, const char* pattern) {
    const std::regex expression{pattern};
    std::set<std::string> ids;
    for (std::sregex_iterator at{text.begin(), text.end(), expression}, end; at != end; ++at)
        EXPECT_TRUE(ids.insert(at->str(1)).second) << at->str(1);
    return ids;
}

TEST(Cases, AreAllListedAndThoseOfHereAreTested) {
    const auto table = file("/tests/data/variants/CASES.md");
    std::set<std::string> given;
    const auto cases = document("/tests/data/variants/cases.json");
    for (const auto& entry : *cases.at("cases").as_array())
        given.insert(*entry.at("id").as_string());
    EXPECT_EQ(given.size(), 95U);
    EXPECT_EQ(ids_in(table, "\n\\| `([^`]+)` \\| (?:here|elsewhere|no) \\|"), given);
    const auto source = file("/tests/unit/policy/recommend_cases_test.cpp");
    for (const auto& id : ids_in(table, "\n\\| `([^`]+)` \\| here \\|"))
        EXPECT_NE(source.find("\"" + id + "\""), std::string::npos) << id;
}

/// One GPU of a case.
struct CaseGpu {
    const char* capability = nullptr;
    const char* gfx = nullptr;
};

Report case_machine(const std::vector<CaseGpu>& gpus,
                    const std::optional<std::string>& driver,
                    const char* cuda) {
    auto report = machine("G02");
    const auto card = report.gpus[0];
    report.gpus.clear();
    if (cuda)
        report.runtimes["cuda"].version = cuda;
    else
        report.runtimes.erase("cuda");
    for (const auto& gpu : gpus) {
        auto next = card;
        next.id = "pci:0" + std::to_string(report.gpus.size() + 1);
        next.driver.version = driver;
        if (gpu.capability)
            next.architecture.cuda_compute_capability = gpu.capability;
        if (gpu.gfx) {
            next.vendor = "amd";
            next.driver = {.name = "amdgpu"};
            next.architecture = {.gfx_target = gpu.gfx};
        }
        report.gpus.push_back(next);
    }
    return report;
}

std::string variant_text(const std::string& device, const std::string& more = "") {
    return R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{
        "v":{)" +
           more + R"("requires":{"device":)" + device + "}}}}}}";
}

using Ids = std::vector<std::string>;

struct VariantRow {
    const char* id;
    std::string manifest;
    std::vector<CaseGpu> gpus;
    Ids wanted;  ///< the GPUs on which "v" must run
    std::optional<std::string> driver = "580.65.06";
    const char* cuda = "13.0";
};
class VariantCase : public ::testing::TestWithParam<VariantRow> {};

TEST_P(VariantCase, CoversTheGpusThatTheProjectKeeps) {
    const auto& row = GetParam();
    const auto manifest = parse_manifest(row.manifest);
    ASSERT_TRUE(manifest) << manifest.error().text;
    const auto answer =
        recommend(*manifest, {}, case_machine(row.gpus, row.driver, row.cuda), rules());
    EXPECT_EQ(candidate(answer, "v")->gpus, row.wanted) << json_pretty(to_value(answer));
}

const std::string kThirteen = variant_text(
    R"({"cuda":{"toolkit":"13.0","exact":true,"sass":["7.5","8.0","8.6","8.9","9.0","10.0","10.3","11.0","12.0","12.1"]}})");
const std::string kTwelve =
    variant_text(R"({"cuda":{"toolkit":"12.8","exact":true,"sass":["6.1","7.5","8.0"]}})");
/// Ollama's rule for its build with toolkit 12.8.
const std::string kOllamaTwelve = variant_text(
    R"([{"driver_min":"550","cuda":{"toolkit":"12.8","exact":true,"sass":["7.0","7.5","8.9"]}},
        {"driver_min":"570","cuda":{"toolkit":"12.8","exact":true,"sass":["6.1"]}}])");

std::string gfx_variant(const char* families) {
    return variant_text(std::string{R"({"gfx":)"} + families + "}");
}

INSTANTIATE_TEST_SUITE_P(
    Ollama,
    VariantCase,
    ::testing::Values(
        VariantRow{"ollama-arch-1", kThirteen, {{"6.1"}}, {}},
        VariantRow{"ollama-arch-2", kThirteen, {{"8.9"}}, {"pci:01"}},
        VariantRow{"ollama-arch-3", kThirteen, {{"6.1"}, {"8.9"}}, {"pci:02"}},
        VariantRow{"ollama-arch-4", kTwelve, {{"6.1"}}, {"pci:01"}, "570.86.10", "12.8"},
        VariantRow{"ollama-arch-5",
                   variant_text(R"({"cuda":{"toolkit":"13.0","exact":true,"sass":["7.5","8.0"]}})"),
                   {{"6.1"}},
                   {},
                   "570.86.10",
                   "12.8"},
        VariantRow{"ollama-cuda-old-1", kOllamaTwelve, {{"7.0"}, {"8.9"}}, {}, "535.54.03", "12.2"},
        VariantRow{
            "ollama-cuda-old-2", kOllamaTwelve, {{"6.1"}, {"7.5"}}, {"pci:02"}, "565.77", "12.7"},
        VariantRow{"ollama-cuda-old-3",
                   kOllamaTwelve,
                   {{"6.1"}, {"7.5"}},
                   {"pci:01", "pci:02"},
                   "570.86.10",
                   "12.8"},
        VariantRow{"ollama-cuda-old-4",
                   variant_text(R"({"cuda":{"toolkit":"12.2","exact":true,"sass":["6.1","7.0"]}})"),
                   {{"7.0"}, {"6.1"}},
                   {"pci:01", "pci:02"},
                   "535.54.03",
                   "12.2"}),
    [](const auto& row) {
        auto name = std::string{row.param.id};
        std::ranges::replace(name, '-', '_');
        return name;
    });

TEST(VariantCaseOfTheUnknown, IsKeptWhereTheVariantTakesTheRisk) {
    // "ollama-cuda-old-5": an unknown driver fails open.
    const auto manifest =
        parse_manifest(variant_text(R"({"driver_min":"550"})", R"("on_unknown":"accept",)"))
            .value();
    const auto answer =
        recommend(manifest, {}, case_machine({{"7.0"}}, std::nullopt, nullptr), rules());
    EXPECT_EQ(answer.variant, "v");
    EXPECT_EQ(candidate(answer, "v")->verdict, Verdict::Uncertain);
}

struct FamilyRow {
    const char* id;
    const char* gfx;
    std::string manifest;
    bool matches;
};

TEST(VariantCaseOfFamilies, MatchesAsLemonadeDoes) {
    const FamilyRow rows[] = {
        {"lemonade-gfx-gfx1103-gfx110X", "gfx1103", gfx_variant(R"(["gfx110X"])"), true},
        {"lemonade-gfx-gfx1201-gfx120X", "gfx1201", gfx_variant(R"(["gfx120X"])"), true},
        {"lemonade-gfx-gfx1151-gfx1151", "gfx1151", gfx_variant(R"(["gfx1151"])"), true},
        {"lemonade-gfx-gfx1151-gfx110X", "gfx1151", gfx_variant(R"(["gfx110X"])"), false},
        // If no chip family is listed, nothing is required, so the predicate is left out.
        {"lemonade-gfx-gfx1151-any", "gfx1151", variant_text(R"({"vendor":["amd"]})"), true},
        {"lemonade-gfx-gfx1103-gfx103X+gfx110X", "gfx1103", gfx_variant(R"(["gfx103X","gfx110X"])"),
         true},
        {"lemonade-gfx-gfx1151-gfx103X+gfx110X", "gfx1151", gfx_variant(R"(["gfx103X","gfx110X"])"),
         false},
    };
    for (const auto& row : rows) {
        const auto answer =
            recommend(parse_manifest(row.manifest).value(), {},
                      case_machine({{nullptr, row.gfx}}, std::nullopt, nullptr), rules());
        EXPECT_EQ(answer.variant.has_value(), row.matches) << row.id;
    }
}

/// Two builds, each for the GPUs of the case.
std::string overlap(const char* thirteen, const char* twelve) {
    const auto build = [](const char* toolkit, const char* sass, int priority) {
        return std::string{R"({"family":"cuda","priority":)"} + std::to_string(priority) +
               R"(,"requires":{"device":{"cuda":{"toolkit":")" + toolkit +
               R"(","exact":true,"sass":)" + sass + "}}}}";
    };
    return R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{
        "cuda_v13":)" +
           build("13.0", thirteen, 13) + R"(,"cuda_v12":)" + build("12.8", twelve, 12) + "}}}}";
}

struct OverlapRow {
    const char* id;
    std::string manifest;
    const char* wanted;
    std::size_t gpus;
    std::size_t fallbacks;
};

TEST(VariantCaseOfOverlap, TakesTheBuildThatDrivesMost) {
    const OverlapRow rows[] = {
        {"ollama-lib-overlap-1", overlap(R"(["8.6","8.9"])", R"(["8.6","8.9"])"), "cuda_v13", 2, 1},
        {"ollama-lib-overlap-2", overlap(R"(["8.6"])", R"(["8.6","8.9"])"), "cuda_v12", 2, 1},
        // In that project, one process can load both builds. Here, a download contains one build,
        // and the other build is the next choice.
        {"ollama-lib-overlap-3", overlap(R"(["8.6"])", R"(["8.9"])"), "cuda_v13", 1, 1},
    };
    for (const auto& row : rows) {
        const auto answer =
            recommend(parse_manifest(row.manifest).value(), {},
                      case_machine({{"8.6"}, {"8.9"}}, "580.65.06", "13.0"), rules());
        EXPECT_EQ(answer.variant, row.wanted) << row.id;
        EXPECT_EQ(answer.gpus.size(), row.gpus) << row.id;
        EXPECT_EQ(answer.fallback.size(), row.fallbacks) << row.id;
    }
}

TEST(ComputeCapabilityText, IsTakenOrRefusedAsLemonadeDoes) {
    struct Row {
        const char* id;
        const char* text;
        bool is_taken;
    };
    const Row rows[] = {
        {"lemonade-cc-0", "7.5", true},   {"lemonade-cc-1", "8.0", true},
        {"lemonade-cc-2", "8.6", true},   {"lemonade-cc-3", "8.9", true},
        {"lemonade-cc-4", "9.0", true},   {"lemonade-cc-5", "10.0", true},
        {"lemonade-cc-6", "12.0", true},  {"lemonade-cc-7", "12.1", true},
        {"lemonade-cc-8", "6.1", true},   {"lemonade-cc-9", "5.0", true},
        {"lemonade-cc-10", "", false},    {"lemonade-cc-11", "86", false},
        {"lemonade-cc-12", "8", false},   {"lemonade-cc-13", ".", false},
        {"lemonade-cc-14", "abc", false}, {"lemonade-cc-15", "8.x", false},
    };
    for (const auto& row : rows) {
        const auto parsed =
            parse_text(std::string_view{row.text}, std::type_identity<ComputeCapability>{});
        EXPECT_EQ(parsed.has_value(), row.is_taken) << row.id;
        if (parsed) {
            EXPECT_EQ(text_of(*parsed), row.text) << row.id;
        }
    }
}

/// "uv-driver-table" and "uv-amd-table": the newest index first, and the CPU last.
TEST(UvDriverTable, GivesEveryIndexWhoseFloorTheDriverReaches) {
    const auto tables = document("/tests/data/variants/uv-tables.json");
    const auto& rows = *tables.at("cuda_drivers").at("rows").as_array();
    const auto uv = sample("torch-uv");
    for (const auto& row : rows) {
        const auto& driver = *row.at("min_linux_driver").as_string();
        std::vector<std::string> wanted;
        const auto version = parse_text(std::string_view{driver}, std::type_identity<Version>{});
        for (const auto& other : rows)
            if (parse_text(std::string_view{*other.at("min_linux_driver").as_string()},
                           std::type_identity<Version>{}) <= version)
                wanted.push_back(*other.at("variant").as_string());
        wanted.emplace_back("cpu");
        const auto answer = recommend(uv, {}, case_machine({{"8.9"}}, driver, nullptr), rules());
        auto chain = answer.fallback;
        chain.insert(chain.begin(), answer.variant.value_or(""));
        EXPECT_EQ(chain, wanted) << driver;
    }
}

TEST(UvAmdTable, GivesEveryIndexThatListsTheTarget) {
    const auto tables = document("/tests/data/variants/uv-tables.json");
    const auto& rows = *tables.at("amd_gfx").at("rows").as_object();
    const auto uv = sample("torch-uv");
    std::set<std::string> targets;
    for (const auto& row : rows)
        for (const auto& target : *row.value.as_array())
            targets.insert(*target.as_string());
    for (const auto& target : targets) {
        std::set<std::string> wanted{"cpu"};
        for (const auto& row : rows) {
            const auto& items = *row.value.as_array();
            if (std::ranges::find(items, Value{target}) == items.end())
                continue;
            auto name = "rocm" + row.key.substr(4, 1) + "." + row.key.substr(5, 1);
            if (row.key.size() > 6)
                name += "." + row.key.substr(6, 1);
            wanted.insert(name);
        }
        const auto answer = recommend(
            uv, {}, case_machine({{nullptr, target.c_str()}}, std::nullopt, nullptr), rules());
        std::set<std::string> chain(answer.fallback.begin(), answer.fallback.end());
        chain.insert(answer.variant.value_or(""));
        EXPECT_EQ(chain, wanted) << target;
    }
}

}  // namespace recommend_cases_test
}  // namespace gpuprobe
