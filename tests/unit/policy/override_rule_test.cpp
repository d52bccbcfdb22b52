// SPDX-License-Identifier: Apache-2.0
#include "policy/override_rule.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/application_set.h"
#include "support/case_name.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace override_rule_test {

using Names = std::vector<std::string>;
using support::case_name;
using support::default_profile;
using support::gpu_at;

Value json(std::string_view text) {
    return parse_json(text, kib(64)).value();
}

SelectRequest request(std::string_view text) {
    return select_request_from(json(text)).value();
}

Report two_cards() {
    Report report;
    report.gpus = {gpu_at("0000:01:00.0", "nvidia", GpuKind::Discrete),
                   gpu_at("0000:02:00.0", "amd", GpuKind::Discrete)};
    return report;
}

SelectRequest merged(std::string_view asked, std::string_view rule) {
    const auto parsed = override_rule_from(json(rule)).value();
    auto profile = default_profile();
    profile.translate = {{"vulkan", "wgpu"}};
    return under_rule(request(asked), parsed.request, profile, two_cards());
}

struct BadRow {
    const char* name;
    const char* rule;
    const char* names;
};
class BadOverrideRule : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadOverrideRule, IsRefusedByName) {
    const auto rule = override_rule_from(json(GetParam().rule));
    ASSERT_FALSE(rule);
    EXPECT_EQ(rule.error().code, ErrorCode::InvalidRequest);
    EXPECT_NE(rule.error().text.find(GetParam().names), std::string::npos) << rule.error().text;
}

INSTANTIATE_TEST_SUITE_P(Table,
                         BadOverrideRule,
                         ::testing::Values(BadRow{"Empty", "{}", "at least one key"},
                                           BadRow{"Null", "null", "at least one key"},
                                           BadRow{"List", "[]", "at least one key"},
                                           BadRow{"Built", R"({"built":["cuda"]})", "built"},
                                           BadRow{"Unknown", R"({"evict":true})", "evict"},
                                           BadRow{"Type", R"({"prefer":1})", "prefer"},
                                           BadRow{"Variants", R"({"variants":"x"})", "variants"}),
                         case_name);

TEST(OverrideRule, KeepsWhatIsMeantForVariantsApart) {
    const auto rule = override_rule_from(json(R"({"variants":{"prefer":["vulkan"]}})"));
    ASSERT_TRUE(rule) << rule.error().text;
    EXPECT_EQ(rule->request, SelectRequest{});
    EXPECT_EQ(rule->variants, json(R"({"prefer":["vulkan"]})"));
}

TEST(OverrideRule, PrefersAfterTheCaller) {
    EXPECT_EQ(merged(R"({"prefer":["cuda"]})", R"({"prefer":["vulkan","cuda"]})").prefer,
              (Names{"cuda", "vulkan"}));
}

TEST(OverrideRule, NarrowsInWhicheverWordsTheCallerUses) {
    EXPECT_EQ(merged("{}", R"({"only":["vulkan"]})").only, (Names{"vulkan"}));
    EXPECT_EQ(merged(R"({"only":["wgpu","cuda"]})", R"({"only":["vulkan"]})").only,
              (Names{"vulkan"}));
    EXPECT_EQ(merged(R"({"only":["cuda"]})", R"({"only":["vulkan"]})").only, Names{});
}

TEST(OverrideRule, NarrowsToGpusThatAreThere) {
    constexpr auto kRule = R"({"gpus":["0000:02:00.0","pci:0000:09:00.0"]})";
    EXPECT_EQ(merged("{}", kRule).gpus, (Names{"pci:0000:02:00.0"}));
    EXPECT_EQ(merged(R"({"gpus":["02:00.0","01:00.0"]})", kRule).gpus, (Names{"pci:0000:02:00.0"}));
    EXPECT_EQ(merged("{}", R"({"gpus":["0000:09:00.0"]})").gpus, Names{});
}

TEST(OverrideRule, NarrowsToAGpuOfWhicheverSpelling) {
    Report report;
    report.gpus = {{.id = "nvml:GPU-1234"}, {.id = "nvml:GPU-5678"}};
    for (const char* word : {"nvml:GPU-1234", "NVML:gpu-1234"}) {
        const auto asked = Value{Value::Object{{"gpus", Value{Value::Array{Value{word}}}}}};
        EXPECT_EQ(under_rule(request(json_line(asked)), request(R"({"gpus":["nvml:gpu-1234"]})"),
                             default_profile(), report)
                      .gpus,
                  Names{"nvml:GPU-1234"});
    }
}

TEST(OverrideRule, TakesTheHigherFloorAndBothDenials) {
    const auto both = merged(R"({"min-memory":"4GiB","deny":["rocm"]})",
                             R"({"min-memory":"8GiB","deny":["vulkan"]})");
    EXPECT_EQ(both.min_memory, gib(8));
    EXPECT_EQ(both.deny, (Names{"rocm", "vulkan"}));
    EXPECT_EQ(merged(R"({"min-memory":"16GiB"})", R"({"min-memory":"8GiB"})").min_memory, gib(16));
}

