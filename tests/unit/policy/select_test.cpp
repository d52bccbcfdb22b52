// SPDX-License-Identifier: Apache-2.0
#include "policy/select.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace select_test {

using support::amd_card;
using support::default_profile;
using support::hybrid_laptop;
using support::intel_graphics;
using support::kFirstUuid;
using support::llvmpipe;
using support::machine_without_gpu;
using support::nvidia_card;
using support::report_of;
using support::two_identical_cards;
using support::unclear;
using support::unusable;
using support::usable;
using Names = std::vector<std::string>;

constexpr const char* kFirst = "pci:0000:06:00.0";

Report one_nvidia_card() {
    return report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
}

Decision decide(const Report& report,
                const SelectRequest& request = {},
                const Profile& profile = default_profile()) {
    auto decision = select(profile, request, report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? *decision : Decision{};
}

const Candidate& candidate(const Decision& decision,
                           std::string_view backend,
                           std::optional<std::string> gpu = {}) {
    for (const auto& entry : decision.candidates)
        if (entry.backend == backend && entry.gpu == gpu)
            return entry;
    static const Candidate kNone{.backend = "none"};
    ADD_FAILURE() << "no candidate " << backend << " on " << gpu.value_or("none");
    return kNone;
}

Names codes(const Candidate& entry) {
    Names codes;
    for (const auto& why : entry.reasons)
        codes.push_back(why.code);
    return codes;
}

void expect(const Candidate& entry, Verdict verdict, const Names& why) {
    EXPECT_EQ(entry.verdict, verdict) << entry.backend;
    EXPECT_EQ(codes(entry), why) << entry.backend;
}

// Verdicts ----------------------------------------------------------------------------------------

struct FactRow {
    const char* name;
    BackendView view;
    Verdict verdict;
    Names why;
};
class SelectOnFacts : public ::testing::TestWithParam<FactRow> {};

TEST_P(SelectOnFacts, TakesTheVerdictOfTheReport) {
    auto report = one_nvidia_card();
    report.gpus[0].backends["cuda"] = GetParam().view;
    expect(candidate(decide(report), "cuda", kFirst), GetParam().verdict, GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    SelectOnFacts,
    ::testing::Values(
        FactRow{"Usable", usable(), Verdict::Accepted, {}},
        FactRow{"UsableWithARemark",
                {.usable = true, .reasons = {{.code = "uvm-missing"}}},
                Verdict::Accepted,
                {"uvm-missing"}},
        FactRow{"Unusable", unusable("no-permission"), Verdict::Rejected, {"no-permission"}},
        FactRow{"UnusableWithoutAReason", {.usable = false}, Verdict::Rejected, {"not-usable"}},
        FactRow{"Unclear",
                unclear("inconclusive"),
                Verdict::Unknown,
                {"inconclusive", "unknown-not-chosen"}},
        FactRow{
            "UnclearWithoutAReason", {}, Verdict::Unknown, {"not-probed", "unknown-not-chosen"}}),
    support::case_name);

TEST(Select, TakesABackendThatTheReportLeavesOutForUnknown) {
    auto report = one_nvidia_card();
    report.gpus[0].backends.erase("cuda");
    expect(candidate(decide(report), "cuda", kFirst), Verdict::Unknown,
           {"not-probed", "unknown-not-chosen"});
}

TEST(Select, RejectsWhatTheProfileDoesNotHaveForTheVendor) {
    auto report = one_nvidia_card();
    auto profile = default_profile();
    profile.vendors["nvidia"] = {"cuda"};
    const auto decision = decide(report, {}, profile);
    const auto& vulkan = candidate(decision, "vulkan", kFirst);
    expect(vulkan, Verdict::Rejected, {"not-in-profile-for-vendor"});
    EXPECT_EQ(vulkan.reasons[0].detail, (Value{Value::Object{{"vendor", "nvidia"}}}));
    expect(candidate(decision, "rocm", kFirst), Verdict::Rejected, {"vendor-mismatch"});
}

TEST(Select, HasARuleForAnyOtherVendorAndForNone) {
    auto report = one_nvidia_card();
    for (const auto& vendor :
         {std::optional<std::string>{"mthreads"}, std::optional<std::string>{}}) {
        report.gpus[0].vendor = vendor;
        const auto decision = decide(report);
        EXPECT_EQ(decision.backend, "vulkan");
        expect(candidate(decision, "cuda", kFirst), Verdict::Rejected,
               {"not-in-profile-for-vendor"});
    }
}

TEST(Select, AllowsNothingToAVendorWithoutARule) {
    auto profile = default_profile();
    profile.vendors = {{"amd", {"rocm"}}};
    EXPECT_EQ(decide(one_nvidia_card(), {}, profile).backend, "cpu");
}

TEST(Select, AllowsEverythingWithoutVendorRules) {
    auto profile = default_profile();
    profile.vendors.clear();
    EXPECT_EQ(decide(one_nvidia_card(), {}, profile).backend, "cuda");
}

TEST(Select, RejectsWhatIsNotBuilt) {
    const auto decision = decide(one_nvidia_card(), {.built = Names{"vulkan", "cpu", "metal"}});
    EXPECT_EQ(decision.backend, "vulkan");
    const auto& cuda = candidate(decision, "cuda", kFirst);
    expect(cuda, Verdict::Rejected, {"not-built"});
    EXPECT_EQ(*cuda.reasons[0].detail.find("built"), (Value{Value::Array{"cpu", "vulkan"}}));
    EXPECT_EQ(decision.summary, "requested=auto detected=[vulkan,cpu] selected=vulkan");
}

TEST(Select, ChoosesNothingWhenNothingIsBuilt) {
    const auto decision = decide(one_nvidia_card(), {.built = Names{}});
    EXPECT_EQ(decision.backend, std::nullopt);
    expect(candidate(decision, "cpu"), Verdict::Rejected, {"not-built"});
    EXPECT_EQ(decision.summary, "requested=auto detected=[] selected=none");
}

TEST(Select, RejectsADeniedBackend) {
    const auto decision = decide(one_nvidia_card(), {.deny = {"cuda", "cpu"}});
    EXPECT_EQ(decision.backend, "vulkan");
    expect(candidate(decision, "cuda", kFirst), Verdict::Rejected, {"denied"});
    expect(candidate(decision, "cpu"), Verdict::Rejected, {"denied"});
}

TEST(Select, RejectsADeniedGpuInAnySpelling) {
    for (const auto* spelling : {"pci:0000:06:00.0", "0000:06:00.0", "06:00.0"}) {
        const auto decision = decide(two_identical_cards(), {.deny = {spelling}});
        EXPECT_EQ(decision.gpus, Names{"pci:0000:41:00.0"}) << spelling;
        expect(candidate(decision, "cuda", kFirst), Verdict::Rejected, {"denied"});
    }
}

TEST(Select, MayDenyAGpuThatIsNotThere) {
    EXPECT_EQ(decide(one_nvidia_card(), {.deny = {"pci:0000:99:00.0"}}).backend, "cuda");
}

struct MemoryRow {
    const char* name;
    std::optional<Bytes> allocatable;
    std::optional<Bytes> physical;
    Verdict verdict;
    Names why;
};
class SelectOnMemory : public ::testing::TestWithParam<MemoryRow> {};

TEST_P(SelectOnMemory, ComparesWhatCanBeAllocated) {
    auto report = one_nvidia_card();
    report.gpus[0].memory = {.physical = GetParam().physical,
                             .allocatable = GetParam().allocatable};
    const auto decision = decide(report, {.min_memory = gib(8)});
    expect(candidate(decision, "cuda", kFirst), GetParam().verdict, GetParam().why);
    expect(candidate(decision, "cpu"), Verdict::Accepted, {});
}

constexpr Bytes one_less(Bytes size) {
    return Bytes{size.count - 1};
}
constexpr Bytes one_more(Bytes size) {
    return Bytes{size.count + 1};
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    SelectOnMemory,
    ::testing::Values(
        MemoryRow{"ExactlyEnough", gib(8), gib(9), Verdict::Accepted, {}},
        MemoryRow{"OneByteMore", one_more(gib(8)), gib(9), Verdict::Accepted, {}},
        MemoryRow{
            "OneByteShort", one_less(gib(8)), gib(9), Verdict::Rejected, {"too-little-memory"}},
        MemoryRow{"Unknown",
                  std::nullopt,
                  std::nullopt,
                  Verdict::Unknown,
                  {"memory-unknown", "unknown-not-chosen"}},
        MemoryRow{"EnoughOnTheCard", std::nullopt, gib(8), Verdict::Accepted, {}},
        MemoryRow{"NotEvenOnTheCard",
                  std::nullopt,
                  one_less(gib(8)),
                  Verdict::Rejected,
                  {"too-little-memory"}}),
    support::case_name);

TEST(Select, ReportsTheAvailableAndTheNeededMemory) {
    auto report = one_nvidia_card();
    report.gpus[0].memory = {.physical = gib(8), .allocatable = gib(7)};
    const auto decision = decide(report, {.min_memory = gib(8)});
    EXPECT_EQ(candidate(decision, "cuda", kFirst).reasons[0].detail,
              (Value{Value::Object{
                  {"have", gib(7).count}, {"need", gib(8).count}, {"of", "allocatable"}}}));
}

TEST(Select, AsksNothingOfUnknownMemoryWithoutAFloor) {
    auto report = one_nvidia_card();
    report.gpus[0].memory = {};
    EXPECT_EQ(decide(report).backend, "cuda");
}

TEST(Select, NeverUsesADisplayOnlyGpu) {
    auto display = support::management_display();
    display.backends["vulkan"] = usable();
    const auto decision = decide(report_of({display}, {llvmpipe()}));
    EXPECT_EQ(decision.backend, "cpu");
    expect(candidate(decision, "vulkan", display.id), Verdict::Rejected, {"display-only"});
    expect(candidate(decision, "vulkan"), Verdict::Rejected, {"software-rasterizer"});
}

TEST(Select, TellsOfAFindingOnTheGpuAndUsesIt) {
    auto report = one_nvidia_card();
    report.gpus[0].health = "memory-mismatch";
    const auto decision = decide(report);
    EXPECT_EQ(decision.backend, "cuda");
    expect(candidate(decision, "cuda", kFirst), Verdict::Accepted, {"unhealthy"});
}

TEST(Select, NeverChoosesAnUnknownCandidate) {
    auto report = one_nvidia_card();
    for (auto& [backend, view] : report.gpus[0].backends)
        view = unclear("driver-timed-out");
    EXPECT_EQ(decide(report).backend, "cpu");
    EXPECT_EQ(decide(report, {.strict = true}).backend, std::nullopt);
    EXPECT_EQ(decide(report, {.backend = "cuda"}).backend, std::nullopt);
}

// Policies ----------------------------------------------------------------------------------------

TEST(Select, PrefersADiscreteGpuWhateverTheBackend) {
    auto report = hybrid_laptop();
    report.gpus[0].backends["cuda"] = unusable("no-driver");
    report.gpus[0].backends["vulkan"] = unusable("not-listed");
    const auto decision = decide(report);
    EXPECT_EQ(decision.backend, "opencl");
    const auto& intel = candidate(decision, "vulkan", intel_graphics().id);
    expect(intel, Verdict::Rejected, {"discrete-preferred"});
    EXPECT_EQ(intel.reasons[0].detail,
              (Value{Value::Object{{"backend", "opencl"}, {"gpu", "pci:0000:01:00.0"}}}));
    EXPECT_EQ(decision.summary, "requested=auto detected=[vulkan,opencl,cpu] selected=opencl");
}

TEST(Select, FallsBackToAnIntegratedGpu) {
    auto report = hybrid_laptop();
    for (auto& [backend, view] : report.gpus[0].backends)
        view = unusable("no-driver");
    const auto decision = decide(report);
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(decision.gpus, Names{intel_graphics().id});
}

TEST(Select, FallsBackToAnIntegratedGpuWhenTheDiscreteOneIsTooSmall) {
    const auto decision = decide(hybrid_laptop(), {.min_memory = one_more(gib(8))});
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(decision.gpus, Names{intel_graphics().id});
}

TEST(Select, UsesNoIntegratedGpuWhereTheProfileSaysNever) {
    auto profile = default_profile();
    profile.integrated = IntegratedPolicy::Never;
    const auto decision = decide(report_of({intel_graphics()}), {}, profile);
    EXPECT_EQ(decision.backend, "cpu");
    expect(candidate(decision, "vulkan", intel_graphics().id), Verdict::Rejected,
           {"integrated-not-allowed"});
}

TEST(Select, TreatsIntegratedGpusAlikeWhereTheProfileSaysAlways) {
    auto profile = default_profile();
    profile.integrated = IntegratedPolicy::Always;
    auto report = hybrid_laptop();
    report.gpus[0].backends["cuda"] = unusable("no-driver");
    report.gpus[0].backends["vulkan"] = unusable("not-listed");
    const auto decision = decide(report, {}, profile);
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(decision.gpus, Names{intel_graphics().id});
}

TEST(Select, NeverFallsBackToTheCpuUnderStrict) {
    const auto decision = decide(machine_without_gpu(), {.strict = true});
    EXPECT_EQ(decision.backend, std::nullopt);
    EXPECT_TRUE(decision.gpus.empty());
    EXPECT_EQ(decision.environment.at("CUDA_VISIBLE_DEVICES"), "");
    expect(candidate(decision, "cpu"), Verdict::Rejected, {"strict"});
    EXPECT_EQ(decision.summary, "requested=auto detected=[cpu] selected=none");
}

TEST(Select, ChoosesTheCpuUnderStrictWhenAskedForIt) {
    EXPECT_EQ(decide(machine_without_gpu(), {.backend = "cpu", .strict = true}).backend, "cpu");
    EXPECT_EQ(decide(machine_without_gpu(), {.strict = true, .only = Names{"cpu"}}).backend, "cpu");
    EXPECT_EQ(decide(machine_without_gpu(), {.strict = true, .only = Names{"cpu", "cuda"}}).backend,
              std::nullopt);
}

TEST(Select, TakesStrictnessFromTheProfileUnlessAsked) {
    auto profile = default_profile();
    profile.strict = true;
    EXPECT_EQ(decide(machine_without_gpu(), {}, profile).backend, std::nullopt);
    EXPECT_EQ(decide(machine_without_gpu(), {.strict = false}, profile).backend, "cpu");
}

Profile gpu_only_profile() {
    auto profile = default_profile();
    profile.backends.pop_back();
    profile.cpu = CpuPolicy::Forbid;
    return profile;
}

TEST(Select, NeverUsesTheCpuWhereTheProfileForbidsIt) {
    for (const auto& request : {SelectRequest{}, SelectRequest{.backend = "cpu"}}) {
        const auto decision = decide(machine_without_gpu(), request, gpu_only_profile());
        EXPECT_EQ(decision.backend, std::nullopt);
        expect(candidate(decision, "cpu"), Verdict::Rejected, {"cpu-forbidden"});
    }
}

TEST(Select, FollowsTheVendorsOrderOnOneGpu) {
    auto profile = default_profile();
    profile.vendors["amd"] = {"vulkan", "rocm"};
    const auto report = report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0)});
    EXPECT_EQ(decide(report).backend, "rocm");
    EXPECT_EQ(decide(report, {}, profile).backend, "vulkan");
}

