// SPDX-License-Identifier: Apache-2.0
#include "policy/unused_gpu.h"

#include <algorithm>

#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// An answer that takes no GPU says so where there is one, and any other does not.
namespace gpuprobe::testing_properties {
namespace {

bool has_gpu_to_miss(const Report& report) {
    return std::ranges::any_of(report.gpus, may_be_missed);
}

/// The GPU candidates of a choice, of which none is accepted.
bool refuses_all(const Decision& decision) {
    std::size_t on_gpus = 0;
    for (const auto& candidate : decision.candidates)
        if (candidate.gpu) {
            ++on_gpus;
            if (candidate.verdict == Verdict::Accepted)
                return false;
        }
    return on_gpus > 0;
}

TEST(UnusedGpu, IsToldByEveryChoice) {
    on_every_machine([](const Scene& scene) {
        const auto report = report_of(scene);
        const ComputeView view{report};
        const bool has_one = has_gpu_to_miss(view.report());
        for (const Profile& profile : profiles_for(scene)) {
            const auto decision = choice(profile, report);
            const bool is_silent = !has_reason(decision.warnings, "gpu-unused");
            if (!decision.gpus.empty() || !has_one) {
                EXPECT_TRUE(is_silent) << profile.name;
            } else if (decision.backend && refuses_all(decision)) {
                EXPECT_FALSE(is_silent) << profile.name;
            }
        }
    });
}

/// Whether a variant needs no GPU, and nothing that needs one may run.
bool takes_none(const Recommendation& answer, const VariantPlatform& platform) {
    const auto needs_gpu = [&platform](const std::string& name) {
        return !find_variant(platform, name)->needs.devices.empty();
    };
    return !needs_gpu(*answer.variant) &&
           std::ranges::none_of(answer.candidates, [&](const VariantCandidate& candidate) {
               return candidate.verdict != Verdict::Rejected && needs_gpu(candidate.variant);
           });
}

TEST(UnusedGpu, IsToldByEveryRecommendation) {
    on_every_machine([](const Scene& scene) {
        const auto report = report_of(scene);
        const ComputeView view{report};
        const bool has_one = has_gpu_to_miss(view.report());
        for (const Manifest& product : products_for(scene)) {
            const auto answer = advice(product, report);
            if (!answer.variant)
                continue;
            const auto platform =
                std::ranges::find(product.platforms, *answer.platform, &VariantPlatform::key);
            EXPECT_EQ(has_reason(answer.warnings, "gpu-unused"),
                      takes_none(answer, *platform) && has_one)
                << answer.product;
        }
    });
}

}  // namespace
}  // namespace gpuprobe::testing_properties
