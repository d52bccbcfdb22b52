// SPDX-License-Identifier: Apache-2.0
#include "policy/profile.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/application_set.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace profile_test {

Result<Profile> parse_profile(std::string_view json) {
    const auto value = TRY(parse_json(json, kMaxManifest));
    Profile profile;
    if (const auto problem = read_profile(value, profile, UnknownWords::Lose); !problem.empty())
        return Error{ErrorCode::Malformed, problem.text()};
    return profile;
}

const std::string& default_text() {
    static const auto kText =
        json_pretty(to_value(*ApplicationSet::with_builtins().selection("default")));
    return kText;
}

Value default_value() {
    return parse_json(default_text(), kMaxManifest).value();
}

Value json(std::string_view text) {
    return parse_json(text, kMaxManifest).value();
}

TEST(Profile, ReadsTheDefault) {
    const auto profile = parse_profile(default_text());
    ASSERT_TRUE(profile) << profile.error().text;
    EXPECT_EQ(profile->name, "default");
    EXPECT_EQ(profile->backends,
              (std::vector<std::string>{"cuda", "rocm", "sycl", "vulkan", "opencl", "cpu"}));
    EXPECT_EQ(profile->vendors.at("amd"), (std::vector<std::string>{"rocm", "vulkan", "opencl"}));
    EXPECT_EQ(profile->cpu, CpuPolicy::Last);
    EXPECT_EQ(profile->integrated, IntegratedPolicy::Fallback);
    EXPECT_FALSE(profile->strict);
}

TEST(Profile, IsWrittenAsItIsRead) {
    const auto profile = parse_profile(default_text());
    ASSERT_TRUE(profile);
    const auto again = parse_profile(json_line(to_value(*profile)));
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, *profile);
}

TEST(Profile, NamesTheSourcesOfItsFacts) {
    auto value = default_value();
    value["source"] = json(R"({"url": "https://example.org", "facts": [
        {"of": "order", "repo": "o/n", "commit": "0123abc", "path": "a.py"},
        {"of": "floor", "url": "https://example.org/docs"}]})");
    const auto profile = parse_profile(json_line(value));
    ASSERT_TRUE(profile) << profile.error().text;
    EXPECT_EQ(profile->source, value["source"]);
    EXPECT_EQ(parse_profile(default_text())->source, std::nullopt);
    value["source"] = Value{"somebody"};
    EXPECT_FALSE(parse_profile(json_line(value)));
}

TEST(Profile, CutAtAnyByteIsMalformed) {
    const std::string_view whole = default_text();
    const auto end = whole.rfind('}');
    for (std::size_t length = 0; length <= end; ++length) {
        const auto profile = parse_profile(whole.substr(0, length));
        ASSERT_FALSE(profile) << length;
        ASSERT_EQ(profile.error().code, ErrorCode::Malformed) << length;
    }
}

TEST(Profile, WithAnyByteChangedIsReadOrRefused) {
    const std::string& whole = default_text();
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const char byte : {'\0', '"', '{', '9', '\xff'}) {
            auto changed = whole;
            changed[at] = byte;
            (void)parse_profile(changed);  // must not crash; any result is correct
        }
}

TEST(Profile, OverItsLimitIsTooLarge) {
    auto text = default_text();
    text.append(kMaxManifest.count - text.size(), ' ');
    EXPECT_TRUE(parse_profile(text));
    text += ' ';
    const auto profile = parse_profile(text);
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().code, ErrorCode::TooLarge);
}

TEST(Profile, MayLackWhatIsAList) {
    const auto profile =
        parse_profile(R"({"name":"x","description":"","backends":["vulkan"],"cpu":"forbid",)"
                      R"("integrated":"never","strict":true})");
    ASSERT_TRUE(profile) << profile.error().text;
    EXPECT_TRUE(profile->vendors.empty());
    EXPECT_TRUE(profile->environment.empty());
}

/// The default profile with one member replaced.
struct Row {
    const char* name;
    const char* member;
    const char* value;  ///< JSON
    const char* problem;
};

class BrokenProfile : public ::testing::TestWithParam<Row> {};

TEST_P(BrokenProfile, IsRefusedNamingTheMember) {
    auto value = default_value();
    value["reads"] = Value{};
    value[GetParam().member] = json(GetParam().value);
    const auto profile = parse_profile(json_line(value));
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().code, ErrorCode::Malformed);
    EXPECT_EQ(profile.error().text, GetParam().problem);
}

constexpr const char* kLongWord =
    R"("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")";  // 65

