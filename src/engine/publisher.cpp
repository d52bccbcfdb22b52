// SPDX-License-Identifier: Apache-2.0
#include "engine/publisher.h"

#include <algorithm>
#include <utility>

#include "base/accounts.h"
#include "base/value.h"
#include "engine/engine.h"
#include "knowledge/library.h"
#include "policy/gpu_selection.h"
#include "report/outcome.h"

namespace gpuprobe::engine {

Publisher::Publisher(const EngineContext& context,
                     const DecisionService& decisions,
                     std::function<bool()> is_probing)
    : context_{context}, decisions_{decisions}, is_probing_{std::move(is_probing)} {
    if (context.options.cache_file)
        cache_.emplace(*context.options.cache_file);
}

/// Made on first use: many reports are replaced before a caller wants the text.
const std::string& Publisher::json() const {
    if (json_.empty())
        json_ = json_line(to_value(report_));
    return json_;
}

/// The report of a capture has the capture's time, so that it is the same on every replay.
ReportContext Publisher::report_context() const {
    const auto& machine = context_.machine;
    ReportContext context{.generation = report_.generation,
                          .state = is_probing_()                      ? ReportState::Probing
                                   : machine.results.any_went_badly() ? ReportState::Degraded
                                                                      : ReportState::Ready,
                          .source = is_from_cache() ? ReportSource::Cache : ReportSource::Live,
                          .now = context_.clock.wall()};
    if (machine.is_replay()) {
        context.source = ReportSource::Replay;
        context.now = machine.source.recorded_at.value_or(WallTime{});
    }
    return context;
}

/// Assembles the hardware and the results, then adds quarantine, notes and the order of the GPUs.
Report Publisher::assembled() const {
    const auto& machine = context_.machine;
    const auto context = report_context();
    auto report = assemble(machine.hardware, machine.results.all(), context);
    if (machine.is_replay() && !machine.source.recorded_at)
        report.created.reset();
    report.quarantine = context_.ledger.held();
    for (const auto& more : {decisions_.notes(), notes_, context_.ledger.notes(),
                             decisions_.feedback().override_notes()})
        report.notes.insert(report.notes.end(), more.begin(), more.end());
    for (const auto& document : knowledge::Library::current()->expired(context.now))
        report.notes.push_back(stale_document(document.name, document.issued, document.expired));
    if (report.gpus.size() > 1)
        put_default_first(report, default_choice(report, context.now));
    return report;
}

/// The GPUs that an unspecific request of the "default" application gets; they are listed first.
std::vector<std::string> Publisher::default_choice(const Report& report, WallTime now) const {
    const auto decision = decisions_.select(
        "default", Value{}, {.uid = kRoot, .machine = report, .seen = report, .now = now});
    return decision ? decision->gpus : std::vector<std::string>{};
}

void Publisher::publish(bool is_new) {
    gathering_.reset();
    // The generation counts only changes of the stable part, but the report is always replaced.
    auto next = assembled();
    is_new = is_new || stable_part(next) != stable_part(report_);
    if (is_new)
        ++next.generation;
    report_ = std::move(next);
    json_.clear();
    if (!is_new)
        return;
    for (const auto& listener : listeners_)
        listener();
}

/// Results that arrive while the timer runs join the same generation.
void Publisher::publish_soon() {
    if (gathering_)
        return;
    gathering_ = context_.loop.after(gather_, [this] { publish(); });
    gather_ = std::min(2 * gather_, kGather);
}

bool Publisher::has_new_fingerprint() {
    auto fingerprint = context_.machine.fingerprint();
    return std::exchange(fingerprint_, fingerprint) != fingerprint;
}

/// After the first round, the cache has nothing that the drivers have not reported. Before that,
/// the cache is tried again after each change, because nodes may still appear one by one during
/// boot; the cached results are valid once the machine is complete.
std::optional<store::CachedProbes> Publisher::load_cache() {
    if (!cache_ || context_.machine.is_replay() || basis_ == Basis::Drivers)
        return std::nullopt;
    auto cached = cache_->load(fingerprint_);
    if (!cached)
        return std::nullopt;  // like a first start
    if (!cached->queries.empty())
        basis_ = Basis::Cache;
    return std::move(cached).value();
}

void Publisher::save_cache(const store::CachedProbes& probes) const {
    if (cache_ && !context_.machine.is_replay())
        (void)cache_->save(fingerprint_, probes);
}

}  // namespace gpuprobe::engine
