// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "policy/build_needs.h"
#include "policy/candidates.h"
#include "policy/closest_miss.h"
#include "policy/evaluate.h"
#include "policy/fact.h"
#include "policy/gpu_selection.h"

/// Compares the candidates of a selection with the published variants: finds the variant that uses
/// a backend on a GPU, or the reasons why no variant does.

namespace gpuprobe::inline policy {
namespace {

bool is_usable(const JudgedVariant& judged) {
    return is_usable(judged.verdict);
}

/// Whether the terms hold. If a fact is unknown, a term holds only if it accepts unknown facts.
bool are_met(const Conjunction& terms, const Facts& gpu) {
    return std::ranges::all_of(terms, [&gpu](const Term& term) {
        const auto truth = holds(term, gpu);
        return truth == Truth::True || (truth == Truth::Unknown && term.accepts_unknown);
    });
}

bool uses(const Variant& variant, const Conjunction& alternative, Api api) {
    const auto apis = apis_used(variant, alternative);
    return std::ranges::find(apis, api) != apis.end();
}

/// Whether an alternative of the variant's requirements uses the API.
bool uses(const Variant& variant, Api api) {
    return std::ranges::any_of(variant.needs.devices, [&](const Conjunction& alternative) {
        return uses(variant, alternative, api);
    });
}

/// Contains the judged variants for a platform. Finds the variant for a candidate, or the reasons
/// why no variant fits the candidate.
class VariantsOnGpus {
public:
    VariantsOnGpus(const PublishedVariants& published,
                   const Report& report,
                   const SelectionView& selection)
        : published_{published},
          context_{published.request, published.machine, report, published.failed, selection},
          judged_{evaluate(published.platform,
                           published.request,
                           published.machine,
                           published.failed,
                           selection)} {}

    /// The variant that recommend() chooses; null if recommend() chooses no variant.
    [[nodiscard]] const Variant* best() const {
        if (!judged_.empty() && is_usable(judged_.front()))
            return judged_.front().variant;
        return default_variant(published_.platform, published_.request);
    }

    /// The best variant of the family; null if the family has no variant.
    [[nodiscard]] const Variant* of_family(std::string_view family) const {
        const auto found = std::ranges::find_if(judged_, [family](const JudgedVariant& judged) {
            return judged.variant->family == family;
        });
        return found == judged_.end() ? nullptr : found->variant;
    }

    /// The best usable variant that uses the API on the GPU; null if there is no such variant.
    [[nodiscard]] const JudgedVariant* for_gpu(Api api, const Gpu& gpu) const {
        const auto found = std::ranges::find_if(judged_, [&](const JudgedVariant& judged) {
            return is_usable(judged) && covers(judged, api, gpu);
        });
        return found == judged_.end() ? nullptr : &*found;
    }

    /// The conditions that are recommended for the variant, but do not hold.
    [[nodiscard]] std::vector<Reason> lacks(const Variant& variant) const {
        const auto found = std::ranges::find(judged_, &variant, &JudgedVariant::variant);
        return found == judged_.end() ? std::vector<Reason>{} : warnings_for(*found, context_);
    }

    /// The variant for the CPU, which is the first usable variant that needs no GPU. If every
    /// usable variant needs a GPU, the assumed variant is returned, because programs that use GPUs
    /// also run on the CPU.
    [[nodiscard]] const Variant& for_cpu(const Variant& assumed) const {
        const auto found = std::ranges::find_if(judged_, [](const JudgedVariant& judged) {
            return is_usable(judged) && judged.variant->needs.devices.empty();
        });
        return assumed.needs.devices.empty() || found == judged_.end() ? assumed : *found->variant;
    }

    /// The variant if it is usable and uses the API on the GPU; otherwise null.
    [[nodiscard]] const JudgedVariant* if_covers(const Variant& variant,
                                                 Api api,
                                                 const Gpu& gpu) const {
        const auto found = std::ranges::find(judged_, &variant, &JudgedVariant::variant);
        return found != judged_.end() && is_usable(*found) && covers(*found, api, gpu) ? &*found
                                                                                       : nullptr;
    }