TEST(Select, FollowsTheProfilesOrderBetweenGpus) {
    auto report = report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0),
                             nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    report.gpus[1].memory = {.physical = gib(6), .allocatable = gib(6)};
    const auto decision = decide(report);
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(decision.gpus, Names{kFirst});
}

// Requests ----------------------------------------------------------------------------------------

TEST(Select, ConsidersOnlyAForcedBackend) {
    const auto decision = decide(one_nvidia_card(), {.backend = "opencl"});
    EXPECT_EQ(decision.backend, "opencl");
    expect(candidate(decision, "cuda", kFirst), Verdict::Rejected, {"not-requested"});
    expect(candidate(decision, "cpu"), Verdict::Rejected, {"not-requested"});
    EXPECT_EQ(decision.summary,
              "requested=opencl detected=[cuda,vulkan,opencl,cpu] selected=opencl");
}

TEST(Select, FallsBackToNothingFromAForcedBackend) {
    const auto decision = decide(one_nvidia_card(), {.backend = "rocm"});
    EXPECT_EQ(decision.backend, std::nullopt);
    EXPECT_EQ(decision.summary, "requested=rocm detected=[cuda,vulkan,opencl,cpu] selected=none");
}

TEST(Select, ForcesTheCpu) {
    const auto decision = decide(one_nvidia_card(), {.backend = "cpu"});
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_TRUE(decision.gpus.empty());
}

