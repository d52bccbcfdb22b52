// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "engine/capture.h"
#include "engine/query_rounds.h"
#include "engine/trials.h"
#include "knowledge/library.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/fact_table.h"
#include "report/trials.h"

namespace gpuprobe::engine {
namespace {

/// If results are cached, drivers are probed only after this delay, so that the first caller gets
/// an answer before workers are started: starting the workers took 40 of the 54 ms until the
/// answer.
constexpr Duration kQuietStart = std::chrono::milliseconds{100};

/// Returns the GPU with that id. A partition is returned as if it were a GPU. Errors:
/// UnknownDevice.
Result<Gpu> gpu_called(const Report& report, const std::string& id) {
    const ComputeView view{report};
    return *TRY(known_gpu(view, id));
}

/// Checks the stage and the GPU ids in a request.
Status check_stage(const ProbeRequest& request, const Report& report) {
    constexpr std::array kStages{kQueryStage, kVerifyStage, kMeasureStage};
    if (std::ranges::find(kStages, request.stage) == kStages.end())
        return Error{ErrorCode::InvalidRequest, "stage: " + scrubbed(request.stage, 32) +
                                                    ": expected query, verify or measure"};
    for (const auto& id : request.gpus)
        (void)TRY(gpu_called(report, id));
    return Done{};
}

/// The error for an API that cannot be probed. If no API has this name, the message suggests one.
Error no_such_api(const std::string& api) {
    std::vector<std::string> known;
    if (!find_api(api))
        for (const auto& row : kApis)
            known.emplace_back(row.word);
    const auto meant = did_you_mean(api, known);
    return {ErrorCode::InvalidRequest,
            "apis: no such API here: " + scrubbed(api, 32) + (meant.empty() ? "" : "; " + meant)};
}

/// Checks that each API has a target on this machine. For "verify" and "measure", it is enough that
/// the API can compute, because the API may only lack a device. A captured machine has no targets;
/// for such a machine, it is enough that the API exists.
Status check_apis(const ProbeRequest& request,
                  const std::vector<ProbeTarget>& targets,
                  bool is_replayed) {
    for (const auto& api : request.apis) {
        const bool is_here =
            is_replayed ? find_api(api) != nullptr
                        : std::ranges::find(targets, api, &ProbeTarget::api) != targets.end() ||
                              (request.stage != kQueryStage && runs_kernels(api));
        if (!is_here)
            return no_such_api(api);
    }
    return Done{};
}

/// Whether a cache file exists; it may still turn out to be unusable.
bool has_cache(const EngineOptions& options) {
    std::error_code problem;
    return options.cache_file && std::filesystem::exists(*options.cache_file, problem);
}

}  // namespace

/// The parts of the engine, and the steps that involve several parts.
struct Engine::Impl {
    Impl(MachineSource source,
         EventLoop& event_loop,
         Launcher& the_launcher,
         const Clock& the_clock,
         EngineOptions engine_options)
        : loop{event_loop},
          launcher{the_launcher},
          clock{the_clock},
          options{std::move(engine_options)},
          decisions{{.applications = options.application_folders,
                     .knowledge = options.knowledge,
                     .state = options.state_folder,
                     .account_of = options.account_of}},
          machine{.source = std::move(source)},
          supervisor{event_loop, the_launcher, the_clock, options.limits} {
        supervisor.on_slow([this](const ProbeTarget& target, const std::string& phase) {
            takes_long(target, phase);
        });
    }

    [[nodiscard]] CallerContext caller(uid_t uid, const Report& seen) const {
        return {.uid = uid, .machine = publisher.report(), .seen = seen, .now = clock.wall()};
    }
    [[nodiscard]] bool is_probing() const {
        return queries.running() || !trials.empty() || is_to_ask;
    }
    [[nodiscard]] bool awaits_answers() const {
        return queries.asking() || !trials.empty() || is_to_ask;
    }
    void start();
    void watch_hardware();
    void load_cache();
    void start_due_queries();
    [[nodiscard]] bool rescan();
    [[nodiscard]] bool has_changed();
    void hardware_seen();
    void hardware_settled();
    void woke_up();
    void query(const ProbeRequest& request, ProbeWaiter waiter);
    void try_out(const ProbeRequest& request, ProbeWaiter waiter);
    void keep_round();
    void end_round();
    void takes_long(const ProbeTarget& target, const std::string& phase);
    [[nodiscard]] bool is_outdated(const ProbeTarget& target) const;
    void wait_a_moment(std::function<void()> done);
    void probe_memory(const ProbeTarget& target, LiveMemoryReader::Probed probed);

