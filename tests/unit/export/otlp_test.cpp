// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "export/formats.h"
#include "unit/export/fleet.h"

namespace gpuprobe {
namespace otlp_test {

using namespace testing_fleet;

/// A collector refuses old data points, or shows no points after five minutes, but a report may be
/// days old.
TEST(Otlp, IsOfTheTimeWhenTheMachineWasSeen) {
    const auto report = mixed();
    auto subject = subject_of(report);
    subject.observed = WallTime{std::chrono::seconds{1800000000}};
    const auto text = write_otlp(subject).text.value_or("");
    EXPECT_NE(text.find(R"("timeUnixNano":"1800000000000000000")"), std::string::npos);
    EXPECT_EQ(text.find("1795216000"), std::string::npos) << "when the report began";
}

/// A collector that reads files treats two files as the same file if their first 1,000 bytes are
/// equal.
TEST(Otlp, ContainsTheTimeEarly) {
    const auto report = mixed();
    auto subject = subject_of(report);
    subject.node = std::string(64, 'n');  // the longest name that Linux allows
    EXPECT_LT(write_otlp(subject).text.value_or("").find("1795216000000000000"), 900);
}

/// Hardware ids are only unique within a machine: the first GPU of every machine may have the same
/// id.
TEST(Otlp, DistinguishesMachines) {
    const auto report = mixed();
    auto subject = subject_of(report);
    const auto one = write_otlp(subject).text.value_or("");
    subject.node = "other";
    EXPECT_NE(one, write_otlp(subject).text);
    subject.node = "";
    const auto unnamed = write_otlp(subject).text.value_or("");
    EXPECT_EQ(unnamed.find("service.instance.id"), std::string::npos);
    EXPECT_EQ(unnamed.find("host.name"), std::string::npos);
}

/// The data points of a metric in the export of the report.
Value::Array points_of(const Report& report, std::string_view metric) {
    const auto document = parse_json(*write_otlp(subject_of(report)).text, mib(1));
    EXPECT_TRUE(document);
    const auto& scope =
        document->at("resourceMetrics").as_array()->at(0).at("scopeMetrics").as_array()->at(0);
    for (const auto& one : *scope.at("metrics").as_array())
        if (one.at("name") == Value{metric})
            return *one.at("sum").at("dataPoints").as_array();
    return {};
}

/// The value of an attribute of a data point; "" if the point does not have the attribute.
std::string attribute_of(const Value& point, std::string_view key) {
    for (const auto& attribute : *point.at("attributes").as_array())
        if (attribute.at("key") == Value{key})
            return *attribute.at("value").at("stringValue").as_string();
    return "";
}

/// The state of the hardware, which is the state whose data point has the value 1.
std::string state_of(const Gpu& gpu) {
    std::string states;
    for (const auto& point : points_of(report_of({gpu}), "hw.status"))
        if (point.at("asInt") == Value{"1"})
            states += attribute_of(point, "hw.state");
    return states;
}

TEST(Otlp, HasOneStateForEachGpu) {
    auto gpu = h200();
    gpu.health = "ok";
    EXPECT_EQ(state_of(gpu), "ok");
    gpu.health = "no-permission";
    EXPECT_EQ(state_of(gpu), "degraded");
    for (auto& [name, view] : gpu.backends)
        view.usable = false;
    EXPECT_EQ(state_of(gpu), "failed");
}

TEST(Otlp, HasTheMemoryOfTheBoardAsText) {
    const auto points = points_of(report_of({h200()}), "hw.gpu.memory.limit");
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].at("asInt"), Value{"150754820096"});
    EXPECT_EQ(attribute_of(points[0], "hw.id"), "0000:18:00.0");
    EXPECT_EQ(attribute_of(points[0], "hw.vendor"), "nvidia");
    auto unknown = h200();
    unknown.memory = {};
    EXPECT_TRUE(points_of(report_of({unknown}), "hw.gpu.memory.limit").empty());
}

}  // namespace otlp_test
}  // namespace gpuprobe
