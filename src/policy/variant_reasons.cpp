// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "policy/build_needs.h"
#include "policy/closest_miss.h"
#include "policy/evaluate.h"
#include "policy/fact.h"

namespace gpuprobe::inline policy {
namespace {

/// The place that a reason is about: the value of `where` and, if there are several alternatives,
/// the index of the alternative.
struct Place {
    std::string where = {};
    std::optional<std::size_t> alternative = {};
};

/// Whether the term is about another vendor's architecture or driver.
bool is_of_other_vendor(const Term& term, const Facts& gpu) {
    const auto vendors = vendors_of(Requirements{.devices = {{term}}});
    const auto& vendor = gpu.get<std::string>(FactId::Vendor).value;
    return vendor && !vendors.empty() && std::ranges::find(vendors, *vendor) == vendors.end();
}

/// Whether the term requires a version of glibc and the host uses another C library.
bool is_of_other_libc(const Term& term, const Facts& host) {
    const auto& libc = host.get<std::string>(FactId::Libc).value;
    return term.fact == FactId::Glibc && libc && *libc != "glibc";
}

/// Whether the subject's version is above the term's range of versions.
bool is_above(const Term& term, const Facts& facts) {
    const auto* range = std::get_if<VersionRange>(&term.need);
    const auto have = range ? facts.version(term.fact).value : std::nullopt;
    return have &&
           ((range->max && *have > *range->max) || (range->below && *have >= *range->below));
}

/// The reason code for a term. For CUDA kernels, the code depends on the specific obstacle.
ReasonCode code_for(const Term& term, Truth result, const Facts& facts) {
    if (result == Truth::Unknown)
        return "fact-unknown";
    if (!facts.gpu() && is_of_other_libc(term, facts))
        return "other-libc";
    // The remaining codes are about GPUs.
    if (!facts.gpu())
        return shortfall_code(term);
    if (is_of_other_vendor(term, facts))
        return "vendor-mismatch";
    if (is_above(term, facts))
        return "built-for-older";
    if (term.fact == FactId::Driver && !facts.version(FactId::Driver).value)
        return "driver-missing";
    if (term.fact == FactId::VulkanLoader && !facts.version(FactId::VulkanLoader).value)
        return "loader-missing";
    const auto* code = std::get_if<CudaKernels>(&term.need);
    if (!code)
        return shortfall_code(term);
    const auto device = cuda_device(term, facts);
    const auto fit = fit_of(*code, device, facts.rules());
    if (fit == KernelFit::PtxNeedsNewerCuda)
        return "ptx-needs-newer-driver";
    // The build has PTX, but there is no driver to compile it.
    if (fit == KernelFit::NoCuda && device.capability.value)
        return "driver-missing";
    return shortfall_code(term);
}

/// Makes a reason with the members that all reasons about terms have. The caller fills in `want`
/// and `have`.
Reason reason_for(const Term& term, const Place& place, ReasonCode code, Truth result) {
    auto reason = because(code);
    reason.detail["where"] = place.where;
    reason.detail["predicate"] = term.name;
    reason.detail["result"] = name_of(result);
    reason.detail["want"] = Value{};
    if (reason.is("requirement-unmet"))
        reason.detail["requirement"] = term.name;
    if (reason.is("fact-unknown"))
        reason.detail["fact"] = row_of(term.fact).key;
    if (place.alternative)
        reason.detail["alternative"] = static_cast<unsigned long>(*place.alternative);
    return reason;
}

bool is_of_host(const Reason& reason) {
    const auto* row = find_reason(reason.code);
    return row && row->subject == ReasonSubject::Machine;
}

void add_missing(Value missing, Reason& reason) {
    if (!missing.is_null())
        reason.detail["missing"] = std::move(missing);
}

/// Adds the CUDA version that the driver would need to support to compile the build's PTX for this
/// GPU.
void add_ptx(const Term& term, const Facts& facts, Reason& reason) {
    const auto& code = std::get<CudaKernels>(term.need);
    const auto& cuda = facts.version(FactId::Cuda).value;
    reason.detail["driver_cuda"] = text_of(cuda.value_or(Version{}));
    const auto* ptx = nearest_ptx(code, cuda_device(term, facts));
    // PTX without an ISA version needs the CUDA version of the toolkit.
    const auto made = ptx && ptx->isa ? facts.rules().cuda_of_ptx(*ptx->isa) : code.toolkit;
    reason.detail["toolkit"] = made ? Value{text_of(*made)} : Value{};
    if (ptx && ptx->isa)
        reason.detail["ptx"] = text_of(*ptx->isa);
}

/// Adds the CUDA version from an image's condition, which determines the needed driver.
void add_toolkit(const std::vector<Conjunction>& condition, Reason& reason) {
    for (const auto& part : condition.front())
        if (const auto* cuda = std::get_if<Version>(&part.need); part.fact == FactId::Cuda && cuda)
            reason.detail["toolkit"] = text_of(*cuda);
}

Reason unmet(const Term& term, const Facts& facts, const Place& place, Truth result);

/// The reason for a term with alternatives: the reason for the alternative that is closest to being
/// met.
Reason nearest_unmet(const Term& term,
                     const std::vector<Term>& alternatives,
                     const Facts& facts,
                     const Place& place) {
    Route nearest;
    for (const auto& alternative : alternatives) {
        const auto result = holds(alternative, facts);
        Route route{.is_open = result, .reasons = {unmet(alternative, facts, place, result)}};
        if (nearest.reasons.empty() || is_nearer(route, nearest))
            nearest = std::move(route);
    }
    auto reason = std::move(nearest.reasons.front());
    reason.detail["predicate"] = term.name;
    if (reason.is("requirement-unmet"))
        reason.detail["requirement"] = term.name;
    return reason;
}

/// The complete reason for an unmet term.
Reason unmet(const Term& term, const Facts& facts, const Place& place, Truth result) {
    if (const auto* alternatives = std::get_if<std::vector<Term>>(&term.need))
        return nearest_unmet(term, *alternatives, facts, place);
    auto reason = reason_for(term, place, code_for(term, result, facts), result);
    reason.detail["want"] = want_of(term, facts.rules());
    if (reason.is("ptx-needs-newer-driver"))
        add_ptx(term, facts, reason);
    if (const auto* condition = std::get_if<std::vector<Conjunction>>(&term.need))
        add_toolkit(*condition, reason);
    reason.detail["have"] = reason.is("vendor-mismatch")
                                ? to_value(facts.get<std::string>(FactId::Vendor).value)
                                : have_of(term, facts);
    // Report the wrong C library instead of a missing glibc version.
    if (reason.is("other-libc") && term.fact == FactId::Glibc) {
        reason.detail["want"] = Value{Value::Array{Value{"glibc"}}};
        reason.detail["have"] = to_value(facts.get<std::string>(FactId::Libc).value);
    }
    add_missing(missing_of(term, facts), reason);
    return reason;
}

/// The missing things that a reason names (libraries, an architecture, a version), regardless of
/// the kind of reason.
std::vector<Value> lacking(const Reason& reason) {
    const auto& detail = reason.detail;
    const auto* key = reason.is("arch-not-in-build")    ? "have"
                      : !detail.at("missing").is_null() ? "missing"
                      : !detail.at("need").is_null()    ? "need"
                      : reason.is("requirement-unmet")  ? "requirement"
                                                        : "want";
    const auto& value = detail.at(key);
    if (const auto* items = value.as_array())
        return {items->begin(), items->end()};
    return value.is_null() ? std::vector<Value>{} : std::vector{value};
}

/// Whether `known` includes everything that `reason` reports.
bool covers(const Reason& known, const Reason& reason) {
    const auto already = lacking(known);
    return known.code == reason.code &&
           std::ranges::all_of(lacking(reason), [&already](const Value& value) {
               return std::ranges::find(already, value) != already.end();
           });
}

/// Whether the alternative runs, or would run with an updated driver. No further obstacles are
/// reported for an alternative that would still not run.
bool may_run(const Conjunction& alternative, const Facts& gpu) {
    return std::ranges::all_of(alternative, [&gpu](const Term& term) {
        return holds(term, gpu) != Truth::False ||
               code_for(term, Truth::False, gpu) == "driver-too-old" ||
               term.relation == Relation::Admits;
    });
}

/// Collects the reasons of one variant.
class Explainer {
public:
    /// `variant` is null for recommended conditions, for which only terms give reasons.
    Explainer(const Requirements& needs, const Variant* variant, const ExplanationContext& context)
        : needs_{needs},
          variant_{variant},
          context_{context},
          added_{variant ? added_term(context.request) : std::nullopt} {}