TEST(Select, UsesAnIntegratedGpuWhenOnlyItHasTheForcedBackend) {
    auto report = hybrid_laptop();
    report.gpus[0].backends["vulkan"] = unusable("not-listed");
    EXPECT_EQ(decide(report, {.backend = "vulkan"}).gpus, Names{intel_graphics().id});
}

TEST(Select, PutsPreferredBackendsFirst) {
    EXPECT_EQ(decide(one_nvidia_card(), {.prefer = {"vulkan"}}).backend, "vulkan");
    EXPECT_EQ(decide(one_nvidia_card(), {.prefer = {"opencl", "vulkan"}}).backend, "opencl");
    EXPECT_EQ(decide(one_nvidia_card(), {.prefer = {"rocm", "metal"}}).backend, "cuda");
    EXPECT_EQ(decide(one_nvidia_card(), {.prefer = {"vulkan"}}).candidates[0].backend, "vulkan");
}

TEST(Select, KeepsToTheBackendsAllowedByTheRequest) {
    const auto decision = decide(one_nvidia_card(), {.only = Names{"opencl"}});
    EXPECT_EQ(decision.backend, "opencl");
    expect(candidate(decision, "cpu"), Verdict::Rejected, {"not-requested"});
    EXPECT_EQ(decision.summary, "requested=auto detected=[opencl] selected=opencl");
}

