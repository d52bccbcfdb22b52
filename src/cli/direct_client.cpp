// SPDX-License-Identifier: Apache-2.0
#include "cli/direct_client.h"

#include <set>

#include <unistd.h>

#include "calls/surroundings.h"
#include "cli/paths.h"
#include "engine/knowledge_base.h"
#include "explain/phrase.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

/// If commands follow each other quickly, the later commands use the cached results of the first;
/// `probe` probes the drivers again on request. The cache isn't used after a change that affects a
/// driver's answer (the driver, a device node, a permission).
constexpr Duration kTrustsCacheFor = std::chrono::minutes{10};

/// After this time, gpuprobectl shows the user which driver it is waiting for.
constexpr Duration kShowsAfter = std::chrono::seconds{1};

/// Options for an engine that lives as long as one command.
engine::EngineOptions engine_options(const DirectOptions& options) {
    engine::EngineOptions engine{
        .application_folders = engine::application_folders(options.application_folders),
        .knowledge = engine::KnowledgeFolders::below(options.knowledge_root),
        .watch_hardware = options.follows_hardware};
    if (options.has_cache && !options.replay)
        engine.cache_file = user_cache_file();
    if (!options.replay)
        engine.state_folder = user_state_folder();
    add_from_environment(engine.folders);
    engine.trusts_cache_for = kTrustsCacheFor;
    // Only our own worker program supports starting before its target is known.
    engine.starts_ahead = options.looks && !options.worker;
    engine.ends_with_answers = !options.follows_hardware && !options.lives_on;
    engine.limits.warn = kShowsAfter;
    if (options.patience)
        engine.limits.query = *options.patience;
    // A user who sets a time limit prefers a partial answer to a late answer.
    engine.limits.is_hurried = options.patience.has_value();
    return engine;
}

/// The launcher of workers. With a capture no launcher is needed, because a capture contains the
/// results of its probes.
Result<std::unique_ptr<Launcher>> launcher_for(const DirectOptions& options) {
    if (options.replay || !options.looks)
        return std::unique_ptr<Launcher>{std::make_unique<SpawnLauncher>("", "")};
    return own_workers(options.worker);
}

/// Shows the user which drivers did not answer in time.
void show_given_up(const Report& report, const DirectOptions& options) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*options.patience).count();
    for (const auto& probe : report.probes)
        if (probe.outcome == Outcome::TimedOut && report.source == ReportSource::Live)
            options.slow(phrase(
                "{api}[ {driver}] did not answer within {seconds} s and is ignored; to wait "
                "longer, use --patience=SECONDS",
                {{"api", probe.api},
                 {"driver", probe.driver.empty() ? std::nullopt : std::optional{probe.driver}},
                 {"seconds", std::to_string(seconds)}}));
}

}  // namespace

DirectClient::DirectClient(std::unique_ptr<SystemLoop> loop, std::unique_ptr<Launcher> launcher)
    : loop_{std::move(loop)}, launcher_{std::move(launcher)} {
    shut_out_workers();
}

