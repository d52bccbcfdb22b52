// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/assumptions.h"
#include "policy/fact.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

/// Tests of the order of the criteria. No other criteria may be used.
namespace gpuprobe {
namespace recommend_test {

using namespace testing_variants;

Manifest of_variants(const std::string& variants) {
    auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)" +
        variants + "}}}}");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

std::vector<std::string> chain(const Recommendation& answer) {
    auto names = answer.fallback;
    if (answer.variant)
        names.insert(names.begin(), *answer.variant);
    return names;
}

using Names = std::vector<std::string>;

struct Row {
    const char* name;
    const char* machine;
    const char* variants;
    Names wanted;
    RecommendRequest request = {};
};
class Order : public ::testing::TestWithParam<Row> {};

TEST_P(Order, IsDecidedByTheFirstDifference) {
    const auto& row = GetParam();
    const auto answer =
        recommend(of_variants(row.variants), row.request, machine(row.machine), rules());
    EXPECT_EQ(chain(answer), row.wanted) << json_pretty(to_value(answer.candidates));
}

// G02: RTX 4090, driver 580. G06: V100 32 GiB and RTX 3090 24 GiB. G30: capability unreadable.
INSTANTIATE_TEST_SUITE_P(
    Table,
    Order,
    ::testing::Values(
        Row{"PreferenceBeforeTier",
            "G02",
            R"("a":{"tier":9},"b":{"tier":1},"c":{"tier":5})",
            {"b", "c", "a"},
            {.prefer = {"b", "c"}}},
        Row{"PreferenceForAFamily",
            "G02",
            R"("a":{"tier":9},"b1":{"family":"f","tier":1},"b2":{"family":"f","tier":2})",
            {"b2", "b1", "a"},
            {.prefer = {"family:f"}}},
        Row{"FirstPreferenceThatMeansIt",
            "G02",
            R"("a":{"family":"f"},"b":{"family":"f"})",
            {"b", "a"},
            {.prefer = {"b", "f"}}},
        Row{"TierBeforeCertainty",
            "G30",
            R"("a":{"tier":2,"on_unknown":"accept","requires":{"device":{"cuda":{"toolkit":"12.0","sass":["8.0"]}}}},
               "b":{"tier":1})",
            {"a", "b"}},
        Row{"CertaintyBeforeCoverage",
            "G30",
            R"("a":{"on_unknown":"accept","requires":{"device":{"cuda":{"toolkit":"12.0","sass":["8.0"]}}},"priority":9},
               "b":{"requires":{"device":{"backend":"cuda"}}}, "c":{"priority":5})",
            {"b", "c", "a"}},
        Row{"MoreMemoryBeforePriority",
            "G06",
            R"("a":{"priority":9,"requires":{"device":{"cuda":{"toolkit":"12.0","sass":["8.6"]}}}},
               "b":{"requires":{"device":{"cuda":{"toolkit":"12.0","sass":["7.0"]}}}})",
            {"b", "a"}},
        Row{"BothBeforeOne",
            "G06",
            R"("a":{"priority":9,"requires":{"device":{"cuda":{"toolkit":"12.0","sass":["7.0"]}}}},
               "b":{"requires":{"device":{"cuda":{"toolkit":"12.0","sass":["7.0","8.6"]}}}})",
            {"b", "a"}},
        Row{"PriorityBeforeName", "G02", R"("a":{"priority":1},"b":{"priority":2})", {"b", "a"}},
        Row{"NegativePriority", "G02", R"("a":{"priority":-1},"b":{})", {"b", "a"}},
        Row{"NameByBytes", "G02", R"("b":{},"a":{},"B":{},"a-1":{})", {"B", "a", "a-1", "b"}},
        Row{"OnlyNarrows", "G02", R"("a":{"tier":9},"b":{},"c":{})", {"b"}, {.only = Names{"b"}}},
        Row{"OnlyNothing", "G02", R"("a":{})", {}, {.only = Names{}}},
        Row{"ExcludeNarrows",
            "G02",
            R"("a":{"tier":9},"b":{},"c":{"family":"b"})",
            {"a"},
            {.exclude = {"b"}}},
        Row{"FamilyWordMeansNoName",
            "G02",
            R"("a":{"family":"f"},"f":{"family":"g"})",
            {"f"},
            {.exclude = {"family:f"}}},
        Row{"NothingMakesARejectedOneEligible",
            "G02",
            R"("a":{"requires":{"device":{"backend":"hip"}}},"b":{})",
            {"b"},
            {.prefer = {"a"}}},
        Row{"NotEvenOnly",
            "G02",
            R"("a":{"requires":{"device":{"backend":"hip"}}},"b":{})",
            {},
            {.only = Names{"a"}}},
        Row{"MemoryThatIsNeeded",
            "G06",
            R"("a":{"requires":{"device":{"backend":"cuda"}}},"cpu":{})",
            {"a", "cpu"},
            {.need = mib(32768)}},
        Row{"MoreMemoryThanThereIs",
            "G06",
            R"("a":{"requires":{"device":{"backend":"cuda"}}},"cpu":{})",
            {"cpu"},
            {.need = mib(32769)}},
        Row{"AnyIsEnough",
            "G06",
            R"("a":{"requires":{"device":{"cuda":{"toolkit":"12.0","sass":["8.6"]}}}})",
            {"a"}},
        Row{"AllNeedsEveryOne",
            "G06",
            R"("a":{"requires":{"scope":"all","device":{"cuda":{"toolkit":"12.0","sass":["8.6"]}}}})",
            {}},
        Row{"AllByTwoAlternatives",
            "G06",
            R"("a":{"requires":{"scope":"all","device":[{"cuda":{"toolkit":"12.0","sass":["8.6"]}},
                                                        {"cuda":{"toolkit":"12.0","sass":["7.0"]}}]}})",
            {"a"}},
        // G23 has an integrated Intel GPU and an NVIDIA GPU.
        Row{"AllIsOfTheVendorThatIsMeant",
            "G23",
            R"("a":{"requires":{"scope":"all","device":{"backend":"cuda"}}})",
            {"a"}},
        Row{"AllOfNone",
            "G25",
            R"("a":{"requires":{"scope":"all","device":{"backend":"cuda"}}})",
            {}}),
    support::case_name);

