// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/value.h"
#include "policy/evaluate.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// An answer that uses no GPU although the machine has a GPU must give the reason, and no other
/// answer may. The tests decide by reason codes, independently of the program's own rules.
namespace gpuprobe::testing_properties {
namespace unused_gpu_test {

using Codes = std::set<std::string_view>;
const Codes kForOthers{"vendor-mismatch", "not-in-profile-for-vendor", "display-only"};
const Codes kOtherBuild{"not-published",
                        "arch-not-in-build",
                        "cpu-feature-missing",
                        "cpu-too-old",
                        "other-kind",
                        "other-libc",
                        "other-l4t",
                        "not-built",
                        "integrated-not-allowed",
                        "unsupported-predicate",
                        "mig-without-graphics"};
const Codes kLimits{
    "no-compute-device",      "not-usable",     "too-little-memory", "vulkan-extension-missing",
    "vulkan-feature-missing", "vulkan-too-old", "webgpu-features"};
const Codes kOpen{"ambiguous",
                  "asleep",
                  "driver-crashed",
                  "driver-failed",
                  "driver-timed-out",
                  "fact-unknown",
                  "inconclusive",
                  "isa-mismatch",
                  "malformed-answer",
                  "malformed-manifest",
                  "memory-unknown",
                  "not-probed",
                  "prober-no-permission",
                  "quarantined",
                  "requirement-unknown",
                  "skipped",
                  "unknown-not-chosen",
                  "unreadable-manifest",
                  "webgpu-unknown",
                  "worker-lost",
                  "worker-not-started",
                  "worker-stuck"};
const Codes kRemarks{"bundled",
                     "hidden-by-environment",
                     "known-bad",
                     "joined-weakly",
                     "library-not-listed",
                     "not-computing",
                     "not-hidden",
                     "not-measured",
                     "not-told-apart",
                     "one-instance-listed",
                     "unhealthy",
                     "unstable",
                     "worker-output"};
const Codes kWished{"denied", "not-requested", "switched-off", "passthrough"};

bool has_any(const std::vector<Reason>& reasons, const Codes& codes) {
    return std::ranges::any_of(
        reasons, [&codes](const Reason& reason) { return codes.contains(reason.code); });
}

bool is_undecided(const Reason& reason) {
    return kOpen.contains(reason.code) || kRemarks.contains(reason.code);
}

bool is_no_cause(const Reason& reason) {
    return is_undecided(reason) || reason.is("backend-not-usable");
}

/// A reason that prevents a backend or variant from using a GPU.
struct Obstacle {
    std::string gpu = {};
    std::string by = {};
    std::vector<Reason> reasons = {};

    /// 0: for other GPUs, 1: another build would work, 2: unknown, or the device is too limited, 3:
    /// the user can change something.
    [[nodiscard]] int closest_miss() const {
        if (has_any(reasons, kForOthers))
            return 0;
        if (has_any(reasons, kOtherBuild))
            return 1;
        return has_any(reasons, kLimits) || std::ranges::all_of(reasons, is_no_cause) ? 2 : 3;
    }
    [[nodiscard]] bool is_open() const { return std::ranges::all_of(reasons, is_undecided); }
    [[nodiscard]] bool is_wished() const { return closest_miss() > 0 && has_any(reasons, kWished); }
};
using Obstacles = std::vector<Obstacle>;

/// The obstacles on GPUs that could compute, except obstacles that the user requested. If the user
/// excluded a GPU, an obstacle on this GPU must also have at least the number 2.
Obstacles that_count(const Obstacles& all, const Report& report) {
    Obstacles counted;
    for (const auto& obstacle : all) {
        const auto* gpu = gpu_called(report, obstacle.gpu);
        if (!gpu)
            continue;  // an accelerator
        const bool is_hidden = gpu->kind == GpuKind::DisplayOnly ||
                               (gpu->kind == GpuKind::Virtual && gpu->driver.name != "dxgkrnl");
        const bool has_wish = std::ranges::any_of(all, [&obstacle](const Obstacle& other) {
            return other.gpu == obstacle.gpu && other.is_wished();
        });
        if (!is_hidden && !obstacle.is_wished() && (!has_wish || obstacle.closest_miss() >= 2))
            counted.push_back(obstacle);
    }
    return counted;
}

const Reason* warning_in(const std::vector<Reason>& warnings) {
    const auto found = std::ranges::find(warnings, "gpu-unused", &Reason::code);
    return found == warnings.end() ? nullptr : &*found;
}

/// The warning must exist if any obstacle counts, and must name one of the nearest obstacles. If
/// all builds are for other GPUs, the reasons may differ, so the warning names no reason.
void expect_warned(const std::vector<Reason>& warnings,
                   const Obstacles& all,
                   const Report& report) {
    const auto counted = that_count(all, report);
    const auto* warning = warning_in(warnings);
    ASSERT_EQ(warning != nullptr, !counted.empty());
    if (!warning)
        return;
    const auto nearest = std::ranges::max(counted, {}, &Obstacle::closest_miss).closest_miss();
    const auto is_it = [&](const Obstacle& obstacle) {
        const auto& detail = warning->detail;
        return obstacle.closest_miss() == nearest && detail.at("gpu") == Value{obstacle.gpu} &&
               (nearest == 0 || (detail.at("by") == Value{obstacle.by} &&
                                 detail.at("reasons") == to_value(obstacle.reasons)));
    };
    EXPECT_TRUE(std::ranges::any_of(counted, is_it)) << json_line(warning->detail);
}

Obstacles obstacles_of(const Decision& decision) {
    Obstacles all;
    for (const auto& candidate : decision.candidates)
        if (candidate.gpu)
            all.push_back({*candidate.gpu, candidate.backend, candidate.reasons});
    return all;
}

bool takes_a_gpu(const Decision& decision) {
    return !decision.gpus.empty() ||
           std::ranges::any_of(decision.candidates, [](const Candidate& candidate) {
               return candidate.gpu && candidate.verdict == Verdict::Accepted;
           });
}

TEST(UnusedGpu, IsToldByEveryChoice) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const ComputeView view{report};
        for (const Profile& profile : profiles_for(fixture)) {
            SCOPED_TRACE(profile.name);
            const auto decision = choice(profile, report);
            const bool is_answer = decision.backend.has_value() && !takes_a_gpu(decision);
            expect_warned(decision.warnings, is_answer ? obstacles_of(decision) : Obstacles{},
                          view.report());
        }
    });
}