    std::vector<Reason> take() { return std::move(reasons_); }

    /// Adds the members of the manifest that are unknown.
    void explain_manifest() {
        for (const auto& word : needs_.unsupported)
            reasons_.push_back(reason_for({.name = word}, {.where = "manifest"},
                                          "unsupported-predicate", Truth::False));
    }

    void explain_host() {
        for (const auto& term : needs_.host)
            explain(term, context_.machine.host, {.where = "host"}, reasons_);
        of_host_ = reasons_;
    }

    /// Adds the reasons why the application does not run on the CPU.
    void repeat_refusals_of_cpu() {
        if (const auto found = context_.selection.refusals.find(kCpu);
            found != context_.selection.refusals.end())
            for (const auto& reason : found->second.at(""))
                add_of_backend(reason, "host", reasons_);
    }

    /// Whether the variant was built for other hosts, so that no change to a GPU would make it run.
    [[nodiscard]] bool is_for_other_hosts() const {
        return std::ranges::any_of(reasons_, [](const Reason& reason) {
            return is_of_host(reason) && has_reason_with({reason}, ReasonTraits::ByBuild);
        });
    }

    /// Adds the reasons of the closest alternative. `is_meant`: whether the variant supports the
    /// GPU's vendor.
    void explain_gpu(const Facts& gpu, bool is_meant) {
        std::optional<Route> nearest;
        for (std::size_t i = 0; i < needs_.devices.size(); ++i)
            if (auto route = way_on(gpu, i, is_meant); !nearest || is_nearer(route, *nearest))
                nearest = std::move(route);
        if (!nearest)
            return;
        for (auto& reason : nearest->reasons)
            if (!is_covered_by_host(reason, reasons_))
                add_once(std::move(reason), reasons_);
        if (added_)
            explain(*added_, gpu, {.where = gpu.gpu()->id}, reasons_);
    }

private:
    /// The obstacles of an alternative on the GPU.
    [[nodiscard]] Route way_on(const Facts& gpu, std::size_t number, bool is_meant) const {
        const auto& alternative = needs_.devices[number];
        Place place{.where = gpu.gpu()->id};
        if (needs_.devices.size() > 1)
            place.alternative = number;
        Route route;
        for (const auto& term : alternative)
            route.is_open = both(route.is_open, explain(term, gpu, place, route.reasons));
        const auto of_terms = route.reasons.size();
        // The terms do not cover inaccessible nodes and the application's rules, so add the reasons
        // for both.
        if (variant_ && is_meant) {
            for (auto& reason : closed_nodes(*variant_, alternative, gpu))
                add_once(std::move(reason), route.reasons);
            if (may_run(alternative, gpu))
                repeat(context_.selection.refusals, alternative, *gpu.gpu(), route.reasons);
        }
        if (variant_ && context_.request.require_verified)
            std::ranges::move(unverified(*variant_, alternative, gpu),
                              std::back_inserter(route.reasons));
        // Obstacles other than unmet terms always rule the alternative out.
        if (route.reasons.size() > of_terms)
            route.is_open = Truth::False;
        else if (variant_ && is_meant && route.is_open == Truth::True)
            repeat(context_.selection.unknown, alternative, *gpu.gpu(), route.reasons);
        return route;
    }

