// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/evaluate.h"
#include "unit/policy/scenario.h"

/// For each GPU, only one of a variant's alternatives is reported.
namespace gpuprobe {
namespace variant_reasons_test {

using namespace testing_variants;

/// An application with a variant "v" for these devices, and a variant for the CPU.
Recommendation advice(const std::string& devices, const Report& report) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("cpu":{},"v":{"family":"cuda","tier":9,"requires":{"device":)" +
        devices + "}}}}}}");
    EXPECT_TRUE(manifest) << manifest.error().text;
    return manifest ? recommend(*manifest, {}, report, rules()) : Recommendation{};
}

std::vector<Reason> reasons(const std::string& devices, const Report& report) {
    const auto answer = advice(devices, report);
    const auto* found = candidate(answer, "v");
    return found ? found->reasons : std::vector<Reason>{};
}

/// Alternatives for compute capability 8.9 and for older GPUs, as in Ollama's build for CUDA 12.
std::string with_drivers(const char* newer, const char* older) {
    return R"([{"backend":"cuda","driver_min":")" + std::string{older} +
           R"(","cuda":{"toolkit":"12.8","exact":true,"sass":["6.1"]}},)"
           R"({"backend":"cuda","driver_min":")" +
           newer + R"(","cuda":{"toolkit":"12.8","exact":true,"sass":["8.9"]}}])";
}

// G02 is an RTX 4090 with compute capability 8.9 and driver 580.65.06.
TEST(Alternatives, OfAVariantAreToldByTheNearest) {
    const auto why = reasons(with_drivers("600", "560"), machine("G02"));
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("driver-too-old"));
    EXPECT_EQ(why[0].detail.at("want"), Value{"600.0"});
    EXPECT_EQ(why[0].detail.at("alternative"), Value{1});
}

TEST(Alternatives, ThatMayHoldAreToldBeforeThoseThatDoNot) {
    auto report = machine("G02");
    report.gpus[0].driver.version.reset();
    const auto why = reasons(with_drivers("600", "560"), report);
    ASSERT_FALSE(why.empty());
    for (const auto& reason : why) {
        EXPECT_TRUE(reason.is("fact-unknown"));
        EXPECT_EQ(reason.detail.at("alternative"), Value{1});
    }
}

TEST(GpusMin, IsTheNumberOfGpusThatTheVariantNeeds) {
    auto report = machine("G02");
    const auto devices = R"({"backend":"cuda"},"gpus_min":2,"host":{})";
    const auto why = reasons(devices, report);
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("too-few-gpus"));
    EXPECT_EQ(why[0].detail.at("have"), Value{std::uint64_t{1}});
    EXPECT_EQ(why[0].detail.at("need"), Value{std::uint64_t{2}});
    auto second = report.gpus[0];
    second.id = "pci:02";
    report.gpus.push_back(second);
    const auto answer = advice(devices, report);
    EXPECT_EQ(answer.variant, "v");
    EXPECT_EQ(answer.gpus.size(), 2U);
}

TEST(Alternatives, AreChosenForEachGpu) {
    auto report = machine("G02");
    auto older = report.gpus[0];
    older.id = "pci:02";
    older.architecture.cuda_compute_capability = "6.1";
    report.gpus.push_back(std::move(older));
    const auto why = reasons(with_drivers("600", "590"), report);
    ASSERT_EQ(why.size(), 2U);
    for (const auto& reason : why)
        EXPECT_EQ(reason.detail.at("want"),
                  Value{reason.detail.at("where") == Value{"pci:02"} ? "590.0" : "600.0"});
}

TEST(AlikeGpus, HaveTheirReasonsOnce) {
    auto report = machine("G02");
    report.gpus[0].id = "pci:01";
    for (const auto* id : {"pci:02", "pci:03", "pci:04"}) {
        auto next = report.gpus[0];
        next.id = id;
        report.gpus.push_back(std::move(next));
    }
    report.gpus[2].architecture.cuda_compute_capability = "6.1";
    const auto why = reasons(with_drivers("600", "590"), report);
    ASSERT_EQ(why.size(), 2U);
    EXPECT_EQ(why[0].detail.at("where"), Value{"pci:01"});
    EXPECT_EQ(why[0].detail.at("also"), to_value(std::vector<std::string>{"pci:02", "pci:04"}));
    EXPECT_EQ(why[1].detail.at("where"), Value{"pci:03"});
    EXPECT_TRUE(why[1].detail.at("also").is_null());
}