    /// Whether the variant runs on the GPU, and every fact that the variant needs is known.
    [[nodiscard]] bool is_certain(const JudgedVariant& judged, const Gpu& gpu) const {
        const auto place = place_of(gpu);
        return place && judged.verdict == Verdict::Accepted && (judged.covered >> *place & 1U) != 0;
    }

    /// The reasons against the variant that comes closest to using the API on the GPU; empty if no
    /// variant uses the API.
    [[nodiscard]] std::vector<Reason> nearest_miss(Api api, const Gpu& gpu) {
        std::optional<Route> nearest;
        for (const auto& judged : judged_) {
            if (!uses(*judged.variant, api))
                continue;
            auto route = route_on(judged, gpu);
            if (!nearest || is_nearer(route, *nearest))
                nearest = std::move(route);
        }
        return nearest ? std::move(nearest->reasons) : std::vector<Reason>{};
    }

    /// The reasons against the variant that comes closest to fitting the host and its best GPU.
    [[nodiscard]] std::vector<Reason> nearest_miss() {
        const auto* best = default_gpu(context_.report, {});
        Route nearest;
        for (const auto& judged : judged_) {
            auto route = route_on(judged, best ? *best : Gpu{});
            if (nearest.reasons.empty() || is_nearer(route, nearest))
                nearest = std::move(route);
        }
        return std::move(nearest.reasons);
    }

private:
    [[nodiscard]] std::optional<std::size_t> place_of(const Gpu& gpu) const {
        const auto& gpus = published_.machine.gpus;
        const auto found = std::ranges::find(
            gpus, gpu.id, [](const Facts& facts) { return std::string_view{facts.gpu()->id}; });
        return found == gpus.end() ? std::nullopt
                                   : std::optional{static_cast<std::size_t>(found - gpus.begin())};
    }

    [[nodiscard]] bool covers(const JudgedVariant& judged, Api api, const Gpu& gpu) const {
        const auto place = place_of(gpu);
        if (!place || (gpus_used(judged) >> *place & 1U) == 0)
            return false;
        const auto& alternatives = judged.variant->needs.devices;
        const auto is_of_api = [&](const Conjunction& alternative) {
            return uses(*judged.variant, alternative, api);
        };
        // If no alternative of a variant is for another API, the variant covers the GPU through
        // this API.
        if (std::ranges::all_of(alternatives, is_of_api))
            return true;
        return std::ranges::any_of(alternatives, [&](const Conjunction& alternative) {
            return is_of_api(alternative) && are_met(alternative, published_.machine.gpus[*place]);
        });
    }

    /// The obstacles for a variant on the GPU, each with the name of the variant.
    [[nodiscard]] Route route_on(const JudgedVariant& judged, const Gpu& gpu) {
        auto& reasons = reasons_[judged.variant];
        if (reasons.empty())
            reasons = reasons_for(judged, context_);
        Route route{.reasons = reasons_on(gpu, reasons)};
        route.is_open = has_end(route.reasons) ? Truth::False : Truth::Unknown;
        for (auto& reason : route.reasons)
            reason.detail["build"] = judged.variant->name;
        return route;
    }

