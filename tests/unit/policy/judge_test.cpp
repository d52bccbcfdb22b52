// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/select.h"
#include "support/case_name.h"
#include "unit/policy/machines.h"

/// Tests of the effect of minimum requirements, requests and platforms on a choice. The built-in
/// profiles are tested in tests/integration/scenarios.

namespace gpuprobe {
namespace judge_test {

using support::amd_card;
using support::default_profile;
using support::hybrid_laptop;
using support::intel_graphics;
using support::kFirstUuid;
using support::kSecondUuid;
using support::nvidia_card;
using support::one_nvidia_card;
using support::parsed;
using support::report_of;
using Names = std::vector<std::string>;

Decision decide(const Profile& profile, const SelectRequest& request, const Report& report) {
    auto decision = select(profile, request, report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? *decision : Decision{};
}

std::string codes(const Decision& decision, std::string_view backend) {
    std::string list;
    for (const auto& candidate : decision.candidates)
        for (const auto& why : candidate.reasons)
            if (candidate.backend == backend)
                list += (list.empty() ? "" : ",") + why.code;
    return list;
}

// Minimum requirements ----------------------------------------------------------------------------

struct FloorRow {
    const char* name;
    const char* backend;
    const char* predicate;
    const char* why;  ///< the reason of the CUDA candidate
    const char* chosen;
};
class ProfileFloors : public ::testing::TestWithParam<FloorRow> {};

TEST_P(ProfileFloors, RejectOrLeaveUnknown) {
    const auto& row = GetParam();
    auto profile = default_profile();
    profile.floors[row.backend] = {parsed(row.predicate)};
    const auto decision = decide(profile, {}, one_nvidia_card());
    EXPECT_EQ(codes(decision, "cuda"), row.why);
    EXPECT_EQ(decision.backend, row.chosen);
}

TEST_P(ProfileFloors, DoTheSameAsARequirementOfTheRequest) {
    const auto& row = GetParam();
    if (std::string_view{row.backend} != kAnyBackend)
        return;
    const auto decision =
        decide(default_profile(), {.require = {row.predicate}}, one_nvidia_card());
    EXPECT_EQ(codes(decision, "cuda"), row.why);
    EXPECT_EQ(decision.backend, row.chosen);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ProfileFloors,
    ::testing::Values(FloorRow{"Met", "cuda", "driver>=570.86", "", "cuda"},
                      FloorRow{"Unmet", "cuda", "driver>=570.87", "driver-too-old", "vulkan"},
                      FloorRow{"UnmetOfAll", "*", "driver>=570.87", "driver-too-old", "cpu"},
                      FloorRow{"OfAnotherBackend", "vulkan", "driver>=570.87", "", "cuda"},
                      FloorRow{"NotKnown", "cuda", "glibc>=2.28",
                               "requirement-unknown,unknown-not-chosen", "vulkan"},
                      FloorRow{"OfTheHost", "cpu", "arch=aarch64", "", "cuda"}),
    support::case_name);

TEST(Floors, OfTheHostHoldForTheCpuAndThoseOfAGpuDoNot) {
    const auto host = decide(default_profile(), {.require = {"arch=aarch64"}}, one_nvidia_card());
    EXPECT_EQ(host.backend, std::nullopt);
    EXPECT_EQ(codes(host, "cpu"), "requirement-unmet");
    const auto gpu = decide(default_profile(), {.require = {"vendor=amd"}}, one_nvidia_card());
    EXPECT_EQ(gpu.backend, "cpu");
}

TEST(Floors, SayNothingAboutAGpuOfAnotherVendor) {
    auto profile = default_profile();
    profile.floors["rocm"] = {parsed("gfx=gfx90a")};
    EXPECT_EQ(codes(decide(profile, {}, one_nvidia_card()), "rocm"), "vendor-mismatch");
}

TEST(Floors, AreCheckedWhenARequestIsMadeWithoutTheParser) {
    const auto decision = select(default_profile(), {.require = {"fp17"}}, one_nvidia_card());
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, ErrorCode::InvalidRequest);
}

// Integrated GPUs ---------------------------------------------------------------------------------

TEST(AsDiscrete, AllowsAnIntegratedGpuWithADiscreteOne) {
    auto profile = default_profile();
    const auto laptop = hybrid_laptop();
    EXPECT_EQ(codes(decide(profile, {.only = Names{"vulkan"}}, laptop), "vulkan"),
              "discrete-preferred");
    profile.as_discrete = {{"*", {parsed("vendor=intel")}}};
    EXPECT_EQ(codes(decide(profile, {.only = Names{"vulkan"}}, laptop), "vulkan"), "");
}

TEST(AsDiscrete, LiftsAPartOfThemOverNever) {
    auto profile = default_profile();
    profile.integrated = IntegratedPolicy::Never;
    const auto report = report_of({intel_graphics()});
    EXPECT_EQ(decide(profile, {}, report).backend, "cpu");
    profile.as_discrete = {{"sycl", {parsed("vendor=intel")}}, {"vulkan", {parsed("vendor=amd")}}};
    EXPECT_EQ(decide(profile, {}, report).backend, "cpu");
    profile.as_discrete["vulkan"].push_back(parsed("kind=integrated"));
    EXPECT_EQ(decide(profile, {}, report).backend, "vulkan");
}

// Preferences -------------------------------------------------------------------------------------

/// The reason codes of the integrated GPU, followed by those of the discrete GPU.
TEST(Prefers, PutsAnIntegratedGpuBeforeADiscreteOne) {
    auto profile = default_profile();
    const auto laptop = hybrid_laptop();
    EXPECT_EQ(decide(profile, {}, laptop).backend, "cuda");
    profile.prefers = {{"*", {parsed("vendor=intel")}}};
    const auto decision = decide(profile, {}, laptop);
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(codes(decision, "cuda"), "vendor-mismatch,less-preferred");
    EXPECT_EQ(codes(decision, "vulkan"), "less-preferred");
    EXPECT_EQ(decide(profile, {.prefer = {"cuda"}}, laptop).backend, "cuda");
}

TEST(Prefers, ChangesTheBackendOfOneGpu) {
    auto profile = default_profile();
    const auto report = report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0)});
    EXPECT_EQ(decide(profile, {}, report).backend, "cuda");
    profile.prefers = {{"cuda", {parsed("driver<500")}}};
    EXPECT_EQ(decide(profile, {}, report).backend, "vulkan");
    EXPECT_EQ(decide(profile, {.prefer = {"cuda"}}, report).backend, "cuda");
    // If there is no other candidate, no candidate is less preferred.
    const auto only = decide(profile, {.only = Names{"cuda"}}, report);
    EXPECT_EQ(only.backend, "cuda");
    EXPECT_EQ(codes(only, "cuda"), "");
}

