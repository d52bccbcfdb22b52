// SPDX-License-Identifier: Apache-2.0
#include "service/manager_object.h"

#include "base/accounts.h"
#include "base/value.h"
#include "base/version.h"
#include "calls/documents.h"
#include "calls/interface.h"
#include "calls/requests.h"
#include "calls/surroundings.h"
#include "policy/gpu_selection.h"
#include "report/trials.h"
#include "service/answers.h"
#include "service/daemon_process.h"
#include "wire/connection.h"
#include "wire/dictionary.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {
namespace {

/// The value of a boolean option, or `fallback` if it is missing. Errors: InvalidRequest for
/// another type.
Result<bool> flag_option(const bus::Dictionary& options, const std::string& key, bool fallback) {
    const auto given = options.find(key);
    if (given == options.end())
        return fallback;
    const auto flag = TRY(bus::value_from(given->second)).as_bool();
    if (!flag)
        return Error{ErrorCode::InvalidRequest, key + ": expected a boolean"};
    return *flag;
}

/// The requested probe stage; by default the query. The engine checks whether the stage exists.
/// Errors: InvalidRequest for another type.
Result<std::string> stage_option(const bus::Dictionary& options) {
    const auto given = options.find("stage");
    if (given == options.end())
        return std::string{kQueryStage};
    const auto value = TRY(bus::value_from(given->second));
    if (!value.is_string())
        return Error{ErrorCode::InvalidRequest, "stage: expected a string"};
    return *value.as_string();
}

/// Whether the request, which must have been checked before, asks for all candidates.
bool wants_explanation(const Value& request) {
    return request.at("explain").as_bool() == true;
}

}  // namespace

ManagerObject::ManagerObject(bus::Connection& connection,
                             const ServiceContext& context,
                             const GpuObjects& gpus,
                             Jobs& jobs,
                             const CallerAccess& access)
    : AdaptorInterfaces{connection.bus(), sdbus::ObjectPath{bus::kRootPath}},
      connection_{connection},
      context_{context},
      gpus_{gpus},
      jobs_{jobs},
      access_{access},
      self_{std::make_shared<const ManagerObject*>(this)} {
    published_ = current();
    registerAdaptor();
}

