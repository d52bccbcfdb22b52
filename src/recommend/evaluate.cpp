// SPDX-License-Identifier: Apache-2.0
#include "recommend/evaluate.h"

#include <algorithm>
#include <bit>

#include "recommend/gpu_masks.h"
#include "report/vendor.h"

namespace gpuprobe {
namespace {

class Evaluator {
public:
    Evaluator(const RecommendRequest& request,
              const MachineFacts& machine,
              const Rules& rules,
              std::span<const FailedVariant> failed)
        : request_{request},
          machine_{machine},
          rules_{rules},
          failed_{failed},
          added_{added_predicate(request)},
          masks_{machine.gpus, rules} {}

    JudgedVariant judge(const Variant& variant) {
        JudgedVariant judged{.variant = &variant,
                             .exclusion = exclusion_of(variant),
                             .preference = preference_of(variant)};
        const auto host = variant.needs.unsupported.empty()
                              ? all_hold(variant.needs.host, machine_.host, rules_)
                              : Truth::False;
        const auto devices = devices_hold(variant.needs, judged);
        judged.verdict = verdict_of(variant, both(host, devices));
        if (!failed_.empty())
            take_back(variant.needs, judged);
        if (judged.exclusion != Exclusion::None)
            judged.verdict = VariantVerdict::Rejected;
        count(judged);
        return judged;
    }

private:
    Exclusion exclusion_of(const Variant& variant) const {
        const auto is_meant = [&variant](const auto& word) { return means(word, variant); };
        if (std::ranges::any_of(request_.exclude, is_meant))
            return Exclusion::Excluded;
        for (const auto* words : {&request_.only, &request_.allowed})
            if (*words && std::ranges::none_of(**words, is_meant))
                return Exclusion::NotRequested;
        const bool has_failed =
            std::ranges::any_of(failed_, [&variant](const FailedVariant& failed) {
                return !failed.gpu && means(failed.word, variant);
            });
        return has_failed ? Exclusion::ReportedFailed : Exclusion::None;
    }

    /// The GPUs on which the variant was tried and failed.
    std::uint64_t failed_gpus(const Variant& variant) const {
        std::uint64_t gpus = 0;
        for (const auto& failed : failed_)
            for (std::size_t i = 0; failed.gpu && i < machine_.gpus.size(); ++i)
                if (machine_.gpus[i].id == *failed.gpu && means(failed.word, variant))
                    gpus |= 1ULL << i;
        return gpus;
    }

    /// A failure on one GPU leaves the variant to the others, if it does not need them all.
    void take_back(const Requirements& needs, JudgedVariant& judged) const {
        const auto failed = judged.covered & failed_gpus(*judged.variant);
        judged.covered &= ~failed;
        if (failed != 0 && (judged.covered == 0 || needs.scope == VariantScope::All))
            judged.exclusion = Exclusion::ReportedFailed;
    }

    std::size_t preference_of(const Variant& variant) const {
        const auto found = std::ranges::find_if(
            request_.prefer, [&variant](const auto& word) { return means(word, variant); });
        return static_cast<std::size_t>(found - request_.prefer.begin());
    }

    GpuMask covered(const Requirements& needs) {
        GpuMask covered;
        for (const auto& alternative : needs.devices) {
            const auto mask = masks_.of(alternative);
            covered.yes |= mask.yes;
            covered.maybe |= mask.maybe;
        }
        if (added_) {
            const auto mask = masks_.of(*added_);
            covered.yes &= mask.yes;
            covered.maybe &= mask.maybe;
        }
        return covered;
    }

    Truth devices_hold(const Requirements& needs, JudgedVariant& judged) {
        if (needs.devices.empty())
            return Truth::True;
        const auto mask = covered(needs);
        judged.covered = mask.yes;
        const auto wanted = needs.scope == VariantScope::All ? gpus_meant(needs) : 0;
        if (mask.yes != 0 && (mask.yes & wanted) == wanted)
            return Truth::True;
        const bool is_open = mask.maybe != 0 && (mask.maybe & wanted) == wanted;
        return is_open ? Truth::Unknown : Truth::False;
    }

    /// The GPUs of the vendors that the variant is for, and those whose vendor is not known.
    std::uint64_t gpus_meant(const Requirements& needs) const {
        const auto vendors = vendors_of(needs);
        std::uint64_t meant = 0;
        for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
            const auto& vendor = machine_.gpus[i].vendor.value;
            if (vendors.empty() || !vendor || std::ranges::find(vendors, *vendor) != vendors.end())
                meant |= 1ULL << i;
        }
        return meant;
    }