    /// Adds the reason for an unmet term. Returns the term's truth.
    Truth explain(const Term& term,
                  const Facts& facts,
                  const Place& place,
                  std::vector<Reason>& reasons) const {
        const auto result = holds(term, facts);
        const bool is_accepted = !variant_ && result == Truth::Unknown && term.accepts_unknown;
        if (result == Truth::True || is_accepted)
            return Truth::True;
        auto reason = unmet(term, facts, place, result);
        // If the report already has `loader-missing`, the report's reason is more detailed.
        if (!reason.is("loader-missing") || !has_reason(reasons, "loader-missing"))
            add_obstacle(std::move(reason), reasons);
        if (const auto* api = std::get_if<Api>(&term.need))
            repeat_report(*api, *facts.gpu(), reasons);
        return result;
    }

    /// Adds the report's reasons about the backend, once for each GPU.
    static void repeat_report(Api api, const Gpu& gpu, std::vector<Reason>& reasons) {
        const auto view = gpu.backends.find(std::string{info_of(api).backend});
        if (view == gpu.backends.end())
            return;
        for (const auto& reason : view->second.reasons)
            add_of_backend(reason, gpu.id, reasons);
    }

    /// Adds the application's reasons about the backends of the alternative on the GPU.
    void repeat(const Refusals& refusals,
                const Conjunction& alternative,
                const Gpu& gpu,
                std::vector<Reason>& reasons) const {
        const auto apis = apis_used(*variant_, alternative);
        for (const auto& [backend, by_gpu] : refusals)
            if (const auto api = api_of_backend(backend);
                api && std::ranges::find(apis, *api) != apis.end() && by_gpu.contains(gpu.id))
                repeat(by_gpu.at(gpu.id), gpu, reasons);
    }