ManagerObject::~ManagerObject() {
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

ManagerObject::Published ManagerObject::current() const {
    // The default GPU is the one that the application "default" would use.
    const auto& report = context_.engine.report();
    const auto decision = context_.engine.select("default", Value{}, kRoot, report);
    const auto* best = default_gpu(report, decision ? decision->gpus : std::vector<std::string>{});
    return {.generation = report.generation,
            .state = std::string{name_of(report.state)},
            .default_gpu = best ? std::string{gpus_.path_of(best->id)} : "/"};
}

void ManagerObject::update() {
    answers_.clear();  // overrides or data files may have changed without a new generation
    // Replace the values before the signal, which reads them.
    const auto before = std::exchange(published_, current());
    std::vector<std::string> changed;
    if (before.generation != published_.generation)
        changed.emplace_back("Generation");
    if (before.state != published_.state)
        changed.emplace_back("State");
    if (before.default_gpu != published_.default_gpu)
        changed.emplace_back("DefaultGpu");
    if (!changed.empty())
        (void)bus::attempt([&] {
            emitPropertiesChangedSignal(Manager_adaptor::INTERFACE_NAME,
                                        bus::property_names(changed));
        });
}

// The report -------------------------------------------------------------------------------------
//
// Methods that report on the machine call catch_up() first. It starts probes that had to wait, for
// example because a GPU was asleep.

void ManagerObject::Describe(sdbus::Result<std::string>&& result) {
    context_.engine.catch_up();
    const auto sender = bus::current_sender(getObject());
    for_caller(
        access_, sender, bus::Reply<std::string>{std::move(result)},
        [this, sender](const Caller& caller, auto& reply) {
            // Large replies would make a slow bus worse; descriptors don't (see InlineBudget).
            reply.give(connection_.congested()
                           ? Error{ErrorCode::TooManyRequests, "the bus is slow: use DescribeFd"}
                           : text_for(sender, *access_.views.of(caller).json));
        });
}

Result<std::string> ManagerObject::text_for(const std::string& sender,
                                            const std::string& json) const {
    TRY(context_.admission.text.take(sender, Bytes{json.size()}));
    return bus::bus_text(json, kMaxReport);
}

void ManagerObject::DescribeFd(sdbus::Result<sdbus::UnixFd>&& result) {
    context_.engine.catch_up();
    for_caller(access_, bus::current_sender(getObject()),
               bus::Reply<sdbus::UnixFd>{std::move(result)},
               [this](const Caller& caller, auto& reply) {
                   auto file = sealed_file("gpuprobe-report", *access_.views.of(caller).json);
                   if (file)
                       reply.send(sdbus::UnixFd{file->release(), sdbus::adopt_fd});
                   else
                       reply.fail(file.error());
               });
}

void ManagerObject::Diagnose(sdbus::Result<std::string>&& result) {
    context_.engine.catch_up();
    const auto sender = bus::current_sender(getObject());
    for_caller(access_, sender, bus::Reply<std::string>{std::move(result)},
               [this, sender](const Caller& caller, auto& reply) {
                   // Refreshing may run probes, so it counts as an expensive call.
                   auto& admission = context_.admission;
                   const auto payer = admission.payers.of(caller.uid);
                   if (const auto taken = admission.calls.take(payer); !taken)
                       return reply.fail(taken.error());
                   const auto share = admission.probes.claim(payer, 1, kTooManyProbes);
                   if (!share)
                       return reply.fail(share.error());
                   // Reply after the engine has refreshed facts that change all the time.
                   const auto answer = texts_.hold(std::move(reply));
                   context_.engine.renew(
                       [weak = std::weak_ptr{self_}, sender, caller, answer, share = *share] {
                           if (const auto self = weak.lock())
                               answer((*self)->diagnosis(sender, caller));
                       });
               });
}

Result<std::string> ManagerObject::diagnosis(const std::string& sender,
                                             const Caller& caller) const {
    const auto& seen = *access_.views.report_for(caller).report;
    const auto findings = findings_for(caller, {}, seen, context_.files);
    return text_for(sender, json_line(to_value(diagnosis_of(findings))));
}

std::vector<sdbus::ObjectPath> ManagerObject::ListGpus(const bus::Dictionary& /*options*/) {
    return bus::guard([this] { return gpus_.paths(); });
}

// Decisions --------------------------------------------------------------------------------------

void ManagerObject::SelectBackend(sdbus::Result<bus::Dictionary>&& result,
                                  std::string application,
                                  bus::Dictionary request) {
    context_.engine.catch_up();
    bus::Reply<bus::Dictionary> reply{std::move(result)};
    auto wanted = bus::value_from(request);
    if (!wanted)
        return reply.fail(wanted.error());
    Question question{.application = std::move(application), .request = std::move(wanted).value()};
    for_caller(access_, bus::current_sender(getObject()), std::move(reply),
               [this, question = std::move(question)](const Caller& caller, auto& answer) {
                   select(question, caller, answer);
               });
}

void ManagerObject::select(const Question& question,
                           const Caller& caller,
                           bus::Reply<bus::Dictionary>& reply) {
    const auto view = access_.views.report_for(caller);
    // Don't cache if this user has reported outcomes: they expire without a new generation.
    const bool is_kept = !context_.engine.has_experience(caller.uid);
    auto key = question_of(view.access, question.application, question.request);
    if (const auto* known =
            is_kept ? answers_.find(context_.engine.report().generation, key) : nullptr)
        return reply.send(*known);
    auto answer = decide(question, caller.uid, *view.report);
    if (!answer)
        return reply.fail(answer.error());
    reply.send(*answer);
    if (is_kept)
        answers_.keep(std::move(key), std::move(answer).value());
}

bus::BusEncoding ManagerObject::encoding(uid_t asker, const Report& seen) const {
    return spelling_for([this](const std::string& id) { return gpus_.path_of(id); },
                        [asker, &seen] { return examine(seen, {.is_root = asker == 0}); },
                        {.host = &seen.host, .is_root = asker == 0});
}

Result<bus::Dictionary> ManagerObject::decide(const Question& question,
                                              uid_t asker,
                                              const Report& seen) {
    const auto request = with_ids(question.request, select_keys());
    auto decision = TRY(context_.engine.select(question.application, request, asker, seen));
    // A caller who wants an explanation gets it even if no backend fits.
    const bool explains = wants_explanation(request);
    if (!decision.backend && !explains)
        return Error{ErrorCode::NoMatch, no_match_message(decision)};
    return answer_from(std::move(decision), explains, encoding(asker, seen));
}

/// Not cached, unlike SelectBackend: the answer depends on a manifest, which may be large.
void ManagerObject::RecommendVariant(sdbus::Result<bus::Dictionary>&& result,
                                     std::string application,
                                     std::string manifest,
                                     bus::Dictionary request) {
    bus::Reply<bus::Dictionary> reply{std::move(result)};
    auto wanted = bus::value_from(request);
    if (!wanted)
        return reply.fail(wanted.error());
    for_caller(access_, bus::current_sender(getObject()), std::move(reply),
               [this, application = std::move(application), manifest = std::move(manifest),
                request = with_ids(*wanted, recommend_keys())](const Caller& caller, auto& answer) {
                   const auto view = access_.views.report_for(caller);
                   auto found = context_.engine.recommend(application, manifest, request,
                                                          caller.uid, *view.report);
                   if (!found)
                       return answer.fail(found.error());
                   answer.send(answer_from(std::move(found).value(), wants_explanation(request),
                                           encoding(caller.uid, *view.report)));
               });
}

void ManagerObject::Plan(sdbus::Result<std::string>&& result,
                         bus::Dictionary request,
                         std::string model) {
    bus::Reply<std::string> reply{std::move(result)};
    auto wanted = bus::value_from(request);
    if (!wanted)
        return reply.fail(wanted.error());
    const auto sender = bus::current_sender(getObject());
    for_caller(access_, sender, std::move(reply),
               [this, sender, wanted = with_ids(*wanted, plan_keys()), model = std::move(model)](
                   const Caller& caller, auto& answer) {
                   auto asked = plan_request_for(wanted, model);
                   if (!asked)
                       return answer.fail(asked.error());
                   plan(std::move(*asked), sender, caller, answer);
               });
}

void ManagerObject::plan(PlanRequest request,
                         const std::string& sender,
                         const Caller& caller,
                         bus::Reply<std::string>& reply) {
    // A plan waits for a reading of free memory; the callback holds the share until then.
    auto& admission = context_.admission;
    const auto share =
        admission.readings.claim(admission.payers.of(caller.uid), 1, kTooManyReadings);
    if (!share)
        return reply.fail(share.error());
    const auto answer = texts_.hold(std::move(reply));
    const auto heard = [weak = std::weak_ptr{self_}, sender, answer,
                        share = *share](const PlanAnswer& planned) {
        if (const auto self = weak.lock())
            answer((*self)->text_for(sender, json_line(to_value(planned))));
    };
    const auto started =
        answer_plan(std::move(request), caller.uid, *access_.views.report_for(caller).report,
                    context_.engine, heard);
    if (!started)
        answer(Result<std::string>{started.error()});
}

std::vector<std::string> ManagerObject::ListManifests() {
    return bus::guard([this] { return context_.engine.manifests(); });
}

std::vector<std::string> ManagerObject::ListApplications() {
    return bus::guard([this] { return context_.engine.applications(); });
}

// Requests ---------------------------------------------------------------------------------------
//
// Clients may name GPUs by object path. The engine knows only ids.

void ManagerObject::name_by_id(Value& name) const {
    if (const auto* gpu = name.is_string() ? gpus_.at(*name.as_string()) : nullptr)
        name = Value{gpu->id};
}

void ManagerObject::name_all_by_id(Value& request) const {
    for (const char* key : {"gpus", "deny"}) {
        auto* const names = request.find(key);
        if (auto* items = names ? names->as_array() : nullptr)
            for (auto& item : *items)
                name_by_id(item);
    }
}

Value ManagerObject::with_ids(const Value& request, std::span<const RequestKey> keys) const {
    auto named = with_table_keys(request, keys);
    name_all_by_id(named);
    return named;
}

// Probes -----------------------------------------------------------------------------------------

Result<ProbeRequest> ManagerObject::probe_request(const std::vector<sdbus::ObjectPath>& gpus,
                                                  const std::vector<std::string>& apis,
                                                  const bus::Dictionary& options) const {
    TRY(few_enough(gpus.size(), apis.size()));  // before millions of names are copied
    ProbeRequest request{.apis = apis,
                         .allow_wake = TRY(flag_option(options, "allow-wake", false)),
                         .stage = TRY(stage_option(options)),
                         .force = TRY(flag_option(options, "force", false))};
    // An unknown path is passed on as it is; checked() then reports it.
    for (const auto& path : gpus) {
        const auto* gpu = gpus_.at(path);
        request.gpus.push_back(gpu ? gpu->id : std::string{path});
    }
    return checked(std::move(request), context_.engine.report(), context_.files);
}

void ManagerObject::Probe(sdbus::Result<bus::Dictionary>&& result,
                          std::vector<sdbus::ObjectPath> gpus,
                          std::vector<std::string> apis,
                          bus::Dictionary options) {
    // After this line no exception may leave the function, or the call would be answered twice.
    bus::Reply<bus::Dictionary> reply{std::move(result)};
    try {
        const auto request = probe_request(gpus, apis, options);
        if (!request)
            return reply.fail(request.error());
        probe(*request, std::move(reply));
    } catch (const std::exception& problem) {
        reply.fail(Error{ErrorCode::Internal, problem.what()});
    }
}

Requester ManagerObject::requester() const {
    return {.sender = bus::current_sender(getObject()),
            .may_be_asked = bus::allows_questions(bus::current_call(getObject()))};
}

void ManagerObject::probe(const ProbeRequest& request, bus::Reply<bus::Dictionary> reply) {
    const auto who = requester();
    const auto share = claim_for_question(who.sender);
    if (!share)
        return reply.fail(share.error());
    // Depending on the request, several permissions are needed, for example to wake a GPU.
    const auto pending = std::make_shared<bus::Reply<bus::Dictionary>>(std::move(reply));
    access_.authority.ask_for_all(who, needs_of(request),
                                  [this, who, request, pending, share = *share](const Status& may) {
                                      if (may)
                                          jobs_.probe(who.sender, request, std::move(*pending));
                                      else
                                          pending->fail(may.error());
                                  });
}

/// Small calls are free. Large calls of senders that are not identified yet are charged to the
/// common account of all such senders.
Result<SharedPool::Claim> ManagerObject::claim_for_question(const std::string& sender) {
    const auto size = connection_.call_size();
    if (size <= kSmallCall.count)
        return SharedPool::Claim{};
    auto& admission = context_.admission;
    const auto* known = access_.callers.known(sender);
    return admission.memory.claim(known ? admission.payers.of(known->uid) : kUnknownPayer, size,
                                  kTooMuchWaits);
}

// Calls that change stored state -----------------------------------------------------------------

/// First permission, then identification, then the rate limit, so that a call without permission
/// does not use up the caller's limit.
template <class... Results, class Act>
void ManagerObject::change(std::string_view method, bus::Reply<Results...> reply, Act act) {
    const auto who = requester();
    // Every method that uses this function is in the table of methods; anything else is a bug.
    const auto needs = needs_of(method);
    if (!needs)
        return reply.fail(
            Error{ErrorCode::Internal, std::string{method} + ": nobody knows what it needs"});
    const auto share = claim_for_question(who.sender);
    if (!share)
        return reply.fail(share.error());
    // Callbacks are copied. The reply can't be copied and `act` may hold a large request, so both
    // are shared.
    const auto pending = std::make_shared<bus::Reply<Results...>>(std::move(reply));
    const auto asked = [this, who, pending, share = *share,
                        act = std::make_shared<Act>(std::move(act))](const Status& may) {
        if (!may)
            return pending->fail(may.error());
        for_caller(access_, who.sender, std::move(*pending),
                   [this, act](const Caller& caller, bus::Reply<Results...>& answer) {
                       auto& admission = context_.admission;
                       const auto allowed = admission.calls.take(admission.payers.of(caller.uid));
                       if (!allowed)
                           return answer.fail(allowed.error());
                       answer.give((*act)(context_.engine, caller.uid));
                   });
    };
    access_.authority.ask_for_all(who, *needs, asked);
}

void ManagerObject::ReportOutcome(sdbus::Result<>&& result, bus::Dictionary outcome) {
    bus::Reply<> reply{std::move(result)};
    (void)bus::attempt([&] {  // on an exception, the reply's destructor sends an error
        auto value = bus::value_from(outcome);
        if (!value)
            return reply.fail(value.error());
        if (auto* gpu = value->find("gpu"))
            name_by_id(*gpu);
        change("ReportOutcome", std::move(reply),
               [outcome = std::move(value).value()](engine::Engine& engine, uid_t uid) {
                   return engine.report_outcome(outcome, uid);
               });
    });
}

void ManagerObject::SetOverride(sdbus::Result<>&& result,
                                std::string application,
                                bus::Dictionary rule) {
    bus::Reply<> reply{std::move(result)};
    (void)bus::attempt([&] {
        auto parsed = bus::value_from(rule);
        if (!parsed)
            return reply.fail(parsed.error());
        name_all_by_id(*parsed);
        change("SetOverride", std::move(reply),
               [application, rule = std::move(parsed).value()](engine::Engine& engine, uid_t uid) {
                   return engine.set_override(application, rule, uid);
               });
    });
}

void ManagerObject::ClearOverride(sdbus::Result<bool>&& result, std::string application) {
    bus::Reply<bool> reply{std::move(result)};
    (void)bus::attempt([&] {
        change("ClearOverride", std::move(reply), [application](engine::Engine& engine, uid_t) {
            return engine.clear_override(application);
        });
    });
}

std::map<std::string, bus::Dictionary> ManagerObject::ListOverrides() {
    return bus::guard([this] {
        std::map<std::string, bus::Dictionary> answer;
        for (const auto& [application, entry] : context_.engine.overrides())
            answer.emplace(bus::bus_text(application), bus::dictionary_of(entry));
        return answer;
    });
}

std::vector<bus::Dictionary> ManagerObject::ListQuarantine() {
    return bus::guard([this] { return bus::dictionaries_of(context_.engine.report().quarantine); });
}

void ManagerObject::ClearQuarantine(sdbus::Result<std::uint32_t>&& result, bus::Dictionary filter) {
    bus::Reply<std::uint32_t> reply{std::move(result)};
    (void)bus::attempt([&] {
        const auto meant = bus::value_from(filter);
        if (!meant)
            return reply.fail(meant.error());
        change("ClearQuarantine", std::move(reply),
               [meant = *meant](engine::Engine& engine, uid_t) {
                   const auto cleared = engine.clear_quarantine(meant);
                   // Probe the drivers that are no longer in quarantine.
                   if (cleared)
                       engine.catch_up();
                   return cleared;
               });
    });
}

// Properties -------------------------------------------------------------------------------------

std::string ManagerObject::Version() {
    return std::string{kVersion};
}

/// Clients check these words before they use a method that an older daemon may not have.
std::vector<std::string> ManagerObject::Features() {
    return bus::guard([this] {
        std::vector<std::string> features{"select",      "recommend", "probe",   "verify",
                                          "measure",     "override",  "outcome", "quarantine",
                                          "describe-fd", "plan"};
        if (context_.engine.is_replayed())
            features.emplace_back("replay");
        return features;
    });
}

}  // namespace gpuprobe::inline service
