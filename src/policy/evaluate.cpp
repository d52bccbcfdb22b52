// SPDX-License-Identifier: Apache-2.0
#include "policy/evaluate.h"

#include <algorithm>
#include <bit>

#include "policy/build_needs.h"
#include "policy/fact.h"
#include "report/compute_view.h"
#include "report/hardware.h"

namespace gpuprobe::inline policy {
namespace {

static_assert(kMaxVariantGpus <= 64, "JudgedVariant::covered has a bit for each");

/// The truth of a condition on each of up to 64 GPUs; bit n is the truth on GPU n.
struct GpuMask {
    std::uint64_t yes = 0;    ///< GPUs on which the condition is true
    std::uint64_t maybe = 0;  ///< GPUs on which the condition is or may be true

    /// Combines two conditions with "and".
    void narrow(const GpuMask& other) {
        yes &= other.yes;
        maybe &= other.maybe;
    }
};

/// Groups GPUs that no term can distinguish, so that each term is evaluated only once per group.
class LikeGpus {
public:
    explicit LikeGpus(const std::vector<Facts>& gpus) {
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            const auto found = std::ranges::find_if(
                groups_, [&](const Group& group) { return is_like(*group.first, gpus[i]); });
            auto& group =
                found == groups_.end() ? groups_.emplace_back(Group{.first = &gpus[i]}) : *found;
            group.members |= 1ULL << i;
            all_ |= 1ULL << i;
        }
    }

    [[nodiscard]] std::uint64_t all() const { return all_; }

    /// Evaluates a term on every GPU.
    [[nodiscard]] GpuMask ask(const Term& term) const {
        GpuMask mask;
        for (const auto& group : groups_) {
            const auto truth = holds(term, *group.first);
            if (truth == Truth::True)
                mask.yes |= group.members;
            if (truth != Truth::False)
                mask.maybe |= group.members;
        }
        return mask;
    }

private:
    struct Group {
        const Facts* first = nullptr;
        std::uint64_t members = 0;
    };
    std::vector<Group> groups_ = {};
    std::uint64_t all_ = 0;
};

/// Evaluates each term of a platform only once. If a term is about the host, all its bits are
/// equal.
std::vector<GpuMask> answers_to(const VariantIndex& index,
                                const MachineFacts& machine,
                                const LikeGpus& gpus) {
    std::vector<GpuMask> answers;
    answers.reserve(index.terms.size());
    for (const auto& term : index.terms) {
        if (!is_about_host(term)) {
            answers.push_back(gpus.ask(term));
            continue;
        }
        const auto truth = holds(term, machine.host);
        answers.push_back(
            {.yes = truth == Truth::True ? ~0ULL : 0, .maybe = truth != Truth::False ? ~0ULL : 0});
    }
    return answers;
}

/// The memory on the board, rounded to GiB; 0 if the size is unknown.
std::uint64_t whole_gib(const Facts& gpu) {
    const auto& memory = gpu.get<Bytes>(FactId::PhysicalMemory).value;
    return memory ? (memory->count + gib(1).count / 2) / gib(1).count : 0;
}

/// Whether at least one device node is inaccessible. If all nodes are accessible, the check of each
/// variant is skipped.
bool has_closed_nodes(const Report& report) {
    const auto is_shut = [](const DeviceNode& node) { return node.accessible == false; };
    return std::ranges::any_of(report.nodes, is_shut) ||
           std::ranges::any_of(report.gpus, [&is_shut](const Gpu& gpu) {
               return std::ranges::any_of(gpu.nodes, is_shut);
           });
}

/// Whether the request permits the GPU or accelerator with the id `id`.
bool is_permitted(const RecommendRequest& request, const std::string& id) {
    const auto has = [&id](const std::vector<std::string>& ids) {
        return std::ranges::find(ids, id) != ids.end();
    };
    return (!request.gpus || has(*request.gpus)) && !has(request.denied_gpus);
}

/// The GPUs that the request permits.
std::uint64_t gpus_allowed(const RecommendRequest& request, const MachineFacts& machine) {
    std::uint64_t allowed = 0;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i)
        if (is_permitted(request, machine.gpus[i].gpu()->id))
            allowed |= 1ULL << i;
    return allowed;
}

