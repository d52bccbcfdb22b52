// SPDX-License-Identifier: Apache-2.0
#include "policy/variant_reasons.h"

#include <algorithm>

#include "policy/computing_api.h"

namespace gpuprobe {
namespace {

struct Place {
    std::string where = {};
    std::optional<std::size_t> alternative = {};
};

/// Whether the predicate is about another vendor's architecture or driver.
bool is_of_other_vendor(const Predicate& predicate, const GpuFacts& gpu) {
    const auto vendors = vendors_of(Requirements{.devices = {{predicate}}});
    return gpu.vendor.value && !vendors.empty() &&
           std::ranges::find(vendors, *gpu.vendor.value) == vendors.end();
}

/// A predicate's own code; for CUDA code the one that tells what is in the way.
ReasonCode code_for(const Predicate& predicate, Truth result, const GpuFacts* gpu) {
    if (result == Truth::Unknown)
        return "fact-unknown";
    if (!gpu)
        return shortfall_code(predicate.kind);
    if (is_of_other_vendor(predicate, *gpu))
        return "vendor-mismatch";
    const bool is_about_driver =
        predicate.kind == PredicateKind::DriverMin || predicate.kind == PredicateKind::CudaDriver;
    if (is_about_driver && !gpu->driver.value)
        return "driver-missing";
    if (predicate.kind == PredicateKind::CudaCode &&
        fit_of(std::get<CudaCode>(predicate.need), gpu->cuda) == CodeFit::PtxNeedsNewerCuda)
        return "ptx-needs-newer-driver";
    return shortfall_code(predicate.kind);
}

Reason reason_for(const Predicate& predicate, const Place& place, Truth result, Value want) {
    auto reason = because(code_for(predicate, result, nullptr));
    reason.detail["where"] = place.where;
    reason.detail["predicate"] = predicate.name;
    reason.detail["result"] = name_of(result);
    reason.detail["want"] = std::move(want);
    if (place.alternative)
        reason.detail["alternative"] = static_cast<unsigned long>(*place.alternative);
    return reason;
}

void add_missing(Value missing, Reason& reason) {
    if (!missing.is_null())
        reason.detail["missing"] = std::move(missing);
}

class Explainer {
public:
    Explainer(const Requirements& needs, const ExplanationContext& context, bool is_advice)
        : needs_{needs},
          context_{context},
          added_{is_advice ? std::nullopt : added_predicate(context.request)} {}

    std::vector<Reason> take() { return std::move(reasons_); }

    void explain_manifest() {
        for (const auto& word : needs_.unsupported)
            reasons_.push_back(reason_for({.name = word}, {.where = "manifest"}, Truth::False, {}));
    }

    void explain_host() {
        for (const auto& predicate : needs_.host) {
            const auto& host = context_.machine.host;
            const auto result = holds(predicate, host, context_.rules);
            if (result == Truth::True)
                continue;
            auto reason = reason_for(predicate, {.where = "host"}, result,
                                     want_of(predicate, context_.rules));
            reason.detail["have"] = have_of(predicate, host);
            add_missing(missing_of(predicate, host, context_.rules), reason);
            reasons_.push_back(std::move(reason));
        }
    }

    void explain_unverified(const Variant& variant, const GpuFacts& gpu) {
        if (!context_.request.require_verified)
            return;
        const auto reported = std::ranges::find(context_.report.gpus, gpu.id, &Gpu::id);
        const auto* known = reported == context_.report.gpus.end() ? nullptr : &*reported;
        std::ranges::move(unverified(variant, gpu, known), std::back_inserter(reasons_));
    }

    void explain_gpu(const GpuFacts& gpu) {
        const bool several = needs_.devices.size() > 1;
        const bool none_holds = std::ranges::none_of(needs_.devices, [&](const auto& alternative) {
            return all_hold(alternative, gpu, context_.rules) == Truth::True;
        });
        for (std::size_t i = 0; none_holds && i < needs_.devices.size(); ++i)
            for (const auto& predicate : needs_.devices[i])
                explain(predicate, gpu, several ? std::optional{i} : std::nullopt);
        if (added_ && !needs_.devices.empty())
            explain(*added_, gpu, std::nullopt);
    }

private:
    void explain(const Predicate& predicate,
                 const GpuFacts& gpu,
                 std::optional<std::size_t> alternative) {
        const auto result = holds(predicate, gpu, context_.rules);
        if (result == Truth::True)
            return;
        auto reason = reason_for(predicate, {.where = gpu.id, .alternative = alternative}, result,
                                 want_of(predicate, context_.rules));
        reason.becomes(code_for(predicate, result, &gpu));
        if (reason.is("ptx-needs-newer-driver")) {
            reason.detail["driver_cuda"] = text_of(gpu.cuda.cuda.value.value_or(Version{}));
            reason.detail["toolkit"] = text_of(std::get<CudaCode>(predicate.need).toolkit);
        }
        reason.detail["have"] =
            reason.is("vendor-mismatch") ? to_value(gpu.vendor.value) : have_of(predicate, gpu);
        add_missing(missing_of(predicate, gpu), reason);
        reasons_.push_back(std::move(reason));
        if (predicate.kind == PredicateKind::Backend)
            repeat_report(std::get<VariantApi>(predicate.need), gpu.id);
    }