TEST(Order, DoesNotDependOnTheOrderOfKeysOrGpus) {
    const auto text = file("/tests/data/variants/manifests/torch-2.13.json");
    auto value = parse_json(text, mib(1)).value();
    auto report = machine("G33");
    const auto wanted = chain(recommend(parse_manifest(text).value(), {}, report, rules()));
    std::mt19937 random{1};
    for (int i = 0; i < 50; ++i) {
        auto* variants =
            value.find("platforms")->find("linux-x86_64")->find("variants")->as_object();
        std::shuffle(variants->begin(), variants->end(), random);
        std::shuffle(report.gpus.begin(), report.gpus.end(), random);
        const auto manifest = parse_manifest(json_line(value)).value();
        EXPECT_EQ(chain(recommend(manifest, {}, report, rules())), wanted);
    }
}

TEST(ReportedFailure, RejectsAVariantOrItsFamily) {
    const auto manifest = of_variants(R"("a":{"family":"f","tier":3},"b":{"family":"f","tier":2},
                                         "c":{"tier":1})");
    const std::vector<FailedVariant> variant{
        {.word = "a", .detail = Value::Object{{"detail", "x"}}}};
    const std::vector<FailedVariant> family{{.word = "family:f"}};
    const auto without_a = recommend(manifest, {}, machine("G02"), rules(), variant);
    EXPECT_EQ(chain(without_a), (Names{"b", "c"}));
    EXPECT_EQ(candidate(without_a, "a")->reasons.at(0).code, "reported-failed");
    EXPECT_EQ(candidate(without_a, "a")->reasons.at(0).detail.at("detail"), Value{"x"});
    EXPECT_EQ(chain(recommend(manifest, {}, machine("G02"), rules(), family)), Names{"c"});
}