    /// Adds only those reasons for which the variant's own terms have not already given a more
    /// detailed reason. Reasons that were added for other GPUs do not count, so that the order of
    /// the GPUs is irrelevant.
    void repeat(const std::vector<Reason>& refused,
                const Gpu& gpu,
                std::vector<Reason>& reasons) const {
        const auto known = reasons;
        for (const auto& reason : refused) {
            const auto covers_it = [&reason](const Reason& other) { return covers(other, reason); };
            if (!std::ranges::any_of(known, covers_it) && !is_covered_by_host(reason, of_host_))
                add_of_backend(reason, is_of_host(reason) ? "host" : gpu.id, reasons);
        }
    }

    /// Whether one of the reasons about the host includes everything that `reason` reports.
    static bool is_covered_by_host(const Reason& reason, const std::vector<Reason>& reasons) {
        return std::ranges::any_of(reasons, [&reason](const Reason& known) {
            return known.detail.at("where") == Value{"host"} && covers(known, reason);
        });
    }

    static void add_of_backend(Reason reason, std::string where, std::vector<Reason>& reasons) {
        reason.detail["where"] = std::move(where);
        reason.detail["predicate"] = "backend";
        add_once(std::move(reason), reasons);
    }

    /// Adds a reason unless it is already in the list.
    static void add_once(Reason reason, std::vector<Reason>& reasons) {
        if (std::ranges::find(reasons, reason) == reasons.end())
            add_obstacle(std::move(reason), reasons);
    }

