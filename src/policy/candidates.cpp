// SPDX-License-Identifier: Apache-2.0
#include "policy/candidates.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "policy/accelerators.h"
#include "policy/gpu_selection.h"
#include "policy/known_bad.h"
#include "policy/profile.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

/// Whether the GPU is preferred to integrated GPUs, because it is discrete or counts as discrete.
bool is_discrete(const Judged& judged) {
    const bool was_lifted =
        judged.gpu && judged.gpu->kind == GpuKind::Integrated && !judged.is_fallback;
    return judged.gpu && (judged.gpu->kind == GpuKind::Discrete || was_lifted);
}

/// All GPUs in this order: the GPUs that the request names, in the order of the request, then all
/// other GPUs, best first.
std::vector<const Gpu*> gpus_in_order(const SelectQuestion& question, const Report& report) {
    auto gpus = in_order(report);
    if (question.gpus)
        std::ranges::stable_sort(gpus, {}, [&question](const Gpu* gpu) {
            const auto names = [gpu](const std::string& id) { return goes_by(*gpu, id); };
            return std::ranges::find_if(*question.gpus, names) - question.gpus->begin();
        });
    return gpus;
}

/// The position of the word in `order`; the size of `order` if the word is missing.
std::size_t place_in(const std::vector<std::string>& order, const std::string& word) {
    return static_cast<std::size_t>(std::ranges::find(order, word) - order.begin());
}

/// Sorts the candidates by GPU, then by backend. Preferred backends stay at the beginning.
void put_gpus_first(const SelectQuestion& question,
                    const std::vector<const Gpu*>& gpus,
                    std::vector<Judged>& all) {
    std::ranges::stable_sort(all, {}, [&](const Judged& judged) {
        return std::pair{place_in(question.preferred, judged.candidate.backend),
                         std::ranges::find(gpus, judged.gpu)};
    });
}

/// Whether the profile prefers `other` to `judged`, apart from the order of backends and GPUs.
bool comes_after(const Judged& judged, const Judged& other) {
    return judged.lacks && !other.lacks;
}

/// If a candidate lacks something that the profile prefers, moves the candidate behind all
/// candidates that have it. Backends that the request prefers stay at the beginning.
void put_preferred_first(const SelectQuestion& question, std::vector<Judged>& all) {
    std::ranges::stable_sort(all, {}, [&question](const Judged& judged) {
        return std::pair{place_in(question.preferred, judged.candidate.backend),
                         judged.lacks != nullptr};
    });
}

/// Adds the known-bad pairs that affect a candidate to each candidate that isn't rejected.
void remark_known_bad(const Report& report, std::vector<Judged>& all) {
    KnownBad known_bad{report};
    for (auto& judged : all)
        if (judged.gpu && judged.candidate.verdict != Verdict::Rejected)
            std::ranges::move(known_bad.on(*judged.gpu, judged.candidate.backend),
                              std::back_inserter(judged.candidate.reasons));
}

/// Judges all candidates. The result is sorted by backend, in order of preference, and then by GPU;
/// if the profile prefers it, by GPU first. Candidates without a GPU are at the end.
std::vector<Judged> judge_all(const SelectQuestion& question, const Report& report) {
    const auto gpus = gpus_in_order(question, report);
    std::vector<Judged> all;
    for (const auto& backend : question.backends) {
        for (const auto* gpu : gpus)
            if (is_for(backend, report, *gpu))
                all.push_back(judge(question, backend, *gpu, report));
        std::ranges::move(judge_without_gpu(question, backend, report), std::back_inserter(all));
    }
    if (question.profile.order == ChoiceOrder::Gpus)
        put_gpus_first(question, gpus, all);
    if (!question.profile.prefers.empty())
        put_preferred_first(question, all);
    all.push_back(judge_cpu(question, report));
    if (!question.is_simulated)
        remark_known_bad(report, all);
    return all;
}

/// The candidates for a request that does not want a GPU.
std::vector<Judged> judge_without_looking(const SelectQuestion& question, const Report& report) {
    std::vector<Judged> all;
    for (const auto& backend : question.backends)
        all.push_back(judge_switched_off(backend));
    all.push_back(judge_cpu(question, report));
    return all;
}

/// The application's names for the backends that have an accepted candidate, in order.
std::vector<std::string> detected(const SelectQuestion& question, const std::vector<Judged>& all) {
    auto backends = question.backends;
    backends.emplace_back(kCpu);
    std::vector<std::string> words;
    for (const auto& backend : backends)
        if (std::ranges::any_of(all, [&backend](const Judged& judged) {
                return is_accepted(judged) && judged.candidate.backend == backend;
            }))
            words.push_back(question.word_for(backend));
    return words;
}