TEST(OverrideRule, DoesNotChangeTheCallersChoice) {
    EXPECT_EQ(merged(R"({"backend":"cuda"})", R"({"backend":"vulkan"})").backend, "cuda");
    EXPECT_EQ(merged("{}", R"({"backend":"vulkan"})").backend, "vulkan");
    EXPECT_EQ(merged(R"({"strict":false})", R"({"strict":true})").strict, false);
    EXPECT_EQ(merged("{}", R"({"strict":true})").strict, true);
}

TEST(OverrideRule, DoesNotMakeARejectedCandidateAcceptable) {
    const auto rule = override_rule_from(json(R"({"prefer":["cuda"],"backend":"cuda"})")).value();
    const auto profile = default_profile();
    const auto report = two_cards();
    const auto decision = select(profile, under_rule({}, rule.request, profile, report), report);
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->backend, std::nullopt);
}

TEST(OverrideRule, IsMergedKeyByKey) {
    const auto merge = [](std::string_view rule, std::string_view change) {
        return json_line(merged_rule(json(rule), json(change)));
    };
    EXPECT_EQ(merge("null", R"({"deny":["cuda"]})"), R"({"deny":["cuda"]})");
    EXPECT_EQ(merge(R"({"deny":["cuda"],"strict":true})", R"({"deny":["rocm"]})"),
              R"({"strict":true,"deny":["rocm"]})");
    EXPECT_EQ(merge(R"({"variants":{"only":["a"],"prefer":["b"]}})",
                    R"({"variants":{"prefer":["c"]},"strict":true})"),
              R"({"variants":{"only":["a"],"prefer":["c"]},"strict":true})");
    EXPECT_EQ(merge(R"({"deny":["cuda"],"strict":true})", R"({"deny":[]})"), R"({"strict":true})");
    EXPECT_EQ(merge(R"({"variants":{"only":["a"]}})", R"({"variants":{"only":""}})"), "{}");
}

struct MistakeRow {
    const char* name;
    const char* rule;
    ErrorCode code;
    const char* message;
};
class MistakenRule : public ::testing::TestWithParam<MistakeRow> {};

TEST_P(MistakenRule, IsRefusedWithTheNearestWord) {
    const auto profile = default_profile();
    const auto application = parse_manifest(R"({"schema":"gpuprobe.variants/1","name":"default",
        "platforms":{"linux-x86_64":{"variants":{"cu12":{"family":"cuda"}}}}})");
    ASSERT_TRUE(application) << application.error().text;
    const auto rule = override_rule_from(json(GetParam().rule)).value();
    const auto checked = check_rule(rule, &profile, &*application, two_cards());
    if (!*GetParam().message) {
        EXPECT_TRUE(checked) << checked.error().text;
        return;
    }
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, GetParam().code);
    EXPECT_NE(checked.error().text.find(GetParam().message), std::string::npos)
        << checked.error().text;
}

constexpr auto kBad = ErrorCode::InvalidRequest;
INSTANTIATE_TEST_SUITE_P(
    Table,
    MistakenRule,
    ::testing::Values(
        MistakeRow{"Backend", R"({"deny":["cdua"]})", kBad, "did you mean 'cuda'?"},
        MistakeRow{"ForcedBackend", R"({"backend":"vulcan"})", kBad, "vulcan"},
        MistakeRow{"Gpu", R"({"gpus":["pci:0000:09:00.0"]})", ErrorCode::UnknownDevice,
                   "no such GPU"},
        MistakeRow{"DeniedGpu", R"({"deny":["0000:09:00.0"]})", ErrorCode::UnknownDevice,
                   "pci:0000:01:00.0"},
        MistakeRow{"Variant", R"({"variants":{"only":["cu21"]}})", kBad, "did you mean 'cu12'?"},
        MistakeRow{"Family", R"({"variants":{"exclude":["family:cdua"]}})", kBad,
                   "did you mean 'cuda'?"},
        MistakeRow{"NoMistake",
                   R"({"deny":["rocm","02:00.0"],"gpus":["01:00.0"],"variants":{"only":["cu12"]}})",
                   kBad, ""}),
    case_name);

TEST(OverrideRule, HoldsForVariantsToo) {
    const auto ask = [](std::string_view rule) {
        const auto parsed = override_rule_from(json(rule)).value();
        return under_backend_rule({}, parsed.request, default_profile(), two_cards());
    };
    EXPECT_EQ(ask(R"({"deny":["rocm","0000:02:00.0"]})").exclude, Names{"backend:rocm"});
    EXPECT_EQ(ask(R"({"deny":["rocm","0000:02:00.0"]})").denied_gpus, Names{"pci:0000:02:00.0"});
    EXPECT_EQ(ask(R"({"only":["vulkan","cpu"]})").allowed_backends,
              (Names{"backend:cpu", "backend:vulkan"}));
    EXPECT_EQ(ask(R"({"backend":"cuda"})").allowed_backends, Names{"backend:cuda"});
    EXPECT_EQ(ask(R"({"gpus":["0000:01:00.0"]})").gpus, Names{"pci:0000:01:00.0"});
    EXPECT_EQ(ask(R"({"prefer":["vulkan"]})").prefer, Names{"backend:vulkan"});
    EXPECT_EQ(ask(R"({"strict":true})").exclude, Names{"backend:cpu"});
    EXPECT_EQ(ask(R"({"min-memory":"8GiB"})").need, gib(8));
}

}  // namespace override_rule_test
}  // namespace gpuprobe