    const Requirements& needs_;
    const Variant* variant_ = nullptr;
    const ExplanationContext& context_;
    std::optional<Term> added_;
    std::vector<Reason> reasons_ = {};
    std::vector<Reason> of_host_ = {};  ///< the reasons that come from terms about the host
};

Reason request_reason(ReasonCode code, const Variant& variant) {
    return because(code, {{"where", "request"}, {"variant", variant.name}});
}

/// The reasons for an exclusion that does not depend on the machine.
std::vector<Reason> exclusion_reasons(const JudgedVariant& judged,
                                      const ExplanationContext& context) {
    const auto& variant = *judged.variant;
    switch (judged.exclusion) {
        case Exclusion::Excluded:
            return {request_reason("denied", variant)};
        case Exclusion::NotRequested: {
            auto reason = request_reason("not-requested", variant);
            const auto& request = context.request;
            // Report the first restriction of the request that is set.
            for (const auto* only :
                 {&request.only, &request.allowed, &request.allowed_backends, &request.gpus})
                if (*only && reason.detail.at("requested").is_null())
                    reason.detail["requested"] = to_value(**only);
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

/// The first alternative that holds on the GPU; nullopt if no alternative is known to hold.
std::optional<std::size_t> used_alternative(const Requirements& needs, const Facts& gpu) {
    for (std::size_t i = 0; i < needs.devices.size(); ++i)
        if (all_hold(needs.devices[i], gpu) == Truth::True)
            return i;
    return std::nullopt;
}

/// Adds the recommended conditions that do not hold on the host or on these GPUs.
void add_advice(const Requirements& advice,
                const std::vector<const Facts*>& gpus,
                const ExplanationContext& context,
                std::vector<Reason>& warnings) {
    Explainer explainer{advice, nullptr, context};
    explainer.explain_manifest();
    explainer.explain_host();
    for (const auto* gpu : gpus)
        explainer.explain_gpu(*gpu, true);
    for (auto& reason : explainer.take())
        if (std::ranges::find(warnings, reason) == warnings.end())
            warnings.push_back(std::move(reason));
}

}  // namespace

Reason unmet(const Term& term, const Facts& facts, Truth result) {
    return unmet(term, facts, {.where = facts.gpu() ? facts.gpu()->id : "host"}, result);
}

std::vector<Reason> reasons_for(const JudgedVariant& judged, const ExplanationContext& context) {
    const auto& needs = judged.variant->needs;
    auto reasons = exclusion_reasons(judged, context);
    Explainer explainer{needs, judged.variant, context};
    explainer.explain_manifest();
    explainer.explain_host();
    const auto vendors = vendors_of(needs);
    const auto& gpus = context.machine.gpus;
    // If the host rules the variant out, reasons about GPUs would not help users.
    const bool depends_on_gpus = !needs.devices.empty() && !explainer.is_for_other_hosts();
    for (std::size_t i = 0; i < gpus.size() && depends_on_gpus; ++i) {
        const auto& vendor = gpus[i].get<std::string>(FactId::Vendor).value;
        const bool is_meant =
            vendors.empty() || !vendor || std::ranges::find(vendors, *vendor) != vendors.end();
        // Skip GPUs on which the variant runs. If the variant runs on any GPU, skip GPUs from other
        // vendors too.
        if (is_covered(judged, i) || (!is_meant && judged.covered != 0))
            continue;
        explainer.explain_gpu(gpus[i], is_meant);
    }
    if (gpus.empty() && depends_on_gpus)
        reasons.push_back(because("no-gpu", {{"where", "host"}}));
    // GPUs on which the variant runs have no reasons, so a lack of GPUs is a reason about the host.
    const auto covered = static_cast<std::uint32_t>(std::popcount(judged.covered));
    if (depends_on_gpus && covered != 0 && covered < needs.gpus_min)
        reasons.push_back(because("too-few-gpus", {{"where", "host"},
                                                   {"have", std::uint64_t{covered}},
                                                   {"need", std::uint64_t{needs.gpus_min}}}));
    if (needs.devices.empty())
        explainer.repeat_refusals_of_cpu();
    std::ranges::move(explainer.take(), std::back_inserter(reasons));
    return reasons;
}

namespace {

/// The id of the GPU that the reason is about; "" for the host, the manifest and the request.
std::string gpu_of(const Reason& reason) {
    const auto* where = reason.detail.at("where").as_string();
    // A `where` with a colon is a GPU id.
    return where && where->find(':') != std::string::npos ? *where : "";
}

/// Whether both reasons mean that the GPU's vendor isn't the vendor in `needs`, which the variant
/// or its backend needs. A GPU of another vendor also fails the conditions on that vendor's
/// architectures and drivers, but one reason is enough.
bool repeats_vendor(const Reason& known, const Reason& reason) {
    return known.is("vendor-mismatch") && known.detail.at("needs") == reason.detail.at("needs");
}

/// The reasons for each GPU, without `where`.
std::map<std::string, std::vector<Reason>> by_gpu(const std::vector<Reason>& reasons) {
    std::map<std::string, std::vector<Reason>> found;
    for (auto reason : reasons)
        if (const auto id = gpu_of(reason); !id.empty()) {
            auto& own = found[id];
            reason.detail["where"] = Value{};
            const auto is_known = [&reason](const Reason& known) {
                return repeats_vendor(known, reason);
            };
            if (!reason.is("vendor-mismatch") || std::ranges::none_of(own, is_known))
                own.push_back(std::move(reason));
        }
    return found;
}

}  // namespace

std::vector<Reason> merged_for_alike_gpus(std::vector<Reason> reasons) {
    auto left = by_gpu(reasons);
    std::vector<Reason> merged;
    // A group of GPUs is added at the position of its first reason.
    for (auto& reason : reasons) {
        const auto id = gpu_of(reason);
        if (id.empty()) {
            merged.push_back(std::move(reason));
            continue;
        }
        const auto own = left.find(id);
        if (own == left.end())
            continue;
        auto group = own->second;
        // The ids are in sorted order, so that the answer does not depend on the order of the
        // report.
        std::vector<std::string> alike;
        for (auto other = left.begin(); other != left.end();) {
            const bool is_alike = other->second == group;
            if (is_alike)
                alike.push_back(other->first);
            other = is_alike ? left.erase(other) : std::next(other);
        }
        const std::vector<std::string> others{alike.begin() + 1, alike.end()};
        for (auto& each : group) {
            each.detail["where"] = alike.front();
            if (!others.empty())
                each.detail["also"] = to_value(others);
            merged.push_back(std::move(each));
        }
    }
    return merged;
}

std::vector<Reason> reasons_on(const Gpu& gpu, const std::vector<Reason>& reasons) {
    std::vector<Reason> kept;
    for (auto reason : reasons) {
        const auto id = gpu_of(reason);
        std::vector<std::string> others;
        (void)read_value(reason.detail.at("also"), others);
        if (!id.empty() && id != gpu.id && std::ranges::find(others, gpu.id) == others.end())
            continue;
        if (!id.empty()) {
            reason.detail["where"] = gpu.id;
            std::erase_if(*reason.detail.as_object(),
                          [](const auto& member) { return member.key == "also"; });
        }
        kept.push_back(std::move(reason));
    }
    return kept;
}

std::vector<Reason> warnings_for(const JudgedVariant& judged, const ExplanationContext& context) {
    std::vector<Reason> warnings;
    const auto& variant = *judged.variant;
    const auto& gpus = context.machine.gpus;
    if (variant.advice) {
        std::vector<const Facts*> covered;
        for (std::size_t i = 0; i < gpus.size(); ++i)
            if (is_covered(judged, i))
                covered.push_back(&gpus[i]);
        add_advice(*variant.advice, covered, context, warnings);
    }
    // The recommended conditions of an alternative apply to the GPUs on which the variant uses that
    // alternative.
    for (std::size_t i = 0; i < gpus.size() && !variant.needs.advice.empty(); ++i)
        if (const auto used =
                is_covered(judged, i) ? used_alternative(variant.needs, gpus[i]) : std::nullopt;
            used && *used < variant.needs.advice.size())
            add_advice(variant.needs.advice[*used], {&gpus[i]}, context, warnings);
    return warnings;
}

}  // namespace gpuprobe::inline policy