// G06: the V100 is pci:01, and the RTX 3090 is pci:02.
TEST(ReportedFailure, OnOneGpuLeavesTheVariantToTheOthers) {
    const auto manifest =
        of_variants(R"("a":{"tier":2,"requires":{"device":{"backend":"cuda"}}},"cpu":{})");
    const std::vector<FailedVariant> one{{.word = "variant:a", .gpu = "pci:01"}};
    const auto answer = recommend(manifest, {}, machine("G06"), rules(), one);
    EXPECT_EQ(answer.variant, "a");
    EXPECT_EQ(answer.gpus, Names{"pci:02"});
    const std::vector<FailedVariant> both{{.word = "variant:a", .gpu = "pci:01"},
                                          {.word = "family:a", .gpu = "pci:02"}};
    EXPECT_EQ(chain(recommend(manifest, {}, machine("G06"), rules(), both)), Names{"cpu"});
    const auto all = of_variants(R"("a":{"requires":{"scope":"all","device":{"backend":"cuda"}}})");
    EXPECT_EQ(chain(recommend(all, {}, machine("G06"), rules(), one)), Names{});
}

/// G06 has two NVIDIA cards, and no other GPU.
TEST(UnderRule, LeavesOutBackendsAndGpus) {
    const auto manifest = of_variants(
        R"("a":{"tier":2,"requires":{"device":{"backend":"cuda"}}},
           "b":{"tier":1,"requires":{"device":{"backend":"vulkan"}}},"cpu":{})");
    const auto ask = [&manifest](const RecommendRequest& request) {
        return recommend(manifest, request, machine("G06"), rules());
    };
    ASSERT_EQ(ask({}).variant, "a");
    EXPECT_EQ(ask({}).verdict, Verdict::Accepted);
    const auto without = ask({.exclude = {"backend:cuda"}});
    EXPECT_NE(without.variant, "a");
    EXPECT_EQ(candidate(without, "a")->reasons.at(0).code, "denied");
    EXPECT_EQ(chain(ask({.allowed_backends = Names{"backend:cpu"}})), Names{"cpu"});
    EXPECT_EQ(ask({.denied_gpus = {"pci:01"}}).gpus, Names{"pci:02"});
    EXPECT_EQ(ask({.gpus = Names{"pci:01"}}).gpus, Names{"pci:01"});
    const auto none = ask({.denied_gpus = {"pci:01", "pci:02"}});
    EXPECT_EQ(none.variant, "cpu");
    EXPECT_EQ(candidate(none, "a")->reasons.at(0).code, "not-requested");
    const auto all =
        of_variants(R"("a":{"requires":{"scope":"all","device":{"backend":"cuda"}}},"cpu":{})");
    EXPECT_EQ(recommend(all, {.denied_gpus = {"pci:01"}}, machine("G06"), rules()).gpus,
              Names{"pci:02"})
        << "a GPU that may not be used needs not be fit";
}

/// G30 has a card whose architecture is not known.
TEST(Uncertain, IsSaidOfTheVariantThatIsTakenWithItsGpu) {
    const auto manifest = of_variants(
        R"("a":{"on_unknown":"accept","requires":{"device":{"cuda":{"toolkit":"12.0","sass":["8.0"]}}}})");
    const auto answer = recommend(manifest, {}, machine("G30"), rules());
    EXPECT_EQ(answer.variant, "a");
    EXPECT_EQ(answer.verdict, Verdict::Uncertain);
    EXPECT_FALSE(answer.gpus.empty());
}