INSTANTIATE_TEST_SUITE_P(
    Table,
    BrokenProfile,
    ::testing::Values(
        Row{"UnknownMember", "vendor", "{}", "vendor: unknown member"},
        Row{"Schema", "schema", "1", "schema: unknown member"},
        Row{"EmptyName", "name", "\"\"",
            "name: expected at most 64 lower-case letters, digits and -._"},
        Row{"UpperCaseName", "name", "\"Default\"",
            "name: expected at most 64 lower-case letters, digits and -._"},
        Row{"NameBeginsWithDot", "name", "\".x\"",
            "name: expected at most 64 lower-case letters, digits and -._"},
        Row{"LongName", "name", kLongWord,
            "name: expected at most 64 lower-case letters, digits and -._"},
        Row{"NoBackends", "backends", "[]", "backends: empty"},
        Row{"UnknownBackend", "backends", R"(["vulcan","cpu"])",
            "backends[0]: vulcan: no such backend"},
        Row{"ForeignBackend", "backends", R"(["metal","cpu"])",
            "backends[0]: metal: no such backend"},
        Row{"BackendTwice", "backends", R"(["cuda","cuda","cpu"])",
            "backends[1]: cuda: named twice"},
        Row{"CpuNotLast", "backends", R"(["cpu","cuda"])",
            "backends: cpu must be the last backend"},
        Row{"BackendsAsText", "backends", R"("cuda")", "backends: expected array, found string"},
        Row{"CpuForbiddenAndListed", "cpu", R"("forbid")",
            R"(cpu: "last" requires cpu in backends; with "forbid", backends must not contain cpu)"},
        Row{"UnknownCpuPolicy", "cpu", R"("first")", "cpu: unknown word"},
        Row{"UnknownIntegratedPolicy", "integrated", R"("sometimes")", "integrated: unknown word"},
        Row{"StrictAsNumber", "strict", "1", "strict: expected boolean, found integer"},
        Row{"VendorWithUnknownBackend", "vendors", R"({"amd":["rcom"]})",
            "vendors.amd[0]: rcom: no such backend"},
        Row{"VendorWithCpu", "vendors", R"({"amd":["cpu"]})",
            "vendors.amd[0]: cpu: not a GPU backend of this application"},
        Row{"VendorBackendTwice", "vendors", R"({"amd":["rocm","rocm"]})",
            "vendors.amd[1]: rocm: named twice"},
        Row{"VendorIsNoWord", "vendors", R"({"A M D":["rocm"]})", "vendors: A M D: not a vendor"},
        Row{"TranslatesUnknownBackend", "translate", R"({"metal":"x"})",
            "translate.metal: not a backend of this application"},
        Row{"TranslatesToNoWord", "translate", R"({"vulkan":"Web GPU"})",
            "translate.vulkan: expected a lower-case word"},
        Row{"TranslatesToTakenName", "translate", R"({"vulkan":"cuda"})",
            "translate.vulkan: another backend has this name"},
        Row{"TranslatesTwoToOne", "translate", R"({"vulkan":"gpu","opencl":"gpu"})",
            "translate.vulkan: another backend has this name"},
        Row{"EnvironmentOfUnknownBackend", "environment", R"({"metal":[]})",
            "environment.metal: not a backend of this application"},
        Row{"EmptyRule", "environment", R"({"cuda":[{}]})",
            "environment.cuda[0]: expected 1 to 16 variables"},
        Row{"BadVariable", "environment", R"({"cuda":[{"DEFAULT_GPU":"1"},{"A=B":"1"}]})",
            "environment.cuda[1]: A=B: not the name of a variable"},
        Row{"VariableBeginsWithDigit", "environment", R"({"cuda":[{"1A":"1"}]})",
            "environment.cuda[0]: 1A: not the name of a variable"},
        Row{"LineFeedInTemplate", "environment", R"({"cuda":[{"DEFAULT_GPU":"1\n2"}]})",
            "environment.cuda[0].DEFAULT_GPU: expected at most 256 printable characters"},
        Row{"UnknownFact", "environment", R"({"cuda":[{"DEFAULT_GPU":"{uuid}"}]})",
            "environment.cuda[0].DEFAULT_GPU: uuid: no such fact"},
        Row{"UnknownAnswer", "environment", R"({"cuda":[{"DEFAULT_GPU":"{=capability}"}]})",
            "environment.cuda[0].DEFAULT_GPU: =capability: no such fact"},
        Row{"UnknownReader", "reads", R"(["cuda","ggml-metal"])",
            "reads: ggml-metal: not a reader or a variable"},
        Row{"ForwardsNoVariable", "forwards", R"(["A B"])",
            "forwards: A B: not the name of a variable"},
        Row{"ReadsWhatLoadsCode", "reads", R"(["cuda","LD_PRELOAD"])",
            "reads: LD_PRELOAD: a data file must not name this variable; only variables that "
            "choose "
            "GPUs are allowed, such as DEFAULT_GPU"},
        Row{"ForwardsWhatLoadsCode", "forwards", R"(["BASH_ENV"])",
            "forwards: BASH_ENV: a data file must not name this variable; only variables that "
            "choose GPUs are allowed, such as DEFAULT_GPU"},
        Row{"SetsWhatLoadsCode", "environment", R"({"cpu":[{"PATH":"/tmp"}]})",
            "environment.cpu[0]: PATH: a data file must not name this variable; only variables "
            "that "
            "choose GPUs are allowed, such as DEFAULT_GPU"},
        Row{"SetsAFileOfItsOwn", "environment",
            R"({"vulkan":[{"VK_DRIVER_FILES":"/tmp/evil.json"}]})",
            "environment.vulkan[0].VK_DRIVER_FILES: this variable loads files: its value must be "
            "{vulkan_manifests} or {vulkan_own_manifest} or /nonexistent"},
        Row{"EmptyFact", "environment", R"({"cuda":[{"DEFAULT_GPU":"x{}"}]})",
            "environment.cuda[0].DEFAULT_GPU: : no such fact"},
        Row{"OpenBrace", "environment", R"({"cuda":[{"DEFAULT_GPU":"{nvidia_uuids"}]})",
            "environment.cuda[0].DEFAULT_GPU: an unmatched brace"},
        Row{"ClosingBrace", "environment", R"({"cuda":[{"DEFAULT_GPU":"nvidia_uuids}"}]})",
            "environment.cuda[0].DEFAULT_GPU: an unmatched brace"},
        Row{"FloorOfAnUnknownBackend", "floors", R"({"metal":[]})",
            "floors.metal: not a backend of this application"},
        Row{"FloorThatIsNoPredicate", "floors", R"({"*":["drivers>=1"]})",
            "floors.*[0]: drivers: no such fact; did you mean 'driver'?"},
        Row{"FloorAsText", "floors", R"({"cuda":"driver>=1"})",
            "floors.cuda: expected array, found string"},
        Row{"AStatusThatIsSuccess", "failed_statuses", "[0]",
            "failed_statuses: expected exit statuses from 1 to 125"},
        Row{"AStatusOfAShell", "failed_statuses", "[3, 126]",
            "failed_statuses: expected exit statuses from 1 to 125"},
        Row{"TooManyStatuses", "failed_statuses", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
            "failed_statuses: more than 16 exit statuses"},
        Row{"AsDiscreteThatIsNoPredicate", "as_discrete", R"({"*":["gfx"]})",
            "as_discrete.*[0]: gfx: expected =, !=, <, <=, > or >="},
        Row{"AsDiscreteByAnUnknownBackend", "as_discrete", R"({"metal":[]})",
            "as_discrete.metal: not a backend of this application"},
        Row{"APreferenceThatIsNoPredicate", "prefers", R"({"*":["gfx"]})",
            "prefers.*[0]: gfx: expected =, !=, <, <=, > or >="},
        Row{"APreferenceOfAnUnknownBackend", "prefers", R"({"metal":[]})",
            "prefers.metal: not a backend of this application"},
        Row{"AnUnknownNumberOfGpus", "gpus", R"("two")", "gpus: unknown word"},
        Row{"ASwitchWhereIntegratedGpusAreUsed", "integrated_by", R"({"P_INTEGRATED":"1"})",
            "integrated_by: requires that \"integrated\" is \"never\""},
        Row{"RequestForAnUnknownBackend", "requests", R"({"gpu":["metal"]})",
            "requests.gpu[0]: metal: not a backend of this application"},
        Row{"RequestThatIsNoWord", "requests", R"({"A GPU":[]})",
            "requests: A GPU: expected a lower-case word"},
        Row{"RequestNamedAuto", "requests", R"({"auto":["cuda"]})",
            "requests: auto: expected a lower-case word"},
        Row{"DayWithoutATime", "expires", R"("2027-05-22")",
            "expires: expected a time such as 2026-08-22T00:00:00Z"},
        Row{"UnknownRequestPolicy", "unknown_request", R"("ignore")",
            "unknown_request: unknown word"},
        Row{"UnavailableRequestPolicy", "unavailable_request", R"("ignore")",
            "unavailable_request: unknown word"},
        Row{"PlatformWithoutAProcessor", "platforms", R"({"darwin":["metal"]})",
            "platforms: darwin: expected a name like darwin-arm64"},
        Row{"PlatformWithoutWords", "platforms", R"({"darwin-arm64":["Metal API"]})",
            "platforms.darwin-arm64: expected lower-case words"},
        Row{"AnswerWithABadName", "answers", R"({"a-b":[]})",
            "answers: a-b: not the name of an answer"},
        Row{"AnswerOfTwoValues", "answers", R"({"a":[{"x":[]},{"y":[],"z":[]}]})",
            "answers.a[1]: expected one value with its predicates"},
        Row{"AnswerWithAnUnknownFact", "answers", R"({"a":[{"{uuid}":[]}]})",
            "answers.a[0]: uuid: no such fact"},
        Row{"AnswerWithADashedFact", "answers", R"({"a":[{"{max-buffer}":[]}]})",
            "answers.a[0]: max-buffer: no such fact"},
        Row{"AnswerThatIsNoPredicate", "answers", R"({"a":[{"x":["y"]}]})",
            "answers.a[0].x[0]: y: no such fact"},
        Row{"MessageForNoSituation", "messages", R"({"chosen":"x"})",
            "messages.chosen: no such situation"},
        Row{"EmptyMessage", "messages", R"({"none":""})",
            "messages.none: expected 1 to 1024 bytes"},
        Row{"MessageWithAnUnknownFact", "messages", R"({"selected:cuda":"{vendor}"})",
            "messages.selected:cuda: vendor: no such fact"},
        Row{"MessageWithAControlCharacter", "messages", R"({"none":"a\u001bb"})",
            "messages.none: has a control character"},
        Row{"NestedBrace", "environment", R"({"cuda":[{"DEFAULT_GPU":"{{nvidia_uuids}}"}]})",
            "environment.cuda[0].DEFAULT_GPU: an unmatched brace"}),
    support::case_name);