TEST(Select, KeepsToTheGpusAllowedByTheRequest) {
    const auto decision = decide(two_identical_cards(), {.gpus = Names{"0000:41:00.0"}});
    EXPECT_EQ(decision.gpus, Names{"pci:0000:41:00.0"});
    expect(candidate(decision, "cuda", kFirst), Verdict::Rejected, {"not-requested"});
}

TEST(Select, TakesUnlikeGpusTogetherWhereTheyAreNamed) {
    auto report = two_identical_cards();
    report.gpus[1].architecture.cuda_compute_capability = "7.5";
    EXPECT_EQ(decide(report).gpus, Names{kFirst});
    const Names turned = {"pci:0000:41:00.0", kFirst};
    EXPECT_EQ(decide(report, {.gpus = turned}).gpus, turned);
    EXPECT_EQ(decide(report, {.gpus = turned}).environment.at("CUDA_VISIBLE_DEVICES"),
              std::string{support::kSecondUuid} + "," + support::kFirstUuid);
    report.gpus[1].backends["cuda"] = unusable("not-listed");
    EXPECT_EQ(decide(report, {.gpus = turned}).gpus, Names{kFirst});
}

TEST(Select, LeavesOutRejectedCandidatesOnRequest) {
    const auto decision = decide(one_nvidia_card(), {.include_rejected = false});
    ASSERT_EQ(decision.candidates.size(), 4U);
    for (const auto& entry : decision.candidates)
        EXPECT_NE(entry.verdict, Verdict::Rejected);
    EXPECT_EQ(decision.backend, "cuda");
}

