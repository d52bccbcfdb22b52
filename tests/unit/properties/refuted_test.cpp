// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "explain/doctor.h"
#include "policy/build_needs.h"
#include "report/gpu_views.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Tests that no statement contradicts the report.
namespace gpuprobe::testing_properties {
namespace refuted_test {

// Nodes -------------------------------------------------------------------------------------------

/// The report as an unprivileged user sees it. The process that probes may have more access.
Report seen_by_somebody(MachineFixture fixture) {
    constexpr std::uint32_t kSomebody = 1000;
    if (!fixture.caller)
        fixture.caller = Caller{.uid = kSomebody, .groups = std::vector{kSomebody}};
    return report_of(fixture);
}

TEST(Refuted, NoBackendIsChosenWhoseNodesAreShut) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = seen_by_somebody(fixture);
        const ComputeView view{report};
        for (const Profile& profile : profiles_for(fixture))
            for (const auto& candidate : choice(profile, report).candidates) {
                if (!candidate.gpu || !is_usable(candidate.verdict))
                    continue;
                SCOPED_TRACE(profile.name + ": " + candidate.backend + " on " + *candidate.gpu);
                const auto backend = own_name(profile, candidate.backend);
                const auto& all = report.accelerators;
                const auto one = std::ranges::find(all, *candidate.gpu, &Accelerator::id);
                if (one != all.end())
                    EXPECT_TRUE(shut_nodes(backend, {}, Gpu{.nodes = one->nodes}).empty());
                else
                    EXPECT_TRUE(shut_nodes(backend, report.nodes,
                                           *gpu_called(view.report(), *candidate.gpu))
                                    .empty());
            }
    });
}

void expect_open_nodes(const VariantPlatform& platform,
                       const VariantCandidate& candidate,
                       const ComputeView& view) {
    const auto& report = view.report();
    const auto& variant = *find_variant(platform, candidate.variant);
    for (const auto& alternative : variant.needs.devices)
        for (const auto api : apis_used(variant, alternative))
            for (const auto& gpu : candidate.gpus)
                EXPECT_TRUE(shut_nodes(info_of(api).backend, report.nodes, *gpu_called(report, gpu))
                                .empty())
                    << candidate.variant << " on " << gpu;
}

TEST(Refuted, NoVariantIsRecommendedWhoseNodesAreShut) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = seen_by_somebody(fixture);
        const ComputeView view{report};
        for (const Manifest& application : applications_for(fixture)) {
            const auto answer = advice(application, report);
            for (const auto& platform : application.platforms)
                if (platform.key == answer.platform)
                    for (const auto& candidate : answer.candidates)
                        expect_open_nodes(platform, candidate, view);
        }
    });
}

// The doctor --------------------------------------------------------------------------------------

bool works(const Gpu& gpu, std::string_view api) {
    return std::ranges::any_of(gpu.backends, [api](const auto& entry) {
        return api_below(entry.first) == api && entry.second.usable == true;
    });
}

bool anything_works(const Gpu& gpu) {
    return std::ranges::any_of(gpu.backends,
                               [](const auto& entry) { return entry.second.usable == true; });
}

bool installs(const Finding& finding) {
    const auto fix = finding.fix.value_or("");
    return fix.find(" install") != std::string::npos || fix.find("install ") == 0;
}

bool concerns(const Finding& finding, const std::string& id) {
    return std::ranges::find(finding.gpus, id) != finding.gpus.end();
}

/// Whether a finding names an API that works on the GPU.
bool is_about_what_works(const Finding& finding, const Gpu& gpu) {
    const auto* api = finding.evidence.at("api").as_string();
    return api && works(gpu, *api);
}

TEST(Refuted, TheDoctorMendsNothingThatWorks) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const auto& finding : examine(report, {})) {
            for (const auto& gpu : report.gpus)
                if (concerns(finding, gpu.id) && is_about_what_works(finding, gpu)) {
                    EXPECT_FALSE(installs(finding)) << finding.id;
                    EXPECT_LT(finding.severity, Severity::Error) << finding.id;
                }
        }
    });
}

TEST(Refuted, TheDoctorInstallsNoKernelDriverInAContainer) {
    constexpr std::array kOfTheKernel = std::to_array<std::string_view>(
        {"linux-headers", "nvidia-driver", "nvidia-kernel", "firmware-amd", "modprobe"});
    on_every_machine([&](MachineFixture fixture) {
        fixture.machine.host.container = "docker";
        for (const auto& finding : examine(report_of(fixture), {}))
            for (const auto word : kOfTheKernel) {
                const auto fix = finding.fix.value_or("");
                EXPECT_EQ(fix.find(word), std::string::npos) << finding.id << ": " << fix;
            }
    });
}

/// A user who reads only the doctor's findings can see that the GPU has a problem.
TEST(Refuted, AGpuOnWhichNothingWorksHasAFinding) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto findings = examine(report, {});
        for (const auto& gpu : report.gpus) {
            const bool is_found = std::ranges::any_of(
                findings, [&gpu](const Finding& finding) { return concerns(finding, gpu.id); });
            const bool is_silent =  // a display adapter next to a GPU that works
                gpu.kind == GpuKind::DisplayOnly &&
                std::ranges::any_of(report.gpus, anything_works);
            EXPECT_TRUE(is_found || anything_works(gpu) || is_silent) << gpu.id;
        }
    });
}

TEST(Refuted, VulkanIsNotOnlySoftwareBesideAGpuThatUsesIt) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto findings = examine(report, {});
        const bool is_found =
            std::ranges::find(findings, "only-software", &Finding::id) != findings.end();
        EXPECT_FALSE(is_found && std::ranges::any_of(report.gpus, [](const Gpu& gpu) {
                         return works(gpu, "vulkan");
                     }));
    });
}

}  // namespace refuted_test
}  // namespace gpuprobe::testing_properties