/// G02 is an RTX 4090 with CUDA 13: the GPU uses the first alternative.
TEST(Advice, OfAnAlternativeIsGivenWhereThatIsUsed) {
    const auto manifest =
        of_variants(R"("a":{"requires":{"device":[{"backend":"cuda","cuda_api":{"min":"13.0"},)"
                    R"("advises":{"host":{"libs":["libcudart.so.13"]}}},{"backend":"cuda",)"
                    R"("advises":{"host":{"libs":["libcudart.so.12"]}}}]}})");
    auto report = machine("G02");
    report.host.libraries.emplace();
    const auto missing = [&report, &manifest] {
        Names names;
        for (const auto& warning : recommend(manifest, {}, report, rules()).warnings)
            names.push_back(*warning.detail.at("missing").as_array()->front().as_string());
        return names;
    };
    EXPECT_EQ(missing(), Names{"libcudart.so.13"});
    report.runtimes["cuda"].version = "12.4";
    EXPECT_EQ(missing(), Names{"libcudart.so.12"});
}

TEST(Advice, AboutPythonIsAWarningOnlyIfItsVersionIsKnown) {
    const auto manifest = of_variants(R"("a":{"requires":{"device":{"backend":"cuda"}},"advises":)"
                                      R"({"host":{"python_min":"3.10","python_max":"3.13"}}})");
    const auto warnings = [&manifest](std::optional<std::string> python, Names assume = {}) {
        auto report = machine("G02");
        report.host.python = std::move(python);
        const auto answer = recommend(manifest, {}, assuming(report, assume).value(), rules());
        EXPECT_EQ(answer.variant, "a");
        Names codes;
        for (const auto& warning : answer.warnings)
            codes.emplace_back(warning.code);
        return codes;
    };
    EXPECT_EQ(warnings(std::nullopt), Names{});
    EXPECT_EQ(warnings("3.9"), Names{"python-too-old"});
    EXPECT_EQ(warnings("3.10"), Names{});
    EXPECT_EQ(warnings("3.13"), Names{});
    EXPECT_EQ(warnings("3.14"), Names{"python-too-new"});
    EXPECT_EQ(warnings("3.9", {"python=3.12"}), Names{});
    EXPECT_EQ(warnings(std::nullopt, {"python=3.14"}), Names{"python-too-new"});
}

TEST(Version, IsTheVariantsWhereItInstallsAnother) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","version":"2.14","platforms":{"linux-x86_64":)"
        R"({"variants":{"old":{"tier":1,"version":"2.11","requires":{"device":{"backend":"cuda"}}},)"
        R"("new":{}}}}})");
    const auto answer = recommend(manifest.value(), {}, machine("G02"), rules());
    EXPECT_EQ(answer.variant, "old");
    EXPECT_EQ(answer.version, "2.11");
    ASSERT_EQ(answer.warnings.size(), 1U);
    EXPECT_EQ(answer.warnings[0], because("other-version", {{"have", "2.11"}, {"want", "2.14"}}));
    EXPECT_EQ(candidate(answer, "old")->version, "2.11");
    EXPECT_EQ(candidate(answer, "new")->version, std::nullopt);
}

TEST(PciClass, LimitsAVariantToIt) {
    const auto manifest = of_variants(R"("a":{"requires":{"device":{"class":["0300"]}}},"b":{})");
    auto report = machine("G02");
    report.gpus[0].pci.emplace().pci_class = "0300";
    EXPECT_EQ(recommend(manifest, {}, report, rules()).variant, "a");
    report.gpus[0].pci->pci_class = "1200";
    EXPECT_EQ(recommend(manifest, {}, report, rules()).variant, "b");
}