Result<std::unique_ptr<Client>> DirectClient::open(const DirectOptions& options) {
    // The source of all facts: a capture or this machine.
    auto source =
        options.replay ? TRY(engine::replayed_machine(*options.replay)) : engine::live_machine();
    auto launcher = TRY(launcher_for(options));
    auto loop = TRY(SystemLoop::create());
    // An interrupt ends the loop, so that the workers are stopped properly.
    TRY(loop->stop_on_signals());
    std::unique_ptr<DirectClient> client{new DirectClient{std::move(loop), std::move(launcher)}};
    auto chosen = engine_options(options);
    // Without a cache, every command probes every driver again. Warn root if there is no cache.
    if (options.has_cache && !options.replay && !chosen.cache_file && options.slow)
        if (const auto why = why_nothing_is_kept())
            options.slow(
                phrase("results cannot be cached for the next command: {why}", {{"why", *why}}));
    // Methods called by the verb `call` read the files of the same machine as the engine.
    client->files_ = source.files;
    if (options.replay)
        client->captured_ = TRY(captured_surroundings(*options.replay));
    client->engine_ = engine::Engine::create(std::move(source), *client->loop_, *client->launcher_,
                                             client->clock_, std::move(chosen));
    // Names of applications, and answers that are the same on every machine, do not depend on this
    // machine.
    if (!options.looks)
        return std::unique_ptr<Client>{std::move(client)};
    auto& engine = *client->engine_;
    if (options.slow)
        engine.on_slow(options.slow);
    engine.start();
    if (engine.probing() && options.waiting)
        options.waiting(true);
    const auto turned = client->turn_until([&engine] { return !engine.probing(); });
    if (options.waiting)
        options.waiting(false);
    if (!turned)
        return turned.error();
    if (options.slow && options.patience)
        show_given_up(engine.report(), options);
    engine.on_slow({});  // the caller's objects may no longer exist
    return std::unique_ptr<Client>{std::move(client)};
}

/// The loop ends early only on SIGINT or SIGTERM.
Status DirectClient::turn_until(const std::function<bool()>& done) {
    if (!loop_->run_until(done))
        return Error{ErrorCode::Cancelled, "interrupted"};
    return Done{};
}

Result<Report> DirectClient::report() {
    return engine_->report();
}

Status DirectClient::renew() {
    bool is_done = false;
    engine_->renew([&is_done] { is_done = true; });
    return turn_until([&is_done] { return is_done; });
}

Status DirectClient::watch(const std::function<void()>& changed) {
    engine_->on_change(changed);
    return turn_until([] { return false; });
}

Status DirectClient::capture(const std::string& folder, engine::Redaction* mask) {
    return engine_->capture(folder, mask);
}

Result<MethodAnswer> DirectClient::call(const MethodCall& call, const HearAnswer& heard_before) {
    // A capture is read-only, so a change would be lost at the end of this process.
    const std::set<std::string_view> changes{"SetOverride", "ClearOverride", "ReportOutcome"};
    if (engine_->is_replayed() && changes.contains(call.method.substr(call.method.rfind('.') + 1)))
        return refusal_of({ErrorCode::InvalidRequest, "not possible with a replayed machine"});
    auto asked = call;
    asked.wants_more = static_cast<bool>(heard_before);
    (void)varlink::take_interactive(asked.parameters);  // polkit is not needed here
    // Methods that report the current state need fresh facts first, as in the daemon.
    const auto traits = traits_of(asked, engine_->report()).value_or(MethodTraits{});
    if (traits.is_of_now)
        TRY(renew());
    // A subscription ends with an interrupt, or when the reader of the output closes the pipe. If
    // no events are requested, epoll reports only errors and hang-ups.
    EventHandle reader;
    if (traits.subscribes && heard_before) {
        reader = loop_->watch(STDOUT_FILENO, 0, EventLoop::Priority::Idle,
                              [this](std::uint32_t) { loop_->stop(0); });
        engine_->on_change([this, &heard_before] {
            heard_before({.document = subscription_document(engine_->report()), .continues = true});
        });
    }
    std::optional<std::vector<Finding>> findings;
    std::optional<MethodAnswer> last;
    answer(asked,
           {.engine = *engine_,
            .files = *files_,
            .seen = engine_->report(),
            .seen_json = [this]() -> const std::string& { return engine_->report_json(); },
            .findings = [this, &findings]() -> const std::vector<Finding>& {
                if (!findings)
                    findings = own_findings(engine_->report());
                return *findings;
            },
            .captured = captured_,
            .ends_after = true},
           [&last, &heard_before](const MethodAnswer& answer) {
               if (!answer.continues)
                   last = answer;
               else if (heard_before)
                   heard_before(answer);
           });
    TRY(turn_until([&last] { return last.has_value(); }));
    return *last;
}

}  // namespace gpuprobe::inline cli
