// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <set>

#include "base/parse.h"
#include "base/value_json.h"
#include "base/version.h"
#include "cache/fingerprint.h"
#include "decide/profile_set.h"
#include "decide/select.h"
#include "engine/capture.h"
#include "engine/known_answers.h"
#include "engine/lasting_part.h"
#include "engine/profile_folders.h"
#include "engine/recommender.h"
#include "engine/round.h"
#include "engine/schedule.h"
#include "inventory/hardware_monitor.h"
#include "report/assemble.h"

namespace gpuprobe {
namespace {

/// Answers that arrive within this time become one generation.
constexpr Duration kGather = std::chrono::milliseconds{50};
/// With cached answers, the drivers are asked again only after whoever started us has had theirs:
/// starting workers first took 40 of the 54 ms to the first answer.
constexpr Duration kQuietStart = std::chrono::milliseconds{100};
/// Changes whenever a package installs or removes a library (ldconfig rewrites it).
constexpr std::string_view kLinkerCache = "/etc/ld.so.cache";

}  // namespace

struct Engine::Impl {
    Impl(Recommender the_recommender,
         MachineSource machine_source,
         EventLoop& event_loop,
         Launcher& launcher,
         const Clock& the_clock,
         EngineOptions engine_options)
        : recommender{std::move(the_recommender)},
          source{std::move(machine_source)},
          loop{event_loop},
          clock{the_clock},
          options{std::move(engine_options)},
          advice{options.state_folder},
          ledger{*source.files, machine, clock, options.state_folder},
          live_memory{*source.files, clock,
                      [this](const ProbeTarget& target, LiveMemoryReader::Probed probed) {
                          ask_aside(target, std::move(probed));
                      }},
          supervisor{event_loop, launcher, the_clock, options.limits} {
        if (options.cache_file)
            cache.emplace(*options.cache_file);
        supervisor.on_slow([this](const ProbeTarget& target, const std::string& phase) {
            takes_long(target, phase);
        });
    }

    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }

    void scan();
    [[nodiscard]] bool rescan();
    void load_cache();
    void save_cache() const;
    [[nodiscard]] std::string fingerprint() const;
    void publish();
    [[nodiscard]] ReportState state() const;
    using Chosen = std::function<bool(const ProbeTarget&)>;
    void start_probes(const Chosen& chosen, bool allow_wake);
    void start_all_probes();
    [[nodiscard]] bool is_fresh(const ProbeTarget& target) const;
    void start_what_is_due();
    void ask(const ProbeTarget& target);
    void takes_long(const ProbeTarget& target, const std::string& phase);
    void ask_aside(const ProbeTarget& target, LiveMemoryReader::Probed probed);
    [[nodiscard]] std::vector<ProbeTarget> askable() const;
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    [[nodiscard]] bool asks_again(const ProbeTarget& target, const ProbeResult& probe);
    void finished(const ProbeTarget& target, ProbeResult probe);
    void end_round();
    void settled();
    void watch_hardware();

    Recommender recommender;
    MachineSource source;
    EventLoop& loop;
    const Clock& clock;
    EngineOptions options;
    ProfileSet profiles = {};
    Advice advice;
    std::optional<ProbeCache> cache = {};

    Machine machine = {};
    ProbeLedger ledger;
    TargetSearch search = {};
    KnownAnswers answers = {};
    std::string known_fingerprint = {};
    bool from_cache = false;
    std::set<ProbeTarget> owed = {};  ///< not asked: it would have woken a GPU, or is held back
    std::optional<MonotonicTime> looked = {};  ///< whether they can be asked now
    std::set<ProbeTarget> waking = {};         ///< asked although that wakes a GPU
    std::set<ProbeTarget> outdated =
        {};  ///< run since before the last change: may answer of before

    Report report = {};
    mutable std::string json = {};
    std::vector<std::function<void()>> listeners = {};
    std::function<void(const std::string&)> slow = {};

    Round round = {};
    EventHandle gathering = {};
    EventHandle settling = {};
    EventHandle quiet_start = {};
    std::unique_ptr<HardwareMonitor> monitor = {};
    std::vector<Reason> notes = {};
    LiveMemoryReader live_memory;
    // Last: it ends first, and its workers report to the members above.
    Supervisor supervisor;
};

