// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "base/value_json.h"
#include "engine/capture.h"
#include "engine/conductor.h"
#include "engine/targets.h"
#include "report/trials.h"

namespace gpuprobe {
namespace {

/// With cached answers, the drivers are asked again only after whoever started us has had theirs:
/// starting workers first took 40 of the 54 ms to the first answer.
constexpr Duration kQuietStart = std::chrono::milliseconds{100};

Status check_stage(const ProbeRequest& request, const Report& report) {
    constexpr std::array kStages{kQueryStage, kVerifyStage, kMeasureStage};
    if (std::ranges::find(kStages, request.stage) == kStages.end())
        return Error{ErrorCode::InvalidRequest, "stage: " + scrubbed(request.stage, 32) +
                                                    ": expected query, verify or measure"};
    for (const auto& id : request.gpus)
        if (std::ranges::find(report.gpus, id, &Gpu::id) == report.gpus.end())
            return Error{ErrorCode::UnknownDevice, scrubbed(id, 64) + ": no such GPU"};
    return Done{};
}

}  // namespace

Engine::Engine(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(MachineSource source,
                                               EventLoop& loop,
                                               Launcher& launcher,
                                               const Clock& clock,
                                               EngineOptions options) {
    auto decisions = TRY(DecisionService::create({.profiles = options.profile_folders,
                                                  .catalogues = options.catalogue_folders,
                                                  .state = options.state_folder}));
    auto impl = std::make_unique<Impl>(std::move(decisions), std::move(source), loop, launcher,
                                       clock, std::move(options));
    return std::unique_ptr<Engine>{new Engine{std::move(impl)}};
}

void Engine::start() {
    // Listening starts first: what changes during the scan is then an event and not a gap.
    impl_->watch_hardware();
    impl_->scan();
    if (!is_replayed())
        impl_->ledger.open();
    impl_->known_fingerprint = impl_->fingerprint();
    impl_->load_cache();
    const bool can_answer_first = impl_->from_cache && impl_->options.trusts_cache_for.count() == 0;
    if (can_answer_first)
        impl_->quiet_start =
            impl_->loop.after(kQuietStart, [impl = impl_.get()] { impl->start_what_is_due(); });
    else
        impl_->start_what_is_due();
    impl_->publish();
}

void Engine::hardware_changed() {
    impl_->settle();
}

void Engine::sleeps(bool is_about_to) {
    auto& impl = *impl_;
    if (!is_about_to)
        return impl.wake_up();
    if (!impl.asleep)
        impl.asleep = impl.loop.after(kLongestSleep, [&impl] { impl.wake_up(); });
}

Status Engine::reload() {
    TRY(impl_->decisions.reload());
    impl_->is_read_anew = true;
    impl_->publish();
    return Done{};
}

const Report& Engine::report() const {
    return impl_->report;
}

const std::string& Engine::report_json() const {
    if (impl_->json.empty())
        impl_->json = json_line(to_value(impl_->report));
    return impl_->json;
}

bool Engine::probing() const {
    return impl_->round.running() || !impl_->trials.empty();
}

Result<Decision> Engine::select(const std::string& consumer,
                                const Value& request,
                                uid_t uid) const {
    return select(consumer, request, uid, impl_->report);
}

Result<Decision> Engine::select(const std::string& consumer,
                                const Value& request,
                                uid_t uid,
                                const Report& seen) const {
    return impl_->decisions.select(consumer, request, impl_->caller(uid, seen));
}

Result<Recommendation> Engine::recommend(const std::string& product,
                                         std::string_view manifest,
                                         const Value& request,
                                         uid_t uid) const {
    return recommend(product, manifest, request, uid, impl_->report);
}

Result<Recommendation> Engine::recommend(const std::string& product,
                                         std::string_view manifest,
                                         const Value& request,
                                         uid_t uid,
                                         const Report& seen) const {
    return impl_->decisions.recommend(product, manifest, request, impl_->caller(uid, seen));
}

std::vector<std::string> Engine::products() const {
    return impl_->decisions.products();
}

bool Engine::has_experience(uid_t uid) const {
    return impl_->decisions.feedback().concerns(uid);
}

Status Engine::set_override(const std::string& consumer, const Value& rule, uid_t by) {
    TRY(impl_->decisions.feedback().set_override(consumer, rule, by, impl_->clock.wall()));
    impl_->publish();
    return Done{};
}

Result<bool> Engine::clear_override(const std::string& consumer) {
    const bool cleared = TRY(impl_->decisions.feedback().clear_override(consumer));
    impl_->publish();
    return cleared;
}

const std::map<std::string, Override>& Engine::overrides() const {
    return impl_->decisions.feedback().overrides().all();
}

Status Engine::report_outcome(const Value& outcome, uid_t by) {
    const auto report = TRY(outcome_report_from(outcome));
    return impl_->decisions.feedback().report(report, by, impl_->report, impl_->clock.wall());
}

std::vector<std::string> Engine::consumers() const {
    return impl_->decisions.consumers();
}

Result<std::uint32_t> Engine::clear_quarantine(const QuarantineFilter& filter) {
    const auto cleared = TRY(impl_->ledger.clear(filter));
    impl_->looked.reset();  // whoever asks next need not wait
    impl_->publish();
    return cleared;
}

void Engine::catch_up() {
    auto& impl = *impl_;
    const auto now = impl.clock.monotonic();
    if (impl.owed.empty() || (impl.looked && now - *impl.looked < kLooksAgainAfter))
        return;
    impl.looked = now;
    const auto owed = impl.owed;
    const auto may_be_asked = [&](const ProbeTarget& target) {
        return owed.contains(target) && !impl.ledger.instead_of(target);
    };
    impl.start_probes(may_be_asked, false);
    if (impl.owed != owed)
        impl.publish();
}

Status Engine::probe(const ProbeRequest& request,
                     std::function<void(double)> progress,
                     std::function<void()> done) {
    for (const auto& api : request.apis) {
        const auto offers = [&api](const ProbeTarget& target) { return target.api == api; };
        const bool is_known = std::ranges::any_of(impl_->search.targets, offers) ||
                              (request.stage != kQueryStage && computes(api));
        if (!is_replayed() && !is_known)
            return Error{ErrorCode::InvalidRequest, "apis: no such API here: " + scrubbed(api, 32)};
    }
    TRY(check_stage(request, impl_->report));
    if (request.stage == kQueryStage || is_replayed())
        ask_drivers(request, std::move(progress), std::move(done));
    else
        impl_->ask_for_trials(request, std::move(progress), std::move(done));
    if (impl_->round.running())
        impl_->publish();
    else
        impl_->ending = impl_->loop.after(Duration::zero(), [impl = impl_.get()] {
            if (!impl->round.running())
                impl->end_round();
        });
    return Done{};
}

void Engine::ask_drivers(const ProbeRequest& request,
                         std::function<void(double)> progress,
                         std::function<void()> done) {
    const bool has_changed = !is_replayed() && impl_->rescan();
    const auto is_wanted = [&request](const ProbeTarget& target) {
        return request.apis.empty() ||
               std::ranges::find(request.apis, target.api) != request.apis.end();
    };
    impl_->start_probes(is_wanted, request.allow_wake);
    if (has_changed)
        impl_->start_all_probes();  // the others' answers are of before
    impl_->round.wait(std::move(progress), std::move(done));
}

bool Engine::is_replayed() const {
    return impl_->is_replay();
}

Status Engine::read_memory(const std::string& id, bool allow_wake, LiveMemoryReader::Reply reply) {
    const auto& gpus = impl_->report.gpus;
    const auto found = std::ranges::find(gpus, id, &Gpu::id);
    if (found == gpus.end())
        return Error{ErrorCode::UnknownDevice, scrubbed(id, 64) + ": no such GPU"};
    if (is_replayed() || impl_->asleep) {
        auto known = last_known(found->memory);
        if (impl_->asleep)
            known.reasons = {because("skipped", {{"note", "the machine goes to sleep"}})};
        reply(std::move(known));
        return Done{};
    }
    return impl_->live_memory.read({.gpu = *found,
                                    .machine = impl_->machine,
                                    .probes = impl_->results.all(),
                                    .targets = impl_->askable(),
                                    .allow_wake = allow_wake},
                                   std::move(reply));
}

Status Engine::capture(const std::string& folder, bool redact) const {
    return write_capture(folder, impl_->source, impl_->results.all(), impl_->clock.wall(), redact);
}

void Engine::on_slow(std::function<void(const std::string&)> told) {
    impl_->slow = std::move(told);
}

void Engine::on_change(std::function<void()> changed) {
    impl_->listeners.push_back(std::move(changed));
}

}  // namespace gpuprobe
