// SPDX-License-Identifier: Apache-2.0
#include "engine/decision_service.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "support/case_name.h"
#include "support/temporary_folder.h"

namespace gpuprobe::engine {
namespace decision_service_test {

using support::case_name;
using support::TemporaryFolder;

constexpr WallTime kNow{Duration{1700000000000000}};
constexpr uid_t kAnna = 1000;
constexpr uid_t kBert = 1001;

Value json(std::string_view text) {
    return parse_json(text, kib(64)).value();
}

Report machine_with_driver(const char* version) {
    Gpu gpu{.id = "pci:0000:01:00.0", .vendor = "nvidia"};
    gpu.driver = {.name = "nvidia", .version = version};
    Report report;
    report.gpus = {gpu};
    return report;
}

OutcomeReport failed(std::string_view more = R"("gpu":"pci:0000:01:00.0")") {
    return outcome_report_from(
               json(R"({"application":"ollama","backend":"CUDA","outcome":"failed",)" +
                    std::string{more} + "}"))
        .value();
}

TEST(OutcomeReport, ReportsTheChoice) {
    const auto report = failed(R"("detail":"out of\nmemory")");
    EXPECT_EQ(report.application, "ollama");
    EXPECT_EQ(report.choice, "cuda");
    EXPECT_FALSE(report.worked);
    EXPECT_EQ(report.gpu, std::nullopt);
    ASSERT_TRUE(report.detail);
    EXPECT_EQ(report.detail->find('\n'), std::string::npos);
}

TEST(OutcomeReport, KeepsVariantsAndFamiliesApartFromBackends) {
    const auto of = [](const char* text) { return outcome_report_from(json(text)).value().choice; };
    EXPECT_EQ(of(R"({"application":"torch","variant":"cu126","outcome":"ok"})"), "variant:cu126");
    EXPECT_EQ(of(R"({"application":"torch","family":"cuda","outcome":"ok"})"), "family:cuda");
}

struct BadRow {
    const char* name;
    const char* outcome;
    const char* names;
};
class BadOutcomeReport : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadOutcomeReport, IsRefusedByName) {
    const auto report = outcome_report_from(json(GetParam().outcome));
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::InvalidRequest);
    EXPECT_NE(report.error().text.find(GetParam().names), std::string::npos) << report.error().text;
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadOutcomeReport,
    ::testing::Values(
        BadRow{"List", "[]", "expected an object"},
        BadRow{"Empty", "{}", "application: missing"},
        BadRow{"NoOutcome", R"({"application":"a","backend":"b"})", "outcome: missing"},
        BadRow{"NoChoice", R"({"application":"a","outcome":"ok"})", "backend: missing"},
        BadRow{"TwoChoices", R"({"application":"a","outcome":"ok","backend":"b","family":"c"})",
               "one of backend"},
        BadRow{"OddOutcome", R"({"application":"a","outcome":"fine","backend":"b"})", "outcome:"},
        BadRow{"OddApplication", R"({"application":"a b","outcome":"ok","backend":"b"})",
               "application"},
        BadRow{"OddBackend", R"({"application":"a","outcome":"ok","backend":""})",
               "backend: not a name"},
        BadRow{"UnknownKey", R"({"application":"a","severity":"high"})", "severity: unknown key"},
        BadRow{"WrongType", R"({"application":"a","detail":1})", "detail: expected a string"}),
    case_name);

TEST(Feedback, CountsAFailureForTheUserWhoReportedIt) {
    Feedback advice{std::nullopt};
    const auto machine = machine_with_driver("580");
    EXPECT_FALSE(advice.concerns(kAnna));
    ASSERT_TRUE(advice.report(failed(), kAnna, machine, kNow));
    EXPECT_TRUE(advice.concerns(kAnna));
    EXPECT_FALSE(advice.concerns(kBert));
    const auto experience = advice.experience_of(kAnna, "ollama", machine, kNow);
    ASSERT_EQ(experience.failures.size(), 1u);
    EXPECT_EQ(experience.failures[0].backend, "cuda");
    EXPECT_EQ(experience.failures[0].gpu, "pci:0000:01:00.0");
    EXPECT_EQ(experience.failures[0].at, kNow);
    EXPECT_TRUE(advice.experience_of(kBert, "ollama", machine, kNow).failures.empty());
}

TEST(Feedback, ForgivesWhenTheDriverChanged) {
    Feedback advice{std::nullopt};
    ASSERT_TRUE(advice.report(failed(), kAnna, machine_with_driver("580"), kNow));
    EXPECT_TRUE(
        advice.experience_of(kAnna, "ollama", machine_with_driver("581"), kNow).failures.empty());
}

TEST(Feedback, RefusesAReportAboutAGpuThatIsNotThere) {
    Feedback advice{std::nullopt};
    const auto status = advice.report(failed(R"("gpu":"pci:0000:09:00.0")"), kAnna,
                                      machine_with_driver("580"), kNow);
    EXPECT_EQ(status.error().code, ErrorCode::UnknownDevice);
}

TEST(Feedback, KeepsOverridesAndOutcomesInItsFolder) {
    const TemporaryFolder folder;
    const auto machine = machine_with_driver("580");
    {
        Feedback advice{folder.path()};
        ASSERT_TRUE(advice.load().empty());
        ASSERT_TRUE(advice.set_override("jan", json(R"({"prefer":["vulkan"]})"), 0, kNow));
        ASSERT_TRUE(advice.report(failed(), kAnna, machine, kNow));
    }
    Feedback again{folder.path()};
    ASSERT_TRUE(again.load().empty());
    EXPECT_EQ(again.rule_for("jan")->request.prefer, std::vector<std::string>{"vulkan"});
    EXPECT_EQ(again.rule_for("ollama").has_value(), false);
    EXPECT_EQ(again.experience_of(kAnna, "ollama", machine, kNow).failures.size(), 1u);
    ASSERT_EQ(again.override_notes().size(), 1u);
    EXPECT_EQ(again.override_notes()[0].code, "override-set");
}

TEST(Feedback, ReportsTheFileThatItSetAside) {
    const TemporaryFolder folder;
    folder.write("overrides", "nonsense");
    Feedback advice{folder.path()};
    const auto notes = advice.load();
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0].code, "state-ignored");
    EXPECT_EQ(notes[0].detail.at("what"), Value{"overrides"});
}

TEST(Feedback, RefusesBadNamesAndRules) {
    Feedback advice{std::nullopt};
    EXPECT_EQ(advice.set_override("", json(R"({"strict":true})"), 0, kNow).error().code,
              ErrorCode::InvalidRequest);
    EXPECT_EQ(advice.set_override("a\nb", json(R"({"strict":true})"), 0, kNow).error().code,
              ErrorCode::InvalidRequest);
    EXPECT_EQ(advice.set_override("ollama", json("{}"), 0, kNow).error().code,
              ErrorCode::InvalidRequest);
    EXPECT_TRUE(advice.overrides().all().empty());
}

}  // namespace decision_service_test
}  // namespace gpuprobe::engine