void Engine::Impl::scan() {
    machine = scan_machine(*source.files, *source.nodes,
                           source.host ? *source.host : detect_host(*source.files));
    if (is_replay()) {
        for (const auto& probe : *source.recorded)
            answers.put(probe);
        return;
    }
    search = find_targets(*source.files, options.folders);
    answers.keep_only(search);
}

/// Whether what drivers can answer has changed since the last look.
bool Engine::Impl::rescan() {
    scan();
    auto now = fingerprint();
    if (now == known_fingerprint)
        return false;
    known_fingerprint = std::move(now);
    outdated = round.targets();
    return true;
}

std::string Engine::Impl::fingerprint() const {
    std::vector<std::string> watched{std::string{kLinkerCache}};
    for (const auto& target : search.targets)
        if (!target.driver.empty())
            watched.push_back(target.driver);
    return fingerprint_of(machine, *source.files, watched, kVersion);
}

void Engine::Impl::load_cache() {
    if (!cache || is_replay())
        return;
    auto cached = cache->load(known_fingerprint);
    if (!cached)
        return;  // no answer yet is what a first start has too
    for (auto& probe : *cached)
        answers.keep(std::move(probe));
    answers.keep_only(search);
    from_cache = !answers.empty();
}

void Engine::Impl::save_cache() const {
    if (!cache || is_replay())
        return;
    // A cache that can't be written costs the next start a probe, nothing else.
    (void)cache->save(known_fingerprint, answers.worth_caching(report));
}

ReportState Engine::Impl::state() const {
    if (round.running())
        return ReportState::Probing;
    return answers.any_went_badly() ? ReportState::Degraded : ReportState::Ready;
}

void Engine::Impl::publish() {
    gathering.reset();
    auto next = assemble(
        machine, answers.all(),
        ReportContext{.generation = report.generation,
                      .state = state(),
                      .source = is_replay()  ? ReportSource::Replay
                                : from_cache ? ReportSource::Cache
                                             : ReportSource::Live,
                      .now = is_replay() ? source.recorded_at.value_or(WallTime{}) : clock.wall()});
    if (is_replay() && !source.recorded_at)
        next.created.reset();
    next.quarantine = ledger.held();
    for (const auto& more : {notes, ledger.notes(), advice.override_notes()})
        next.notes.insert(next.notes.end(), more.begin(), more.end());
    const bool is_new = lasting_part(next) != lasting_part(report);
    if (is_new)
        ++next.generation;
    report = std::move(next);
    json.clear();
    if (!is_new)
        return;
    for (const auto& listener : listeners)
        listener();
}

void Engine::Impl::start_probes(const Chosen& chosen, bool allow_wake) {
    if (is_replay())
        return;
    refresh_power(*source.files, machine);  // a GPU may have fallen asleep since the scan
    std::vector<ProbeTarget> due;
    for (const auto& target : search.targets) {
        if (!chosen(target))
            continue;
        const auto sleeper = allow_wake ? std::nullopt : sleeper_woken_by(target, machine);
        auto held = round.runs(target) ? std::nullopt : ledger.instead_of(target);
        if (held || sleeper) {
            answers.keep(held ? std::move(*held) : skipped_asleep(target, *sleeper));
            owed.insert(target);
        } else if (round.begin(target)) {
            due.push_back(target);
            if (sleeper_woken_by(target, machine))
                waking.insert(target);
        }
    }
    ledger.begin(due);
    for (const auto& target : due)
        ask(target);
}

void Engine::Impl::start_all_probes() {
    start_probes([](const ProbeTarget&) { return true; }, false);
}

void Engine::Impl::ask(const ProbeTarget& target) {
    owed.erase(target);
    const bool takes_its_time = waking.erase(target) > 0 || ledger.is_cold();
    supervisor.start(
        target, [this, target](ProbeResult probe) { finished(target, std::move(probe)); },
        takes_its_time ? Patience::Double : Patience::Usual);
}

void Engine::Impl::takes_long(const ProbeTarget& target, const std::string& phase) {
    ledger.narrow();
    if (slow)
        slow(target.api + (target.driver.empty() ? "" : " " + target.driver) +
             " has not answered yet" + (phase.empty() ? "" : ", in phase " + phase));
}

