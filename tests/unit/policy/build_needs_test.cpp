// SPDX-License-Identifier: Apache-2.0
#include "policy/build_needs.h"

#include <gtest/gtest.h>

#include "policy/application_set.h"
#include "policy/recommend.h"
#include "policy/select.h"
#include "unit/policy/machines.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace build_needs_test {

using support::kFirstUuid;
using support::nvidia_card;
using support::parsed;
using support::report_of;

/// An H200 with a driver that supports this CUDA version.
Report h200(const char* driver, const char* cuda, std::vector<std::string> libraries = {}) {
    auto gpu = nvidia_card("0000:06:00.0", kFirstUuid, 0);
    gpu.driver = {.name = "nvidia", .version = driver};
    auto report = report_of({std::move(gpu)});
    report.runtimes["cuda"] = {.outcome = Outcome::Answered, .version = cuda};
    report.host.libraries = std::move(libraries);
    report.host.libc = {.name = "glibc", .version = "2.36"};
    return report;
}

Value request(const char* json) {
    auto value = parse_json(json, kib(16));
    EXPECT_TRUE(value) << value.error().text;
    return value ? *value : Value{};
}

Decision decide(const Report& report, const char* json) {
    const auto wanted = select_request_from(request(json));
    EXPECT_TRUE(wanted) << wanted.error().text;
    auto decision = select(support::default_profile(), wanted.value(), report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision.value();
}

/// The reasons against a backend.
std::vector<Reason> against(const Decision& decision, std::string_view backend) {
    for (const auto& candidate : decision.candidates)
        if (candidate.backend == backend && candidate.gpu)
            return candidate.reasons;
    return {};
}

const Reason* reason(const std::vector<Reason>& reasons, ReasonCode code) {
    const auto found =
        std::ranges::find_if(reasons, [code](const Reason& one) { return one.is(code); });
    return found == reasons.end() ? nullptr : &*found;
}

constexpr const char* kOnlyNewPtx =
    R"({"kernels": ["sm_86", "compute_90@9.1"], "needs": ["libcuda.so.1"]})";

TEST(DescribedBuild, RunsPtxOnlyWhereTheDriverKnowsItsVersion) {
    const auto old = decide(h200("580.159.04", "13.0"), kOnlyNewPtx);
    EXPECT_NE(old.backend, "cuda");
    const auto reasons = against(old, "cuda");
    const auto* why = reason(reasons, "ptx-needs-newer-driver");
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(why->detail.at("ptx"), Value{"9.1"});
    EXPECT_EQ(why->detail.at("toolkit"), Value{"13.1"});
    EXPECT_EQ(decide(h200("590.44.01", "13.1"), kOnlyNewPtx).backend, "cuda");
    EXPECT_EQ(decide(h200("610.1", "13.3"), kOnlyNewPtx).backend, "cuda");
}

TEST(DescribedBuild, NeedsKernelsForTheChip) {
    const auto report = h200("580.159.04", "13.0");
    EXPECT_EQ(decide(report, R"({"kernels": ["sm_90"]})").backend, "cuda");
    EXPECT_EQ(decide(report, R"({"kernels": "sm_90a"})").backend, "cuda");
    const auto other = decide(report, R"({"kernels": ["sm_86", "compute_100@8.0"]})");
    EXPECT_NE(other.backend, "cuda");
    EXPECT_TRUE(has_reason(against(other, "cuda"), "arch-not-in-build"));
}

TEST(DescribedBuild, NeedsTheLibrariesThatItDoesNotBundle) {
    const auto* needs = R"({"needs": ["libcudart.so.13"], "kernels": ["sm_90"]})";
    const auto without = decide(h200("580.159.04", "13.0"), needs);
    const auto reasons = against(without, "cuda");
    const auto* why = reason(reasons, "library-missing");
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(why->detail.at("missing"), Value{Value::Array{Value{"libcudart.so.13"}}});
    EXPECT_EQ(decide(h200("580.159.04", "13.0", {"libcudart.so.13"}), needs).backend, "cuda");
    EXPECT_EQ(decide(h200("580.159.04", "13.0"),
                     R"({"bundles": ["libcudart.so.13"], "kernels": ["sm_90"]})")
                  .backend,
              "cuda");
}

TEST(DescribedBuild, ReplacesTheLibrariesOfTheProfile) {
    auto profile = support::default_profile();
    profile.floors["cuda"] = {parsed("library=libcudart.so.12|libcudart.so.13 or unknown")};
    const auto chosen = [&profile](const Report& report, const char* json) {
        return select(profile, select_request_from(request(json)).value(), report).value().backend;
    };
    const auto bare = h200("580.159.04", "13.0", {"libcuda.so.1"});
    EXPECT_NE(chosen(bare, "{}"), "cuda");
    EXPECT_EQ(chosen(h200("580.159.04", "13.0", {"libcudart.so.12"}), "{}"), "cuda");
    EXPECT_EQ(chosen(bare, R"({"bundles": ["libcudart.so.13"], "kernels": ["sm_90"]})"), "cuda");
    EXPECT_NE(chosen(bare, R"({"needs": ["libcudart.so.13"], "kernels": ["sm_90"]})"), "cuda");
    auto unknown = bare;
    unknown.host.libraries = std::nullopt;
    EXPECT_EQ(chosen(unknown, "{}"), "cuda");
}

/// Ollama's folders for JetPack do not need a desktop driver. JetPack 6 contains driver 540.
TEST(BuiltInOllama, IsNotHeldBackByTheDriverOfAJetson) {
    const auto set = ApplicationSet::with_builtins();
    auto report = h200("540.4.0", "12.6");
    report.host.arch = "aarch64";
    auto& orin = report.gpus.front();
    orin.kind = GpuKind::Integrated;
    orin.architecture.cuda_compute_capability = "8.7";
    const auto decide_on = [&set](const Report& machine) {
        return select(*set.selection("ollama"), {}, machine).value();
    };
    EXPECT_EQ(decide_on(report).backend, "cuda");
    EXPECT_EQ(decide_on(report).answers.at("library"), "cuda_jetpack6");
    orin.kind = GpuKind::Discrete;  // for a card, this driver is too old for cuda_v12
    orin.architecture.cuda_compute_capability = "8.6";
    EXPECT_NE(decide_on(report).backend, "cuda");
}

TEST(DescribedBuild, NeedsADriverForTheToolkitThatItsLibrariesAreOf) {
    const auto* bundles = R"({"bundles": ["libcudart.so.13"], "kernels": ["sm_90"]})";
    const auto old = decide(h200("570.86.10", "12.8"), bundles);
    EXPECT_NE(old.backend, "cuda");
    EXPECT_TRUE(has_reason(against(old, "cuda"), "driver-too-old"));
}

TEST(DescribedBuild, IsUnknownIfTheHostsLibrariesAreUnknown) {
    auto report = h200("580.159.04", "13.0");
    report.host.libraries.reset();
    const auto decision = decide(report, R"({"needs": ["libcudart.so.13"]})");
    EXPECT_NE(decision.backend, "cuda");
    EXPECT_TRUE(has_reason(against(decision, "cuda"), "fact-unknown"));
}

TEST(DescribedBuild, NamesTheLibraryThatMayBeMissing) {
    const auto decision =
        decide(h200("580.159.04", "13.0"),
               R"({"needs": ["libcuda.so.1", "libown.so.2"], "kernels": ["sm_90"]})");
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_TRUE(has_reason(against(decision, "cuda"), "library-not-listed"));
}

TEST(DescribedBuild, HasNoOtherBackends) {
    const auto report = h200("580.159.04", "13.0");
    EXPECT_TRUE(
        has_reason(against(decide(report, R"({"kernels": ["sm_90"]})"), "vulkan"), "not-built"));
    EXPECT_EQ(decide(report, R"({"kernels": ["gfx1100"]})").backend, "cpu");
    EXPECT_EQ(decide(report, R"({"kernels": ["gfx1100"], "built": ["vulkan", "cpu"]})").backend,
              "vulkan");
}

TEST(DescribedBuild, RunsWhereOneOfItsPartsDoes) {
    const auto* parts = R"({"needs": {"v12/a.so": ["libcudart.so.12"], "v13/a.so": []},
                            "bundles": {"v13/a.so": ["libcudart.so.13"]},
                            "kernels": {"v12/a.so": ["sm_90"], "v13/a.so": ["sm_90"], "helper": ["cuda"]}})";
    EXPECT_EQ(decide(h200("580.159.04", "13.0"), parts).backend, "cuda");
    // If the driver is too old for the newer library, the only obstacle for the older build is its
    // library.
    const auto old = decide(h200("570.86.10", "12.8"), parts);
    EXPECT_NE(old.backend, "cuda");
    EXPECT_EQ(decide(h200("570.86.10", "12.8", {"libcudart.so.12"}), parts).backend, "cuda");
}

