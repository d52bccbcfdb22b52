// SPDX-License-Identifier: Apache-2.0
#include "policy/causes.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "knowledge/library.h"
#include "policy/fact.h"
#include "support/case_name.h"

namespace gpuprobe::test {
namespace causes_test {

const Value& roots() {
    static const Value value = parse_json(R"({
        "report": {"gpus": [{"id": "a", "driver": {"name": "nvidia"}}, {"id": "b"}]},
        "host": {"kernel": "6.8.0-45-generic", "setup": {"blacklist": ["nouveau"], "loaded": []}},
        "here": {"environment": {"CUDA_VISIBLE_DEVICES": ""}, "layers": ["/x.json", "/y.json"]},
        "variables": {"CUDA_VISIBLE_DEVICES": "hides-devices"}})",
                                          mib(1))
                                   .value();
    return value;
}

const Value& device() {
    static const Value value = parse_json(R"({
        "mode": 384, "awake": true, "none": null,
        "apis": {"cuda": {"reasons": [{"code": "absent"}, {"code": "closed", "node": "/dev/x"}]},
                 "hip": {"reasons": []}}})",
                                          mib(1))
                                   .value();
    return value;
}

struct Case {
    const char* name;
    const char* text;
    Truth want;
};
class PathTerms : public ::testing::TestWithParam<Case> {};