Profile switched_profile() {
    auto profile = default_profile();
    profile.integrated = IntegratedPolicy::Never;
    profile.integrated_by = {{"P_INTEGRATED", "1|true"}};
    return profile;
}

TEST(IntegratedBy, SaysWhatToSetWhereTheCallerHasItNot) {
    const auto report = report_of({intel_graphics()});
    for (const auto& callers : {std::map<std::string, std::string>{}, {{"P_INTEGRATED", "0"}}}) {
        const auto decision = decide(switched_profile(), {.environment = callers}, report);
        EXPECT_EQ(decision.backend, "cpu");
        const auto vulkan = std::ranges::find(decision.candidates, "vulkan", &Candidate::backend);
        EXPECT_EQ(vulkan->reasons,
                  std::vector{because("integrated-not-enabled",
                                      {{"variables", Value{Value::Array{"P_INTEGRATED=1"}}}})});
        EXPECT_TRUE(has_reason(decision.warnings, "gpu-unused"));
        EXPECT_EQ(codes(decision, "rocm"), "vendor-mismatch");
        EXPECT_FALSE(decision.environment.contains("P_INTEGRATED"));
    }
}

TEST(IntegratedBy, LetsTheProgramFallBackToThemAndStaysInTheEnvironment) {
    const SelectRequest request{.environment = {{"P_INTEGRATED", "true"}}};
    const auto alone = decide(switched_profile(), request, report_of({intel_graphics()}));
    EXPECT_EQ(alone.backend, "vulkan");
    EXPECT_EQ(alone.environment.at("P_INTEGRATED"), "true");
    const auto beside = decide(switched_profile(), request, hybrid_laptop());
    EXPECT_EQ(beside.backend, "cuda");
    EXPECT_FALSE(beside.environment.contains("P_INTEGRATED"));
    EXPECT_NE(codes(beside, "vulkan").find("discrete-preferred"), std::string::npos);
}