void Engine::Impl::ask_aside(const ProbeTarget& target, LiveMemoryReader::Probed probed) {
    supervisor.start(target, [this, target, done = std::move(probed)](const ProbeResult& probe) {
        ledger.heard_aside(target, probe);
        done(probe);
    });
}

std::vector<ProbeTarget> Engine::Impl::askable() const {
    auto targets = search.targets;
    std::erase_if(targets, [this](const ProbeTarget& target) {
        return ledger.instead_of(target).has_value();
    });
    return targets;
}

bool Engine::Impl::is_fresh(const ProbeTarget& target) const {
    const auto* known = answers.find(target);
    if (!known || !known->at)
        return false;
    // An answer of the future is one from before the clock was set back.
    const auto now = clock.wall();
    return *known->at <= now && now - options.trusts_cache_for < *known->at;
}

void Engine::Impl::start_what_is_due() {
    quiet_start.reset();
    start_probes([this](const ProbeTarget& target) { return !is_fresh(target); }, false);
}

bool Engine::Impl::offers(const ProbeTarget& target) const {
    return std::ranges::find(search.targets, target) != search.targets.end();
}

/// Asks once more when the machine has changed since `target` was asked, or when that went badly
/// for the first time.
bool Engine::Impl::asks_again(const ProbeTarget& target, const ProbeResult& probe) {
    const bool is_outdated = outdated.erase(target) > 0;
    const bool is_unsure = ledger.asks_again(target, probe);
    if ((!is_outdated && !is_unsure) || !offers(target) || sleeper_woken_by(target, machine))
        return false;
    if (is_outdated) {
        if (ledger.instead_of(target))
            return false;
        ledger.begin({target});
    }
    ask(target);
    return true;
}

void Engine::Impl::finished(const ProbeTarget& target, ProbeResult probe) {
    if (asks_again(target, probe))
        return;
    if (offers(target))  // a driver that was uninstalled meanwhile has no say
        answers.keep(std::move(probe));
    if (ledger.instead_of(target))
        owed.insert(target);
    round.finish(target);
    if (!round.running())
        end_round();
    else if (!gathering)
        gathering = loop.after(kGather, [this] { publish(); });
}

void Engine::Impl::end_round() {
    from_cache = false;
    ledger.settle();
    publish();
    save_cache();
    for (const auto& done : round.end())
        done();
}

void Engine::Impl::settled() {
    settling.reset();
    if (rescan())
        start_all_probes();
    publish();  // also when only others' leave to use a node has changed
}