TEST(UnderRule, NarrowsBothWaysAndPrefersTheCallersFirst) {
    const auto manifest = of_variants(R"("a":{"tier":3},"b":{"tier":2},"c":{"tier":1})");
    const auto ask = [&manifest](RecommendRequest request, const RecommendRequest& rule) {
        return chain(
            recommend(manifest, under_rule(std::move(request), rule), machine("G02"), rules()));
    };
    EXPECT_EQ(ask({.prefer = {"c"}}, {.prefer = {"b"}}), (Names{"c", "b", "a"}));
    EXPECT_EQ(ask({.only = Names{"a", "b"}}, {.only = Names{"b", "c"}}), Names{"b"});
    EXPECT_EQ(ask({.exclude = {"a"}}, {.exclude = {"b"}}), Names{"c"});
    EXPECT_EQ(under_rule({.need = mib(2)}, {.need = mib(3)}).need, mib(3));
    EXPECT_EQ(under_rule({.need = mib(4)}, {.need = mib(3)}).need, mib(4));
    EXPECT_EQ(under_rule({}, {}).need, std::nullopt);
}

TEST(NoVariant, IsAnErrorUnlessTheManifestWantsItsDefault) {
    const std::string rest =
        R"("default":"a","none_hint":"buy one","variants":{"a":{"requires":{"device":{"backend":"hip"}},
            "env":{"CUDA_DEVICE_ORDER":"1"}}}}}})";
    const std::string start =
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{)";
    const auto none = recommend(parse_manifest(start + rest).value(), {}, machine("G02"), rules());
    EXPECT_EQ(none.status, RecommendStatus::None);
    EXPECT_EQ(none.variant, std::nullopt);
    EXPECT_EQ(none.hint, "buy one");
    const auto unverified =
        recommend(parse_manifest(start + R"("on_none":"default",)" + rest).value(), {},
                  machine("G02"), rules());
    EXPECT_EQ(unverified.status, RecommendStatus::DefaultUnverified);
    EXPECT_EQ(unverified.variant, "a");
    EXPECT_EQ(unverified.environment,
              (std::map<std::string, std::string>{{"CUDA_DEVICE_ORDER", "1"}}));
    EXPECT_TRUE(unverified.fallback.empty());
    EXPECT_EQ(candidate(unverified, "a")->verdict, Verdict::Rejected);
}

struct PlatformRow {
    const char* name;
    const char* keys;  ///< the platforms of the manifest
    const char* arch;
    std::optional<std::string> libc;
    std::optional<std::string> wanted;
};
class Platform : public ::testing::TestWithParam<PlatformRow> {};

TEST_P(Platform, IsTheMostSpecificKeyThatFits) {
    std::string platforms;
    for (const auto key : words(GetParam().keys))
        platforms +=
            (platforms.empty() ? "\"" : ",\"") + std::string{key} + R"(":{"variants":{"v":{}}})";
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{)" + platforms + "}}");
    ASSERT_TRUE(manifest) << manifest.error().text;
    auto report = machine("G25");
    report.host.arch = GetParam().arch;
    report.host.libc.name = GetParam().libc;
    const auto answer = recommend(*manifest, {}, report, rules());
    EXPECT_EQ(answer.platform, GetParam().wanted);
    EXPECT_EQ(answer.status, GetParam().wanted ? RecommendStatus::Ok : RecommendStatus::NoPlatform);
    EXPECT_EQ(answer.warnings.empty(), GetParam().wanted.has_value());
}

TEST(PlatformNotOffered, IsSaidWithWhatIsOffered) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-arm64-glibc":{"variants":{"v":{}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    auto report = machine("G25");
    const auto warning = [&] { return recommend(*manifest, {}, report, rules()).warnings.at(0); };
    const Value offered{Value::Array{"linux-arm64-glibc"}};
    report.host.libc.name = "musl";
    EXPECT_EQ(warning(),
              because("platform-not-offered", {{"have", "linux-x86_64-musl"}, {"want", offered}}));
    report.host.libc.name.reset();
    EXPECT_EQ(warning().detail.at("have"), Value{"linux-x86_64"});
    report.host.os = "darwin";
    report.host.arch.reset();
    EXPECT_EQ(warning().code, "platform-not-offered") << "whatever processor it has";
}

