// SPDX-License-Identifier: Apache-2.0
#include "export/formats.h"

#include <algorithm>

#include "report/compute_view.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace formats_test {

using namespace testing_fleet;

TEST(IsSameExport, IgnoresWhenItWasWritten) {
    auto report = mixed();
    auto later = report;
    later.created = WallTime{std::chrono::seconds{1800000000}};
    later.generation = 99;
    auto then = subject_of(later, {llama()});
    then.expires = WallTime{std::chrono::seconds{1800000000}};
    for (const auto& format : export_formats()) {
        const auto left = *format.write(subject_of(report, {llama()})).text;
        const auto right = *format.write(then).text;
        EXPECT_TRUE(is_same_export(left, right)) << format.name;
        EXPECT_TRUE(lost_lines(left, right).empty()) << format.name;
    }
}

TEST(IsSameExport, CaresAboutAGpu) {
    const auto report = mixed();
    const auto fewer = report_of({h200()});
    for (const auto& format : export_formats()) {
        const auto right = format.write(subject_of(fewer)).text;
        const auto left = *format.write(subject_of(report)).text;
        EXPECT_FALSE(is_same_export(left, right.value_or(""))) << format.name;
        EXPECT_FALSE(lost_lines(left, right.value_or("")).empty()) << format.name;
    }
}

TEST(IsUnsettled, UntilADriverIsGivenUp) {
    auto report = mixed();
    EXPECT_FALSE(is_unsettled(report));
    report.probes = {{.api = "vulkan", .driver = "a.json", .outcome = Outcome::Crashed}};
    EXPECT_TRUE(is_unsettled(report));
    report.quarantine = {{.api = "vulkan", .driver = "a.json"}};
    EXPECT_FALSE(is_unsettled(report));
    report.quarantine[0].driver = "b.json";
    EXPECT_TRUE(is_unsettled(report));
    report.probes.clear();
    report.state = ReportState::Probing;
    EXPECT_TRUE(is_unsettled(report));
}

TEST(ExportFormat, IsFoundByItsName) {
    EXPECT_EQ(export_format("nfd")->name, "nfd");
    EXPECT_EQ(export_format("xml"), nullptr);
}

TEST(ExportFormat, CarriesItsMarker) {
    const auto report = mixed();
    for (const auto& format : export_formats())
        EXPECT_NE(format.write(subject_of(report)).text->find(format.marker), std::string::npos)
            << format.name;
}

}  // namespace formats_test
}  // namespace gpuprobe