void Engine::Impl::watch_hardware() {
    if (is_replay() || !options.watch_hardware)
        return;
    auto created = HardwareMonitor::create(loop, [this](const HardwareEvent&) {
        if (!settling)
            settling = loop.after(options.settle, [this] { settled(); });
    });
    if (created) {
        monitor = std::move(created).value();
        return;
    }
    Value detail;
    detail["problem"] = scrubbed(created.error().text);
    notes.push_back(Reason{.code = "no-hotplug", .detail = detail});
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(MachineSource source,
                                               EventLoop& loop,
                                               Launcher& launcher,
                                               const Clock& clock,
                                               EngineOptions options) {
    auto recommender = TRY(Recommender::create());
    auto impl = std::make_unique<Impl>(std::move(recommender), std::move(source), loop, launcher,
                                       clock, std::move(options));
    impl->profiles = TRY(ProfileSet::with_builtins());
    impl->notes = add_profiles_of(impl->options.profile_folders, impl->profiles);
    const auto ignored = impl->recommender.add_folders(impl->options.catalogue_folders);
    impl->notes.insert(impl->notes.end(), ignored.begin(), ignored.end());
    const auto lost = impl->advice.load();
    impl->notes.insert(impl->notes.end(), lost.begin(), lost.end());
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
    if (!impl_->settling)
        impl_->settling = impl_->loop.after(impl_->options.settle, [this] { impl_->settled(); });
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
    return impl_->round.running();
}

Result<Decision> Engine::select(const std::string& consumer,
                                const Value& request,
                                uid_t asker) const {
    return select(consumer, request, asker, impl_->report);
}

Result<Decision> Engine::select(const std::string& consumer,
                                const Value& request,
                                uid_t asker,
                                const Report& seen) const {
    const auto* profile = impl_->profiles.find(consumer);
    if (!profile)
        return Error{
            ErrorCode::UnknownConsumer,
            "no profile of that name; see " + std::to_string(consumers().size()) + " known ones"};
    auto wanted = TRY(select_request_from(request));
    const auto rule = impl_->advice.rule_for(consumer);
    if (rule)
        wanted = under_rule(std::move(wanted), rule->request, *profile, seen);
    const auto experience =
        impl_->advice.experience_of(asker, consumer, impl_->report, impl_->clock.wall());
    return gpuprobe::select(*profile, wanted, seen, experience);
}

Result<Recommendation> Engine::recommend(const std::string& product,
                                         std::string_view manifest,
                                         const Value& request,
                                         uid_t asker) const {
    return recommend(product, manifest, request, asker, impl_->report);
}

Result<Recommendation> Engine::recommend(const std::string& product,
                                         std::string_view manifest,
                                         const Value& request,
                                         uid_t asker,
                                         const Report& seen) const {
    const auto now = impl_->clock.wall();
    const auto rule = impl_->advice.rule_for(product).value_or(OverrideRule{});
    const auto experience = impl_->advice.experience_of(asker, product, impl_->report, now);
    return impl_->recommender.recommend(
        product, manifest, request,
        {.report = seen, .rule = rule.variants, .experience = experience, .now = now});
}

std::vector<std::string> Engine::products() const {
    return impl_->recommender.products();
}

bool Engine::has_experience(uid_t asker) const {
    return impl_->advice.concerns(asker);
}

Status Engine::set_override(const std::string& consumer, const Value& rule, uid_t by) {
    TRY(impl_->advice.set_override(consumer, rule, by, impl_->clock.wall()));
    impl_->publish();
    return Done{};
}

Result<bool> Engine::clear_override(const std::string& consumer) {
    const bool cleared = TRY(impl_->advice.clear_override(consumer));
    impl_->publish();
    return cleared;
}

const std::map<std::string, Override>& Engine::overrides() const {
    return impl_->advice.overrides().all();
}

Status Engine::report_outcome(const Value& outcome, uid_t by) {
    const auto report = TRY(outcome_report_from(outcome));
    return impl_->advice.report(report, by, impl_->report, impl_->clock.wall());
}

std::vector<std::string> Engine::consumers() const {
    return impl_->profiles.names();
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
        if (!is_replayed() && std::ranges::none_of(impl_->search.targets, offers))
            return Error{ErrorCode::InvalidRequest, "apis: no such API here: " + scrubbed(api, 32)};
    }
    const bool has_changed = !is_replayed() && impl_->rescan();
    const auto is_wanted = [&request](const ProbeTarget& target) {
        return request.apis.empty() ||
               std::ranges::find(request.apis, target.api) != request.apis.end();
    };
    impl_->start_probes(is_wanted, request.allow_wake);
    if (has_changed)
        impl_->start_all_probes();  // the others' answers are of before
    impl_->round.wait(std::move(progress), std::move(done));
    if (impl_->round.running())
        impl_->publish();
    else
        impl_->gathering = impl_->loop.after(Duration::zero(), [this] { impl_->end_round(); });
    return Done{};
}

bool Engine::is_replayed() const {
    return impl_->is_replay();
}

Status Engine::read_memory(const std::string& id, bool allow_wake, LiveMemoryReader::Reply reply) {
    const auto& gpus = impl_->report.gpus;
    const auto found = std::ranges::find(gpus, id, &Gpu::id);
    if (found == gpus.end())
        return Error{ErrorCode::UnknownDevice, scrubbed(id, 64) + ": no such GPU"};
    if (is_replayed()) {
        reply(last_known(found->memory));
        return Done{};
    }
    return impl_->live_memory.read({.gpu = *found,
                                    .machine = impl_->machine,
                                    .probes = impl_->answers.all(),
                                    .targets = impl_->askable(),
                                    .allow_wake = allow_wake},
                                   std::move(reply));
}

Status Engine::capture(const std::string& folder, bool redact) const {
    return write_capture(folder, impl_->source, impl_->answers.all(), impl_->clock.wall(), redact);
}

void Engine::on_slow(std::function<void(const std::string&)> told) {
    impl_->slow = std::move(told);
}

void Engine::on_change(std::function<void()> changed) {
    impl_->listeners.push_back(std::move(changed));
}

}  // namespace gpuprobe