TEST(PlatformUnknown, IsSaidWhereNobodyKnowsWhetherOneIsOffered) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64-glibc":{"variants":{"v":{}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    auto report = machine("G25");
    const auto answer = [&] { return recommend(*manifest, {}, report, rules()); };
    const Value offered{Value::Array{"linux-x86_64-glibc"}};
    report.host.libc.name.reset();
    EXPECT_EQ(answer().status, RecommendStatus::NoPlatform);
    EXPECT_EQ(
        answer().warnings.at(0),
        because("platform-unknown", {{"unknown", Value{Value::Array{"libc"}}}, {"want", offered}}));
    report.host.os.reset();
    report.host.arch.reset();
    EXPECT_EQ(answer().warnings.at(0).detail.at("unknown"),
              Value(Value::Array{"os", "arch", "libc"}));
    report.host.libc.name = "musl";
    EXPECT_EQ(answer().warnings.at(0).code, "platform-not-offered") << "of glibc alone";
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Platform,
    ::testing::Values(
        PlatformRow{"Plain", "linux-x86_64", "x86_64", "glibc", "linux-x86_64"},
        PlatformRow{"DebianWord", "linux-amd64", "x86_64", "glibc", "linux-amd64"},
        PlatformRow{"ArmByBothWords", "linux-arm64", "aarch64", "glibc", "linux-arm64"},
        PlatformRow{"LibcFirst", "linux-x86_64 linux-amd64-musl", "x86_64", "musl",
                    "linux-amd64-musl"},
        PlatformRow{"LibcOfOthers", "linux-x86_64 linux-x86_64-musl", "x86_64", "glibc",
                    "linux-x86_64"},
        PlatformRow{"OnlyOtherLibc", "linux-x86_64-glibc", "x86_64", "musl", std::nullopt},
        PlatformRow{"LibcUnknown", "linux-x86_64-glibc", "x86_64", std::nullopt, std::nullopt},
        PlatformRow{"OtherArchitecture", "linux-x86_64", "aarch64", "glibc", std::nullopt}),
    support::case_name);

TEST(Recommend, NamesTheClosestVariantIfNoneFits) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{
            "far":{"requires":{"device":{"vendor":["qualcomm"]}},"tier":9},
            "as-near":{"requires":{"host":{"glibc_min":"99"}}},
            "near":{"requires":{"host":{"glibc_min":"99"}},"tier":5}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    const auto answer = recommend(*manifest, {}, machine("G02"), rules());
    EXPECT_EQ(answer.status, RecommendStatus::None);
    const auto found = std::ranges::find(answer.warnings, "closest-variant", &Reason::code);
    ASSERT_NE(found, answer.warnings.end());
    EXPECT_EQ(found->detail.at("variant"), Value{"near"});
    const auto near = std::ranges::find(answer.candidates, "near", &VariantCandidate::variant);
    EXPECT_EQ(found->detail.at("reasons"), to_value(near->reasons));
}

TEST(Warnings, NameOutdatedDataBehindTheAnswer) {
    auto report = machine("G02");
    const auto gpu = report.gpus[0];
    for (std::size_t i = 0; i < kMaxVariantGpus; ++i)
        report.gpus.push_back(gpu);
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","rules":"9999.1","platforms":{
            "linux-x86_64":{"variants":{"v":{}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    const auto answer = recommend(*manifest, {.prefer = {"w"}}, report, rules());
    std::vector<std::string> codes;
    for (const auto& warning : answer.warnings)
        codes.push_back(warning.code);
    EXPECT_EQ(codes, (Names{"gpus-left-out", "rules-too-old", "no-such-variant", "gpu-unused"}));
    EXPECT_EQ(answer.warnings[0].detail.at("count"), Value{1});
}

TEST(Staleness, BeginsAtTheInstantOfExpiry) {
    const auto manifest =
        parse_manifest(
            R"({"schema":"gpuprobe.variants/1","name":"p","expires":"2027-02-22T00:00:00Z","platforms":{
            "linux-x86_64":{"variants":{"v":{}}}}})")
            .value();
    const auto expiry = *instant_from("2027-02-22T00:00:00Z");
    EXPECT_EQ(expiry.time_since_epoch().count(), 1803254400000000LL);
    EXPECT_EQ(staleness(manifest, expiry - Duration{1}), std::nullopt);
    ASSERT_TRUE(staleness(manifest, expiry));
    EXPECT_EQ(staleness(manifest, expiry)->code, "stale-document");
    EXPECT_EQ(staleness(Manifest{}, expiry), std::nullopt);
}