/// For each API, the GPUs that have reasons against the API's backend.
std::map<Api, std::uint64_t> gpus_in(const Refusals& refusals, const MachineFacts& machine) {
    std::map<Api, std::uint64_t> refused;
    for (const auto& [backend, gpus] : refusals)
        for (std::size_t i = 0; i < machine.gpus.size(); ++i)
            if (const auto api = api_of_backend(backend);
                api && gpus.contains(machine.gpus[i].gpu()->id))
                refused[*api] |= 1ULL << i;
    return refused;
}

/// For each API, the GPUs on which the application uses bundled libraries instead of libraries of
/// the host.
std::map<Api, std::uint64_t> served_gpus(const std::vector<BackendOnGpu>& order,
                                         const MachineFacts& machine) {
    std::map<Api, std::uint64_t> served;
    for (const auto& one : order)
        for (std::size_t i = 0; one.is_bundled && i < machine.gpus.size(); ++i)
            if (const auto api = api_of_backend(one.backend);
                api && machine.gpus[i].gpu()->id == one.gpu)
                served[*api] |= 1ULL << i;
    return served;
}

/// For each API and GPU, the best position in the order that a selection determines.
using Places = std::map<Api, std::vector<std::size_t>>;
constexpr auto kNoPlace = static_cast<std::size_t>(-1);

/// Looks up each of the GPUs in the order.
Places places_of(const std::vector<BackendOnGpu>& order, const MachineFacts& machine) {
    Places places;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const auto api = api_of_backend(order[place].backend);
        const auto gpu = std::ranges::find(machine.gpus, order[place].gpu,
                                           [](const Facts& facts) { return facts.gpu()->id; });
        // The order may name GPUs beyond the limit of kMaxVariantGpus.
        if (!api || gpu == machine.gpus.end())
            continue;
        auto& of_api = places.try_emplace(*api, machine.gpus.size(), kNoPlace).first->second;
        auto& known = of_api[static_cast<std::size_t>(gpu - machine.gpus.begin())];
        known = std::min(known, place);
    }
    return places;
}

/// An accelerator in the order that a selection determines.
struct AcceleratorPlace {
    std::string_view backend = {};
    std::string_view id = {};
    std::size_t place = 0;
};

/// The accelerators in a selection's order that the request permits. Test computations run only on
/// GPUs.
std::vector<AcceleratorPlace> accelerators_in(const std::vector<BackendOnGpu>& order,
                                              const RecommendRequest& request,
                                              const Report& report) {
    std::vector<AcceleratorPlace> places;
    if (request.require_verified || request.need)
        return places;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const auto& one = order[place];
        const bool is_one = std::ranges::find(report.accelerators, one.gpu, &Accelerator::id) !=
                            report.accelerators.end();
        if (is_one && is_permitted(request, one.gpu))
            places.push_back({.backend = one.backend, .id = one.gpu, .place = place});
    }
    return places;
}

/// Whether all alternatives of the variant use the backend. Variants without requirements for
/// devices compute on the CPU.
bool computes_with(const Variant& variant, std::string_view backend) {
    if (variant.needs.devices.empty())
        return backend == kCpu;
    return std::ranges::all_of(variant.needs.devices, [&](const Conjunction& alternative) {
        return std::ranges::any_of(apis_used(variant, alternative),
                                   [backend](Api api) { return info_of(api).backend == backend; });
    });
}

