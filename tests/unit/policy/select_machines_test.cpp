// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/value.h"
#include "knowledge/selectors.h"
#include "policy/select.h"
#include "unit/policy/machines.h"

/// Tests with whole machines, from the report to the answer.
namespace gpuprobe {
namespace select_machines_test {

using support::amd_card;
using support::default_profile;
using support::hybrid_laptop;
using support::intel_graphics;
using support::kFirstUuid;
using support::kSecondUuid;
using support::llvmpipe;
using support::machine_without_gpu;
using support::management_display;
using support::nvidia_card;
using support::pocl;
using support::report_of;
using support::two_identical_cards;
using Environment = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

Decision decide(const Report& report, const SelectRequest& request = {}) {
    auto decision = select(default_profile(), request, report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? *decision : Decision{};
}

Value detail_of(const Decision& decision, std::string_view backend, std::string_view code) {
    for (const auto& candidate : decision.candidates)
        for (const auto& reason : candidate.reasons)
            if (candidate.backend == backend && reason.code == code)
                return reason.detail;
    return {};
}

/// The variables for a program that reads all variables except those of these APIs.
Environment hidden_but(const std::set<std::string>& apis, Environment environment = {}) {
    for (const auto& reader : knowledge::Selectors::current().readers())
        if (!apis.contains(reader.api))
            environment.insert(reader.hide.begin(), reader.hide.end());
    return environment;
}

TEST(MachineWithoutGpu, GetsTheCpuAndANamedReasonForEverythingElse) {
    const auto decision = decide(machine_without_gpu());
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_TRUE(decision.gpus.empty());
    EXPECT_EQ(decision.environment, hidden_but({}));
    EXPECT_EQ(decision.generation, 7U);
    EXPECT_EQ(decision.summary, "requested=auto detected=[cpu] selected=cpu");
    EXPECT_EQ(detail_of(decision, "vulkan", "software-rasterizer"),
              (Value{Value::Object{{"name", "llvmpipe (LLVM 15.0.6, 256 bits)"},
                                   {"api", "vulkan"},
                                   {"driver", support::kLavapipeManifest}}}));
    EXPECT_EQ(*detail_of(decision, "opencl", "software-rasterizer").find("name"),
              Value{"pthread-Intel(R) Xeon(R)"});
    for (const auto* backend : {"cuda", "rocm", "sycl"})
        EXPECT_FALSE(detail_of(decision, backend, "no-gpu").is_null()) << backend;
    EXPECT_FALSE(detail_of(decision, "cuda", "loader-missing").is_null());
    EXPECT_FALSE(detail_of(decision, "sycl", "driver-crashed").is_null());
    EXPECT_EQ(decision.candidates.size(), 6U);
}

TEST(MachineWithoutGpu, ReportsTheOutcomeOfEachApi) {
    const std::pair<RuntimeInfo, const char*> rows[] = {
        {{.outcome = Outcome::Absent}, "loader-missing"},
        {{.outcome = Outcome::Failed}, "driver-failed"},
        {{.outcome = Outcome::TimedOut}, "driver-timed-out"},
        {{.outcome = Outcome::Crashed}, "driver-crashed"},
        {{.outcome = Outcome::Skipped}, "skipped"}};
    for (const auto& [runtime, code] : rows) {
        auto report = report_of({});
        report.runtimes["cuda"] = runtime;
        EXPECT_EQ(detail_of(decide(report), "cuda", code), (Value{Value::Object{{"api", "cuda"}}}))
            << code;
    }
    for (const auto& runtime :
         {RuntimeInfo{.outcome = Outcome::Answered},
          RuntimeInfo{.outcome = Outcome::Absent, .loader = "libcuda.so.1"}}) {
        auto report = report_of({});
        report.runtimes["cuda"] = runtime;
        EXPECT_EQ(decide(report).candidates[0].reasons.size(), 1U);
    }
}

TEST(DataCentreCard, IsNamedByItsUuid) {
    const auto decision = decide(report_of({nvidia_card("0000:06:00.0", kFirstUuid, 0)}));
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(decision.gpus, Names{"pci:0000:06:00.0"});
    EXPECT_EQ(decision.environment, hidden_but({"cuda"}, {{"CUDA_VISIBLE_DEVICES", kFirstUuid}}));
    EXPECT_EQ(decision.summary, "requested=auto detected=[cuda,vulkan,opencl,cpu] selected=cuda");
}

TEST(HybridLaptop, UsesItsDiscreteCard) {
    const auto decision = decide(hybrid_laptop());
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(decision.gpus, Names{"pci:0000:01:00.0"});
    const auto vulkan = decide(hybrid_laptop(), {.backend = "vulkan"});
    EXPECT_EQ(vulkan.gpus, Names{"pci:0000:01:00.0"});
    EXPECT_EQ(vulkan.environment,
              hidden_but({"vulkan"}, {{"VK_DRIVER_FILES", support::kNvidiaManifest},
                                      {"VK_ICD_FILENAMES", support::kNvidiaManifest}}));
}

TEST(AmdMachine, UsesRocmByUniqueId) {
    const auto decision = decide(report_of({amd_card("0000:03:00.0", "A1B2C3D4E5F60718", 0)}));
    EXPECT_EQ(decision.backend, "rocm");
    EXPECT_EQ(decision.environment,
              hidden_but({"hip"}, {{"ROCR_VISIBLE_DEVICES", "GPU-a1b2c3d4e5f60718"},
                                   {"HIP_VISIBLE_DEVICES", "0"}}));
}

TEST(AmdMachine, WithoutRocmUsesVulkan) {
    auto report = report_of({amd_card("0000:03:00.0", "A1B2C3D4E5F60718", 0)});
    report.gpus[0].backends["rocm"] = support::unusable("no-permission");
    const auto decision = decide(report);
    EXPECT_EQ(decision.backend, "vulkan");
    EXPECT_EQ(decision.environment,
              hidden_but({"vulkan"}, {{"VK_DRIVER_FILES", support::kRadvManifest},
                                      {"VK_ICD_FILENAMES", support::kRadvManifest},
                                      {"MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE", "1"},
                                      {"MESA_VK_DEVICE_SELECT", "1002:744c"}}));
}

TEST(TwoIdenticalCards, AreUsedTogether) {
    const auto decision = decide(two_identical_cards());
    EXPECT_EQ(decision.gpus, (Names{"pci:0000:06:00.0", "pci:0000:41:00.0"}));
    EXPECT_EQ(decision.environment.at("CUDA_VISIBLE_DEVICES"),
              std::string{kFirstUuid} + "," + kSecondUuid);
}

TEST(TwoIdenticalCards, AreUsedInTheOrderOfTheRequest) {
    const auto decision =
        decide(two_identical_cards(), {.gpus = Names{"pci:0000:41:00.0", "pci:0000:06:00.0"}});
    EXPECT_EQ(decision.gpus, (Names{"pci:0000:41:00.0", "pci:0000:06:00.0"}));
    EXPECT_EQ(decision.environment.at("CUDA_VISIBLE_DEVICES"),
              std::string{kSecondUuid} + "," + kFirstUuid);
}

TEST(TwoIdenticalCards, ReportGpusThatTheCallersVariablesHide) {
    const auto decision =
        decide(two_identical_cards(), {.environment = {{"CUDA_VISIBLE_DEVICES", kFirstUuid}}});
    EXPECT_EQ(decision.gpus.size(), 2U);  // the answer's environment replaces the caller's variable
    for (const auto& candidate : decision.candidates)
        if (candidate.backend == "cuda" && candidate.gpu == "pci:0000:41:00.0") {
            ASSERT_EQ(candidate.reasons.size(), 1U);
            EXPECT_EQ(candidate.reasons[0].code, "hidden-by-environment");
        }
}

TEST(TwoIdenticalCards, AreDistinguished) {
    const auto decision = decide(two_identical_cards(), {.deny = {"pci:0000:06:00.0"}});
    EXPECT_EQ(decision.gpus, Names{"pci:0000:41:00.0"});
    EXPECT_EQ(decision.environment.at("CUDA_VISIBLE_DEVICES"), kSecondUuid);
}

/// For each Vulkan candidate, the reasons why the program also sees other GPUs.
std::vector<std::string> seen_beside(const char* reader, const Report& report) {
    auto profile = support::default_profile();
    profile.backends = {"vulkan"};
    profile.reads = {reader};
    std::vector<std::string> all;
    const auto decision = select(profile, {.deny = {"pci:0000:06:00.0"}}, report);
    for (const auto& candidate : decision->candidates)
        for (const auto& reason : candidate.reasons)
            if (reason.is("not-told-apart"))
                all.push_back(*candidate.gpu + " " + json_line(reason.detail.at("gpus")));
    return all;
}

TEST(TwoIdenticalCards, AreOneForWhoeverReadsTheVulkanLoadersVariablesAlone) {
    EXPECT_EQ(seen_beside("vulkan", two_identical_cards()),
              Names{R"(pci:0000:41:00.0 ["pci:0000:06:00.0"])"});
    EXPECT_EQ(seen_beside("ggml-vulkan", two_identical_cards()), Names{});
}

/// Two Radeons with different ids and this version of Mesa. Access to the first Radeon is denied.
Report two_unlike_radeons(const char* mesa) {
    auto report = report_of({amd_card("0000:06:00.0", "", 0), amd_card("0000:41:00.0", "", 1)});
    report.gpus[1].pci->device_id = "73bf";
    for (auto& gpu : report.gpus)
        gpu.apis["vulkan"].device["driver_info"] = mesa;
    return report;
}

TEST(TwoUnlikeCards, AreBothSeenWhereMesaOnlyOrdersThem) {
    EXPECT_EQ(seen_beside("vulkan", two_unlike_radeons("Mesa 22.2.0")), Names{});
    EXPECT_EQ(seen_beside("vulkan", two_unlike_radeons("Mesa 22.1.0")),
              Names{R"(pci:0000:41:00.0 ["pci:0000:06:00.0"])"});
    EXPECT_EQ(seen_beside("ggml-vulkan", two_unlike_radeons("Mesa 22.1.0")), Names{});
    auto profile = support::default_profile();
    profile.backends = {"vulkan"};
    profile.reads = {"vulkan"};
    const auto decision = select(profile, {.deny = {"pci:0000:06:00.0"}}, two_unlike_radeons(""));
    EXPECT_EQ(decision->environment.at("MESA_VK_DEVICE_SELECT"), "1002:73bf") << "it is first";
}

/// A program may pass on a variable for which no value is defined.
TEST(TwoIdenticalCards, AreOneWhereAProgramCanBeToldNothing) {
    auto profile = support::default_profile();
    profile.backends = {"vulkan"};
    profile.reads = Names{};
    const auto warnings_of = [&profile] {
        std::vector<std::string> codes;
        const auto decision =
            select(profile, {.gpus = Names{"pci:0000:41:00.0"}}, two_identical_cards());
        EXPECT_TRUE(decision->environment.empty());
        for (const auto& warning : decision->warnings)
            codes.push_back(warning.code);
        return codes;
    };
    EXPECT_EQ(warnings_of(), Names{});  // an installer's rules: no program is started
    profile.forwards = {"INTEL_VISIBLE_DEVICES"};
    EXPECT_EQ(warnings_of(), Names{"not-told-apart"});
}

TEST(TwoIdenticalCards, AreTakenInTheOrderThatTheCallerNames) {
    auto profile = support::default_profile();
    profile.backends = {"vulkan"};
    profile.reads = Names{"ggml-vulkan"};
    const auto variables_for = [&profile](const Names& gpus) {
        return select(profile, {.gpus = gpus}, two_identical_cards())->environment;
    };
    EXPECT_FALSE(variables_for({"pci:0000:06:00.0", "pci:0000:41:00.0"})
                     .contains("GGML_VK_VISIBLE_DEVICES"));
    EXPECT_EQ(variables_for({"pci:0000:41:00.0", "pci:0000:06:00.0"}).at("GGML_VK_VISIBLE_DEVICES"),
              "1,0");
}

TEST(TwoDifferentCards, AreNotUsedTogether) {
    auto report = two_identical_cards();
    report.gpus[0].architecture.cuda_compute_capability = "8.6";
    report.gpus[0].memory = {.physical = gib(24), .allocatable = gib(24)};
    EXPECT_EQ(decide(report).gpus, Names{"pci:0000:41:00.0"});
}

/// A machine with two equal cards, a card from another vendor, an integrated GPU, a display adapter
/// and two software renderers.
Report crowded_machine() {
    auto report = report_of({nvidia_card("0000:41:00.0", kSecondUuid, 1),
                             amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0), intel_graphics(),
                             nvidia_card("0000:06:00.0", kFirstUuid, 0), management_display()},
                            {pocl(), llvmpipe()});
    auto swiftshader = llvmpipe();
    swiftshader.name = "SwiftShader Device";
    report.software.push_back(swiftshader);
    return report;
}

TEST(Select, AnswersTheSameInWhateverOrderTheReportIs) {
    std::mt19937 random{42};
    const SelectRequest requests[] = {
        {},
        {.backend = "vulkan"},
        {.deny = {"cuda", "vulkan", "pci:0000:06:00.0"}},
        {.built = Names{"vulkan", "opencl", "cpu"}, .min_memory = gib(16)},
        {.strict = true, .gpus = Names{"pci:0000:00:02.0"}}};
    for (const auto& request : requests) {
        const auto first = decide(crowded_machine(), request);
        for (int round = 0; round < 100; ++round) {
            auto report = crowded_machine();
            std::ranges::shuffle(report.gpus, random);
            std::ranges::shuffle(report.software, random);
            ASSERT_EQ(decide(report, request), first) << round;
        }
    }
}

TEST(Select, AnswersTheSameInWhateverOrderTheRequestIs) {
    std::mt19937 random{42};
    Value::Object members{{"built", Value{Value::Array{"vulkan", "cuda", "cpu"}}},
                          {"deny", "pci:0000:06:00.0,rocm"},
                          {"strict", true},
                          {"min-memory", "8GiB"},
                          {"only", Value{Value::Array{"vulkan", "cpu", "cuda"}}}};
    const auto first = decide(crowded_machine(), select_request_from(Value{members}).value());
    EXPECT_EQ(first.gpus, Names{"pci:0000:41:00.0"});
    for (int round = 0; round < 100; ++round) {
        std::ranges::shuffle(members, random);
        for (auto& member : members)
            if (auto* words = member.value.as_array())
                std::ranges::shuffle(*words, random);
        const auto request = select_request_from(Value{members});
        ASSERT_TRUE(request);
        ASSERT_EQ(decide(crowded_machine(), *request), first) << round;
    }
}

TEST(Select, IsWrittenAndReadBack) {
    const auto decision = decide(crowded_machine());
    const auto again = record_from<Decision>(to_value(decision));
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, decision);
}

}  // namespace select_machines_test
}  // namespace gpuprobe
