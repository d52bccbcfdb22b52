// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policy/application_set.h"
#include "policy/recommend.h"
#include "policy/rules.h"
#include "policy/select.h"
#include "unit/report/machines.h"

namespace gpuprobe {
namespace accelerators_test {

Accelerator accelerator(const char* vendor, const char* driver) {
    return {.id = "pci:0000:0b:00.0",
            .vendor = vendor,
            .driver = {.name = driver},
            .nodes = {test::node("/dev/accel/accel0")},
            .health = "ok"};
}

Report report_with(Accelerator one) {
    Report report{.host = test::linux_host()};
    report.host.libraries = {"libze_intel_npu.so.1", "libxrt_core.so.2"};
    report.accelerators = {std::move(one)};
    return report;
}

Profile profile_of(std::vector<std::string> backends) {
    Profile profile{.name = "test"};
    profile.backends = std::move(backends);
    profile.backends.emplace_back("cpu");
    profile.cpu = CpuPolicy::Last;
    return profile;
}

Decision decision_on(const Report& report, const Profile& profile) {
    return select(profile, {}, report).value();
}

/// "rejected library-missing" for the candidate of the backend; "" if there is none.
std::string verdict_on(const Decision& decision, std::string_view backend) {
    const auto found = std::ranges::find(decision.candidates, backend, &Candidate::backend);
    if (found == decision.candidates.end())
        return {};
    std::string text{name_of(found->verdict)};
    for (const auto& reason : found->reasons)
        text += " " + reason.code;
    return text;
}

TEST(Accelerators, AreChosenIfDriverAndLibraryAreThere) {
    struct Row {
        const char* backend;
        const char* vendor;
        const char* driver;
    };
    for (const auto& [backend, vendor, driver] :
         {Row{"openvino", "intel", "intel_vpu"}, Row{"vitisai", "amd", "amdxdna"},
          Row{"hailo", "hailo", "hailo"}, Row{"coral", "google", "apex"},
          Row{"rknn", "rockchip", "RKNPU"}}) {
        const auto decision =
            decision_on(report_with(accelerator(vendor, driver)), profile_of({backend}));
        EXPECT_EQ(decision.backend, backend);
        EXPECT_EQ(decision.gpus, std::vector<std::string>{"pci:0000:0b:00.0"}) << backend;
    }
}

TEST(Accelerators, NeedTheLibraryUnlessTheApplicationBundlesIt) {
    auto report = report_with(accelerator("intel", "intel_vpu"));
    auto profile = profile_of({"openvino"});
    report.host.libraries = {"libgomp.so.1"};
    EXPECT_EQ(verdict_on(decision_on(report, profile), "openvino"), "rejected library-missing");
    report.host.libraries.reset();
    EXPECT_EQ(verdict_on(decision_on(report, profile), "openvino"),
              "unknown requirement-unknown unknown-not-chosen");
    profile.bundles = {"openvino"};
    EXPECT_EQ(verdict_on(decision_on(report, profile), "openvino"), "accepted");
}

TEST(Accelerators, AreRejectedWithTheFindingOfTheKernel) {
    auto one = accelerator("intel", "intel_vpu");
    one.driver.name.reset();
    one.findings = {because("no-driver")};
    EXPECT_EQ(verdict_on(decision_on(report_with(one), profile_of({"openvino"})), "openvino"),
              "rejected no-driver");
    one.findings = {because("no-permission", {{"node", "/dev/accel/accel0"}})};
    EXPECT_EQ(verdict_on(decision_on(report_with(one), profile_of({"openvino"})), "openvino"),
              "rejected no-permission");
    one.findings.clear();
    EXPECT_EQ(verdict_on(decision_on(report_with(one), profile_of({"openvino"})), "openvino"),
              "unknown requirement-unknown unknown-not-chosen");
}

TEST(Accelerators, NeedADriverThatTheRuntimeSupports) {
    EXPECT_EQ(verdict_on(
                  decision_on(report_with(accelerator("rockchip", "rocket")), profile_of({"rknn"})),
                  "rknn"),
              "rejected kernel-driver-unfit");
}

TEST(Accelerators, AreCandidatesOnlyOfBackendsForTheirVendor) {
    const auto report = report_with(accelerator("hailo", "hailo"));
    const auto decision = decision_on(report, profile_of({"coral", "cuda"}));
    EXPECT_EQ(verdict_on(decision, "coral"), "rejected no-accelerator");
    EXPECT_EQ(verdict_on(decision, "cuda"), "rejected no-gpu");
    EXPECT_EQ(decision.backend, "cpu");
    EXPECT_EQ(decision.candidates.size(), 3U);
}

TEST(Accelerators, AreChosenAfterGpusOfTheSameBackend) {
    auto report = report_with(accelerator("intel", "intel_vpu"));
    report.gpus = {{.id = "pci:0000:00:02.0", .kind = GpuKind::Integrated, .vendor = "intel"}};
    report.gpus.front().backends["opencl"].usable = true;
    auto profile = profile_of({"openvino"});
    EXPECT_EQ(decision_on(report, profile).gpus, std::vector<std::string>{"pci:0000:00:02.0"});
    report.gpus.front().apis["opencl"] = {.outcome = Outcome::Answered, .version = "1.2"};
    EXPECT_EQ(decision_on(report, profile).gpus, std::vector<std::string>{"pci:0000:0b:00.0"})
        << "OpenVINO does not list GPUs with OpenCL 1.2";
    report.gpus.front().backends["opencl"] = {.usable = false,
                                              .reasons = {because("driver-missing")}};
    EXPECT_EQ(decision_on(report, profile).gpus, std::vector<std::string>{"pci:0000:0b:00.0"});
}

/// An application with a variant for OpenVINO and a variant for the CPU.
Manifest two_variants() {
    return parse_manifest(R"({"platforms": {"linux-amd64": {"variants": {
        "openvino": {"tier": 200, "requires": {"device": {"backend": "opencl", "vendor": ["intel"]}}},
        "cpu": {"tier": 0}}}}})")
        .value();
}