/// Judges the variants for one platform on one machine.
class Evaluator {
public:
    Evaluator(const VariantPlatform& platform,
              const RecommendRequest& request,
              const MachineFacts& machine,
              std::span<const FailedVariant> failed,
              const SelectionView& selection)
        : platform_{platform},
          request_{request},
          machine_{machine},
          failed_{failed},
          gpus_{machine.gpus},
          answers_{answers_to(platform.index, machine, gpus_)},
          has_closed_nodes_{has_closed_nodes(machine.host.report())},
          allowed_{gpus_allowed(request, machine)},
          refused_{gpus_in(selection.refusals, machine)},
          unknown_{gpus_in(selection.unknown, machine)},
          is_cpu_refused_{selection.refusals.contains(kCpu)},
          places_{places_of(selection.order, machine)},
          accelerators_{accelerators_in(selection.order, request, machine.host.report())} {
        serve(served_gpus(selection.order, machine));
        // From here on, `maybe` means that the term is true, or that it is unknown and accepts
        // unknown facts.
        for (std::size_t i = 0; i < answers_.size(); ++i)
            if (!platform.index.terms[i].accepts_unknown)
                answers_[i].maybe = answers_[i].yes;
        if (const auto added = added_term(request)) {
            added_ = gpus_.ask(*added);
            added_->maybe = added_->yes;
        }
    }

