// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/application_set.h"
#include "policy/recommend.h"
#include "unit/policy/machines.h"

/// Tests of the order of several GPUs, for a choice and for the builds of the same application.
namespace gpuprobe {
namespace choice_order_test {

using namespace support;

constexpr const char* kAmd = "pci:0000:03:00.0";
constexpr const char* kNvidia = "pci:0000:0b:00.0";

/// A Radeon with 24 GiB before an NVIDIA card with 12 GiB.
Report two_vendors() {
    auto report = report_of({amd_card("0000:03:00.0", "a1b2c3d4e5f60718", 0),
                             nvidia_card("0000:0b:00.0", kFirstUuid, 0)});
    report.gpus[1].memory = {.physical = gib(12), .allocatable = gib(12)};
    report.host = {.os = "linux", .arch = "x86_64"};
    return report;
}

Application application_with(const std::string& member) {
    auto application = parse_application(
        R"({"schema":"gpuprobe.application/1","name":"p","description":"p","selection":{)" +
        member +
        R"("backends":["cuda","rocm","vulkan","cpu"],"cpu":"last","integrated":"fallback",)"
        R"("strict":false},"manifest":{"platforms":{"linux-x86_64":{"variants":{)"
        R"("cuda":{"tier":3,"requires":{"device":{"backend":"cuda"}}},)"
        R"("rocm":{"tier":2,"requires":{"device":{"backend":"hip"}}},)"
        R"("vulkan":{"tier":1,"requires":{"device":{"backend":"vulkan"}}},"cpu":{}}}}}})");
    EXPECT_TRUE(application) << application.error().text;
    return application ? std::move(application).value() : Application{};
}

Decision chosen(const Application& application,
                const Report& report,
                const SelectRequest& request = {}) {
    auto decision = select(*application.selection, request, report, {}, &*application.manifest);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? std::move(decision).value() : Decision{};
}

Recommendation recommended(const Application& application,
                           const Report& report,
                           const SelectRequest& rule = {}) {
    return recommend(*application.manifest, {}, report, Rules::current(), {},
                     selection_view(*application.selection, rule, report));
}

using Words = std::vector<std::string>;

TEST(ChoiceOrder, IsOfBackendsUnlessTheProfileSaysGpus) {
    const auto report = two_vendors();
    const auto by_backend = application_with("");
    EXPECT_EQ(chosen(by_backend, report).gpus, Words{kNvidia});
    EXPECT_EQ(recommended(by_backend, report).variant, "cuda");
    const auto by_gpu = application_with(R"("order":"gpus",)");
    EXPECT_EQ(chosen(by_gpu, report).gpus, Words{kAmd});
    EXPECT_EQ(chosen(by_gpu, report).backend, "rocm");
    EXPECT_EQ(recommended(by_gpu, report).gpus, Words{kAmd});
    EXPECT_EQ(recommended(by_gpu, report).fallback, (Words{"cuda", "vulkan", "cpu"}));
    EXPECT_EQ(chosen(by_gpu, report).summary,
              "requested=auto detected=[cuda,rocm,vulkan,cpu] selected=rocm");
}

TEST(ChoiceOrder, OfARequestComesBeforeTheProfiles) {
    const auto application = application_with(R"("order":"gpus",)");
    const SelectRequest request{.prefer = {"cuda"}};
    EXPECT_EQ(chosen(application, two_vendors(), request).gpus, Words{kNvidia});
    EXPECT_EQ(recommended(application, two_vendors(), request).gpus, Words{kNvidia});
}

/// The first backend would lead to a build for the integrated GPU.
TEST(ChoiceOrder, OfBuildsPutsIntegratedGpusLastAsTheSelectionDoes) {
    auto report = two_vendors();
    report.gpus[1].kind = GpuKind::Integrated;
    const auto application = application_with("");
    EXPECT_EQ(chosen(application, report).gpus, Words{kAmd});
    EXPECT_EQ(recommended(application, report).variant, "rocm");
    EXPECT_EQ(recommended(application, report).fallback.front(), "vulkan");
}

/// Three older cards together have more memory than the chosen card.
TEST(ChoiceOrder, OfBuildsIsForTheGpuThatIsChosen) {
    auto report = report_of({nvidia_card("0000:01:00.0", kFirstUuid, 0)});
    for (const auto* address : {"0000:02:00.0", "0000:03:00.0"}) {
        report.gpus.push_back(nvidia_card(address, kSecondUuid, 1));
        report.gpus.back().architecture.cuda_compute_capability = "8.0";
        report.gpus.back().memory = {.physical = gib(80), .allocatable = gib(80)};
    }
    report.host = {.os = "linux", .arch = "x86_64"};
    report.gpus.front().driver.version = report.gpus[1].driver.version =
        report.gpus[2].driver.version = "580.65.06";
    auto application = application_with("");
    const auto builds = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("sm_80":{"tier":3,"requires":{"device":{"backend":"cuda","vendor":["nvidia"],)"
        R"("cuda":{"toolkit":"12.4","exact":true,"sass":["8.0"]}}}},)"
        R"("sm_90":{"tier":3,"requires":{"device":{"backend":"cuda","vendor":["nvidia"],)"
        R"("cuda":{"toolkit":"12.4","exact":true,"sass":["9.0"]}}}}}}}})");
    ASSERT_TRUE(builds) << builds.error().text;
    EXPECT_EQ(recommend(*builds, {}, report, Rules::current()).variant, "sm_80")
        << "without a selection more memory is better";
    application.manifest = *builds;
    EXPECT_EQ(chosen(application, report).gpus, Words{"pci:0000:01:00.0"});
    EXPECT_EQ(recommended(application, report).variant, "sm_90");
}

}  // namespace choice_order_test
}  // namespace gpuprobe