TEST(IntegratedBy, IsUnknownIfTheKindIsUnknown) {
    auto gpu = intel_graphics();
    gpu.kind = GpuKind::Unknown;
    const auto report = report_of({gpu});
    const auto decision = decide(switched_profile(), {}, report);
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_EQ(codes(decision, "vulkan"), "requirement-unknown,unknown-not-chosen");
    EXPECT_EQ(decide(switched_profile(), {.environment = {{"P_INTEGRATED", "1"}}}, report).backend,
              "vulkan");
}

/// A GPU that counts as discrete with one backend is not excluded with another backend.
TEST(IntegratedBy, LeavesAGpuThatCountsAsDiscreteToItsOtherBackends) {
    auto profile = switched_profile();
    profile.as_discrete = {{"sycl", {parsed("vendor=intel")}}};
    auto gpu = intel_graphics();
    gpu.backends["sycl"] = support::usable();
    const auto decision =
        decide(profile, {.environment = {{"P_INTEGRATED", "1"}}}, report_of({gpu}));
    EXPECT_EQ(codes(decision, "vulkan"), "");
}

// Requests ----------------------------------------------------------------------------------------

Profile asking_profile() {
    auto profile = default_profile();
    profile.requests = {{{"cpu", {"cpu"}},
                         {"cuda", {"cuda"}},
                         {"gpu", {"rocm", "vulkan", "cpu"}},
                         {"metal", {}},
                         {"sycl", {"sycl"}}}};
    profile.messages = {{"unknown-backend", "{requested}? one of {known}"},
                        {"not-built", "{requested} is not built"},
                        {"not-available", "{requested} is not there; {compiled}"},
                        {"fell-back:gpu", "no gpu"},
                        {"granted", "you asked for {selected}"},
                        {"selected", "{selected} of {detected}"},
                        {"selected:cpu", "only the CPU"}};
    return profile;
}

struct AskRow {
    const char* name;
    const char* word;
    std::optional<std::string> chosen;
    Names messages;
    std::optional<Names> built = {};
    bool gives_up = false;
    bool strict = false;
};
class ProfileRequests : public ::testing::TestWithParam<AskRow> {};

TEST_P(ProfileRequests, AreReadAccordingToTheProfile) {
    const auto& row = GetParam();
    auto profile = asking_profile();
    if (row.gives_up)
        profile.unavailable_request = UnavailableRequest::Auto;
    const auto decision =
        decide(profile, {.built = row.built, .backend = row.word, .strict = row.strict},
               one_nvidia_card());
    EXPECT_EQ(decision.backend, row.chosen);
    EXPECT_EQ(decision.messages, row.messages);
    EXPECT_TRUE(decision.summary.starts_with(std::string{"requested="} + row.word));
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    ProfileRequests,
    ::testing::Values(
        AskRow{"There", "cuda", "cuda", {"you asked for cuda"}},
        AskRow{"FirstOfSeveralThatIsThere", "gpu", "vulkan", {"you asked for vulkan"}},
        AskRow{"BehindTheOthers", "gpu", "cpu", {"no gpu"}, Names{"rocm", "cpu"}},
        AskRow{"BehindNoneThatIsBuilt", "gpu", {}, {"gpu is not there; cpu"}, Names{"cpu"}},
        AskRow{"BehindTheOthersButStrict",
               "gpu",
               {},
               {"gpu is not there; rocm, cpu"},
               Names{"rocm", "cpu"},
               false,
               true},
        AskRow{
            "NotThere", "sycl", {}, {"sycl is not there; cuda, rocm, sycl, vulkan, opencl, cpu"}},
        AskRow{"NeverThere", "metal", {}, {"metal is not there; cuda"}, Names{"cuda"}},
        AskRow{"NotBuilt", "cuda", {}, {"cuda is not built"}, Names{"vulkan"}},
        AskRow{"GivenUp",
               "sycl",
               "cuda",
               {"sycl is not there; cuda, sycl, cpu", "cuda of cuda,cpu"},
               Names{"cuda", "sycl", "cpu"},
               true},
        AskRow{"NotGivenUpByTheStrict",
               "sycl",
               {},
               {"sycl is not there; cuda, sycl, cpu"},
               Names{"cuda", "sycl", "cpu"},
               true,
               true}),
    support::case_name);