    const PublishedVariants& published_;
    ExplanationContext context_;
    std::vector<JudgedVariant> judged_;
    std::map<const Variant*, std::vector<Reason>> reasons_ = {};
};

/// Adds a variant to the candidate, or the reasons why no variant uses the candidate's backend on
/// its GPU.
void keep_to_variants(const SelectQuestion& question,
                      const Variant& assumed,
                      VariantsOnGpus& variants,
                      Judged& judged) {
    auto& candidate = judged.candidate;
    const auto api = api_of_backend(candidate.backend);
    const auto* variant = api ? variants.if_covers(assumed, *api, *judged.gpu) : nullptr;
    judged.is_in_variant = variant != nullptr;
    if (candidate.verdict == Verdict::Rejected || !api)
        return;
    if (!variant)
        variant = variants.for_gpu(*api, *judged.gpu);
    if (variant) {
        candidate.variant = variant->variant->name;
        if (!variants.is_certain(*variant, *judged.gpu))
            candidate.verdict = Verdict::Uncertain;
        return;
    }
    auto reasons = variants.nearest_miss(*api, *judged.gpu);
    if (reasons.empty())
        reasons.push_back(
            because("not-published", {{"backend", question.word_for(candidate.backend)}}));
    // If no reason rules out the variant, it may become usable when a missing fact becomes known.
    if (has_end(reasons))
        candidate.verdict = Verdict::Rejected;
    else
        candidate.verdict = Verdict::Unknown;
    for (auto& reason : reasons)
        if (std::ranges::find(candidate.reasons, reason) == candidate.reasons.end())
            add_obstacle(std::move(reason), candidate.reasons);
}

/// Adds the variant for the backend to a candidate on an accelerator, or the reason why no variant
/// is for this backend.
void keep_to_family(const SelectQuestion& question,
                    const VariantsOnGpus& variants,
                    Judged& judged) {
    auto& candidate = judged.candidate;
    if (const auto* variant = variants.of_family(candidate.backend))
        candidate.variant = variant->name;
    else
        judged.reject(
            because("not-published", {{"backend", question.word_for(candidate.backend)}}));
}

/// The index of the candidate that would be chosen if variants did not matter; nullopt if this
/// candidate has no GPU, or if measurements decide.
std::optional<std::size_t> preferred_without_variants(const SelectQuestion& question,
                                                      const SelectionView& selection,
                                                      const std::vector<Judged>& all) {
    if (selection.order.empty() || question.ranks_by_measurement)
        return std::nullopt;
    const auto& first = selection.order.front();
    const auto found = std::ranges::find_if(all, [&first](const Judged& judged) {
        return judged.candidate.gpu == first.gpu && judged.candidate.backend == first.backend;
    });
    if (found == all.end() || !is_accepted(*found))
        return std::nullopt;
    return static_cast<std::size_t>(found - all.begin());
}

/// The warning that the application prefers a backend that no published variant can use on this
/// machine.
std::optional<Reason> better_if_built(const SelectQuestion& question, const Judged& preferred) {
    const auto& candidate = preferred.candidate;
    // If it is unknown whether a candidate works, the candidate may still become usable with a
    // published variant.
    if (candidate.verdict != Verdict::Rejected)
        return std::nullopt;
    return because("better-if-built", {{"backend", question.word_for(candidate.backend)},
                                       {"gpu", to_value(candidate.gpu)},
                                       {"reasons", to_value(candidate.reasons)}});
}

}  // namespace

void keep_to_variants(const SelectQuestion& question,
                      const Report& report,
                      const SelectionView& view,
                      Attempt& made) {
    VariantsOnGpus variants{*question.published, report, view};
    for (auto& judged : made.all)
        if (judged.is_accelerator)
            keep_to_family(question, variants, judged);
    made.assumed = variants.best();
    if (!made.assumed) {
        made.variant_warning =
            because("no-published-variant", {{"reasons", to_value(variants.nearest_miss())}});
        return;
    }
    made.variant_lacks = variants.lacks(*made.assumed);
    const auto preferred = preferred_without_variants(question, view, made.all);
    for (auto& judged : made.all)
        if (judged.gpu && !judged.is_accelerator)
            keep_to_variants(question, *made.assumed, variants, judged);
        else if (judged.candidate.backend == kCpu && is_accepted(judged))
            judged.candidate.variant = variants.for_cpu(*made.assumed).name;
    if (preferred)
        made.variant_warning = better_if_built(question, made.all[*preferred]);
}

}  // namespace gpuprobe::inline policy
