// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/parse.h"
#include "base/value_json.h"
#include "base/version.h"
#include "cache/fingerprint.h"
#include "decide/profile_set.h"
#include "decide/select.h"
#include "engine/capture.h"
#include "engine/round.h"
#include "engine/schedule.h"
#include "inventory/hardware_monitor.h"
#include "report/assemble.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxProfile = kib(256);
/// Answers that arrive within this time become one generation.
constexpr Duration kGather = std::chrono::milliseconds{50};
/// With cached answers, the drivers are asked again only after whoever started us has had theirs:
/// starting workers first took 40 of the 54 ms to the first answer.
constexpr Duration kQuietStart = std::chrono::milliseconds{100};
/// Changes whenever a package installs or removes a library (ldconfig rewrites it).
constexpr std::string_view kLinkerCache = "/etc/ld.so.cache";

using ProbeKey = std::tuple<std::string, std::string, std::string>;

ProbeKey key_of(const ProbeResult& probe) {
    return {probe.api, probe.driver, probe.stage};
}
ProbeKey key_of(const ProbeTarget& target) {
    return {target.api, target.driver, target.stage};
}

/// The report without what changes although nothing did: two reports that agree in the rest are one
/// generation.
Report lasting_part(Report report) {
    report.generation = 0;
    report.created.reset();
    report.source = ReportSource::Live;
    report.host.memory.available.reset();
    for (auto& probe : report.probes)
        probe.duration.reset();
    for (auto& gpu : report.gpus) {
        gpu.memory.free.reset();
        gpu.memory.free_at.reset();
        std::erase_if(gpu.memory.evidence, [](const MemoryReading& reading) {
            return reading.what.find("free") != std::string::npos ||
                   reading.what.find("used") != std::string::npos;
        });
        for (auto& [api, view] : gpu.apis) {
            view.age.reset();
            if (auto* memory = view.device.find("memory"); memory && memory->is_object())
                (*memory)["free"] = Value{};
        }
    }
    for (auto& software : report.software)
        if (auto* memory = software.device.find("memory"); memory && memory->is_object())
            (*memory)["free"] = Value{};
    return report;
}

bool went_badly(const ProbeResult& probe) {
    return probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut;
}