TEST(AlikeGpus, OfAnotherVendorAreNotRefusedTwice) {
    const auto why =
        reasons(R"({"backend":"rocm","vendor":["amd"],"gfx":["gfx1100"]})", machine("G02"));
    EXPECT_EQ(std::ranges::count_if(
                  why, [](const Reason& reason) { return reason.is("vendor-mismatch"); }),
              1);
}

TEST(Alternatives, AreToldTheSameWhereNoGpuIsUsed) {
    const auto answer = advice(with_drivers("600", "560"), machine("G02"));
    ASSERT_EQ(answer.variant, "cpu");
    ASSERT_EQ(answer.warnings.size(), 1U);
    EXPECT_EQ(answer.warnings[0].detail.at("reasons"), to_value(candidate(answer, "v")->reasons));
}

/// The alternatives of node-llama-cpp: a newer driver, or kernels for drivers before CUDA 13.
TEST(Alternatives, MadeForOlderDriversAreToldLast) {
    const auto why = reasons(
        R"([{"backend":"cuda","cuda_api":{"below":"13.0"}},{"backend":"cuda","driver_min":"600"}])",
        machine("G02"));
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("driver-too-old"));
    EXPECT_EQ(why[0].detail.at("alternative"), Value{1});
    const auto alone = reasons(R"({"backend":"cuda","cuda_api":{"below":"13.0"}})", machine("G02"));
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_TRUE(alone[0].is("built-for-older"));
}

/// If one of two builds for a backend needs a newer driver and the other does not, the driver is
/// not reported as a cause.
TEST(Families, AreToldByTheBuildThatIsNearest) {
    auto report = machine("G02");
    report.gpus[0].backends["cuda"].usable.reset();
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"cpu":{},)"
        R"("cuda12":{"family":"cuda","requires":{"device":{"backend":"cuda"}}},)"
        R"("cuda13":{"family":"cuda","requires":{"device":{"backend":"cuda","driver_min":"900"}}}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    const auto unused_by = [&](const RecommendRequest& request) {
        const auto answer = recommend(*manifest, request, report, rules());
        EXPECT_EQ(answer.variant, "cpu");
        return answer.warnings.empty() ? Value{} : answer.warnings[0].detail.at("by");
    };
    EXPECT_EQ(unused_by({}), Value{"cuda12"});
    EXPECT_EQ(unused_by({.exclude = {"cuda12"}}), Value{"cuda13"});
    report.gpus[0].backends["cuda"] = {.usable = false, .reasons = {because("loader-missing")}};
    EXPECT_EQ(unused_by({}), Value{"cuda12"}) << "it misses less";
}

/// The toolkit needs a driver, and the manifest requires a newer driver.
TEST(Floors, OfAVariantAreToldByTheHighest) {
    auto report = machine("G02");
    report.gpus[0].driver.version = "450.80";
    report.runtimes["cuda"].version = "11.0";
    const auto why =
        reasons(R"({"driver_min":"550","cuda":{"toolkit":"12.8","sass":["8.9"]}})", report);
    ASSERT_EQ(why.size(), 1U);
    EXPECT_EQ(why[0].detail.at("want"), Value{"550.0"});
}

TEST(CudaKernels, ThatWaitsForADriverIsNotCalledMissing) {
    auto report = machine("G02");
    report.gpus[0].driver = {.name = "nouveau"};
    report.runtimes["cuda"] = {.outcome = Outcome::Absent};
    const auto why = reasons(R"({"cuda":{"toolkit":"13.0","exact":true,"ptx":["8.9"]}})", report);
    ASSERT_FALSE(why.empty());
    EXPECT_FALSE(has_reason(why, "arch-not-in-build"));
    EXPECT_TRUE(has_reason(why, "driver-missing"));
}

}  // namespace variant_reasons_test
}  // namespace gpuprobe
