// SPDX-License-Identifier: Apache-2.0
#include "calls/requests.h"

#include <gtest/gtest.h>

#include "calls/documents.h"

namespace gpuprobe {
namespace requests_test {

using Ids = std::vector<std::string>;

Candidate candidate(const char* backend, std::optional<std::string> gpu, Verdict verdict) {
    return {.backend = backend, .gpu = std::move(gpu), .verdict = verdict};
}

/// The decision after an administrator has denied a GPU, or with a driver that is too old.
Decision decision_of_two() {
    return {.application = "ollama",
            .candidates = {candidate("cuda", "pci:a", Verdict::Rejected),
                           candidate("cuda", "pci:b", Verdict::Accepted),
                           candidate("vulkan", "pci:b", Verdict::Accepted),
                           candidate("cuda", "pci:c/mig-1", Verdict::Accepted),
                           candidate("vulkan", "pci:d", Verdict::Unknown),
                           candidate("cpu", std::nullopt, Verdict::Accepted)}};
}

TEST(PlanForAnApplication, IsOfTheGpusThatItsSelectionAccepts) {
    PlanRequest request;
    ASSERT_TRUE(keep_accepted(decision_of_two(), {}, request));
    EXPECT_EQ(request.gpus, (Ids{"pci:b", "pci:c/mig-1"}));
}

TEST(PlanForAnApplication, KeepsToTheGpusThatAreAskedFor) {
    PlanRequest request{.gpus = {"pci:a", "pci:c"}};
    ASSERT_TRUE(keep_accepted(decision_of_two(), {}, request));
    EXPECT_EQ(request.gpus, Ids{"pci:c/mig-1"});
}

TEST(PlanForAnApplication, IsThroughTheBackendsThatItsSelectionAccepts) {
    Gpu radeon{.id = "pci:0000:01:00.0", .vendor = "amd"};
    radeon.backends["cuda"].reasons = {because("vendor-mismatch")};
    radeon.backends["rocm"].usable = false;  // although the application bundles ROCm
    radeon.backends["vulkan"].usable = true;
    Report report;
    report.gpus = {radeon};
    const auto on_it = [&radeon](const char* backend, Verdict verdict) {
        return candidate(backend, radeon.id, verdict);
    };
    PlanRequest request;
    const Decision lemonade{
        .candidates = {on_it("rocm", Verdict::Accepted), on_it("vulkan", Verdict::Rejected)}};
    ASSERT_TRUE(keep_accepted(lemonade, report, request));
    EXPECT_EQ(request.backends[radeon.id], Ids{"rocm"});
    PlanRequest of_torch;
    ASSERT_TRUE(
        keep_accepted({.candidates = {on_it("cuda", Verdict::Accepted)}}, report, of_torch));
    EXPECT_TRUE(of_torch.backends.empty());  // torch's backend for ROCm is named "cuda"
}

TEST(PlanForAnApplication, IsRefusedWhereItMayUseNone) {
    PlanRequest request{.gpus = {"pci:a"}};
    const auto kept = keep_accepted(decision_of_two(), {}, request);
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, ErrorCode::NoMatch);
    EXPECT_EQ(kept.error().text, "nothing on this machine satisfies 'ollama'");
}

TEST(PlanForAnApplication, KeepsAllGpusOfACandidate) {
    Decision decision{.candidates = {candidate("cuda", "pci:a", Verdict::Accepted)}};
    decision.candidates.front().also = {"pci:b", "pci:c"};
    PlanRequest request{.gpus = {"pci:b", "pci:c"}};
    ASSERT_TRUE(keep_accepted(decision, {}, request));
    EXPECT_EQ(request.gpus, (std::vector<std::string>{"pci:b", "pci:c"}));
}

TEST(PlanForAnApplication, NamesTheClosestCandidateOnTheGpusThatAreAskedFor) {
    auto decision = decision_of_two();
    decision.candidates[0].reasons = {because("no-permission", {{"node", "/dev/nvidia0"}})};
    decision.candidates[4].reasons = {because("denied")};
    PlanRequest request{.gpus = {"pci:a"}};
    EXPECT_EQ(keep_accepted(decision, {}, request).error().text,
              "nothing on this machine satisfies 'ollama'; the closest candidate is cuda on pci:a: "
              "no permission to open /dev/nvidia0");
}

TEST(PlanCall, TakesAModelOrANeedAndNotBoth) {
    Value need{Value::Object{}};
    need["need-mib"] = 1;
    EXPECT_TRUE(plan_request_for(need, ""));
    const auto neither = plan_request_for(Value{}, "").error();
    EXPECT_EQ(neither.code, ErrorCode::InvalidRequest);
    EXPECT_EQ(neither.text, "request: give a model or a memory size (need-mib)");
    const auto both = plan_request_for(need, "{}").error();
    EXPECT_EQ(both.code, ErrorCode::InvalidRequest);
    EXPECT_EQ(both.text, "request: give a model or a memory size, but not both");
    EXPECT_EQ(plan_request_for(Value{}, "{}").error().code, ErrorCode::InvalidRequest);
}

TEST(PlanCall, RefusesTypesThatTheModelsCacheCannotHave) {
    constexpr const char* kGrok = R"({"schema": "gpuprobe.model/1", "tensors": [], "metadata": {
        "general.architecture": "grok", "grok.block_count": 1, "grok.embedding_length": 256,
        "grok.attention.head_count": 2}})";
    Value request{Value::Object{}};
    EXPECT_TRUE(plan_request_for(request, kGrok));
    request["kv"] = "q8_0";
    const auto refused = plan_request_for(request, kGrok);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidRequest);
}

}  // namespace requests_test
}  // namespace gpuprobe
