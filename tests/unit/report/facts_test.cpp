// SPDX-License-Identifier: Apache-2.0
#include "report/facts.h"

#include <gtest/gtest.h>

#include "base/value.h"

namespace gpuprobe {
namespace facts_test {

Value json(std::string_view text) {
    auto value = parse_json(text, mib(16));
    EXPECT_TRUE(value) << text;
    return value ? *value : Value{};
}

DeviceFacts facts(std::string_view text) {
    auto read = facts_from(json(text));
    EXPECT_TRUE(read) << text;
    return read ? *read : DeviceFacts{};
}

DeviceFacts everything() {
    return DeviceFacts{.index = 3,
                       .name = "NVIDIA H200",
                       .vendor_id = "10de",
                       .device_id = "2335",
                       .pci = PciAddress{.bus = 6},
                       .uuid = "GPU-1234",
                       .drm = DrmNodes{.primary = "226:0", .render = std::nullopt},
                       .type = DeviceType::Discrete,
                       .memory = FactMemory{.total = gib(141), .free = std::nullopt},
                       .extra = Value{Value::Object{{.key = "driver_version", .value = "580"}}}};
}

TEST(DeviceFacts, AreReadAsTheyWereWritten) {
    const auto read = facts_from(value_of(everything()));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, everything());
}

TEST(DeviceFacts, ShowEveryCommonKeyEvenWhenNothingIsKnown) {
    EXPECT_EQ(json_line(value_of(DeviceFacts{})),
              R"({"index":null,"name":null,"vendor_id":null,"device_id":null,"pci":null,)"
              R"("uuid":null,"drm":null,"type":null,"memory":null})");
}

TEST(DeviceFacts, NeverLetAnExtraFactReplaceACommonOne) {
    auto liar = everything();
    liar.extra = json(R"({"name":"other","vendor_id":"1002"})");
    EXPECT_EQ(value_of(liar).at("name"), Value{"NVIDIA H200"});
    EXPECT_EQ(facts_from(value_of(liar)).value().vendor_id, "10de");
}

struct IdCase {
    const char* name;
    const char* written;
    std::optional<std::string> read;
};
void PrintTo(const IdCase& row, std::ostream* out) {
    *out << row.name;
}
class ReadAnId : public testing::TestWithParam<IdCase> {};
TEST_P(ReadAnId, InAnySpelling) {
    const auto text = std::string{R"({"vendor_id":)"} + GetParam().written + R"(,"device_id":)" +
                      GetParam().written + "}";
    EXPECT_EQ(facts(text).vendor_id, GetParam().read);
    EXPECT_EQ(facts(text).device_id, GetParam().read);
}
INSTANTIATE_TEST_SUITE_P(Table,
                         ReadAnId,
                         testing::Values(IdCase{"Digits", R"("10de")", "10de"},
                                         IdCase{"Prefixed", R"("0x10DE")", "10de"},
                                         IdCase{"Number", "4318", "10de"},
                                         IdCase{"ShortIsPadded", R"("56")", "0056"},
                                         IdCase{"Zero", "0", "0000"},
                                         IdCase{"KhronosVendor", "65541", "10005"},
                                         IdCase{"Largest", "4294967295", "ffffffff"},
                                         IdCase{"TooLarge", "4294967296", std::nullopt},
                                         IdCase{"Negative", "-1", std::nullopt},
                                         IdCase{"Word", R"("nvidia")", std::nullopt},
                                         IdCase{"Empty", R"("")", std::nullopt},
                                         IdCase{"Null", "null", std::nullopt},
                                         IdCase{"List", "[4318]", std::nullopt}),
                         [](const auto& row) { return row.param.name; });

TEST(DeviceFacts, TakeAnAddressInAnySpelling) {
    const PciAddress address{.bus = 6};
    EXPECT_EQ(facts(R"({"pci":"0000:00:06.0"})").pci, PciAddress{.device = 6});
    EXPECT_EQ(facts(R"({"pci":"00000000:06:00.0"})").pci, address);
    EXPECT_EQ(facts(R"({"pci":"06:00.0"})").pci, address);
    EXPECT_EQ(facts(R"({"pci":"slot 6"})").pci, std::nullopt);
    EXPECT_EQ(facts(R"({"pci":6})").pci, std::nullopt);
}

TEST(DeviceFacts, TurnWhatTheyCanNotReadIntoUnknown) {
    EXPECT_EQ(facts(R"({"index":-1,"name":5,"uuid":[],"drm":"226:0","type":"gpu","memory":16})"),
              DeviceFacts{});
    EXPECT_EQ(facts(R"({"index":4294967296,"name":""})"), DeviceFacts{});
}

TEST(DeviceFacts, KeepUnknownMembersOfKnownObjects) {
    EXPECT_EQ(facts(R"({"memory":{"total":null,"free":7}})").memory,
              (FactMemory{.total = std::nullopt, .free = Bytes{7}}));
    EXPECT_EQ(facts(R"({"memory":{"total":-7}})").memory, FactMemory{});
    EXPECT_EQ(facts(R"({"drm":{"primary":"226:1","render":null}})").drm,
              (DrmNodes{.primary = "226:1", .render = std::nullopt}));
    EXPECT_EQ(facts(R"({"drm":{"primary":"226:1","render":"0:0"}})").drm,
              (DrmNodes{.primary = "226:1"}))
        << "there is no device 0:0";
}

TEST(DeviceFacts, CollectUnknownKeysAsExtra) {
    EXPECT_EQ(facts(R"({"name":"a","heaps":[1,2],"luid":null})").extra,
              json(R"({"heaps":[1,2],"luid":null})"));
}

TEST(DeviceFacts, ScrubForeignText) {
    const auto read = facts("{\"name\":\"a\\u001b[2Jb\",\"extra\\u202e\":[\"c\\nd\"]}");
    EXPECT_EQ(read.name, "a\uFFFD[2Jb");
    EXPECT_EQ(json_line(read.extra), "{\"extra\uFFFD\":[\"c\uFFFDd\"]}");
}

TEST(DeviceFacts, CutEndlessText) {
    const std::string endless(100'000, 'x');
    const auto read = facts(R"({"name":")" + endless + R"(","extra":")" + endless + R"("})");
    EXPECT_EQ(read.name->size(), 256U);
    EXPECT_EQ(read.extra.at("extra").as_string()->size(), 16384U);
}

TEST(DeviceFacts, LeaveOutWhatIsTooDeep) {
    std::string deep = "1";
    for (int i = 0; i < 40; ++i)
        deep = "[" + deep + "]";
    EXPECT_EQ(json_line(facts(R"({"deep":)" + deep + "}").extra), R"({"deep":[[[[[[[null]]]]]]]})");
}

TEST(DeviceFacts, LeaveOutWhatIsTooMuch) {
    std::string many = "0";
    for (int i = 0; i < 20'000; ++i)
        many += ",0";
    const auto extra = facts(R"({"many":[)" + many + R"(],"more":1})").extra;
    EXPECT_EQ(extra.at("many").as_array()->size(), 8190U);
    EXPECT_EQ(extra.find("more"), nullptr);
}

TEST(DeviceFacts, AreAnObjectOrMalformed) {
    for (const auto* text : {"null", "[]", "7", "\"x\""})
        EXPECT_EQ(facts_from(json(text)).error().code, ErrorCode::Malformed) << text;
}

ProbeResult whole_result() {
    return ProbeResult{.api = "vulkan",
                       .driver = "/usr/share/vulkan/icd.d/nvidia_icd.json",
                       .stage = "query",
                       .outcome = Outcome::Crashed,
                       .devices = {everything(), DeviceFacts{}},
                       .runtime = json(R"({"loader":"libvulkan.so.1"})"),
                       .note = "SIGSEGV in phase query",
                       .duration = std::chrono::milliseconds{12},
                       .exit_code = std::nullopt,
                       .signal = 11,
                       .reasons = {{.code = "x", .detail = json(R"({"have":"1"})")}},
                       .at = WallTime{std::chrono::seconds{1'700'000'000}}};
}

TEST(ProbeResult, IsReadAsItWasWritten) {
    const auto read = probe_result_from(value_of(whole_result()));
    ASSERT_TRUE(read);
    EXPECT_EQ(json_line(value_of(*read)), json_line(value_of(whole_result())));
    EXPECT_EQ(read->devices, whole_result().devices);
    EXPECT_EQ(read->at, whole_result().at);
}

TEST(ProbeResult, IsReadFromTheLeastThatACaptureHolds) {
    const auto read = probe_result_from(json(R"({"outcome":"absent"})"));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->outcome, Outcome::Absent);
    EXPECT_EQ(read->stage, "query");
    EXPECT_TRUE(read->devices.empty());
    EXPECT_TRUE(read->runtime.is_null());
    EXPECT_EQ(read->duration, std::nullopt);
}

struct BadResult {
    const char* name;
    const char* text;
    const char* problem;
};
void PrintTo(const BadResult& row, std::ostream* out) {
    *out << row.name;
}
class RefuseAResult : public testing::TestWithParam<BadResult> {};
TEST_P(RefuseAResult, NamingTheMember) {
    const auto read = probe_result_from(json(GetParam().text));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::Malformed);
    EXPECT_EQ(read.error().text, GetParam().problem);
}
INSTANTIATE_TEST_SUITE_P(
    Table,
    RefuseAResult,
    testing::Values(BadResult{"NoObject", "[]", "expected object, found array"},
                    BadResult{"NoOutcome", R"({"devices":[]})", "outcome: missing"},
                    BadResult{"UnknownOutcome", R"({"outcome":"fine"})", "outcome: unknown word"},
                    BadResult{"DeviceIsNoObject", R"({"outcome":"answered","devices":[{},7]})",
                              "devices[1]: expected object, found integer"},
                    BadResult{"RuntimeIsNoObject", R"({"outcome":"answered","runtime":[]})",
                              "runtime: expected object, found array"},
                    BadResult{"NoteIsNoText", R"({"outcome":"answered","note":1})",
                              "note: expected string, found integer"}),
    [](const auto& row) { return row.param.name; });

TEST(DeviceFacts, KeepTheFirstOfTwoKeysThatAreOneOnceTheyAreScrubbed) {
    Value hostile;
    hostile["nested"]["a\x01"] = 1;
    hostile["nested"]["a\x02"] = 2;
    const auto facts = facts_from(hostile);
    ASSERT_TRUE(facts);
    const auto line = json_line(value_of(*facts));
    EXPECT_TRUE(parse_json(line, mib(1))) << line;
    EXPECT_EQ(facts->extra.at("nested").as_object()->size(), 1u);
}

TEST(ProbeResult, TakesAtMost256Devices) {
    const auto with = [](int count) {
        Value value = json(R"({"outcome":"answered","devices":[]})");
        for (int i = 0; i < count; ++i)
            value["devices"].push_back(Value{Value::Object{}});
        return probe_result_from(value);
    };
    EXPECT_TRUE(with(256));
    EXPECT_FALSE(with(257));
}

}  // namespace facts_test
}  // namespace gpuprobe
