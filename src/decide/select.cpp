// SPDX-License-Identifier: Apache-2.0
#include "decide/select.h"

#include <algorithm>

#include "decide/backend_words.h"
#include "decide/environment.h"
#include "decide/gpu_order.h"
#include "decide/judge.h"
#include "decide/terms.h"

namespace gpuprobe {
namespace {

bool is_accepted(const Judged& judged) {
    return judged.candidate.verdict == Verdict::Accepted;
}

bool is_integrated(const Judged& judged) {
    return judged.gpu && judged.gpu->kind == GpuKind::Integrated;
}

/// By backend in order of preference, within one by GPU, best first; then what has no GPU.
std::vector<Judged> judge_all(const Terms& terms, const Report& report) {
    const auto gpus = in_order(report);
    std::vector<Judged> all;
    for (const auto& backend : terms.backends) {
        for (const auto* gpu : gpus)
            all.push_back(judge(terms, backend, *gpu));
        std::ranges::move(judge_without_gpu(terms, backend, report), std::back_inserter(all));
    }
    all.push_back(judge_cpu(terms));
    return all;
}

/// The consumer's words for the backends that could be chosen, in order.
std::vector<std::string> detected(const Terms& terms, const std::vector<Judged>& all) {
    std::vector<std::string> words;
    for (const auto& judged : all) {
        auto word = terms.word_for(judged.candidate.backend);
        if (is_accepted(judged) && (words.empty() || words.back() != word))
            words.push_back(std::move(word));
    }
    return words;
}

void keep_to_forced(const Terms& terms, std::vector<Judged>& all) {
    if (!terms.forced)
        return;
    const Value requested{Value::Array{Value{terms.word_for(*terms.forced)}}};
    for (auto& judged : all)
        if (judged.candidate.backend != *terms.forced)
            judged.reject(because("not-requested", {{"requested", requested}}));
}

/// Integrated GPUs are a fallback: any discrete one that could be chosen puts them out.
void prefer_discrete(const Terms& terms, std::vector<Judged>& all) {
    if (terms.profile.integrated != IntegratedPolicy::Fallback)
        return;
    const auto discrete = std::ranges::find_if(all, [](const Judged& judged) {
        return is_accepted(judged) && judged.gpu && judged.gpu->kind == GpuKind::Discrete;
    });
    if (discrete == all.end())
        return;
    const auto better = because(
        "discrete-preferred",
        {{"backend", terms.word_for(discrete->candidate.backend)}, {"gpu", discrete->gpu->id}});
    for (auto& judged : all)
        if (is_integrated(judged) && is_accepted(judged))
            judged.reject(better);
}

/// Strict: the CPU only for those who ask for it.
void keep_cpu_out(const Terms& terms, std::vector<Judged>& all) {
    const bool is_asked_for =
        terms.forced == kCpu || (terms.only && *terms.only == std::set{std::string{kCpu}});
    for (auto& judged : all)
        if (terms.strict && !is_asked_for && judged.candidate.backend == kCpu)
            judged.reject(because("strict"));
}

/// Facts that are not known are no promise; whoever reads the trace is told so.
void mark_unknown(std::vector<Judged>& all) {
    for (auto& judged : all)
        if (judged.candidate.verdict == Verdict::Unknown)
            judged.candidate.reasons.push_back(because("unknown-not-chosen"));
}

std::size_t place_in(const std::vector<std::string>& order, const std::string& word) {
    return static_cast<std::size_t>(std::ranges::find(order, word) - order.begin());
}

/// Whether another accepted backend on the same GPU comes first for the GPU's vendor.
bool is_outdone(const Terms& terms, const std::vector<Judged>& all, const Judged& judged) {
    const auto order = terms.backends_for(judged.gpu->vendor);
    const auto place = place_in(order, judged.candidate.backend);
    return std::ranges::any_of(all, [&](const Judged& other) {
        return other.gpu == judged.gpu && is_accepted(other) &&
               place_in(order, other.candidate.backend) < place;
    });
}

/// The first accepted candidate that is its GPU's own first choice; else the CPU; null for none.
const Judged* best_of(const Terms& terms, const std::vector<Judged>& all) {
    for (const auto& judged : all)
        if (is_accepted(judged) && (!judged.gpu || !is_outdone(terms, all, judged)))
            return &judged;
    return nullptr;
}

/// The GPUs on which the chosen backend is accepted and that are like the best one, best first.
std::vector<const Gpu*> group_of(const Judged& best, const std::vector<Judged>& all) {
    std::vector<const Gpu*> gpus;
    for (const auto& judged : all)
        if (best.gpu && judged.gpu && is_accepted(judged) &&
            judged.candidate.backend == best.candidate.backend && is_alike(*best.gpu, *judged.gpu))
            gpus.push_back(judged.gpu);
    return gpus;
}

std::map<std::string, std::string> environment_for(const Terms& terms,
                                                   const std::string& backend,
                                                   const Selection& selection) {
    const auto rules = terms.profile.environment.find(backend);
    if (rules == terms.profile.environment.end())
        return {};
    return environment_of(rules->second, selection);
}

std::string summary_of(const Terms& terms,
                       const std::vector<std::string>& available,
                       const std::optional<std::string>& chosen) {
    std::string list;
    for (const auto& word : available)
        list += (list.empty() ? "" : ",") + word;
    return "requested=" + (terms.forced ? terms.word_for(*terms.forced) : "auto") + " detected=[" +
           list + "] selected=" + chosen.value_or("none");
}

std::vector<Candidate> candidates_of(const Terms& terms,
                                     std::vector<Judged> all,
                                     bool include_rejected) {
    std::vector<Candidate> candidates;
    for (auto& judged : all) {
        if (judged.candidate.verdict == Verdict::Rejected && !include_rejected)
            continue;
        judged.candidate.backend = terms.word_for(judged.candidate.backend);
        candidates.push_back(std::move(judged.candidate));
    }
    return candidates;
}

}  // namespace

Result<Decision> select(const Profile& profile,
                        const SelectRequest& request,
                        const Report& report,
                        const Experience& experience) {
    const auto terms = TRY(terms_of(profile, request, report, experience));
    auto all = judge_all(terms, report);
    const auto available = detected(terms, all);
    keep_to_forced(terms, all);
    prefer_discrete(terms, all);
    keep_cpu_out(terms, all);
    mark_unknown(all);

    Decision decision{.consumer = profile.name, .generation = report.generation};
    if (const auto* best = best_of(terms, all)) {
        const Selection selection{.report = report, .gpus = group_of(*best, all)};
        decision.backend = terms.word_for(best->candidate.backend);
        decision.environment = environment_for(terms, best->candidate.backend, selection);
        for (const auto* gpu : selection.gpus)
            decision.gpus.push_back(gpu->id);
    }
    decision.summary = summary_of(terms, available, decision.backend);
    decision.candidates = candidates_of(terms, std::move(all), request.include_rejected);
    return decision;
}

}  // namespace gpuprobe
