// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/select.h"
#include "unit/policy/machines.h"

/// Tests of the scenarios in which an application reports that a choice failed, with the numbers
/// from tests/integration/scenarios. A captured machine contains no such report.
namespace gpuprobe {
namespace reported_scenarios_test {

using support::amd_card;
using support::intel_graphics;
using support::kFirstUuid;
using support::nvidia_card;
using support::report_of;
using Names = std::vector<std::string>;

/// The choice of a built-in profile on a machine that is otherwise suitable.
Decision after(const char* application, ReportedFailure failure, Report report) {
    const auto set = ApplicationSet::with_builtins();
    const auto* profile = set.selection(application);
    EXPECT_NE(profile, nullptr) << application;
    report.host.arch = "x86_64";
    report.host.libc = {.name = "glibc", .version = "2.36"};
    for (auto& gpu : report.gpus)
        gpu.driver.version = "580.65.06";
    if (!profile)
        return {};
    auto decision = select(*profile, {}, report, Experience{.failures = {std::move(failure)}});
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? *decision : Decision{};
}

bool was_reported(const Decision& decision, std::string_view backend) {
    for (const auto& candidate : decision.candidates)
        for (const auto& why : candidate.reasons)
            if (candidate.backend == backend && why.code == "reported-failed")
                return true;
    return false;
}

Report nvidia_machine() {
    auto card = nvidia_card("0000:01:00.0", kFirstUuid, 0);
    card.backends["webgpu"] = support::usable();
    return report_of({card});
}

TEST(Tsuku, T13_SaysWhatItsUsersReadWhenABackendFails) {
    const auto decision = after("tsuku", {.backend = "vulkan"},
                                report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0)}));
    EXPECT_EQ(decision.backend, std::nullopt);
    EXPECT_TRUE(was_reported(decision, "vulkan"));
    ASSERT_FALSE(decision.messages.empty());
    EXPECT_EQ(decision.messages[0],
              "ERROR: Backend \"vulkan\" failed to initialize.\n"
              "Detected hardware supports: None\n"
              "GPU acceleration is required for tsuku-llm (minimum 8 GB VRAM).");
}

TEST(Vectorizer, V7_TakesTheNextBackendAndSaysWhichContextFailed) {
    const auto decision =
        after("vectorizer", {.backend = "cuda", .detail = "ContextLost"}, nvidia_machine());
    EXPECT_EQ(decision.backend, "webgpu");
    EXPECT_TRUE(was_reported(decision, "cuda"));
    EXPECT_EQ(decision.messages,
              (Names{"Failed to create cuda GPU context: ContextLost, falling back to CPU",
                     "✅ WebGPU detected and enabled!"}));
}

TEST(Cyllama, C8_DoesNotRecommendAWheelAgainThatLoadedNothing) {
    const auto decision =
        after("cyllama", {.backend = "cuda", .detail = "built but not loaded"}, nvidia_machine());
    EXPECT_EQ(decision.answers.at("wheel"), "cyllama-vulkan");
    EXPECT_TRUE(was_reported(decision, "cuda"));
}

TEST(Cyllama, C10_TurnsAMissingLibraryIntoWhatToInstall) {
    const auto decision = after(
        "cyllama", {.backend = "sycl", .detail = "libsycl.so.8: cannot open shared object file"},
        report_of({intel_graphics()}));
    EXPECT_EQ(decision.answers.at("wheel"), "cyllama-vulkan");
    ASSERT_FALSE(decision.messages.empty());
    EXPECT_EQ(decision.messages[0],
              "The oneAPI runtime is missing or has another version (libsycl.so.8: cannot open "
              "shared object file): install Intel oneAPI runtime 2025.3, which includes "
              "libsycl.so.8.");
}

}  // namespace reported_scenarios_test
}  // namespace gpuprobe