TEST(Requests, RefuseAWordOrPassItOver) {
    auto profile = asking_profile();
    const auto refused = select(profile, {.backend = "vulkan"}, one_nvidia_card());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(refused.error().text, "vulkan? one of cpu, cuda, gpu, metal, sycl");
    profile.unknown_request = UnknownRequest::Auto;
    const auto passed = decide(profile, {.backend = "foo"}, one_nvidia_card());
    EXPECT_EQ(passed.backend, "cuda");
    EXPECT_EQ(passed.messages.front(), "foo? one of cpu, cuda, gpu, metal, sycl");
    EXPECT_FALSE(select(profile, {.backend = "foo", .strict = true}, one_nvidia_card()));
}

TEST(Requests, ByNameReachOverTheVendorRules) {
    auto profile = default_profile();
    profile.vendors["nvidia"] = {"cuda"};
    EXPECT_EQ(decide(profile, {.backend = "vulkan"}, one_nvidia_card()).backend, "vulkan");
    EXPECT_EQ(decide(profile, {.deny = {"cuda"}}, one_nvidia_card()).backend, "cpu");
    EXPECT_EQ(decide(profile, {.deny = {"cuda"}, .any_vendor = true}, one_nvidia_card()).backend,
              "vulkan");
    EXPECT_EQ(decide(profile, {.any_vendor = true}, one_nvidia_card()).backend, "cuda");
}

// Decisions that ignore the GPUs of the machine ---------------------------------------------------

TEST(SwitchedOff, LooksForNoGpu) {
    for (const auto* word : {"none", "off"}) {
        const auto decision = decide(default_profile(), {.backend = word}, one_nvidia_card());
        EXPECT_EQ(decision.backend, "cpu");
        EXPECT_EQ(codes(decision, "cuda"), "switched-off");
        EXPECT_EQ(decision.candidates.size(), default_profile().backends.size());
    }
    auto profile = default_profile();
    profile.backends.pop_back();
    profile.cpu = CpuPolicy::Forbid;
    EXPECT_EQ(decide(profile, {.backend = "none"}, one_nvidia_card()).backend, std::nullopt);
}

TEST(Fake, PutsMadeUpGpusInPlaceOfTheMachines) {
    const SelectRequest request{.fake = Names{"rocm", "metal"}};
    const auto decision = decide(default_profile(), request, one_nvidia_card());
    EXPECT_EQ(decision.backend, "rocm");
    EXPECT_EQ(decision.gpus, Names{"fake:rocm"});
    EXPECT_EQ(codes(decision, "rocm"), "simulated");
    EXPECT_TRUE(rests_on_profile_alone(default_profile(), request));
}

TEST(Fake, HasNoFactsToFallShortOf) {
    auto profile = default_profile();
    profile.floors["cuda"] = {parsed("driver>=999")};
    const SelectRequest request{.min_memory = gib(999), .fake = Names{"cuda"}};
    EXPECT_EQ(decide(profile, request, one_nvidia_card()).backend, "cuda");
}

TEST(Fake, IsIgnoredByTheStrictAndCanBeForbidden) {
    const SelectRequest strict{.strict = true, .fake = Names{"rocm"}};
    EXPECT_EQ(decide(default_profile(), strict, one_nvidia_card()).backend, "cuda");
    EXPECT_FALSE(rests_on_profile_alone(default_profile(), strict));
    const SelectRequest forbidden{.fake = Names{"rocm"}, .forbid_fake = true};
    const auto refused = select(default_profile(), forbidden, one_nvidia_card());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(decide(default_profile(), {.forbid_fake = true}, one_nvidia_card()).backend, "cuda");
}

Profile portable_profile() {
    auto profile = default_profile();
    profile.platforms = {{"darwin-arm64", {"metal", "cpu"}}};
    profile.answers = {{"os", {{{"mac", {parsed("platform=darwin-arm64")}}}, {{"other", {}}}}}};
    return profile;
}

struct PlatformRow {
    const char* name;
    SelectRequest request;
    std::optional<std::string> chosen;
};
class OtherPlatforms : public ::testing::TestWithParam<PlatformRow> {};

TEST_P(OtherPlatforms, AreAnsweredFromTheTable) {
    auto request = GetParam().request;
    request.platform = "darwin-arm64";
    const auto decision = decide(portable_profile(), request, one_nvidia_card());
    EXPECT_EQ(decision.backend, GetParam().chosen);
    EXPECT_EQ(decision.answers.at("os"), "mac");
    EXPECT_TRUE(rests_on_profile_alone(portable_profile(), request));
}