TEST(Profile, WithoutANeededMemberIsRefused) {
    for (const auto* member : {"name", "description", "cpu", "integrated", "strict"}) {
        auto value = default_value();
        std::erase_if(*value.as_object(),
                      [member](const Value::Member& entry) { return entry.key == member; });
        const auto profile = parse_profile(json_line(value));
        ASSERT_FALSE(profile) << member;
        EXPECT_EQ(profile.error().text, std::string{member} + ": missing");
    }
}

Value words(std::string_view prefix, std::size_t count, const Value& each) {
    Value object{Value::Object{}};
    for (std::size_t i = 0; i < count; ++i)
        object[std::string{prefix} + std::to_string(i)] = each;
    return object;
}

TEST(Profile, HasAtMost32Vendors) {
    auto value = default_value();
    value["vendors"] = words("v", 32, json(R"(["cuda"])"));
    EXPECT_TRUE(parse_profile(json_line(value)));
    value["vendors"] = words("v", 33, json(R"(["cuda"])"));
    EXPECT_FALSE(parse_profile(json_line(value)));
}

TEST(Profile, HasAtMost16RulesOf16Variables) {
    auto value = default_value();
    value["reads"] = Value{};
    const Value rule = words("DEFAULT_GPU", 16, Value{"1"});
    value["environment"] = Value{Value::Object{{"cuda", Value{Value::Array(16, rule)}}}};
    EXPECT_TRUE(parse_profile(json_line(value)));
    value["environment"] = Value{Value::Object{{"cuda", Value{Value::Array(17, rule)}}}};
    EXPECT_FALSE(parse_profile(json_line(value)));
    const Value wide = words("DEFAULT_GPU", 17, Value{"1"});
    value["environment"] = Value{Value::Object{{"cuda", Value{Value::Array(1, wide)}}}};
    EXPECT_FALSE(parse_profile(json_line(value)));
}