    /// The verdict on the variant at an index, and its sort keys.
    [[nodiscard]] JudgedVariant judge(std::size_t place) const {
        const auto& variant = platform_.variants[place];
        const auto& entry = platform_.index.entries[place];
        JudgedVariant judged{.variant = &variant,
                             .exclusion = exclusion_of(variant),
                             .preference = preference_of(variant),
                             .tier = entry.tier,
                             .priority = entry.priority};
        const bool is_refused = entry.alternatives == 0 && is_cpu_refused_;
        const auto host = entry.is_supported && !is_refused ? host_holds(entry) : Truth::False;
        auto devices = devices_hold(entry, judged);
        for (const auto& one : accelerators_)
            if (entry.alternatives != 0 && one.backend == variant.family)
                judged.accelerators.emplace_back(one.id);
        if (!judged.accelerators.empty())
            devices = Truth::True;
        judged.verdict = verdict_of(both(host, devices));
        // If the variant would run on a GPU that the request excludes, report the exclusion as the
        // reason.
        if (host != Truth::False && devices == Truth::False && is_ruled_out(entry, variant))
            judged.exclusion = Exclusion::NotRequested;
        if (!failed_.empty())
            take_back(variant.needs, judged);
        // An exclusion overrides the verdict that is based on facts.
        if (judged.exclusion != Exclusion::None)
            judged.verdict = Verdict::Rejected;
        judged.place = place_of(judged);
        count(judged);
        return judged;
    }

private:
    /// Assumes that APIs with bundled libraries are usable, and treats unknown terms about such
    /// APIs as true. Facts that are known to rule out the GPU still count.
    void serve(const std::map<Api, std::uint64_t>& served) {
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            const auto& term = platform_.index.terms[i];
            const auto api = api_of(term);
            const auto found = api ? served.find(*api) : served.end();
            if (found == served.end())
                continue;
            // Usability is ignored, even if it is known, because it depends on the host's
            // libraries.
            const auto open = term.fact == FactId::Usable ? ~0ULL : answers_[i].maybe;
            answers_[i].yes |= found->second & open;
            answers_[i].maybe |= found->second & open;
        }
    }

    /// The exclusion that applies to all GPUs.
    Exclusion exclusion_of(const Variant& variant) const {
        const auto is_meant = [&variant](const auto& word) { return means(word, variant); };
        if (std::ranges::any_of(request_.exclude, is_meant))
            return Exclusion::Excluded;
        for (const auto* words : {&request_.only, &request_.allowed, &request_.allowed_backends})
            if (*words && std::ranges::none_of(**words, is_meant))
                return Exclusion::NotRequested;
        const bool has_failed =
            std::ranges::any_of(failed_, [&variant](const FailedVariant& failed) {
                return !failed.gpu && means(failed.word, variant);
            });
        return has_failed ? Exclusion::ReportedFailed : Exclusion::None;
    }

    /// The GPUs on which the application reported that the variant failed.
    std::uint64_t failed_gpus(const Variant& variant) const {
        std::uint64_t gpus = 0;
        for (const auto& failed : failed_)
            for (std::size_t i = 0; failed.gpu && i < machine_.gpus.size(); ++i)
                if (goes_by(*machine_.gpus[i].gpu(), *failed.gpu) && means(failed.word, variant))
                    gpus |= 1ULL << i;
        return gpus;
    }

    /// Removes the GPUs on which the variant failed. The variant is excluded only if too few GPUs
    /// are left, or if the variant needs all GPUs.
    void take_back(const Requirements& needs, JudgedVariant& judged) const {
        const auto failed = judged.covered & failed_gpus(*judged.variant);
        judged.covered &= ~failed;
        const auto left = static_cast<std::uint32_t>(std::popcount(judged.covered));
        if (failed != 0 && (left < needs.gpus_min || needs.scope == VariantScope::All))
            judged.exclusion = Exclusion::ReportedFailed;
    }

    /// The index of the first word in `prefer` that matches; if no word matches, the size of the
    /// list.
    std::size_t preference_of(const Variant& variant) const {
        const auto found = std::ranges::find_if(
            request_.prefer, [&variant](const auto& word) { return means(word, variant); });
        return static_cast<std::size_t>(found - request_.prefer.begin());
    }

    /// The best position of the GPUs and accelerators on which the variant runs. If it isn't known
    /// whether the variant runs on any GPU, the best position of the GPUs on which it may run.
    [[nodiscard]] std::size_t place_of(const JudgedVariant& judged) const {
        const auto gpus = judged.covered != 0 ? judged.covered : judged.possible;
        auto first = kNoPlace;
        for (const auto& one : accelerators_)
            if (!judged.accelerators.empty() && one.id == judged.accelerators.front())
                first = std::min(first, one.place);
        for (const auto& alternative : judged.variant->needs.devices)
            for (const auto api : apis_used(*judged.variant, alternative))
                if (const auto of_api = places_.find(api); of_api != places_.end())
                    for (std::size_t i = 0; i < of_api->second.size(); ++i)
                        if ((gpus >> i & 1U) != 0)
                            first = std::min(first, of_api->second[i]);
        return first;
    }

    /// Combines `mask` with the results of `count` terms, beginning at an index in the list of
    /// terms.
    [[nodiscard]] GpuMask all_of(std::size_t first, std::size_t count, GpuMask mask) const {
        for (std::size_t i = first; i < first + count; ++i)
            mask.narrow(answers_[platform_.index.words[i]]);
        return mask;
    }

    [[nodiscard]] Truth host_holds(const VariantIndex::Entry& entry) const {
        // For terms about the host, all bits are equal, so computing one bit is enough.
        const auto mask = all_of(entry.first, entry.host, {.yes = 1, .maybe = 1});
        if (mask.yes != 0)
            return Truth::True;
        return mask.maybe != 0 ? Truth::Unknown : Truth::False;
    }

    /// The GPUs on which all APIs of an alternative were verified.
    [[nodiscard]] std::uint64_t verified(const Variant& variant, std::size_t alternative) const {
        const auto apis = apis_used(variant, variant.needs.devices[alternative]);
        std::uint64_t gpus = 0;
        for (std::size_t i = 0; i < machine_.gpus.size(); ++i)
            if (is_verified(apis, machine_.gpus[i]))
                gpus |= 1ULL << i;
        return gpus;
    }

    /// The GPUs whose device nodes aren't known to be inaccessible.
    [[nodiscard]] std::uint64_t open(const Variant& variant, std::size_t alternative) const {
        std::uint64_t gpus = 0;
        for (std::size_t i = 0; i < machine_.gpus.size(); ++i)
            if (closed_nodes(variant, variant.needs.devices[alternative], machine_.gpus[i]).empty())
                gpus |= 1ULL << i;
        return gpus;
    }

    /// The GPUs in `by_api` for one of the alternative's APIs.
    static std::uint64_t any_of(const std::map<Api, std::uint64_t>& by_api,
                                const Variant& variant,
                                std::size_t alternative) {
        std::uint64_t gpus = 0;
        for (const auto api : apis_used(variant, variant.needs.devices[alternative]))
            if (const auto found = by_api.find(api); found != by_api.end())
                gpus |= found->second;
        return gpus;
    }

    /// Whether the alternative is met even if it isn't known whether its API works.
    static bool accepts_unknown_api(const Conjunction& alternative) {
        return std::ranges::any_of(alternative, [](const Term& term) {
            return term.fact == FactId::Usable && term.accepts_unknown;
        });
    }

    /// The GPUs on which the application does not refuse an API that the alternative uses.
    [[nodiscard]] GpuMask permitted(const Variant& variant,
                                    std::size_t alternative,
                                    std::uint64_t gpus) const {
        if (!refused_.empty())
            gpus &= ~any_of(refused_, variant, alternative);
        if (unknown_.empty())
            return {.yes = gpus, .maybe = gpus};
        const auto known = gpus & ~any_of(unknown_, variant, alternative);
        const bool is_accepted = accepts_unknown_api(variant.needs.devices[alternative]);
        return {.yes = known, .maybe = is_accepted ? gpus : known};
    }

    /// Whether the variant may run on a GPU that the request does not permit.
    [[nodiscard]] bool is_ruled_out(const VariantIndex::Entry& entry,
                                    const Variant& variant) const {
        return allowed_ != gpus_.all() && covered(entry, variant, gpus_.all()).maybe != 0;
    }

    /// The permitted GPUs on which at least one alternative holds.
    [[nodiscard]] GpuMask covered(const VariantIndex::Entry& entry,
                                  const Variant& variant,
                                  std::uint64_t allowed) const {
        GpuMask covered;
        // The index stores each alternative as the number of its terms, followed by the terms.
        std::size_t place = entry.first + entry.host;
        for (std::uint32_t i = 0; i < entry.alternatives; ++i) {
            const auto count = platform_.index.words[place];
            auto gpus = allowed & (request_.require_verified ? verified(variant, i) : gpus_.all());
            if (has_closed_nodes_)
                gpus &= open(variant, i);
            const auto mask = all_of(place + 1, count, permitted(variant, i, gpus));
            covered.yes |= mask.yes;
            covered.maybe |= mask.maybe;
            place += 1 + count;
        }
        // The minimum memory in the request applies to every alternative.
        if (added_)
            covered.narrow(*added_);
        return covered;
    }

    /// Whether the variant's requirements for devices hold. Stores the covered GPUs.
    Truth devices_hold(const VariantIndex::Entry& entry, JudgedVariant& judged) const {
        if (entry.alternatives == 0)
            return Truth::True;
        const auto mask = covered(entry, *judged.variant, allowed_);
        judged.covered = mask.yes;
        judged.possible = mask.yes | mask.maybe;
        // If a variant needs all GPUs, it must cover every GPU for which it is meant.
        const auto wanted = entry.needs_all ? gpus_meant(judged.variant->needs) : 0;
        const auto suffice = [&entry, wanted](std::uint64_t gpus) {
            return static_cast<std::uint32_t>(std::popcount(gpus)) >= entry.gpus_min &&
                   (gpus & wanted) == wanted;
        };
        if (suffice(mask.yes))
            return Truth::True;
        return suffice(mask.maybe) ? Truth::Unknown : Truth::False;
    }

    /// The permitted GPUs from vendors that the variant supports, and from unknown vendors.
    std::uint64_t gpus_meant(const Requirements& needs) const {
        const auto vendors = vendors_of(needs);
        std::uint64_t meant = 0;
        for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
            const auto& vendor = machine_.gpus[i].get<std::string>(FactId::Vendor).value;
            if (vendors.empty() || !vendor || std::ranges::find(vendors, *vendor) != vendors.end())
                meant |= 1ULL << i;
        }
        return meant & allowed_;
    }

    static Verdict verdict_of(Truth truth) {
        if (truth == Truth::True)
            return Verdict::Accepted;
        return truth == Truth::Unknown ? Verdict::Uncertain : Verdict::Rejected;
    }

    /// Computes the sort keys that depend on the covered GPUs.
    void count(JudgedVariant& judged) const {
        judged.gpus = std::popcount(judged.covered);
        for (auto rest = judged.covered; rest != 0; rest &= rest - 1) {
            const auto& gpu = machine_.gpus[static_cast<std::size_t>(std::countr_zero(rest))];
            if (gpu.gpu()->kind != GpuKind::Discrete)
                continue;
            judged.gib += whole_gib(gpu);
            ++judged.discrete;
        }
    }

    const VariantPlatform& platform_;
    const RecommendRequest& request_;
    const MachineFacts& machine_;
    std::span<const FailedVariant> failed_;
    LikeGpus gpus_;
    std::vector<GpuMask> answers_;
    std::optional<GpuMask> added_ = {};  ///< what the request requires of every GPU
    bool has_closed_nodes_;
    std::uint64_t allowed_;  ///< GPUs that the request permits
    std::map<Api, std::uint64_t> refused_;
    std::map<Api, std::uint64_t> unknown_;
    bool is_cpu_refused_;
    Places places_;
    std::vector<AcceleratorPlace> accelerators_;
};