struct BadRow {
    const char* name;
    SelectRequest request;
    ErrorCode code;
    const char* text;
};
class BadWordInASelectRequest : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadWordInASelectRequest, IsAnError) {
    const auto decision = select(default_profile(), GetParam().request, one_nvidia_card());
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, GetParam().code);
    EXPECT_EQ(decision.error().text, std::string{"request: "} + GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadWordInASelectRequest,
    ::testing::Values(
        BadRow{"ForcedTypo",
               {.backend = "vulcan"},
               ErrorCode::InvalidRequest,
               "backend: vulcan: expected one of cuda, rocm, sycl, vulkan, opencl, cpu"},
        BadRow{"ForcedForeign",
               {.backend = "metal"},
               ErrorCode::InvalidRequest,
               "backend: metal: expected one of cuda, rocm, sycl, vulkan, opencl, cpu"},
        BadRow{"BuiltTypo",
               {.built = Names{"cuda", "vulcan"}},
               ErrorCode::InvalidRequest,
               "built: vulcan: no such backend; did you mean 'vulkan'?"},
        BadRow{"DenyTypo",
               {.deny = {"vulcan"}},
               ErrorCode::InvalidRequest,
               "deny: vulcan: no such backend; did you mean 'vulkan'?"},
        BadRow{"DenyNoGpuId",
               {.deny = {"gpu:0"}},
               ErrorCode::InvalidRequest,
               "deny: gpu:0: not the id of a GPU"},
        BadRow{"PreferTypo",
               {.prefer = {"vulcan"}},
               ErrorCode::InvalidRequest,
               "prefer: vulcan: no such backend; did you mean 'vulkan'?"},
        BadRow{"PreferCpu",
               {.prefer = {"cpu"}},
               ErrorCode::InvalidRequest,
               "prefer: cpu: the CPU is always the last choice; request it with \"backend\""},
        BadRow{"OnlyTypo",
               {.only = Names{"vulcan"}},
               ErrorCode::InvalidRequest,
               "only: vulcan: no such backend; did you mean 'vulkan'?"},
        BadRow{"OtherGpu",
               {.gpus = Names{"pci:0000:99:00.0"}},
               ErrorCode::UnknownDevice,
               "gpus: pci:0000:99:00.0: no such GPU"},
        BadRow{"NoGpuId",
               {.gpus = Names{"first"}},
               ErrorCode::UnknownDevice,
               "gpus: first: no such GPU"}),
    support::case_name);