INSTANTIATE_TEST_SUITE_P(Table,
                         OtherPlatforms,
                         ::testing::Values(PlatformRow{"First", {}, "metal"},
                                           PlatformRow{"Denied", {.deny = {"metal"}}, "cpu"},
                                           PlatformRow{"Built", {.built = Names{"cpu"}}, "cpu"},
                                           PlatformRow{"Asked", {.backend = "cpu"}, "cpu"},
                                           PlatformRow{"AskedInVain", {.backend = "cuda"}, {}},
                                           PlatformRow{"SwitchedOff", {.backend = "none"}, "cpu"},
                                           PlatformRow{"Only", {.only = Names{"cpu"}}, "cpu"}),
                         support::case_name);

TEST(Platform, OfTheMachineIsTheUsualAnswerAndAnUnknownOneNone) {
    const auto own = decide(portable_profile(), {.platform = "linux-amd64"}, one_nvidia_card());
    EXPECT_EQ(own.backend, "cuda");
    const auto unknown = decide(portable_profile(), {.platform = "plan9-mips"}, one_nvidia_card());
    EXPECT_EQ(unknown.backend, std::nullopt);
    EXPECT_EQ(codes(unknown, "cuda"), "platform-not-in-profile");
}

struct PlatformMessageRow {
    const char* name;
    std::optional<std::string> backend;
    std::map<std::string, std::string> messages;
    std::vector<std::string> expected;
};
class MessagesForOtherPlatforms : public ::testing::TestWithParam<PlatformMessageRow> {};

TEST_P(MessagesForOtherPlatforms, AreTheProfilesTextsWithoutFacts) {
    auto profile = portable_profile();
    profile.messages = GetParam().messages;
    const auto decision = decide(
        profile, {.backend = GetParam().backend, .platform = "darwin-arm64"}, one_nvidia_card());
    EXPECT_EQ(decision.messages, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    MessagesForOtherPlatforms,
    ::testing::Values(
        PlatformMessageRow{"ForTheWord", {}, {{"selected:metal", "Metal."}}, {"Metal."}},
        PlatformMessageRow{"ForAnyWord", {}, {{"selected", "A GPU."}}, {"A GPU."}},
        PlatformMessageRow{"ForTheWordFirst",
                           {},
                           {{"selected", "A GPU."}, {"selected:metal", "Metal."}},
                           {"Metal."}},
        PlatformMessageRow{"ForAnotherWord", {}, {{"selected:cpu", "No GPU."}}, {}},
        PlatformMessageRow{"ForNoChoice", "cuda", {{"none", "No backend."}}, {"No backend."}},
        PlatformMessageRow{"WithAFact", {}, {{"selected", "Using {gpu}."}}, {}},
        PlatformMessageRow{"ForTheWordWithAFact",
                           {},
                           {{"selected", "A GPU."}, {"selected:metal", "On {gpu}."}},
                           {}},
        PlatformMessageRow{"None", {}, {}, {}}),
    support::case_name);

// All profiles ------------------------------------------------------------------------------------

Report crowded_machine() {
    auto report =
        report_of({nvidia_card("0000:41:00.0", kSecondUuid, 1),
                   amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0), intel_graphics(),
                   nvidia_card("0000:06:00.0", kFirstUuid, 0), support::management_display()},
                  {support::pocl(), support::llvmpipe()});
    report.host = one_nvidia_card().host;
    report.host.libc = {.name = "glibc", .version = "2.36"};
    for (auto& gpu : report.gpus)
        gpu.driver.version = "580.65";
    return report;
}

TEST(EveryProfile, AnswersTheSameInWhateverOrderTheReportIs) {
    const auto set = ApplicationSet::with_builtins();
    std::mt19937 random{42};
    for (const auto& name : set.applications()) {
        const auto first = decide(*set.selection(name), {}, crowded_machine());
        EXPECT_TRUE(first.backend) << name;
        for (int round = 0; round < 20; ++round) {
            auto report = crowded_machine();
            std::ranges::shuffle(report.gpus, random);
            std::ranges::shuffle(report.software, random);
            ASSERT_EQ(decide(*set.selection(name), {}, report), first) << name;
        }
    }
}