TEST(Supersession, NamesTheVersionThatIsDescribedAndTheNewerOne) {
    const auto manifest_with = [](const std::string& source) {
        return parse_manifest(
            R"({"schema":"gpuprobe.variants/1","name":"p","version":"2.14","source":)" + source +
            R"(,"platforms":{"linux-x86_64":{"variants":{"v":{}}}}})");
    };
    const auto newer = manifest_with(R"({"checked":"2026-11-29","newer":"2.15","facts":[]})");
    ASSERT_TRUE(newer);
    const auto reason = supersession(*newer);
    ASSERT_TRUE(reason);
    EXPECT_EQ(*reason, superseded_document("p", "", "2.14", "2.15"));
    EXPECT_EQ(supersession(*manifest_with(R"({"checked":"2026-11-29"})")), std::nullopt);
    EXPECT_EQ(supersession(Manifest{}), std::nullopt);
    for (const auto* wrong : {R"({"checked":"yesterday"})", R"({"newer":2})",
                              R"({"newer":"\u001b"})", R"({"version":["2"]})", "[]"})
        EXPECT_FALSE(manifest_with(wrong)) << wrong;
}

/// A selection has no version itself, but its `source` may have a version.
TEST(Supersession, IsOfProfilesToo) {
    Profile profile{.name = "p"};
    EXPECT_EQ(supersession(profile), std::nullopt);
    profile.source = parse_json(R"({"version":"1.0","newer":"1.1"})", kMaxManifest).value();
    EXPECT_EQ(supersession(profile), superseded_document("p", "", "1.0", "1.1"));
    profile.source = parse_json(R"({"newer":"1.1"})", kMaxManifest).value();
    EXPECT_EQ(supersession(profile), superseded_document("p", "", std::nullopt, "1.1"));
    profile.path = "/etc/gpuprobe/applications/p.json";
    EXPECT_EQ(supersession(profile)->detail.at("path"), Value{profile.path});
}

/// Tests a selection that belongs to no application.
TEST(Staleness, IsOfProfilesToo) {
    const Profile profile{.name = "p", .expires = "2027-02-22T00:00:00Z"};
    const auto expiry = *instant_from(*profile.expires);
    EXPECT_EQ(staleness(profile, expiry - Duration{1}), std::nullopt);
    ASSERT_TRUE(staleness(profile, expiry));
    EXPECT_EQ(staleness(profile, expiry)->detail.at("document"), Value{"p"});
    EXPECT_EQ(staleness(Profile{}, expiry), std::nullopt);
}

TEST(Tegra, IsASystemOnAChipByItsBusOrItsCapability) {
    const auto kind_in = [](const Report& report) {
        const auto known = rules();
        return machine_facts(report, known).gpus.at(0).get<std::string>(FactId::Form).value;
    };
    EXPECT_EQ(kind_in(machine("G21")), "tegra");
    EXPECT_EQ(kind_in(machine("G22")), "integrated");  // GB10 runs builds for desktop GPUs
    auto thor = machine("G22");
    thor.gpus[0].architecture.cuda_compute_capability = "11.0";
    EXPECT_EQ(kind_in(thor), "tegra");
    auto amd = machine("G10");
    EXPECT_EQ(kind_in(amd), "integrated");
}

}  // namespace recommend_test
}  // namespace gpuprobe