/// Whether the backends that the request demands include this backend. If the CPU follows other
/// backends, it is the fallback for these backends, and counts only if one of them was built in.
/// Otherwise, a request for a GPU would get the CPU without a warning.
bool is_meant(const SelectQuestion& question, const std::string& backend) {
    const auto& forced = *question.forced;
    if (std::ranges::find(forced, backend) == forced.end())
        return false;
    if (backend != kCpu || forced.size() == 1 || !question.built)
        return true;
    return std::ranges::any_of(forced, [&question](const std::string& other) {
        return other != kCpu && question.built->contains(other);
    });
}

/// Rejects candidates for backends that weren't requested.
void keep_to_forced(const SelectQuestion& question, std::vector<Judged>& all) {
    if (!question.forced)
        return;
    const Value requested{Value::Array{Value{question.requested}}};
    for (auto& judged : all)
        if (!is_meant(question, judged.candidate.backend))
            judged.reject(because("not-requested", {{"requested", requested}}));
}

/// Rejects integrated GPUs if a discrete GPU was accepted, unless the profile prefers the
/// integrated GPU. A GPU that counts as discrete for another backend is the same GPU, so it does
/// not displace itself.
void prefer_discrete(const SelectQuestion& question, std::vector<Judged>& all) {
    if (question.integrated != IntegratedPolicy::Fallback)
        return;
    for (auto& judged : all) {
        if (!judged.is_fallback || !is_accepted(judged))
            continue;
        const auto discrete = std::ranges::find_if(all, [&judged](const Judged& other) {
            return is_accepted(other) && is_discrete(other) && other.gpu != judged.gpu &&
                   !comes_after(other, judged);
        });
        if (discrete != all.end())
            judged.reject(because("discrete-preferred",
                                  {{"backend", question.word_for(discrete->candidate.backend)},
                                   {"gpu", discrete->gpu->id}}));
    }
}

/// Adds a reason to each accepted candidate if the profile prefers another candidate.
void mark_less_preferred(std::vector<Judged>& all) {
    const bool has_better = std::ranges::any_of(all, [](const Judged& judged) {
        return judged.gpu && is_accepted(judged) && !judged.lacks;
    });
    for (auto& judged : all) {
        if (!has_better || !judged.lacks || !is_accepted(judged))
            continue;
        auto requirement = judged.lacks->text;
        // The fact is known, so the words "or unknown" would be confusing.
        if (judged.lacks->takes_doubt)
            requirement.erase(requirement.rfind(" or "));
        judged.candidate.reasons.push_back(
            because("less-preferred", {{"requirement", requirement}}));
    }
}

/// Rejects candidates that crash or compute wrong results if a different candidate was accepted.
void avoid_unsound(const SelectQuestion& question, std::vector<Judged>& all) {
    const auto is_sound = [](const Judged& judged) {
        return is_accepted(judged) && !is_unsound(judged.candidate.reasons);
    };
    const auto sound = std::ranges::find_if(all, is_sound);
    if (sound == all.end())
        return;
    const auto other = question.word_for(sound->candidate.backend);
    for (auto& judged : all)
        if (judged.candidate.verdict != Verdict::Rejected && is_unsound(judged.candidate.reasons))
            judged.reject(because("unsound", {{"backend", other}}));
}

/// Rejects the CPU for strict requests, unless the CPU was requested.
void keep_cpu_out(const SelectQuestion& question, std::vector<Judged>& all) {
    const bool is_asked_for =
        question.asks_for(kCpu) || (question.only && *question.only == std::set{std::string{kCpu}});
    for (auto& judged : all)
        if (question.strict && !is_asked_for && judged.candidate.backend == kCpu)
            judged.reject(because("strict"));
}

/// Adds a reason to candidates with unknown facts, because they aren't chosen.
void mark_unknown(std::vector<Judged>& all) {
    for (auto& judged : all)
        if (judged.candidate.verdict == Verdict::Unknown)
            judged.candidate.reasons.push_back(because("unknown-not-chosen"));
}

// Functions that sort candidates by measurement (Judged::score; a higher score is better).

/// Two scores count as equal if they differ by at most this fraction of the better score, because
/// repeated measurements can differ by that much.
constexpr double kSameSpeed = 0.05;

bool is_cpu(const Judged& judged) {
    return judged.candidate.backend == kCpu;
}

/// Whether a candidate is on a GPU, was accepted, and was measured.
bool competes(const Judged& judged) {
    return judged.gpu && may_be_chosen(judged) && judged.score;
}

/// Whether `score` is higher than `best`, or both count as equal.
bool is_as_fast(double score, double best) {
    return score >= best * (1 - kSameSpeed);
}