/// The order of evaluate(). Variants are stored in the order of their names, so comparing their
/// addresses compares their names.
bool comes_before(const JudgedVariant& left, const JudgedVariant& right) {
    const bool is_rejected = left.verdict == Verdict::Rejected;
    if (is_rejected != (right.verdict == Verdict::Rejected))
        return !is_rejected;
    if (is_rejected)
        return left.variant < right.variant;
    if (left.preference != right.preference)
        return left.preference < right.preference;
    if (left.place != right.place)
        return left.place < right.place;
    if (left.tier != right.tier)
        return left.tier > right.tier;
    if (left.verdict != right.verdict)
        return left.verdict == Verdict::Accepted;
    const auto coverage = [](const JudgedVariant& judged) {
        return std::tuple{judged.gib, judged.discrete, judged.gpus, judged.priority};
    };
    if (coverage(left) != coverage(right))
        return coverage(left) > coverage(right);
    return left.variant < right.variant;
}

/// The vendors that an alternative supports, from its vendor term or from the API of another term;
/// if empty, any vendor.
std::vector<std::string> vendors_of(const Conjunction& alternative) {
    for (const auto& term : alternative)
        if (term.fact == FactId::Vendor && term.relation == Relation::Is)
            return std::get<std::vector<std::string>>(term.need);
    // If there is no vendor term, a term about an API of a single vendor implies the vendor.
    for (const auto& term : alternative)
        if (const auto api = api_of(term); api && !info_of(*api).vendor.empty())
            return {std::string{info_of(*api).vendor}};
    return {};
}

}  // namespace