/// An answer that a later start may rely on. A probe that failed is tried again instead.
bool may_be_cached(const ProbeResult& probe) {
    return probe.outcome == Outcome::Answered || probe.outcome == Outcome::Absent;
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

struct Engine::Impl {
    Impl(MachineSource machine_source,
         EventLoop& event_loop,
         Launcher& launcher,
         const Clock& the_clock,
         EngineOptions engine_options)
        : source{std::move(machine_source)},
          loop{event_loop},
          clock{the_clock},
          options{std::move(engine_options)},
          live_memory{*source.files, clock,
                      [this](const ProbeTarget& target, LiveMemoryReader::Probed probed) {
                          supervisor.start(target, std::move(probed));
                      }},
          supervisor{event_loop, launcher, the_clock, options.limits} {
        if (options.cache_file)
            cache.emplace(*options.cache_file);
    }

    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }

    void load_profiles();
    void scan();
    [[nodiscard]] bool rescan();
    void load_cache();
    void save_cache() const;
    [[nodiscard]] std::string fingerprint() const;
    [[nodiscard]] std::vector<ProbeResult> answers() const;
    void publish();
    [[nodiscard]] ReportState state() const;
    void start_probes(const std::vector<std::string>& apis, bool allow_wake);
    [[nodiscard]] bool is_fresh(const ProbeTarget& target) const;
    void start_what_is_due();
    void keep(ProbeResult probe);
    void ask(const ProbeTarget& target);
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    [[nodiscard]] bool asks_again(const ProbeTarget& target);
    void finished(const ProbeTarget& target, ProbeResult probe);
    void end_round();
    void settled();
    void watch_hardware();

    MachineSource source;
    EventLoop& loop;
    const Clock& clock;
    EngineOptions options;
    ProfileSet profiles = {};
    std::optional<ProbeCache> cache = {};

    Machine machine = {};
    TargetSearch search = {};
    std::map<ProbeKey, ProbeResult> probes = {};
    std::string known_fingerprint = {};
    bool from_cache = false;
    std::set<ProbeTarget> outdated =
        {};  ///< run since before the last change: may answer of before

    Report report = {};
    mutable std::string json = {};
    std::vector<std::function<void()>> listeners = {};

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

void Engine::Impl::load_profiles() {
    const RootedFiles files;
    for (const auto& folder : options.profile_folders) {
        const auto names = files.list(folder);
        if (!names)
            continue;  // no such folder: nothing was added
        for (const auto& name : *names) {
            if (!name.ends_with(".json"))
                continue;
            const auto path = folder + "/" + name;
            const auto text = files.read(path, kMaxProfile);
            const auto added = text ? profiles.add(*text, path) : Status{text.error()};
            if (added)
                continue;
            Value detail;
            detail["file"] = path;
            detail["problem"] = scrubbed(added.error().text);
            notes.push_back(Reason{.code = "profile-ignored", .detail = detail});
        }
    }
}

void Engine::Impl::scan() {
    machine = scan_machine(*source.files, *source.nodes,
                           source.host ? *source.host : detect_host(*source.files));
    if (is_replay()) {
        for (const auto& probe : *source.recorded)
            probes.emplace(key_of(probe), probe);
        return;
    }
    search = find_targets(*source.files, options.folders);
    std::set<ProbeKey> offered;
    for (const auto& target : search.targets)
        offered.insert(key_of(target));
    for (const auto& probe : search.unusable)
        offered.insert(key_of(probe));
    // A driver that is no longer installed has no say.
    std::erase_if(probes, [&offered](const auto& entry) { return !offered.contains(entry.first); });
    for (const auto& probe : search.unusable)
        probes.insert_or_assign(key_of(probe), probe);
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
    for (auto& probe : *cached) {
        const auto offered = [&probe](const ProbeTarget& target) {
            return key_of(target) == key_of(probe);
        };
        if (std::ranges::any_of(search.targets, offered))
            keep(std::move(probe));
    }
    from_cache = !probes.empty();
}

void Engine::Impl::save_cache() const {
    if (!cache || is_replay())
        return;
    std::vector<ProbeResult> answers;
    for (const auto& [key, probe] : probes)
        if (may_be_cached(probe) && !is_inconclusive(probe, report))
            answers.push_back(probe);
    // A cache that can't be written costs the next start a probe, nothing else.
    (void)cache->save(known_fingerprint, answers);
}

ReportState Engine::Impl::state() const {
    if (round.running())
        return ReportState::Probing;
    const auto bad = [](const auto& entry) { return went_badly(entry.second); };
    return std::ranges::any_of(probes, bad) ? ReportState::Degraded : ReportState::Ready;
}

std::vector<ProbeResult> Engine::Impl::answers() const {
    std::vector<ProbeResult> all;
    for (const auto& [key, probe] : probes)
        all.push_back(probe);
    return all;
}

void Engine::Impl::publish() {
    gathering.reset();
    auto next = assemble(
        machine, answers(),
        ReportContext{.generation = report.generation,
                      .state = state(),
                      .source = is_replay()  ? ReportSource::Replay
                                : from_cache ? ReportSource::Cache
                                             : ReportSource::Live,
                      .now = is_replay() ? source.recorded_at.value_or(WallTime{}) : clock.wall()});
    if (is_replay() && !source.recorded_at)
        next.created.reset();
    next.notes.insert(next.notes.end(), notes.begin(), notes.end());
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

void Engine::Impl::keep(ProbeResult probe) {
    const auto key = key_of(probe);
    const auto known = probes.find(key);
    // Asleep now, but known from before: the old facts stay, with their age.
    const bool keeps_old = probe.outcome == Outcome::Skipped && known != probes.end() &&
                           known->second.outcome == Outcome::Answered;
    if (!keeps_old)
        probes.insert_or_assign(key, std::move(probe));
}

void Engine::Impl::start_probes(const std::vector<std::string>& apis, bool allow_wake) {
    if (is_replay())
        return;
    std::vector<ProbeTarget> due;
    for (const auto& target : search.targets) {
        if (!apis.empty() && std::ranges::find(apis, target.api) == apis.end())
            continue;
        const auto sleeper = allow_wake ? std::nullopt : sleeper_woken_by(target, machine);
        if (sleeper)
            keep(skipped_asleep(target, *sleeper));
        else if (round.begin(target))
            due.push_back(target);
    }
    for (const auto& target : due)
        ask(target);
}

void Engine::Impl::ask(const ProbeTarget& target) {
    supervisor.start(target,
                     [this, target](ProbeResult probe) { finished(target, std::move(probe)); });
}

bool Engine::Impl::is_fresh(const ProbeTarget& target) const {
    const auto known = probes.find(key_of(target));
    if (known == probes.end() || !known->second.at)
        return false;
    // An answer of the future is one from before the clock was set back.
    const auto now = clock.wall();
    return *known->second.at <= now && now - options.trusts_cache_for < *known->second.at;
}

void Engine::Impl::start_what_is_due() {
    quiet_start.reset();
    const auto fresh = [this](const ProbeTarget& target) { return is_fresh(target); };
    if (!std::ranges::all_of(search.targets, fresh))
        start_probes({}, false);
}

bool Engine::Impl::offers(const ProbeTarget& target) const {
    return std::ranges::find(search.targets, target) != search.targets.end();
}

/// Asks once more when the machine has changed since `target` was asked.
bool Engine::Impl::asks_again(const ProbeTarget& target) {
    if (outdated.erase(target) == 0 || !offers(target) || sleeper_woken_by(target, machine))
        return false;
    ask(target);
    return true;
}

void Engine::Impl::finished(const ProbeTarget& target, ProbeResult probe) {
    if (asks_again(target))
        return;
    if (offers(target))  // a driver that was uninstalled meanwhile has no say
        keep(std::move(probe));
    round.finish(target);
    if (!round.running())
        end_round();
    else if (!gathering)
        gathering = loop.after(kGather, [this] { publish(); });
}

void Engine::Impl::end_round() {
    from_cache = false;
    publish();
    save_cache();
    for (const auto& done : round.end())
        done();
}

void Engine::Impl::settled() {
    settling.reset();
    if (!rescan())
        return;
    start_probes({}, false);
    publish();
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
    auto impl =
        std::make_unique<Impl>(std::move(source), loop, launcher, clock, std::move(options));
    impl->profiles = TRY(ProfileSet::with_builtins());
    impl->load_profiles();
    return std::unique_ptr<Engine>{new Engine{std::move(impl)}};
}

void Engine::start() {
    // Listening starts first: what changes during the scan is then an event and not a gap.
    impl_->watch_hardware();
    impl_->scan();
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

Result<Decision> Engine::select(std::string_view consumer, const Value& request) const {
    const auto* profile = impl_->profiles.find(consumer);
    if (!profile)
        return Error{
            ErrorCode::UnknownConsumer,
            "no profile of that name; see " + std::to_string(consumers().size()) + " known ones"};
    const auto parsed = TRY(select_request_from(request));
    return gpuprobe::select(*profile, parsed, impl_->report);
}

std::vector<std::string> Engine::consumers() const {
    return impl_->profiles.names();
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
    impl_->start_probes(request.apis, request.allow_wake);
    if (has_changed)
        impl_->start_probes({}, false);  // the others' answers are of before
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
                                    .probes = impl_->answers(),
                                    .targets = impl_->search.targets,
                                    .allow_wake = allow_wake},
                                   std::move(reply));
}

Status Engine::capture(const std::string& folder, bool redact) const {
    return write_capture(folder, impl_->source, impl_->answers(), impl_->clock.wall(), redact);
}

void Engine::on_change(std::function<void()> changed) {
    impl_->listeners.push_back(std::move(changed));
}

}  // namespace gpuprobe