/// Among the parts of a build, the reasons name the part whose missing needs can be installed,
/// because kernels for a chip cannot be installed.
TEST(DescribedBuild, IsReportedByTheClosestPart) {
    const auto decision =
        decide(h200("580.159.04", "13.0"),
               R"({"needs": {"old.so": [], "new.so": ["libcudart.so.13", "libcublas.so.13"]},
                                     "kernels": {"old.so": ["sm_86"], "new.so": ["sm_90"]}})");
    const auto reasons = against(decision, "cuda");
    EXPECT_FALSE(has_reason(reasons, "arch-not-in-build"));
    const auto* why = reason(reasons, "library-missing");
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(why->detail.at("build"), Value{"new.so"});
}

TEST(DescribedBuild, TakesPredicatesAmongItsNeeds) {
    const auto* needs = R"({"needs": ["glibc>=2.38"], "kernels": ["sm_90"]})";
    EXPECT_TRUE(has_reason(against(decide(h200("580.1", "13.0"), needs), "cuda"), "glibc-too-old"));
    EXPECT_EQ(decide(h200("580.1", "13.0"), R"({"needs": ["glibc>=2.34"], "kernels": ["sm_90"]})")
                  .backend,
              "cuda");
}

/// There is no separate reason code for a different processor, so the reason names the need itself.
TEST(DescribedBuild, NamesTheNeedThatIsNotMet) {
    auto report = h200("580.159.04", "13.0");
    report.host.arch = "aarch64";
    const auto reasons = against(decide(report, R"({"needs": ["arch=x86_64"]})"), "cuda");
    const auto* why = reason(reasons, "requirement-unmet");
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(why->detail.at("requirement"), Value{"arch=x86_64"});
    EXPECT_EQ(why->detail.at("have"), Value{"aarch64"});
}