TEST(Profile, SetsOnlyWhatItsProgramReadsOrPassesOn) {
    auto value = default_value();
    value["environment"] = json(R"({"cuda":[{"OLLAMA_VULKAN":"0"}]})");
    const auto refused = parse_profile(json_line(value));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "environment.cuda[0]: OLLAMA_VULKAN: missing from \"reads\" and "
              "\"forwards\"");
    value["forwards"] = json(R"(["OLLAMA_VULKAN"])");
    EXPECT_TRUE(parse_profile(json_line(value)));
    value["forwards"] = json("[]");
    value["reads"].push_back(Value{"OLLAMA_VULKAN"});
    EXPECT_TRUE(parse_profile(json_line(value)));
    value["reads"] = Value{};  // as in files without this member
    EXPECT_TRUE(parse_profile(json_line(value)));
}

TEST(Profile, HasTextsWithinTheirLimits) {
    auto value = default_value();
    value["description"] = std::string(1024, 'x');
    EXPECT_TRUE(parse_profile(json_line(value)));
    value["description"] = std::string(1025, 'x');
    EXPECT_FALSE(parse_profile(json_line(value)));
    value = default_value();
    value["reads"] = json(R"(["DEFAULT_GPU"])");
    value["environment"] = json(R"({"cuda":[{"DEFAULT_GPU":""}]})");
    auto& text = (*(*value["environment"]["cuda"].as_array())[0].as_object())[0].value;
    text = Value{std::string(256, 'x')};
    EXPECT_TRUE(parse_profile(json_line(value)));
    text = Value{std::string(257, 'x')};
    EXPECT_FALSE(parse_profile(json_line(value)));
}

}  // namespace profile_test
}  // namespace gpuprobe