// Reported failures -------------------------------------------------------------------------------

struct FailureRow {
    const char* name;
    std::vector<ReportedFailure> failures;
    const char* backend;
    Names gpus;
};
class SelectAfterAFailure : public ::testing::TestWithParam<FailureRow> {};

TEST_P(SelectAfterAFailure, SkipsFailedBackends) {
    const auto decision = select(default_profile(), {}, two_identical_cards(),
                                 Experience{.failures = GetParam().failures});
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->backend, GetParam().backend);
    EXPECT_EQ(decision->gpus, GetParam().gpus);
}

constexpr const char* kSecond = "pci:0000:41:00.0";
INSTANTIATE_TEST_SUITE_P(
    Table,
    SelectAfterAFailure,
    ::testing::Values(
        FailureRow{"Nothing", {}, "cuda", {kFirst, kSecond}},
        FailureRow{"OnAnyGpu", {{.backend = "cuda"}}, "vulkan", {kFirst, kSecond}},
        FailureRow{"OnOneGpu", {{.backend = "cuda", .gpu = kFirst}}, "cuda", {kSecond}},
        FailureRow{"OnBoth",
                   {{.backend = "cuda", .gpu = kFirst}, {.backend = "cuda", .gpu = kSecond}},
                   "vulkan",
                   {kFirst, kSecond}},
        FailureRow{"OnAGpuThatIsGone",
                   {{.backend = "cuda", .gpu = "pci:0000:99:00.0"}},
                   "cuda",
                   {kFirst, kSecond}},
        FailureRow{"OfAnotherBackend", {{.backend = "vulkan"}}, "cuda", {kFirst, kSecond}},
        FailureRow{
            "OfABackendThatTheProfileLacks", {{.backend = "metal"}}, "cuda", {kFirst, kSecond}}),
    support::case_name);