/// The first of the measured GPU candidates that are fastest.
const Judged* fastest_gpu(const std::vector<Judged>& all) {
    double best = 0;
    for (const auto& judged : all)
        if (competes(judged))
            best = std::max(best, *judged.score);
    const auto found = std::ranges::find_if(all, [best](const Judged& judged) {
        return competes(judged) && is_as_fast(*judged.score, best);
    });
    return found == all.end() ? nullptr : &*found;
}

/// The candidate for the CPU, if it was accepted and measured.
const Judged* measured_cpu(const std::vector<Judged>& all) {
    const auto found = std::ranges::find_if(all, [](const Judged& judged) {
        return is_cpu(judged) && is_accepted(judged) && judged.score;
    });
    return found == all.end() ? nullptr : &*found;
}

/// The first accepted candidate on a GPU on which no backend was measured.
const Judged* first_on_an_unmeasured_gpu(const std::vector<Judged>& all) {
    std::set<const Gpu*> measured;
    for (const auto& judged : all)
        if (judged.gpu && judged.score)
            measured.insert(judged.gpu);
    const auto found = std::ranges::find_if(all, [&](const Judged& judged) {
        return judged.gpu && may_be_chosen(judged) && !measured.contains(judged.gpu);
    });
    return found == all.end() ? nullptr : &*found;
}

/// Whether the candidate was measured as slower than the CPU. This applies only to candidates that
/// were accepted or have no GPU, because users may wonder why these candidates weren't chosen.
bool is_slower(const Judged& judged, const Judged& cpu) {
    return !is_cpu(judged) && (is_accepted(judged) || !judged.gpu) && judged.score &&
           !is_as_fast(*judged.score, *cpu.score);
}

/// The best of the accepted candidates by measurement:
///
/// 1. the fastest measured GPU candidate, unless the CPU is faster; among equally fast ones, the
///    first in the documented order;
/// 2. the first candidate on an unmeasured GPU, because the CPU may not be faster than that GPU;
/// 3. the CPU if it was measured as faster.
///
/// Null if no GPU candidate was measured; in this case, the documented order applies.
const Judged* fastest_of(const std::vector<Judged>& all) {
    const auto* fastest = fastest_gpu(all);
    const auto* cpu = measured_cpu(all);
    if (!fastest || !cpu || !is_slower(*fastest, *cpu))
        return fastest;
    // The CPU is faster than every measured GPU, but a GPU that wasn't measured might be faster
    // than the CPU.
    const auto* unmeasured = first_on_an_unmeasured_gpu(all);
    return unmeasured ? unmeasured : cpu;
}

/// Adds `not-measured` to each accepted candidate without a score, and `slower-than-cpu` {score,
/// cpu_score} to each candidate on a GPU or software device that was measured slower than an
/// accepted CPU.
void mark_measured(std::vector<Judged>& all) {
    const auto* cpu = measured_cpu(all);
    for (auto& judged : all) {
        if (is_accepted(judged) && !judged.score)
            judged.candidate.reasons.push_back(because("not-measured"));
        if (cpu && is_slower(judged, *cpu))
            judged.candidate.reasons.push_back(
                because("slower-than-cpu", {{"score", *judged.score}, {"cpu_score", *cpu->score}}));
    }
}

/// Whether another backend that may be chosen on the same GPU takes precedence, because the request
/// or the profile prefers that backend, or because of the profile's order for the GPU's vendor.
bool is_outdone(const SelectQuestion& question,
                const std::vector<Judged>& all,
                const Judged& judged) {
    const auto order = question.backends_for(judged.gpu->vendor);
    const auto rank = [&](const Judged& one) {
        const auto& backend = one.candidate.backend;
        return std::tuple{place_in(question.preferred, backend), one.lacks != nullptr,
                          place_in(order, backend)};
    };
    return std::ranges::any_of(all, [&](const Judged& other) {
        return other.gpu == judged.gpu && may_be_chosen(other) && rank(other) < rank(judged);
    });
}

/// The chosen candidate; see Attempt::best().
const Judged* best_of(const SelectQuestion& question, const std::vector<Judged>& all) {
    if (const auto* fastest = question.ranks_by_measurement ? fastest_of(all) : nullptr)
        return fastest;
    for (const auto& judged : all)
        if (may_be_chosen(judged) && (!judged.gpu || !is_outdone(question, all, judged)))
            return &judged;
    return nullptr;
}