TEST(BuiltinProfiles, TakeRocmWhereItsLibraryHasCode) {
    const auto set = ApplicationSet::with_builtins();
    auto report = report_of({support::amd_card("0000:03:00.0", "", 0)});
    EXPECT_EQ(decide(*set.selection("ollama"), {}, report).backend, "rocm");
    for (const auto* gfx : {"gfx803", "gfx1031", "gfx1034", "gfx1103"}) {
        report.gpus[0].architecture.gfx_target = gfx;
        EXPECT_EQ(decide(*set.selection("ollama"), {}, report).backend, "vulkan") << gfx;
    }
}

/// Source: ollama, discover/runner.go.
TEST(BuiltinProfiles, UseIntegratedGpusWhereOllamaIsToldTo) {
    const auto set = ApplicationSet::with_builtins();
    const auto& profile = *set.selection("ollama");
    const SelectRequest with_variable{.environment = {{"OLLAMA_IGPU_ENABLE", "1"}}};
    const auto intel = report_of({intel_graphics()});
    EXPECT_EQ(decide(profile, {}, intel).backend, "cpu");
    EXPECT_EQ(codes(decide(profile, {}, intel), "vulkan"), "integrated-not-enabled");
    EXPECT_EQ(decide(profile, with_variable, intel).backend, "vulkan");
    EXPECT_EQ(decide(profile, with_variable, intel).environment.at("OLLAMA_IGPU_ENABLE"), "1");

    auto amd = report_of({support::amd_card("0000:03:00.0", "", 0)});
    amd.gpus[0].kind = GpuKind::Integrated;
    amd.gpus[0].architecture.gfx_target = "gfx1151";
    EXPECT_EQ(decide(profile, {}, amd).backend, "rocm");
    EXPECT_EQ(codes(decide(profile, {}, amd), "vulkan"), "integrated-not-enabled");
    amd.gpus[0].architecture.gfx_target = "gfx1150";
    EXPECT_EQ(decide(profile, {}, amd).backend, "cpu");
    EXPECT_EQ(decide(profile, with_variable, amd).backend, "rocm");
}

/// Minimum versions with alternatives for Jetsons, and a higher minimum for older chips.
TEST(BuiltinProfiles, SayOnceWhichDriverOllamaNeeds) {
    const auto set = ApplicationSet::with_builtins();
    auto report = report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)});
    report.gpus[0].driver.version = "535.216.01";
    for (const auto& [capability, need] : {std::pair{"8.6", "550"}, {"6.1", "570"}}) {
        report.gpus[0].architecture.cuda_compute_capability = capability;
        const auto decision = decide(*set.selection("ollama"), {}, report);
        EXPECT_EQ(decision.candidates.at(0).reasons,
                  std::vector{because("driver-too-old", {{"have", "535.216.01"}, {"need", need}})})
            << capability;
    }
}

/// Source: llama.cpp, ggml-opencl.cpp, which ignores devices of unknown GPU families.
TEST(BuiltinProfiles, DoNotSendLlamaCppToNvidiasAndAmdsOpenCl) {
    const auto set = ApplicationSet::with_builtins();
    for (auto gpu : {nvidia_card("0000:06:00.0", kFirstUuid, 0),
                     support::amd_card("0000:03:00.0", "", 0), intel_graphics()}) {
        const bool is_intels = gpu.vendor == "intel";
        for (auto& [name, view] : gpu.backends)
            view = name == "opencl" ? support::usable() : support::unusable("driver-missing");
        EXPECT_EQ(decide(*set.selection("llama.cpp"), {}, report_of({gpu})).backend,
                  is_intels ? "opencl" : "cpu");
    }
}

TEST(EveryProfile, IsReadAsItIsWritten) {
    const auto set = ApplicationSet::with_builtins();
    for (const auto& name : set.applications()) {
        ASSERT_NE(set.selection(name), nullptr) << name;
        // The selection may be named after another application, which shares it.
        EXPECT_NE(set.selection(set.selection(name)->name), nullptr) << name;
        Profile again;
        const auto problem =
            read_profile(to_value(*set.selection(name)), again, UnknownWords::Lose);
        EXPECT_EQ(problem.text(), "");
        EXPECT_EQ(again, *set.selection(name));
    }
}

}  // namespace judge_test
}  // namespace gpuprobe