    static VariantVerdict verdict_of(const Variant& variant, Truth truth) {
        if (truth == Truth::True)
            return VariantVerdict::Accepted;
        if (truth == Truth::Unknown && variant.on_unknown == OnUnknown::Accept)
            return VariantVerdict::Uncertain;
        return VariantVerdict::Rejected;
    }

    void count(JudgedVariant& judged) const {
        judged.gpus = std::popcount(judged.covered);
        for (auto rest = judged.covered; rest != 0; rest &= rest - 1) {
            const auto& gpu = machine_.gpus[static_cast<std::size_t>(std::countr_zero(rest))];
            if (!gpu.is_discrete)
                continue;
            judged.gib += gpu.gib;
            ++judged.discrete;
        }
    }

    const RecommendRequest& request_;
    const MachineFacts& machine_;
    const Rules& rules_;
    std::span<const FailedVariant> failed_;
    std::optional<Predicate> added_;
    GpuMasks masks_;
};

bool comes_before(const JudgedVariant& left, const JudgedVariant& right) {
    const bool is_rejected = left.verdict == VariantVerdict::Rejected;
    if (is_rejected != (right.verdict == VariantVerdict::Rejected))
        return !is_rejected;
    if (is_rejected)
        return left.variant->name < right.variant->name;
    if (left.preference != right.preference)
        return left.preference < right.preference;
    if (left.variant->tier != right.variant->tier)
        return left.variant->tier > right.variant->tier;
    if (left.verdict != right.verdict)
        return left.verdict == VariantVerdict::Accepted;
    const auto coverage = [](const JudgedVariant& judged) {
        return std::tuple{judged.gib, judged.discrete, judged.gpus, judged.variant->priority};
    };
    if (coverage(left) != coverage(right))
        return coverage(left) > coverage(right);
    return left.variant->name < right.variant->name;
}

/// The vendor that an alternative is for by what it asks; empty when it may be any.
std::vector<std::string> vendors_of(const Conjunction& alternative) {
    for (const auto& predicate : alternative)
        if (predicate.kind == PredicateKind::Vendor)
            return std::get<std::vector<std::string>>(predicate.need);
    for (const auto& predicate : alternative) {
        if (predicate.kind == PredicateKind::Backend)
            if (const auto vendor = vendor_of_api(name_of(std::get<VariantApi>(predicate.need))))
                return {*vendor};
        if (predicate.kind == PredicateKind::CudaDriver ||
            predicate.kind == PredicateKind::CudaCode || predicate.kind == PredicateKind::CudaApi)
            return {"nvidia"};
        if (predicate.kind == PredicateKind::Gfx || predicate.kind == PredicateKind::Rocm)
            return {"amd"};
        if (predicate.kind == PredicateKind::LevelZeroIp)
            return {"intel"};
    }
    return {};
}

}  // namespace

bool means(std::string_view word, const Variant& variant) {
    constexpr std::string_view kFamily = "family:";
    constexpr std::string_view kVariant = "variant:";
    if (word.starts_with(kFamily))
        return word.substr(kFamily.size()) == variant.family;
    if (word.starts_with(kVariant))
        return word.substr(kVariant.size()) == variant.name;
    return word == variant.name || word == variant.family;
}

std::optional<Predicate> added_predicate(const RecommendRequest& request) {
    if (!request.need)
        return std::nullopt;
    return Predicate{
        .kind = PredicateKind::DeviceMemoryMin, .name = "need-mib", .need = *request.need};
}

std::vector<std::string> vendors_of(const Requirements& requirements) {
    std::vector<std::string> vendors;
    for (const auto& alternative : requirements.devices) {
        const auto more = vendors_of(alternative);
        if (more.empty() || std::ranges::find(more, "other") != more.end())
            return {};
        vendors.insert(vendors.end(), more.begin(), more.end());
    }
    return vendors;
}

std::vector<JudgedVariant> evaluate(const VariantPlatform& platform,
                                    const RecommendRequest& request,
                                    const MachineFacts& machine,
                                    const Rules& rules,
                                    std::span<const FailedVariant> failed) {
    Evaluator evaluator{request, machine, rules, failed};
    std::vector<JudgedVariant> judged;
    judged.reserve(platform.variants.size());
    for (const auto& variant : platform.variants)
        judged.push_back(evaluator.judge(variant));
    std::ranges::sort(judged, comes_before);
    return judged;
}

}  // namespace gpuprobe