/// The accepted and possible choices in groups: first the choice itself, then candidates that are
/// not outranked by another backend on their GPU, then candidates that another backend outranks,
/// then integrated GPUs that were rejected in favor of a discrete GPU. Within a group, the order of
/// the candidates is kept.
std::vector<BackendOnGpu> order_of(const SelectQuestion& question, const std::vector<Judged>& all) {
    const auto* best = best_of(question, all);
    const auto rank = [&](const Judged& judged) {
        if (&judged == best)
            return 0;
        if (judged.candidate.verdict == Verdict::Rejected)
            return 3;
        return is_outdone(question, all, judged) ? 2 : 1;
    };
    // A term of a variant cannot judge an accelerator, so only accepted accelerators count.
    const auto counts = [best](const Judged& judged) {
        if (judged.is_accelerator)
            return &judged == best || is_accepted(judged);
        return judged.candidate.verdict != Verdict::Rejected ||
               has_reason(judged.candidate.reasons, "discrete-preferred");
    };
    std::vector<const Judged*> on_gpus;
    for (const auto& judged : all)
        if (judged.gpu && counts(judged))
            on_gpus.push_back(&judged);
    std::ranges::stable_sort(on_gpus, {}, [&rank](const Judged* judged) { return rank(*judged); });
    std::vector<BackendOnGpu> order;
    for (const auto* judged : on_gpus)
        order.push_back({.backend = judged->candidate.backend,
                         .gpu = judged->gpu->id,
                         .is_bundled = is_accepted(*judged) &&
                                       has_reason(judged->candidate.reasons, "bundled")});
    return order;
}

/// The candidates in the form in which variants are compared with them, before the candidates are
/// compared with each other.
SelectionView view_of(const SelectQuestion& question, std::vector<Judged> all) {
    avoid_unsound(question, all);
    SelectionView view;
    for (const auto& judged : all) {
        const auto& candidate = judged.candidate;
        const auto& [backend, gpu] = std::tie(candidate.backend, candidate.gpu);
        // Of the candidates without a GPU, only the CPU matters, because no variant runs on
        // software devices. The requirements of variants do not concern accelerators.
        if ((!judged.gpu && backend != kCpu) || judged.is_accelerator)
            continue;
        if (candidate.verdict == Verdict::Rejected || judged.lacks_facts)
            view.refusals[backend].emplace(gpu.value_or(""), candidate.reasons);
        else if (candidate.verdict == Verdict::Unknown)
            view.unknown[backend].emplace(gpu.value_or(""), candidate.reasons);
    }
    // From here on, rejections affect only the order of the GPUs.
    prefer_discrete(question, all);
    if (question.ranks_by_measurement)
        mark_measured(all);
    view.order = order_of(question, all);
    return view;
}

/// Judges all candidates and then compares them.
Attempt attempt(const SelectQuestion& question,
                const SelectRequest& request,
                const Report& report) {
    Attempt made;
    made.all = is_switched_off(request) ? judge_without_looking(question, report)
                                        : judge_all(question, report);
    // `detected` lists the usable backends, so it is collected before the request restricts them.
    made.detected = detected(question, made.all);
    keep_to_forced(question, made.all);
    keep_cpu_out(question, made.all);
    avoid_unsound(question, made.all);
    if (question.published)
        keep_to_variants(question, report, view_of(question, made.all), made);
    prefer_discrete(question, made.all);
    mark_less_preferred(made.all);
    mark_unknown(made.all);
    if (question.ranks_by_measurement)
        mark_measured(made.all);
    return made;
}

}  // namespace

const Judged* Attempt::best(const SelectQuestion& question) const {
    return best_of(question, all);
}

Attempt attempt_or_give_up(SelectQuestion& question,
                           const SelectRequest& request,
                           const Report& report) {
    auto made = attempt(question, request, report);
    const bool may_give_up = question.forced && !question.strict &&
                             question.profile.unavailable_request == UnavailableRequest::Auto;
    if (made.best(question) || !may_give_up)
        return made;
    // If nothing can be chosen, try again without the requested backend.
    const auto forced = std::exchange(question.forced, std::nullopt);
    made = attempt(question, request, report);
    made.was_given_up = true;
    question.forced = forced;  // used in messages
    return made;
}

SelectionView selection_view(const Profile& profile,
                             const SelectRequest& request,
                             const Report& report,
                             const Experience& experience) {
    const SelectionMachine machine{profile, report};
    const auto& view = machine.report();
    SelectionView seen;
    if (const auto plain = question_from(profile, {.environment = request.environment}, view, {}))
        seen = view_of(*plain, judge_all(*plain, view));
    seen.order.clear();
    if (auto question = question_from(profile, request, view, experience))
        seen.order = order_of(*question, attempt_or_give_up(*question, request, view).all);
    return seen;
}

}  // namespace gpuprobe::inline policy