bool means(std::string_view word, const Variant& variant) {
    constexpr std::string_view kFamily = "family:";
    constexpr std::string_view kVariant = "variant:";
    constexpr std::string_view kBackend = "backend:";
    if (word.starts_with(kBackend))
        return computes_with(variant, word.substr(kBackend.size()));
    if (word.starts_with(kFamily))
        return word.substr(kFamily.size()) == variant.family;
    if (word.starts_with(kVariant))
        return word.substr(kVariant.size()) == variant.name;
    return word == variant.name || word == variant.family;
}

std::optional<Term> added_term(const RecommendRequest& request) {
    return request.need ? std::optional{memory_floor(*request.need, "need-mib")} : std::nullopt;
}

std::vector<std::string> vendors_of(const Requirements& requirements) {
    std::vector<std::string> vendors;
    for (const auto& alternative : requirements.devices) {
        const auto more = vendors_of(alternative);
        // If one alternative supports any vendor, the variant supports any vendor.
        if (more.empty() || std::ranges::find(more, "other") != more.end())
            return {};
        vendors.insert(vendors.end(), more.begin(), more.end());
    }
    return vendors;
}

std::vector<JudgedVariant> evaluate(const VariantPlatform& platform,
                                    const RecommendRequest& request,
                                    const MachineFacts& machine,
                                    std::span<const FailedVariant> failed,
                                    const SelectionView& selection) {
    const Evaluator evaluator{platform, request, machine, failed, selection};
    std::vector<JudgedVariant> judged;
    judged.reserve(platform.variants.size());
    for (std::size_t i = 0; i < platform.variants.size(); ++i)
        judged.push_back(evaluator.judge(i));
    std::ranges::sort(judged, comes_before);
    return judged;
}

}  // namespace gpuprobe::inline policy