/// The variant that is recommended, which select() must assume too, and the devices that use it.
std::pair<std::string, std::vector<std::string>> recommended(const Report& report,
                                                             const RecommendRequest& request = {}) {
    const auto manifest = two_variants();
    const auto profile = profile_of({"openvino"});
    const auto answer = recommend(manifest, request, report, Rules::current(), {},
                                  selection_view(profile, {}, report));
    if (request.exclude.empty() && !request.need) {
        const auto decision = select(profile, {}, report, {}, &manifest).value();
        EXPECT_EQ(decision.assumes ? std::optional{decision.assumes->variant} : std::nullopt,
                  answer.variant);
        EXPECT_EQ(decision.gpus, answer.gpus);
    }
    return {answer.variant.value_or(""), answer.gpus};
}

TEST(Accelerators, UseTheVariantOfTheirBackend) {
    using Ids = std::vector<std::string>;
    auto report = report_with(accelerator("intel", "intel_vpu"));
    EXPECT_EQ(recommended(report),
              (std::pair<std::string, Ids>{"openvino", Ids{"pci:0000:0b:00.0"}}));
    EXPECT_EQ(recommended(report, {.exclude = {"openvino"}}),
              (std::pair<std::string, Ids>{"cpu", Ids{}}));
    EXPECT_EQ(recommended(report, {.need = gib(1)}), (std::pair<std::string, Ids>{"cpu", Ids{}}))
        << "the memory of the accelerator is unknown";
    report.gpus = {{.id = "pci:0000:00:02.0", .kind = GpuKind::Integrated, .vendor = "intel"}};
    report.gpus.front().backends["opencl"] = {.usable = false,
                                              .reasons = {because("driver-missing")}};
    EXPECT_EQ(recommended(report),
              (std::pair<std::string, Ids>{"openvino", Ids{"pci:0000:0b:00.0"}}));
    report.gpus.front().backends["opencl"] = {.usable = true};
    EXPECT_EQ(recommended(report),
              (std::pair<std::string, Ids>{"openvino", Ids{"pci:0000:00:02.0"}}));
    report = report_with(accelerator("intel", "intel_vpu"));
    report.host.libraries = {"libgomp.so.1"};
    EXPECT_EQ(recommended(report), (std::pair<std::string, Ids>{"cpu", Ids{}}));
}

TEST(Accelerators, AreNotCandidatesOfOtherApplications) {
    const auto decision =
        decision_on(report_with(accelerator("intel", "intel_vpu")), profile_of({"cuda", "opencl"}));
    for (const auto& candidate : decision.candidates)
        EXPECT_EQ(candidate.gpu, std::nullopt) << candidate.backend;
}

}  // namespace accelerators_test
}  // namespace gpuprobe