bool needs_gpu(const VariantPlatform& platform, const std::string& variant) {
    return !find_variant(platform, variant)->needs.devices.empty();
}

/// A reason about the host prevents a variant from using any GPU.
Obstacles obstacles_of(const Recommendation& answer,
                       const VariantPlatform& platform,
                       const Report& report) {
    Obstacles all;
    for (const auto& gpu : report.gpus)
        for (const auto& candidate : answer.candidates) {
            Obstacle obstacle{gpu.id, candidate.variant, {}};
            for (const auto& reason : reasons_on(gpu, candidate.reasons)) {
                const auto where = reason.detail.at("where");
                if (where == Value{gpu.id} || where == Value{"host"} ||
                    where == Value{"manifest"} || where == Value{"request"})
                    obstacle.reasons.push_back(reason);
            }
            if (needs_gpu(platform, candidate.variant) && !obstacle.reasons.empty())
                all.push_back(std::move(obstacle));
        }
    return all;
}

/// Builds for one backend can replace each other, so only the nearest of them counts. A build whose
/// result is uncertain is the nearest.
bool is_outdone(const Obstacle& obstacle, const Obstacle& other, const VariantPlatform& platform) {
    const auto& family = find_variant(platform, obstacle.by)->family;
    if (family.empty() || other.gpu != obstacle.gpu || other.is_wished() || obstacle.is_wished() ||
        find_variant(platform, other.by)->family != family)
        return false;
    return std::pair{other.is_open(), other.closest_miss()} >
           std::pair{obstacle.is_open(), obstacle.closest_miss()};
}

Obstacles nearest_of_families(const Obstacles& all, const VariantPlatform& platform) {
    Obstacles nearest;
    for (const auto& obstacle : all)
        if (std::ranges::none_of(
                all, [&](const Obstacle& other) { return is_outdone(obstacle, other, platform); }))
            nearest.push_back(obstacle);
    return nearest;
}

bool takes_none(const Recommendation& answer, const VariantPlatform& platform) {
    return answer.variant && !needs_gpu(platform, *answer.variant) &&
           std::ranges::none_of(answer.candidates, [&](const VariantCandidate& candidate) {
               return candidate.verdict != Verdict::Rejected &&
                      needs_gpu(platform, candidate.variant);
           });
}

/// If an application has no build for any GPU, its answer contains no other reason.
bool has_builds_for_gpus(const VariantPlatform& platform) {
    return std::ranges::any_of(
        platform.variants, [](const Variant& variant) { return !variant.needs.devices.empty(); });
}

TEST(UnusedGpu, IsToldByEveryRecommendation) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const ComputeView view{report};
        for (const Manifest& application : applications_for(fixture)) {
            SCOPED_TRACE(application.name);
            const auto answer = advice(application, report);
            if (!answer.platform)
                continue;
            const auto& platform =
                *std::ranges::find(application.platforms, *answer.platform, &VariantPlatform::key);
            if (has_builds_for_gpus(platform))
                expect_warned(answer.warnings,
                              takes_none(answer, platform)
                                  ? nearest_of_families(
                                        obstacles_of(answer, platform, view.report()), platform)
                                  : Obstacles{},
                              view.report());
        }
    });
}

}  // namespace unused_gpu_test
}  // namespace gpuprobe::testing_properties
