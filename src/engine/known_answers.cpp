// SPDX-License-Identifier: Apache-2.0
#include "engine/known_answers.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "engine/constancy.h"
#include "report/api_view.h"
#include "report/trials.h"

namespace gpuprobe {
namespace {

template <class Probe>
auto key_of(const Probe& probe) {
    return std::tuple{probe.api, probe.driver, probe.stage, probe.device};
}

bool went_badly(const ProbeResult& probe) {
    return probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut ||
           has_reason(probe.reasons, "quarantined") || has_reason(probe.reasons, kUnstable);
}

/// A probe that failed is tried again at the next start instead.
bool may_be_cached(const ProbeResult& probe) {
    return probe.outcome == Outcome::Answered || probe.outcome == Outcome::Absent;
}

/// Why no driver was asked, or not to the end: none of its doing.
constexpr std::array kUnheard =
    std::to_array<std::string_view>({"worker-not-started", "worker-lost"});

bool is_unheard(const Reason& reason) {
    return std::ranges::find(kUnheard, reason.code) != kUnheard.end();
}

/// An answer as it was before nobody could ask again.
ProbeResult without_silence(ProbeResult answer) {
    if (std::erase_if(answer.reasons, is_unheard) > 0)
        answer.note.reset();
    return answer;
}

/// Whether a GPU that the kernel has bound is missing from this answer: no reason to believe it
/// later.
bool is_inconclusive(const ProbeResult& probe, const Report& report) {
    const auto blames = [&probe](const Reason& reason) {
        const auto* driver = reason.detail.at("driver").as_string();
        return reason.code == "inconclusive" && driver && *driver == probe.driver;
    };
    return std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
        const auto view = gpu.apis.find(probe.api);
        return view != gpu.apis.end() && std::ranges::any_of(view->second.reasons, blames);
    });
}

}  // namespace

void KnownAnswers::put(ProbeResult probe) {
    auto key = key_of(probe);
    probes_.insert_or_assign(std::move(key), std::move(probe));
}

void KnownAnswers::keep(ProbeResult probe) {
    const auto known = probes_.find(key_of(probe));
    const auto unheard = std::ranges::find_if(probe.reasons, is_unheard);
    const bool is_no_word = probe.outcome == Outcome::Skipped || unheard != probe.reasons.end();
    if (!is_no_word || known == probes_.end() || known->second.outcome != Outcome::Answered)
        return put(std::move(probe));
    if (unheard != probe.reasons.end()) {
        known->second = without_silence(std::move(known->second));
        known->second.reasons.push_back(std::move(*unheard));
        known->second.note = std::move(probe.note);
        return;
    }
    // Who asked for something newer is told why there is none.
    if (probe.stage != kQueryStage)
        known->second.reasons = std::move(probe.reasons);
}

void KnownAnswers::forget(const ProbeTarget& target) {
    probes_.erase(key_of(target));
}

void KnownAnswers::keep_only(const TargetSearch& search) {
    std::set<std::pair<std::string, std::string>> offered;
    for (const auto& target : search.targets)
        offered.emplace(target.api, target.driver);
    for (const auto& probe : search.unusable)
        offered.emplace(probe.api, probe.driver);
    offered.emplace(kCpuApi, "");
    std::erase_if(probes_, [&offered](const auto& entry) {
        return !offered.contains({entry.second.api, entry.second.driver});
    });
    for (const auto& probe : search.unusable)
        put(probe);
}

const ProbeResult* KnownAnswers::find(const ProbeTarget& target) const {
    const auto known = probes_.find(key_of(target));
    return known == probes_.end() ? nullptr : &known->second;
}

std::vector<ProbeResult> KnownAnswers::all() const {
    std::vector<ProbeResult> all;
    for (const auto& [key, probe] : probes_)
        all.push_back(probe);
    return all;
}

bool KnownAnswers::any_went_badly() const {
    return std::ranges::any_of(probes_, [](const auto& entry) { return went_badly(entry.second); });
}

std::vector<ProbeResult> KnownAnswers::worth_caching(const Report& report) const {
    std::vector<ProbeResult> worth;
    for (const auto& [key, probe] : probes_)
        if (may_be_cached(probe) && !is_inconclusive(probe, report))
            worth.push_back(without_silence(probe));
    return worth;
}

}  // namespace gpuprobe