TEST(Select, ContainsTheReportOfTheApplication) {
    const Experience experience{
        .failures = {{.backend = "cuda", .detail = "out of memory", .at = WallTime{Duration{5}}},
                     {.backend = "cpu", .detail = "illegal instruction"}}};
    const auto decision = select(default_profile(), {}, one_nvidia_card(), experience);
    ASSERT_TRUE(decision) << decision.error().text;
    const auto& cuda = candidate(*decision, "cuda", kFirst);
    expect(cuda, Verdict::Rejected, {"reported-failed"});
    EXPECT_EQ(cuda.reasons[0].detail,
              (Value{Value::Object{{"detail", "out of memory"}, {"at_usec", 5}}}));
    expect(candidate(*decision, "cpu"), Verdict::Rejected, {"reported-failed"});
}

TEST(Select, TakesAReportInTheApplicationsWords) {
    auto profile = default_profile();
    profile.translate = {{"cuda", "green"}};
    const auto decision =
        select(profile, {}, one_nvidia_card(), Experience{.failures = {{.backend = "green"}}});
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->backend, "vulkan");
}

// Names -------------------------------------------------------------------------------------------

/// An application that calls Vulkan "webgpu" and the CPU "cpu-rust", and does not have ROCm.
Profile translating_profile() {
    auto profile = default_profile();
    profile.name = "translating";
    profile.backends = {"cuda", "vulkan", "cpu"};
    profile.vendors.clear();
    profile.translate = {{"vulkan", "webgpu"}, {"cpu", "cpu-rust"}};
    return profile;
}

TEST(Select, SpeaksTheApplicationsWords) {
    const auto report = report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0)});
    const auto decision = decide(report, {}, translating_profile());
    EXPECT_EQ(decision.application, "translating");
    EXPECT_EQ(decision.backend, "webgpu");
    EXPECT_EQ(decision.summary, "requested=auto detected=[webgpu,cpu-rust] selected=webgpu");
    expect(candidate(decision, "webgpu", "pci:0000:03:00.0"), Verdict::Accepted, {});
    EXPECT_EQ(decision.environment.at("MESA_VK_DEVICE_SELECT"), "1002:744c");
}

TEST(Select, UnderstandsTheApplicationsWordsAndOurs) {
    for (const auto* word : {"webgpu", "vulkan"}) {
        const auto decision = decide(one_nvidia_card(), {.backend = word}, translating_profile());
        EXPECT_EQ(decision.summary,
                  "requested=webgpu detected=[cuda,webgpu,cpu-rust] selected=webgpu");
    }
    const auto decision =
        decide(one_nvidia_card(), {.built = Names{"webgpu", "cpu-rust"}}, translating_profile());
    EXPECT_EQ(decision.summary, "requested=auto detected=[webgpu,cpu-rust] selected=webgpu");
}

TEST(Select, RefusesToForceABackendThatTheProfileDoesNotHave) {
    const auto decision = select(translating_profile(), {.backend = "rocm"}, one_nvidia_card());
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().text,
              "request: backend: rocm: expected one of cuda, webgpu, cpu-rust");
}

}  // namespace select_test
}  // namespace gpuprobe
