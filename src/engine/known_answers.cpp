// SPDX-License-Identifier: Apache-2.0
#include "engine/known_answers.h"

#include <algorithm>
#include <set>

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
           has_reason_with(probe.reasons, ReasonTraits::Unreliable);
}

/// A probe that failed is tried again at the next start instead.
bool may_be_cached(const ProbeResult& probe) {
    return probe.outcome == Outcome::Answered || probe.outcome == Outcome::Absent;
}

/// Whether a GPU that the kernel has bound is missing from this answer: no reason to believe it
/// later.
bool is_inconclusive(const ProbeResult& probe, const Report& report) {
    const auto blames = [&probe](const Reason& reason) {
        const auto* driver = reason.detail.at("driver").as_string();
        return reason.is("inconclusive") && driver && *driver == probe.driver;
    };
    return std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
        const auto view = gpu.apis.find(probe.api);
        return view != gpu.apis.end() && std::ranges::any_of(view->second.reasons, blames);
    });
}

}  // namespace

void KnownAnswers::put(ProbeResult probe) {
    auto key = key_of(probe);
    if (was_never_heard(probe)) {
        set_aside(key);
    } else {
        unrefuted_.erase(key);
        of_before_.erase(key);
    }
    probes_.insert_or_assign(std::move(key), std::move(probe));
}

void KnownAnswers::set_aside(const Key& key) {
    const auto known = probes_.find(key);
    const bool is_of_before = of_before_.contains(key);
    if (known != probes_.end() && may_be_cached(known->second) && !is_of_before)
        unrefuted_.insert_or_assign(key, std::move(known->second));
}

void KnownAnswers::keep(ProbeResult probe) {
    const auto known = probes_.find(key_of(probe));
    const bool keeps_old = probe.outcome == Outcome::Skipped && known != probes_.end() &&
                           known->second.outcome == Outcome::Answered;
    if (!keeps_old)
        return put(std::move(probe));
    // Who asked for something newer is told why there is none.
    if (probe.stage != kQueryStage)
        known->second.reasons = std::move(probe.reasons);
}

void KnownAnswers::forget(const ProbeTarget& target) {
    probes_.erase(key_of(target));
    unrefuted_.erase(key_of(target));
}

void KnownAnswers::machine_changed() {
    unrefuted_.clear();
    for (const auto& [key, probe] : probes_)
        of_before_.insert(key);
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
            worth.push_back(probe);
    for (const auto& [key, probe] : unrefuted_)
        if (probes_.contains(key))
            worth.push_back(probe);
    return worth;
}

}  // namespace gpuprobe
