// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "unit/policy/scenario.h"

/// A variant that requires no backend may nevertheless compute on the GPU, so it opens the GPU's
/// nodes.
namespace gpuprobe {
namespace closed_nodes_test {

using namespace testing_variants;

constexpr const char* kNode = "/dev/nvidia0";

Manifest vendor_and_cpu() {
    auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("gpu":{"family":"cuda","tier":9,"requires":{"device":{"vendor":["nvidia"]}}},)"
        R"("cpu":{}}}}})");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? std::move(manifest).value() : Manifest{};
}

/// G02's RTX 4090, which the caller may not open.
Report closed_machine() {
    auto report = machine("G02");
    report.gpus[0].nodes = {{.path = kNode, .accessible = false, .reason = "no-permission"}};
    for (auto& [name, view] : report.gpus[0].backends)
        view.usable = false;
    return report;
}

TEST(ClosedNodes, LeaveAGpuToNoVariant) {
    EXPECT_EQ(recommend(vendor_and_cpu(), {}, machine("G02"), rules()).variant, "gpu");
    const auto answer = recommend(vendor_and_cpu(), {}, closed_machine(), rules());
    EXPECT_EQ(answer.variant, "cpu");
    const auto* rejected = candidate(answer, "gpu");
    ASSERT_TRUE(rejected);
    ASSERT_EQ(rejected->reasons.size(), 1U);
    EXPECT_TRUE(rejected->reasons[0].is("no-permission"));
    EXPECT_EQ(rejected->reasons[0].detail.at("node"), Value{kNode});
    EXPECT_EQ(rejected->reasons[0].detail.at("where"), Value{closed_machine().gpus[0].id});
}

TEST(ClosedNodes, CountForNothingWhereTheBackendWorks) {
    auto report = closed_machine();
    report.gpus[0].backends["cuda"].usable = true;
    EXPECT_EQ(recommend(vendor_and_cpu(), {}, report, rules()).variant, "gpu");
}

TEST(ClosedNodes, AreNoneThatAreNotThere) {
    auto report = closed_machine();
    report.gpus[0].nodes[0].reason = "missing";
    EXPECT_EQ(recommend(vendor_and_cpu(), {}, report, rules()).variant, "gpu");
}

}  // namespace closed_nodes_test
}  // namespace gpuprobe
