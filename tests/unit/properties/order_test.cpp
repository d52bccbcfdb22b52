// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/value.h"
#include "export/formats.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Tests that no answer depends on the order in which devices are found.
namespace gpuprobe::testing_properties {
namespace order_test {

MachineFixture shuffled(MachineFixture fixture, Dice& dice) {
    dice.shuffle(fixture.machine.devices);
    dice.shuffle(fixture.probes);
    for (auto& probe : fixture.probes)
        dice.shuffle(probe.devices);
    return fixture;
}

TEST(Order, OfDevicesAndProbesChangesNoReport) {
    on_every_machine([](const MachineFixture& fixture) {
        Dice dice{fixture.machine.devices.size() + fixture.probes.size()};
        EXPECT_EQ(json_pretty(to_value(report_of(shuffled(fixture, dice)))),
                  json_pretty(to_value(report_of(fixture))));
    });
}

Report shuffled(Report report, Dice& dice) {
    dice.shuffle(report.gpus);
    dice.shuffle(report.software);
    dice.shuffle(report.accelerators);
    return report;
}

TEST(Order, OfAReportChangesNoChoice) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        Dice dice{report.gpus.size()};
        const auto turned = shuffled(report, dice);
        for (const Profile& profile : profiles_for(fixture))
            EXPECT_EQ(json_pretty(to_value(choice(profile, turned))),
                      json_pretty(to_value(choice(profile, report))))
                << profile.name;
    });
}

/// Sorts lists of GPUs, reasons and warnings, because their order follows the order in the report.
void sort_lists(Value& value) {
    if (auto* members = value.as_object())
        for (auto& member : *members) {
            sort_lists(member.value);
            const bool is_list =
                member.key == "gpus" || member.key == "reasons" || member.key == "warnings";
            if (is_list && member.value.as_array())
                std::ranges::sort(*member.value.as_array());
        }
    if (auto* items = value.as_array())
        for (auto& item : *items)
            sort_lists(item);
}

std::string sorted_advice(const Manifest& application, const Report& report) {
    auto value = to_value(advice(application, report));
    sort_lists(value);
    return json_pretty(value);
}

TEST(Order, OfAReportChangesNoAdvice) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        Dice dice{report.gpus.size()};
        const auto turned = shuffled(report, dice);
        for (const Manifest& application : applications_for(fixture))
            EXPECT_EQ(sorted_advice(application, turned), sorted_advice(application, report))
                << application.name;
    });
}

TEST(Order, OfAReportChangesNoExport) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        Dice dice{report.gpus.size()};
        const auto turned = shuffled(report, dice);
        const auto answers = all_advice(fixture, report);
        for (const auto& format : export_formats())
            EXPECT_EQ(format.write({turned, Rules::current(), answers, "1", "n"}).text,
                      format.write({report, Rules::current(), answers, "1", "n"}).text)
                << format.name;
    });
}

}  // namespace order_test
}  // namespace gpuprobe::testing_properties
