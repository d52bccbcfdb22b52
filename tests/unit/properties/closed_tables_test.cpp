// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/value.h"
#include "explain/doctor.h"
#include "explain/explain.h"
#include "plan/plan.h"
#include "policy/fact.h"
#include "report/fact_table.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"
#include "unit/properties/schema.h"

/// Tests that everything that occurs in an answer is declared.
namespace gpuprobe::testing_properties {
namespace closed_tables_test {

Plan plan_of(const Report& report) {
    return planned({.need = gib(4)}, report);
}

// Reasons -----------------------------------------------------------------------------------------

/// Calls `use` with each object of the document that has the members of a reason.
template <class Use>
void for_each_reason(const Value& value, const Use& use) {
    if (const auto* items = value.as_array())
        for (const auto& item : *items)
            for_each_reason(item, use);
    const auto* members = value.as_object();
    if (!members)
        return;
    if (members->size() == 2 && value.at("code").is_string() && value.at("detail").is_object())
        use(record_from<Reason>(value).value());
    for (const auto& member : *members)
        for_each_reason(member.value, use);
}

void expect_known_reasons(const Value& document) {
    for_each_reason(document, [](const Reason& reason) {
        EXPECT_NE(find_reason(reason.code), nullptr) << reason.code;
        EXPECT_NE(explained(reason).text, reason.code) << "no words";
    });
}

TEST(ClosedTables, EveryReasonHasARowAndWords) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        expect_known_reasons(to_value(report));
        expect_known_reasons(to_value(plan_of(report)));
        for (const Profile& profile : profiles_for(fixture))
            expect_known_reasons(to_value(choice(profile, report)));
        for (const auto& answer : all_advice(fixture, report))
            expect_known_reasons(to_value(answer));
    });
}

bool has_placeholder(const std::string& text) {
    // "{{" is part of a command: docker's --format has such templates.
    const auto at = text.find('{');
    return at != std::string::npos && text.compare(at, 2, "{{") != 0;
}

TEST(ClosedTables, EveryFindingHasWords) {
    on_every_machine([](const MachineFixture& fixture) {
        for (const auto& finding : examine(report_of(fixture), {})) {
            EXPECT_NE(finding.sentence, "");
            EXPECT_FALSE(has_placeholder(finding.sentence)) << finding.sentence;
            EXPECT_FALSE(has_placeholder(finding.fix.value_or(""))) << *finding.fix;
        }
    });
}

// Facts -------------------------------------------------------------------------------------------

using FindRow = const FactInfo* (*)(std::string_view key);

void expect_known_facts(const Value& facts, FindRow find) {
    const auto* members = facts.as_object();
    for (std::size_t i = 0; members && i < members->size(); ++i)
        EXPECT_NE(find((*members)[i].key), nullptr) << (*members)[i].key;
}

TEST(ClosedTables, EveryFactIsDeclared) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const auto& gpu : report.gpus)
            for (const auto& [api, view] : gpu.apis) {
                SCOPED_TRACE(gpu.id + " " + api);
                expect_known_facts(view.device, device_fact);
            }
        for (const auto& software : report.software)
            expect_known_facts(software.device, device_fact);
        for (const auto& probe : fixture.probes)
            if (probe.stage == kQueryStage)
                expect_known_facts(probe.runtime, runtime_fact);
    });
}

// Forms -------------------------------------------------------------------------------------------

/// Checks that no data is lost if an answer is written and read again.
template <class Answer>
void expect_whole(const Answer& answer) {
    const auto value = to_value(answer);
    const auto again = strict_record_from<Answer>(parse_json(json_line(value), mib(8)).value());
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(json_line(to_value(*again)), json_line(value));
}

TEST(ClosedTables, EveryAnswerIsReadBackAsItWasWritten) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        expect_whole(report);
        expect_whole(plan_of(report));
        for (const Profile& profile : profiles_for(fixture))
            expect_whole(choice(profile, report));
        for (const auto& answer : all_advice(fixture, report))
            expect_whole(answer);
        for (const auto& finding : examine(report, {}))
            expect_whole(finding);
    });
}

TEST(ClosedTables, EveryReportIsOfTheSchema) {
    const auto schema = Schema::read("report.schema.json");
    on_every_machine([&schema](const MachineFixture& fixture) {
        EXPECT_EQ(schema.problem_in(to_value(report_of(fixture))), "");
    });
}

TEST(ClosedTables, TheSchemaFindsWhatIsWrong) {
    const auto schema = Schema::read("report.schema.json");
    const auto report = to_value(report_of(scene_of(recorded_machines().front())));
    auto unknown = report;
    unknown["more"] = 1;
    EXPECT_EQ(schema.problem_in(unknown), "more: not in the schema");
    auto wrong = report;
    wrong["generation"] = "7";
    EXPECT_EQ(schema.problem_in(wrong), "generation: not a integer");
    auto no_word = report;
    no_word["source"] = "elsewhere";
    EXPECT_EQ(schema.problem_in(no_word), "source: none of the words");
}

}  // namespace closed_tables_test
}  // namespace gpuprobe::testing_properties