TEST_P(PathTerms, AreHeldAgainstAReport) {
    const Report report{.gpus = {{.id = "a", .vendor = "nvidia"}}};
    const Facts facts{{.report = report, .gpu = report.gpus.data()}};
    const Value evidence{Value::Object{{"key", "CUDA_VISIBLE_DEVICES"}, {"api", "cuda"}}};
    const TermContext context{
        .roots = &roots(), .device = &device(), .facts = &facts, .evidence = &evidence};
    Condition condition;
    const auto problem = read_value(Value{GetParam().text}, condition);
    ASSERT_TRUE(problem.empty()) << problem.text();
    EXPECT_EQ(holds(condition, context), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    PathTerms,
    ::testing::Values(
        Case{"AFact", "vendor=nvidia", Truth::True},
        Case{"AnotherFact", "vendor=amd", Truth::False},
        Case{"AnyItem", "report.gpus.driver.name=nvidia", Truth::True},
        Case{"NoItem", "report.gpus.driver.name=amdgpu", Truth::False},
        Case{"NothingThere", "report.gpus.pci.address=1", Truth::Unknown},
        Case{"Null", "device.none=1", Truth::Unknown},
        Case{"ANumber", "gpu.mode=384", Truth::True},
        Case{"AFlag", "gpu.awake", Truth::True},
        Case{"AnEmptyList", "host.setup.loaded", Truth::False},
        Case{"AVersion", "host.kernel>=6.8", Truth::True},
        Case{"ALaterVersion", "host.kernel>6.8", Truth::False},
        Case{"AnEarlierVersion", "host.kernel<6.11", Truth::True},
        Case{"NoVersion", "report.gpus.id<2", Truth::False},
        Case{"APattern", "host.kernel=*-gen*c", Truth::True},
        Case{"AnyMember", "gpu.apis.*.reasons.code=closed", Truth::True},
        Case{"AFilter", "gpu.apis.*.reasons[code=closed].node=/dev/*", Truth::True},
        Case{"AFilterThatKeepsNothing", "gpu.apis.*.reasons[code=lost].node=*", Truth::Unknown},
        Case{"AFilterOfItems", "here.layers[!=/x.json]=/y.json", Truth::True},
        Case{"AFilterOfAllItems", "here.layers[!=*.json]", Truth::False},
        Case{"AnEmptyWord", "here.environment.CUDA_VISIBLE_DEVICES=|-1", Truth::True},
        Case{"TheEvidence", ".key=CUDA_*", Truth::True},
        Case{"ANameOfTheEvidence", "variables.{key}=hides-devices", Truth::True},
        Case{"AnotherPath", "host.setup.blacklist=$report.gpus.driver.name", Truth::False},
        Case{"None", "host.setup.blacklist!=nvidia", Truth::True},
        Case{"Doubt", "device.none=1 or unknown", Truth::True},
        Case{"Either", "gpu.mode=1 or vendor=nvidia", Truth::True},
        Case{"Both", "gpu.mode=384 and vendor=amd", Truth::False},
        Case{"BothNotKnown", "gpu.mode=384 and device.none=1", Truth::Unknown}),
    support::case_name);

TEST(PathTerms, AreRefusedWithAReason) {
    const auto problem = [](const std::string& text) {
        Condition condition;
        return read_value(Value{text}, condition).text();
    };
    EXPECT_EQ(problem("gpus.id=1"), "gpus.id: no path begins with that name");
    EXPECT_EQ(problem("gpu.a[b=1.c"), "a[b=1.c: a bracket is not closed");
    EXPECT_EQ(problem("gpu.a==1"), "gpu.a: expected =, !=, <, <=, > or >=");
    EXPECT_EQ(problem("no-such=1"), "no-such: no such fact");
    EXPECT_EQ(problem("unknown"), "unknown: no such fact");
    EXPECT_EQ(problem(std::string(1025, 'x')), "more than 1024 bytes");
    std::string deep;
    for (int i = 0; i < 200; ++i)
        deep += "a[";
    EXPECT_NE(problem("gpu." + deep), "");
    Condition condition;
    EXPECT_EQ(read_value(Value{1}, condition).text(), "expected string, found integer");
}

TEST(Causes, SayWhereADocumentIsWrong) {
    const auto problem = [](const std::string& cause) {
        return Causes{}
            .add(R"({"schema": "gpuprobe.causes/1", "causes": [)" + cause + "]}")
            .error()
            .text;
    };
    EXPECT_EQ(problem(R"({"id": 1})"), "causes[0].id: expected string, found integer");
    EXPECT_EQ(problem(R"({"id": "a", "of": "gpu", "when": ["no-such=1"]})"),
              "causes[0].when[0]: no-such: no such fact");
}

TEST(Causes, AreFoundByTheCodesThatTheyRestOn) {
    Causes causes;
    ASSERT_TRUE(causes.add(R"({"schema": "gpuprobe.causes/1", "causes": [
        {"id": "a", "of": "gpu", "severity": "info", "text": "t",
         "from": ["device.said[code=lost|wedged].detail"]},
        {"id": "b", "of": "gpu", "severity": "info", "text": "t",
         "from": ["here.layers[!=x]", "device.findings[code=wedged].detail"]}]})"));
    EXPECT_EQ(causes.resting_on("lost").size(), 1U);
    ASSERT_EQ(causes.resting_on("wedged").size(), 2U);
    EXPECT_EQ(causes.resting_on("wedged")[1]->id, "b");
    EXPECT_TRUE(causes.resting_on("x").empty());
}

/// A broken data file is replaced by the compiled-in data file.
TEST(Causes, IncludeTheKnownBadPairs) {
    std::vector<std::string> pairs;
    for (const auto& cause : Causes::current().all())
        if (!cause.backends.empty())
            pairs.push_back(cause.id);
    std::vector<std::string> known;
    for (const auto& cause : Causes::known_bad().all())
        known.push_back(cause.id);
    EXPECT_FALSE(known.empty());
    EXPECT_EQ(known, pairs);
}

TEST(Causes, OutliveABrokenDocument) {
    const auto count = Causes::current().all().size();
    knowledge::Library other;
    ASSERT_TRUE(other.add("causes/access", {.json = "[]"}));
    knowledge::Library::use(std::make_shared<const knowledge::Library>(std::move(other)));
    EXPECT_EQ(Causes::current().all().size(), count);
    knowledge::Library::use(std::make_shared<const knowledge::Library>());
}

}  // namespace causes_test
}  // namespace gpuprobe::test