    /// What the report says about the backend, once for each GPU.
    void repeat_report(VariantApi api, const std::string& id) {
        const auto gpu = std::ranges::find(context_.report.gpus, id, &Gpu::id);
        if (gpu == context_.report.gpus.end())
            return;
        const auto view = gpu->backends.find(std::string{backend_of(api)});
        if (view == gpu->backends.end())
            return;
        for (auto reason : view->second.reasons) {
            reason.detail["where"] = id;
            reason.detail["predicate"] = "backend";
            if (std::ranges::find(reasons_, reason) == reasons_.end())
                reasons_.push_back(std::move(reason));
        }
    }

    const Requirements& needs_;
    const ExplanationContext& context_;
    std::optional<Predicate> added_;
    std::vector<Reason> reasons_ = {};
};

Reason request_reason(ReasonCode code, const Variant& variant) {
    return because(code, {{"where", "request"}, {"variant", variant.name}});
}

std::vector<Reason> exclusion_reasons(const JudgedVariant& judged,
                                      const ExplanationContext& context) {
    const auto& variant = *judged.variant;
    switch (judged.exclusion) {
        case Exclusion::Excluded:
            return {request_reason("denied", variant)};
        case Exclusion::NotRequested: {
            auto reason = request_reason("not-requested", variant);
            const auto& only =
                context.request.only ? context.request.only : context.request.allowed;
            reason.detail["requested"] = to_value(*only);
            return {std::move(reason)};
        }
        case Exclusion::ReportedFailed: {
            const auto failed = std::ranges::find_if(
                context.failed, [&](const auto& entry) { return means(entry.word, variant); });
            auto reason = because("reported-failed");
            reason.detail = failed->detail;
            reason.detail["variant"] = variant.name;
            return {std::move(reason)};
        }
        case Exclusion::None:
            break;
    }
    return {};
}

bool is_covered(const JudgedVariant& judged, std::size_t gpu) {
    return (judged.covered >> gpu & 1U) != 0;
}

}  // namespace

std::vector<Reason> reasons_for(const JudgedVariant& judged, const ExplanationContext& context) {
    const auto& needs = judged.variant->needs;
    auto reasons = exclusion_reasons(judged, context);
    Explainer explainer{needs, context, false};
    explainer.explain_manifest();
    explainer.explain_host();
    const auto vendors = vendors_of(needs);
    const auto& gpus = context.machine.gpus;
    for (std::size_t i = 0; i < gpus.size() && !needs.devices.empty(); ++i) {
        const auto& vendor = gpus[i].vendor.value;
        const bool is_meant =
            vendors.empty() || !vendor || std::ranges::find(vendors, *vendor) != vendors.end();
        if (is_covered(judged, i) || (!is_meant && judged.covered != 0))
            continue;
        explainer.explain_gpu(gpus[i]);
        explainer.explain_unverified(*judged.variant, gpus[i]);
    }
    if (gpus.empty() && !needs.devices.empty())
        reasons.push_back(because("no-gpu", {{"where", "host"}}));
    std::ranges::move(explainer.take(), std::back_inserter(reasons));
    return reasons;
}

std::vector<Reason> warnings_for(const JudgedVariant& judged, const ExplanationContext& context) {
    if (!judged.variant->advice)
        return {};
    Explainer explainer{*judged.variant->advice, context, true};
    explainer.explain_manifest();
    explainer.explain_host();
    for (std::size_t i = 0; i < context.machine.gpus.size(); ++i)
        if (is_covered(judged, i))
            explainer.explain_gpu(context.machine.gpus[i]);
    return explainer.take();
}

}  // namespace gpuprobe