TEST(DescribedBuild, RefusesWordsThatAreNone) {
    for (const auto* json : {R"({"kernels": ["sm90"]})", R"({"kernels": ["sm_9"]})",
                             R"({"kernels": ["compute_90@x"]})", R"({"kernels": ["gfx"]})",
                             R"({"needs": ["dir/libx.so"]})", R"({"needs": ["glibc"]})",
                             R"({"needs": ["driver>=5 or driver>=6"]})", R"({"needs": 3})",
                             R"({"needs": {"a": [1]}})"})
        EXPECT_FALSE(select_request_from(request(json))) << json;
}

TEST(DescribedBuild, IsAVariantOfTheApplicationsCatalogue) {
    const auto applications = ApplicationSet::with_builtins();
    const auto& torch = *applications.selection("torch");
    auto report = h200("570.86.10", "12.8");
    report.host.os = "linux";
    report.host.arch = "x86_64";
    const auto with = [&](const char* name) {
        return select(torch, {.variants = {name}}, report, {}, applications.manifest("torch"));
    };
    EXPECT_EQ(with("cu126")->backend, "cuda");
    EXPECT_EQ(with("cpu")->backend, "cpu");
    const auto newer = with("cu130");
    EXPECT_EQ(newer->backend, "cpu");
    EXPECT_TRUE(has_reason(against(*newer, "cuda"), "driver-too-old"));
    const auto slip = with("cu13");
    ASSERT_FALSE(slip);
    EXPECT_NE(slip.error().text.find("did you mean"), std::string::npos) << slip.error().text;
    EXPECT_FALSE(select(torch, {.variants = {"cu130"}}, report));
}

/// A Radeon whose host has the kernel's driver and no ROCm.
Report radeon(const char* driver, std::vector<DeviceNode> shared) {
    auto gpu = support::amd_card("0000:03:00.0", "", 0);
    gpu.driver = {.name = driver, .version = "6.8.0"};
    gpu.architecture.gfx_target = "gfx1100";
    gpu.nodes = {{.path = "/dev/dri/renderD128", .accessible = true}};
    gpu.backends["rocm"] = support::unusable("loader-missing");
    auto report = report_of({std::move(gpu)});
    report.nodes = std::move(shared);
    return report;
}