    EventLoop& loop;
    Launcher& launcher;
    const Clock& clock;
    EngineOptions options;
    DecisionService decisions;
    ProbedMachine machine;
    ProbeLedger ledger{machine.files(), machine.hardware, clock, options.state_folder};
    SystemSleep sleep{loop, clock, [this] { woke_up(); }};
    HardwareWatch hardware{
        loop,
        options.settle,
        {.seen = [this] { hardware_seen(); }, .settled = [this] { hardware_settled(); }}};
    /// Whether the machine has changed and its drivers will be probed after events have stopped.
    bool is_to_ask = false;
    EngineContext context{loop, clock, options, machine, ledger, sleep, supervisor};
    Publisher publisher{context, decisions, [this] { return awaits_answers(); }};
    Queries queries{context, publisher, [this] { keep_round(); }, [this] { end_round(); }};
    TrialRunner trials{context, queries, publisher};
    LiveMemoryReader live_memory{
        machine.files(), clock, [this](const ProbeTarget& target, LiveMemoryReader::Probed probed) {
            probe_memory(target, std::move(probed));
        }};
    std::function<void(const std::string&)> slow = {};
    EventHandle quiet_start = {};               ///< the timer of kQuietStart
    std::optional<MonotonicTime> renewed = {};  ///< when Engine::renew() last refreshed facts
    /// The callers of renew(), each with the timer that ends the caller's waiting.
    struct Waiting {
        std::function<void()> done = {};
        EventHandle patience = {};
    };
    std::map<std::size_t, Waiting> waiting = {};
    std::size_t last_waiting = 0;
    EventHandle empty_round = {};  ///< ends a round in which no probe had to run
    // `supervisor` is the last member, so that it is destroyed first: its workers report to the
    // members above.
    Supervisor supervisor;
};

/// The order matters for the time until the first report: with starts_ahead, a first worker starts
/// before the full scan; cached results are published before any other driver is probed.
void Engine::Impl::start() {
    // Listening starts first, so that no change during the scan is missed.
    watch_hardware();
    if (!machine.is_replay())
        ledger.open();
    if (options.starts_ahead) {
        machine.scan_functions(options.folders);
        queries.start_ahead();
    }
    machine.scan(options.folders);
    (void)publisher.has_new_fingerprint();
    load_cache();
    if (publisher.is_from_cache() && options.trusts_cache_for == Duration::zero())
        quiet_start = loop.after(kQuietStart, [this] { start_due_queries(); });
    else
        start_due_queries();
    launcher.forget_prepared();
    publisher.publish();
}

void Engine::Impl::watch_hardware() {
    if (machine.is_replay() || !options.watch_hardware)
        return;
    if (const auto listens = hardware.listen(); !listens)
        publisher.add_note(because("no-hotplug", {{"problem", scrubbed(listens.error().text)}}));
}

/// Uses cached results if they are from this machine. Each cached trial has its own fingerprint,
/// which is also checked.
void Engine::Impl::load_cache() {
    auto cached = publisher.load_cache();
    if (!cached)
        return;
    queries.take_cached(std::move(cached->queries));
    trials.take_cached(std::move(cached->trials));
}

void Engine::Impl::start_due_queries() {
    quiet_start.reset();
    queries.start_due();
}

/// Scans the machine. If drivers may report different results than before, marks the old results as
/// outdated and returns true.
bool Engine::Impl::rescan() {
    machine.scan(options.folders);
    if (!publisher.has_new_fingerprint())
        return false;
    queries.machine_changed();
    machine.results.machine_changed();
    trials.machine_changed();
    load_cache();
    return true;
}

void Engine::Impl::hardware_seen() {
    is_to_ask = rescan() || is_to_ask;
    publisher.publish();  // needed even if only access rights to a node have changed
}

/// Probes only if the machine has really changed since the drivers were last probed.
void Engine::Impl::hardware_settled() {
    if (has_changed())
        queries.start_all();
    publisher.publish();
}

/// Scans, and returns whether the drivers have to be probed, because of this scan or because of an
/// earlier scan after which the drivers have not been probed yet.
bool Engine::Impl::has_changed() {
    const bool was_seen = std::exchange(is_to_ask, false);
    return rescan() || was_seen;
}

/// Called after the machine has slept. Scans now, and again after the events that follow.
void Engine::Impl::woke_up() {
    (void)rescan();
    queries.start_deferred();
    trials.start_next();
    publisher.publish();
    hardware.changed();
}

/// The stage "query": asks the drivers for their devices.
void Engine::Impl::query(const ProbeRequest& request, ProbeWaiter waiter) {
    const bool is_another = !machine.is_replay() && has_changed();
    const auto is_wanted = [&request](const ProbeTarget& target) {
        return request.apis.empty() ||
               std::ranges::find(request.apis, target.api) != request.apis.end();
    };
    queries.start(is_wanted, request.allow_wake);
    if (is_another)
        queries.start_all();  // the other results are outdated too
    queries.wait(std::move(waiter));
}

/// The stages "verify" and "measure". Both stages need the list of devices and their load, so
/// queries run first.
void Engine::Impl::try_out(const ProbeRequest& request, ProbeWaiter waiter) {
    if (quiet_start)
        start_due_queries();
    // If the machine has changed, NVML is queried together with all other drivers.
    const bool is_another = has_changed();
    if (is_another)
        queries.start_all();
    trials.prepare(request, is_another);
    queries.wait(
        {.done = [this, request, waiter = std::move(waiter)] { trials.begin(request, waiter); }});
}

/// Publishes and caches the results. Called when the last answer has arrived, and again when the
/// last worker has ended.
void Engine::Impl::keep_round() {
    publisher.round_ended();
    auto alive = queries.running_targets();
    alive.insert(trials.running().begin(), trials.running().end());
    ledger.settle(alive);
    publisher.publish();
    if (!is_to_ask)  // otherwise the results are from before the machine changed
        publisher.save_cache(trials.worth_caching());
}

void Engine::Impl::end_round() {
    keep_round();
    for (const auto& waiter : queries.end_round())
        if (waiter.done)
            waiter.done();
    if (options.verifies)
        trials.verify_in_background();
}

/// A slow probe may be about to crash the machine. Probes that have ended are removed from the
/// quarantine's file now, so that a crash isn't attributed to them.
void Engine::Impl::takes_long(const ProbeTarget& target, const std::string& phase) {
    ledger.remove_ended();
    if (slow)
        slow(target.api + (target.driver.empty() ? "" : " " + target.driver) +
             " has not answered yet" + (phase.empty() ? "" : ", in phase " + phase));
}

void Engine::Impl::probe_memory(const ProbeTarget& target, LiveMemoryReader::Probed probed) {
    supervisor.start(target, [this, target, done = std::move(probed)](const ProbeResult& probe) {
        ledger.judge_unannounced(target, probe);
        done(probe);
    });
}

/// Whether the driver reports momentary facts, and the driver's last result is older than
/// Engine::kIsOfNow.
bool Engine::Impl::is_outdated(const ProbeTarget& target) const {
    const auto* known = machine.results.find(target);
    const auto now = clock.wall();
    // A time in the future means that the result is from before the clock was set back.
    return reports_the_moment(target.api) &&
           (!known || !known->at || *known->at > now || now - *known->at >= kIsOfNow);
}

/// Calls `done` once: immediately if no query runs, otherwise when the round ends, but after
/// Engine::kMostForNow at the latest.
void Engine::Impl::wait_a_moment(std::function<void()> done) {
    if (!queries.asking())
        return done();
    const auto number = ++last_waiting;
    // Both the timer and the round call this function; the first call removes the entry.
    const auto let_go = [this, number] {
        if (const auto one = waiting.extract(number); !one.empty())
            one.mapped().done();
    };
    waiting.emplace(number, Waiting{std::move(done), loop.after(kMostForNow, let_go)});
    queries.wait({.done = let_go});
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Engine::~Engine() = default;

std::unique_ptr<Engine> Engine::create(MachineSource source,
                                       EventLoop& loop,
                                       Launcher& launcher,
                                       const Clock& clock,
                                       EngineOptions options) {
    // If there is a cache, no driver is probed immediately.
    options.starts_ahead = options.starts_ahead && !source.recorded && !has_cache(options);
    // The worker starts while this process reads data files and scans, so the worker is ready when
    // it is needed.
    if (options.starts_ahead)
        launcher.prepare();
    return std::unique_ptr<Engine>{new Engine{
        std::make_unique<Impl>(std::move(source), loop, launcher, clock, std::move(options))}};
}

void Engine::start() {
    impl_->start();
}

void Engine::hardware_changed() {
    impl_->hardware.changed();
}

void Engine::sleeps(bool is_about_to) {
    if (is_about_to)
        impl_->sleep.begin();
    else
        impl_->sleep.end();
}

void Engine::reload() {
    impl_->decisions.reload();
    // Data files also describe devices and drivers, so scan again.
    if (impl_->machine.is_replay())
        impl_->machine.scan(impl_->options.folders);
    else if (impl_->has_changed())
        impl_->queries.start_all();
    impl_->publisher.publish(true);
}

void Engine::release_memory() {
    impl_->decisions.forget_parsed();
    impl_->publisher.forget_json();
    knowledge::forget_tables();
}

const Report& Engine::report() const {
    return impl_->publisher.report();
}

const std::string& Engine::report_json() const {
    return impl_->publisher.json();
}

bool Engine::probing() const {
    return impl_->options.ends_with_answers ? impl_->awaits_answers() : impl_->is_probing();
}

bool Engine::is_replayed() const {
    return impl_->machine.is_replay();
}

Result<Decision> Engine::select(const std::string& application,
                                const Value& request,
                                uid_t uid,
                                const Report& seen) const {
    return impl_->decisions.select(application, request, impl_->caller(uid, seen));
}

Result<Recommendation> Engine::recommend(const std::string& application,
                                         std::string_view manifest,
                                         const Value& request,
                                         uid_t uid,
                                         const Report& seen) const {
    return impl_->decisions.recommend(application, manifest, request, impl_->caller(uid, seen));
}

std::vector<ApplicationSummary> Engine::applications() const {
    return impl_->decisions.applications();
}

bool Engine::has_experience(uid_t uid) const {
    return impl_->decisions.feedback().concerns(uid);
}

Status Engine::set_override(const std::string& application, const Value& rule, uid_t by) {
    TRY(impl_->decisions.set_override(application, rule, impl_->caller(by, report())));
    impl_->publisher.publish();
    return Done{};
}

Result<bool> Engine::clear_override(const std::string& application) {
    const bool cleared = TRY(impl_->decisions.feedback().clear_override(application));
    impl_->publisher.publish();
    return cleared;
}

const std::map<std::string, store::Override>& Engine::overrides() const {
    return impl_->decisions.feedback().overrides().all();
}

Status Engine::report_outcome(const Value& outcome, uid_t by) {
    const auto reported = TRY(outcome_report_from(outcome));
    return impl_->decisions.report(reported, impl_->caller(by, report()));
}

Result<std::uint32_t> Engine::clear_quarantine(const Value& filter) {
    const auto meant = TRY(quarantine_filter_from(filter));
    const auto cleared = TRY(impl_->ledger.clear(meant));
    impl_->queries.may_catch_up();
    impl_->publisher.publish();
    return cleared;
}

void Engine::catch_up() {
    impl_->queries.catch_up();
}

Status Engine::probe(const ProbeRequest& request,
                     std::function<void(double)> progress,
                     std::function<void()> done) {
    auto& impl = *impl_;
    TRY(check_apis(request, impl.machine.search.targets, is_replayed()));
    TRY(check_stage(request, report()));
    ProbeWaiter waiter{.progress = std::move(progress), .done = std::move(done)};
    if (request.stage == kQueryStage || is_replayed())
        impl.query(request, std::move(waiter));
    else
        impl.try_out(request, std::move(waiter));
    if (impl.queries.running())
        impl.publisher.publish();
    else
        // No probe had to run: end the round from the loop, so that `done` is never called before
        // probe() returns.
        impl.empty_round = impl.loop.after(Duration::zero(), [&impl] {
            if (!impl.queries.running())
                impl.end_round();
        });
    return Done{};
}

void Engine::renew(std::function<void()> done) {
    auto& impl = *impl_;
    const auto now = impl.clock.monotonic();
    // The facts were refreshed a moment ago: only wait for probes that are still running.
    if (impl.renewed && now - *impl.renewed < kIsOfNow)
        return impl.wait_a_moment(std::move(done));
    impl.renewed = now;
    auto& machine = impl.machine;
    const auto at =
        is_replayed() ? machine.source.recorded_at.value_or(WallTime{}) : impl.clock.wall();
    // The kernel's facts can be read immediately; other facts must be read by the drivers.
    if (refresh_slowdowns(machine.files(), at, machine.hardware))
        impl.publisher.publish();
    impl.queries.start([&impl](const ProbeTarget& target) { return impl.is_outdated(target); },
                       false);
    impl.wait_a_moment(std::move(done));
}

Status Engine::read_memory(const std::string& id, bool allow_wake, LiveMemoryReader::Reply reply) {
    auto& impl = *impl_;
    const auto gpu = TRY(gpu_called(report(), id));
    const bool is_sleep_near = impl.sleep.is_near();
    if (!is_replayed() && !is_sleep_near)
        return impl.live_memory.read({.gpu = gpu,
                                      .machine = impl.machine.hardware,
                                      .probes = impl.machine.results.all(),
                                      .targets = impl.queries.askable(),
                                      .allow_wake = allow_wake},
                                     std::move(reply));
    // For a capture, and before the machine sleeps, reply with the last known values.
    auto known = last_known(gpu.memory);
    if (is_sleep_near)
        known.reasons = {because("skipped", {{"note", "the machine is being suspended"}})};
    reply(known);
    return Done{};
}

Status Engine::capture(const std::string& folder, Redaction* mask) const {
    const auto& machine = impl_->machine;
    return write_capture(folder, machine.source, machine.results.all(), machine.search.variables,
                         impl_->clock.wall(), mask);
}

void Engine::on_slow(std::function<void(const std::string&)> notify) {
    impl_->slow = std::move(notify);
}

void Engine::on_change(std::function<void()> changed) {
    impl_->publisher.on_change(std::move(changed));
}

}  // namespace gpuprobe::engine