Decision for_torch(const Report& report) {
    const auto applications = ApplicationSet::with_builtins();
    auto decision = select(*applications.selection("torch"), {}, report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision.value();
}

TEST(Bundles, AreNoNeedOfTheHost) {
    const DeviceNode kfd{.path = "/dev/kfd", .accessible = true};
    const auto decision = for_torch(radeon("amdgpu", {kfd}));
    EXPECT_EQ(decision.backend, "rocm");
    EXPECT_TRUE(has_reason(against(decision, "rocm"), "bundled"));
    // An application that bundles nothing needs the host's libraries.
    EXPECT_NE(select(support::default_profile(), {}, radeon("amdgpu", {kfd}))->backend, "rocm");
}

TEST(Bundles, AreNotJudgedByTheHosts) {
    const DeviceNode kfd{.path = "/dev/kfd", .accessible = true};
    for (const auto code : std::to_array<ReasonCode>(
             {"driver-crashed", "driver-failed", "driver-timed-out", "quarantined"})) {
        auto report = radeon("amdgpu", {kfd});
        report.gpus.front().backends["rocm"] = support::unclear(code);
        const auto decision = for_torch(report);
        EXPECT_EQ(decision.backend, "rocm");
        EXPECT_TRUE(has_reason(against(decision, "rocm"), code));
        EXPECT_NE(select(support::default_profile(), {}, report)->backend, "rocm");
        report.gpus.front().driver.name = "vfio-pci";
        EXPECT_NE(for_torch(report).backend, "rocm");
    }
    auto nobody_knows = radeon("amdgpu", {kfd});
    nobody_knows.gpus.front().backends["rocm"] = support::unclear("inconclusive");
    EXPECT_NE(for_torch(nobody_knows).backend, "rocm");
}

TEST(Bundles, NeedTheKernelsDriverAndItsNodes) {
    const DeviceNode open{.path = "/dev/kfd", .accessible = true};
    const DeviceNode closed{.path = "/dev/kfd", .accessible = false, .reason = "no-permission"};
    EXPECT_TRUE(
        has_reason(against(for_torch(radeon("radeon", {open})), "rocm"), "kernel-driver-unfit"));
    EXPECT_TRUE(has_reason(against(for_torch(radeon("amdgpu", {})), "rocm"), "node-missing"));
    auto of_nobody = radeon("amdgpu", {});  // the groups of this caller are unknown
    of_nobody.gpus.front().nodes = {{.path = "/dev/dri/renderD128", .mode = 0660}};
    EXPECT_TRUE(has_reason(against(for_torch(of_nobody), "rocm"), "node-missing"));
    // The report for a caller who may not open the node that the prober could open.
    EXPECT_TRUE(
        has_reason(against(for_torch(radeon("amdgpu", {closed})), "rocm"), "no-permission"));
    auto shut = radeon("amdgpu", {closed});
    shut.gpus.front().backends["rocm"].reasons.push_back(because("no-permission"));
    EXPECT_EQ(for_torch(shut).backend, "cpu");
}

/// A Radeon for which the ROCm image has no kernels, on a host without the Vulkan loader.
Report radeon_without_vulkan(const char* driver) {
    auto report = radeon(driver, {});
    report.host.os = "linux";
    report.host.arch = "x86_64";
    auto& gpu = report.gpus.front();
    gpu.architecture.gfx_target = "gfx1103";
    gpu.backends["vulkan"] = support::unusable("loader-missing");
    return report;
}

TEST(Bundles, MesaWhichNeedsOnlyTheKernelDriver) {
    const auto applications = ApplicationSet::with_builtins();
    const auto& ramalama = *applications.selection("ramalama");
    const auto& application = *applications.manifest("ramalama");
    const auto chosen_on = [&](const Report& report) {
        const auto decision = select(ramalama, {}, report, {}, &application);
        EXPECT_EQ(decision->backend, recommend(application, {}, report, Rules::current(), {},
                                               selection_view(ramalama, {}, report))
                                         .variant.value_or("none"))
            << "both say the same";
        return decision->backend;
    };
    EXPECT_EQ(chosen_on(radeon_without_vulkan("amdgpu")), "vulkan");
    // Mesa has a Vulkan driver for some GPUs with Intel's i915, but not for older Radeons.
    EXPECT_EQ(chosen_on(radeon_without_vulkan("radeon")), "cpu");
    auto closed = radeon_without_vulkan("amdgpu");
    closed.gpus.front().nodes.front().accessible = false;
    EXPECT_EQ(chosen_on(closed), "cpu");
    auto application_without = ramalama;
    application_without.bundles = {"rocm"};
    EXPECT_EQ(select(application_without, {}, radeon_without_vulkan("amdgpu"))->backend, "cpu");
}

TEST(Bundles, NameBackendsAndLibrariesThatAreNoDrivers) {
    EXPECT_TRUE(can_be_bundled("rocm"));
    EXPECT_TRUE(can_be_bundled("libcudart"));
    EXPECT_FALSE(can_be_bundled("libcuda"));
    EXPECT_FALSE(can_be_bundled("cudart13"));
    EXPECT_TRUE(is_bundled({"cuda"}, std::string_view{"libcublas.so.12"}));
    EXPECT_FALSE(is_bundled({"cuda"}, std::string_view{"libcuda.so.1"}));
    EXPECT_TRUE(is_bundled({"rocm"}, Api::Hip));
    EXPECT_FALSE(is_bundled({"cuda", "sycl"}, Api::Cuda));
}

}  // namespace build_needs_test
}  // namespace gpuprobe
