// SPDX-License-Identifier: Apache-2.0
#include "calls/methods.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/accounts.h"
#include "base/profile.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "calls/interface.h"
#include "calls/requests.h"
#include "calls/surroundings.h"
#include "explain/reason_words.h"
#include "policy/decision.h"
#include "report/access.h"
#include "report/compute_view.h"
#include "report/trials.h"
#include "wire/varlink.h"

namespace gpuprobe::inline calls {
namespace {

constexpr std::string_view kServiceInterface = "org.varlink.service";
constexpr std::size_t kMaxEcho = 256;      // characters of the request that an error may repeat
constexpr std::size_t kMaxProblem = 1024;  // maximum length of an error message, in characters

/// Sends the answers to a call in the form that the caller wants. The object may outlive the call.
struct Sender {
    HearAnswer heard = {};
    bool wants_value = false;

    template <class T>
    void send(const T& document, MethodAnswer answer = {}) const {
        auto value = to_value(document);
        if (wants_value)
            answer.value = std::move(value);
        else
            answer.document = json_line(value);
        heard(answer);
    }
    void refuse(const Error& error) const { send(failure_of(error), named(error)); }
    /// An answer with the error's name and text.
    static MethodAnswer named(const Error& error);
};

/// Whether the caller is root; unknown for a captured machine, where the caller does not matter.
std::optional<bool> is_root(uid_t uid, const Report& report) {
    return report.source == ReportSource::Replay ? std::nullopt : std::optional{uid == kRoot};
}

/// A call that is being answered.
struct Asking {
    const MethodCall& call;
    const MachineView& machine;
    Sender sender;

    template <class T>
    void send(const T& document) const {
        sender.send(document);
    }
    template <class T>
    void send(const Result<T>& result) const {
        result ? sender.send(*result) : sender.refuse(result.error());
    }
    void refuse(const Error& error) const { sender.refuse(error); }
    /// Adds messages and fixes to the reasons of a record.
    template <Described T>
    T explained(T record) const {
        const auto place = [this] {
            return ReasonPlace{.findings = &machine.findings(),
                               .machine = &machine.seen,
                               .is_root = is_root(call.uid, machine.seen)};
        };
        if (call.wants_words)
            ReasonWriter{place}.add_to(record);
        return record;
    }
};

/// Sends an answer after the call has returned, with messages for its reasons. At that time, the
/// caller's view of the machine no longer exists, so the fixes are the general fixes for all users.
class LaterAnswer {
public:
    explicit LaterAnswer(const Asking& ask)
        : sender_{ask.sender},
          wants_words_{ask.call.wants_words},
          uid_{ask.call.uid},
          engine_{&ask.machine.engine} {}

    /// Catches all exceptions, because the engine calls this function.
    template <Described T>
    void send(T record) const {
        try {
            const auto& report = engine_->report();
            std::vector<Finding> findings;
            const auto place = [this, &report, &findings] {
                findings = examine(report, {.is_root = is_root(uid_, report)});
                return ReasonPlace{
                    .findings = &findings, .machine = &report, .is_root = is_root(uid_, report)};
            };
            if (wants_words_)
                ReasonWriter{place}.add_to(record);
            sender_.send(record);
        } catch (const std::exception& problem) {
            sender_.refuse({ErrorCode::Internal, problem.what()});
        }
    }

private:
    Sender sender_;
    bool wants_words_;
    uid_t uid_;
    const engine::Engine* engine_;
};

/// Returns an error's name without the interface, such as "NoMatch", which is the same on D-Bus.
std::string short_name(ErrorCode code) {
    const auto name = bus::error_name(code);
    return name.substr(name.rfind('.') + 1);
}

/// Returns the error's name in Varlink, such as "org.gpuprobe.NoMatch".
std::string error_name(ErrorCode code) {
    return std::string{kInterface} + "." + short_name(code);
}

MethodAnswer Sender::named(const Error& error) {
    return {.error = error_name(error.code), .message = error.text, .code = error.code};
}

/// An error of org.varlink.service. The document contains `text` as the member `key`, which Varlink
/// defines for the error, and `message`, the error message for users.
MethodAnswer service_error(const char* name,
                           const char* key,
                           std::string_view text,
                           std::string message) {
    Value document{Value::Object{}};
    if (key)
        document[key] = scrubbed(text, kMaxEcho);
    document["message"] = scrubbed(message, kMaxProblem);
    return {.error = std::string{kServiceInterface} + "." + name,
            .document = json_line(document),
            .message = std::move(message)};
}

// Implementations of the methods ---------------------------------------------------------------

void describe_machine(const Nothing&, const Asking& ask) {
    // The server already has the report as JSON, so use this JSON and do not convert the report
    // again.
    ask.sender.heard({.document = ask.machine.seen_json()});
}

void get_gpu(const GpuParameters& in, const Asking& ask) {
    const ComputeView view{ask.machine.seen};
    const auto gpu = known_gpu(view, in.gpu);
    gpu ? ask.send(**gpu) : ask.refuse(gpu.error());
}

/// A caller who may open the GPU needs no authorization, because the GPU's driver would report the
/// same identifiers to that caller.
std::vector<Action> needs_of_identifiers(const MethodCall& call, const Report& seen) {
    const auto in = strict_record_from<GpuParameters>(call.parameters);
    const ComputeView view{seen};
    const auto gpu = in ? known_gpu(view, in->gpu) : Result<const Gpu*>{in.error()};
    // A call with invalid parameters needs no permission, because it is refused for every caller.
    return gpu && is_closed(**gpu) ? std::vector{Action::GetIdentifiers} : std::vector<Action>{};
}

void get_identifiers(const GpuParameters& in, const Asking& ask) {
    const ComputeView view{ask.machine.engine.report()};
    const auto gpu = known_gpu(view, in.gpu);
    if (!gpu)
        return ask.refuse(gpu.error());
    // Members of the identity that aren't strings, such as numbers, aren't identifiers.
    IdentifierList list;
    const auto identity = to_value((*gpu)->identity);
    for (const auto& member : *identity.as_object())
        if (const auto* text = member.value.as_string())
            list.identifiers.emplace(member.key, *text);
    ask.send(list);
}

void list_gpus(const Nothing&, const Asking& ask) {
    ask.send(GpuList{.generation = ask.machine.seen.generation,
                     .gpus = ask.machine.seen.gpus,
                     .accelerators = ask.machine.seen.accelerators});
}

void list_hardware_devices(const Nothing&, const Asking& ask) {
    ask.send(
        HardwareDeviceList{ask.machine.seen.generation, hardware_devices_of(ask.machine.seen)});
}

void list_applications(const Nothing&, const Asking& ask) {
    ask.send(ApplicationList{ask.machine.engine.applications()});
}

/// Returns the request with "explain" set, because the documents always contain every candidate. A
/// value of the wrong type is kept, so that reading the request reports the error.
Value with_candidates(Value request) {
    const auto& explain = request.at("explain");
    if (explain.is_null() || explain.as_bool())
        request["explain"] = true;
    return request;
}

bool wants_candidates(const Value& request) {
    return request.at("explain").as_bool() == true;
}

void select_backend(const SelectParameters& in, const Asking& ask) {
    const auto& request = in.request.value;
    const bool always = ask.call.always_explains;
    auto decision = ask.machine.engine.select(in.application.value_or("default"),
                                              always ? with_candidates(request) : request,
                                              ask.call.uid, ask.machine.seen);
    if (!decision)
        return ask.refuse(decision.error());
    if (!decision->backend && (always || !wants_candidates(request))) {
        // Send an error. The error contains the candidates if the interface supports this.
        auto no_match = no_match_of(*decision);
        if (always)
            no_match = ask.explained(std::move(no_match));
        join_alike_gpus(no_match.failure.candidates, ask.machine.seen);
        return ask.sender.send(no_match,
                               Sender::named({ErrorCode::NoMatch, no_match.failure.message}));
    }
    if (!always && !wants_candidates(request))
        decision->candidates.clear();  // so that no messages are made for the candidates
    // On D-Bus, the member is always present, and "" means no backend.
    decision->backend = decision->backend.value_or("");
    auto explained = ask.explained(std::move(*decision));
    join_alike_gpus(explained.candidates, ask.machine.seen);
    ask.send(explained);
}

/// The maximum number of reasons in an answer on D-Bus, counted over all candidates. On a busy
/// machine, writing one reason to a message takes milliseconds, and callers wait for 25 seconds. A
/// manifest with 512 variants produces more than kMaxBusReasons reasons on a machine with many
/// GPUs.
constexpr std::size_t kMaxBusReasons = 2048;

/// Drops the reasons of the last candidates if there are too many for a D-Bus message. If reasons
/// were dropped, adds a warning and returns true. The candidates keep their verdicts and the
/// messages in `why`.
bool shorten(Recommendation& recommendation) {
    std::size_t left = kMaxBusReasons;
    std::size_t cut = 0;
    for (auto& candidate : recommendation.candidates) {
        const auto count = candidate.reasons.size() + candidate.warnings.size();
        if (count <= left) {
            left -= count;
            continue;
        }
        left = 0;
        ++cut;
        candidate.reasons.clear();
        candidate.warnings.clear();
    }
    if (cut > 0)
        recommendation.warnings.push_back(
            because("reasons-left-out", {{"count", static_cast<unsigned long>(cut)}}));
    return cut > 0;
}

void recommend_variant(const RecommendParameters& in, const Asking& ask) {
    const bool always = ask.call.always_explains;
    const auto& request = in.request.value;
    auto answer = ask.machine.engine.recommend(
        in.application.value_or(""), in.manifest.value_or(""),
        always ? with_candidates(request) : request, ask.call.uid, ask.machine.seen);
    if (!answer)
        return ask.refuse(answer.error());
    auto explained = ask.explained(std::move(*answer));
    // On D-Bus, the answer has no candidates unless the request asks for them. A warning that
    // shorten() has added has no message yet.
    if (!always && wants_candidates(request) && shorten(explained))
        explained = ask.explained(std::move(explained));
    ask.send(explained);
}

/// Builds the request for a plan from the keys of `request` and from the parameters `need` and
/// `margin`, which are in bytes.
Result<PlanRequest> request_of(const PlanParameters& in) {
    auto request = in.request.value;
    // A parameter and a key with the same meaning must not contradict each other.
    for (const auto& [key, is_given] :
         {std::pair{"need-mib", in.need.has_value()},
          std::pair{"margin-mib", in.margin.has_value()}, std::pair{"gpus", in.gpus.has_value()}})
        if (is_given && request.find(key))
            return Error{ErrorCode::InvalidRequest,
                         std::string{"request: "} + key + ": given twice"};
    if (in.need)
        request["need-mib"] = 1;  // a placeholder: the bytes in `need` may not be whole MiB
    auto asked = TRY(plan_request_for(request, in.model.value_or("")));
    if (in.need)
        asked.need = in.need;
    asked.margin = in.margin.value_or(asked.margin);
    asked.gpus = in.gpus.value_or(asked.gpus);
    return asked;
}

void plan_memory(const PlanParameters& in, const Asking& ask) {
    auto request = request_of(in);
    if (!request)
        return ask.refuse(request.error());
    // `ask` refers to objects that may no longer exist when the memory has been read.
    const auto started =
        answer_plan(std::move(*request), ask.call.uid, ask.machine.seen, ask.machine.engine,
                    [later = LaterAnswer{ask}](const PlanAnswer& answer) { later.send(answer); });
    if (!started)
        ask.refuse(started.error());
}

void diagnose(const DiagnoseParameters& in, const Asking& ask) {
    const auto environment = in.environment.value_or(std::map<std::string, std::string>{});
    const Caller caller{.uid = ask.call.uid, .groups = ask.call.groups};
    ask.send(diagnosis_of(findings_for(caller, environment, ask.machine.seen, ask.machine.files,
                                       ask.machine.captured)));
}

void query_terms(const QueryParameters& in, const Asking& ask) {
    auto answer = tested(in.terms, in.gpus, ask.machine.seen);
    answer ? ask.send(ask.explained(std::move(*answer))) : ask.refuse(answer.error());
}

void get_memory(const MemoryParameters& in, const Asking& ask) {
    // On D-Bus, the object of the call is the GPU, and an option names the partition.
    const auto id = in.partition ? in.gpu + "/" + *in.partition : in.gpu;
    const auto asked = ask.machine.engine.read_memory(
        id, false,
        [later = LaterAnswer{ask}](const engine::LiveMemory& memory) { later.send(memory); });
    if (!asked)
        ask.refuse(asked.error());
}

/// The request of Probe with the defaults for omitted parameters.
ProbeRequest probe_request_of(const ProbeParameters& in) {
    return {.apis = in.apis.value_or(std::vector<std::string>{}),
            .allow_wake = in.allow_wake.value_or(false),
            .stage = in.stage.value_or(std::string{kQueryStage}),
            .gpus = in.gpus.value_or(std::vector<std::string>{}),
            .force = in.force.value_or(false)};
}

/// The privileged actions of a Probe call. A call with invalid parameters needs no permission,
/// because it is refused later for every caller.
std::vector<Action> needs_of_probe(const MethodCall& call, const Report& /*seen*/) {
    const auto in = strict_record_from<ProbeParameters>(call.parameters);
    return in ? needs_of(probe_request_of(*in)) : std::vector<Action>{};
}

void probe_drivers(const ProbeParameters& in, const Asking& ask) {
    const auto meant =
        checked(probe_request_of(in), ask.machine.engine.report(), ask.machine.files);
    if (!meant)
        return ask.refuse(meant.error());
    const auto& request = *meant;
    // Callers that did not set "more" get only the last answer. The reported progress never
    // decreases, even if more probes begin. Steps below kStep aren't reported, because they would
    // wake the caller unnecessarily.
    constexpr double kStep = 0.01;
    const auto next = std::make_shared<double>(0);
    const auto progress = [sender = ask.sender, wants_more = ask.call.wants_more,
                           next](double share) {
        share = std::clamp(share, 0.0, 1.0);
        if (!wants_more || share < *next)
            return;
        *next = share + kStep;
        sender.send(ProbeProgress{.progress = share}, {.continues = true});
    };
    const auto done = [sender = ask.sender, request, &engine = ask.machine.engine] {
        sender.send(probe_answer_of(engine.report(), request.stage, request.apis));
    };
    if (const auto started = ask.machine.engine.probe(request, progress, done); !started)
        ask.refuse(started.error());
}

/// Returns the parameters without the members that are null.
Value given(const Value& parameters) {
    Value::Object members = *parameters.as_object();
    std::erase_if(members, [](const Value::Member& member) { return member.value.is_null(); });
    return Value{std::move(members)};
}

void report_outcome(const OutcomeParameters& in, const Asking& ask) {
    const auto outcome = given(to_value(in));
    const auto done = ask.machine.engine.report_outcome(outcome, ask.call.uid);
    done ? ask.send(outcome) : ask.refuse(done.error());
}

void set_override(const OverrideParameters& in, const Asking& ask) {
    const auto done = ask.machine.engine.set_override(in.application, in.rule, ask.call.uid);
    done ? ask.send(OverrideSet{in.application}) : ask.refuse(done.error());
}

void clear_override(const ApplicationParameters& in, const Asking& ask) {
    const auto cleared = ask.machine.engine.clear_override(in.application);
    cleared ? ask.send(OverrideCleared{in.application, *cleared}) : ask.refuse(cleared.error());
}

void list_overrides(const Nothing&, const Asking& ask) {
    ask.send(OverrideList{ask.machine.engine.overrides()});
}

void list_quarantine(const Nothing&, const Asking& ask) {
    ask.send(QuarantineList{ask.machine.engine.report().quarantine});
}

void clear_quarantine(const QuarantineParameters& in, const Asking& ask) {
    const auto cleared = ask.machine.engine.clear_quarantine(given(to_value(in)));
    // Probe the drivers that have just left the quarantine.
    if (cleared && !ask.machine.ends_after)
        ask.machine.engine.catch_up();
    cleared ? ask.send(QuarantineCleared{*cleared}) : ask.refuse(cleared.error());
}

void subscribe(const Nothing&, const Asking& ask) {
    ask.sender.heard(
        {.document = subscription_document(ask.machine.engine.report()), .continues = true});
}

std::vector<std::string> interfaces() {
    return {std::string{kServiceInterface}, std::string{kInterface}};
}

MethodAnswer no_interface(std::string_view name) {
    return service_error(
        "InterfaceNotFound", "interface", name,
        "no interface '" + scrubbed(name, kMaxEcho) + "'" + suggestion(name, interfaces()));
}

void get_info(const Nothing&, const Asking& ask) {
    ask.send(ServiceInfo{.interfaces = interfaces()});
}

void get_description(const InterfaceParameters& in, const Asking& ask) {
    if (auto text = interface_description(in.interface))
        return ask.send(InterfaceDescription{std::move(*text)});
    ask.sender.heard(no_interface(in.interface));
}

// The table --------------------------------------------------------------------------------------

/// A row of the table of methods: how the method is described, authorized and run.
struct Method {
    std::string_view interface = kInterface;
    std::string_view name = {};
    std::string_view about = {};
    MethodTraits traits = {};
    std::vector<BusForm> bus = {};
    std::vector<ErrorCode> errors = {};
    std::string_view parameter_record = {};
    std::string_view result_record = {};
    std::vector<Action> (*needs)(const MethodCall& call, const Report& seen) = nullptr;
    std::vector<TypedMember> (*parameters)(TypeTable& types) = nullptr;
    std::vector<TypedMember> (*result)(TypeTable& types) = nullptr;
    void (*run)(const Asking& ask) = nullptr;
};

/// The parameter that a reading error is about, such as "request" in "request: expected object,
/// found string".
std::string_view parameter_in(std::string_view problem) {
    return problem.substr(0, problem.find_first_of(":.["));
}

/// The answer to a call whose parameters cannot be read.
MethodAnswer invalid_parameter(const ReadProblem& problem) {
    const auto text = problem.text();
    return service_error(
        "InvalidParameter", "parameter", parameter_in(text),
        text + (problem.known.empty() ? "" : suggestion(problem.word, problem.known)));
}

/// Reads the parameters strictly, then runs the method with them.
template <class In, void (*Run)(const In&, const Asking&)>
void read_and_run(const Asking& ask) {
    In in{};
    if (const auto problem = read_strictly(ask.call.parameters, in); problem.empty())
        Run(in, ask);
    else
        ask.sender.heard(invalid_parameter(problem));
}

/// Makes a row of the table. `In` and `Out` give the types in the interface description.
template <class In, class Out, void (*Run)(const In&, const Asking&)>
Method method(std::string_view name,
              std::string_view about,
              MethodTraits traits = {},
              std::vector<BusForm> bus = {},
              std::vector<ErrorCode> errors = {}) {
    return {.name = name,
            .about = about,
            .traits = std::move(traits),
            .bus = std::move(bus),
            .errors = std::move(errors),
            .parameter_record = type_name<In>(),
            .result_record = type_name<Out>(),
            .parameters = [](TypeTable& types) { return types.members<In>(); },
            .result = [](TypeTable& types) { return types.members<Out>(); },
            .run = read_and_run<In, Run>};
}

/// The methods that return parts of the report, or lists of names.
std::vector<Method> lists() {
    using enum ErrorCode;
    const MethodTraits kept{.keeping = Keeping::UntilReport};
    return {
        method<Nothing, Report, describe_machine>(
            "Describe",
            "Returns the capability report, without the facts that the caller has no permission to "
            "see.",
            kept,
            {{.member = "Describe", .out = "json:s"}, {.member = "DescribeFd", .out = "json:h"}}),
        method<Nothing, GpuList, list_gpus>(
            "ListGpus", "Returns all GPUs, the default GPU first, and all other accelerators.",
            kept, {{.member = "ListGpus", .in = "options:a{sv}", .out = "gpus:ao"}}),
        method<GpuParameters, Gpu, get_gpu>(
            "GetGpu",
            "Returns one GPU's part of the report, without the facts that the caller has no "
            "permission to see.",
            kept, {{.member = "Describe", .out = "json:s", .is_of_gpu = true}}, {UnknownDevice}),
        method<Nothing, HardwareDeviceList, list_hardware_devices>(
            "ListHardwareDevices",
            "Returns the CPU, the GPUs and the NPUs, with the members that ONNX Runtime's "
            "OrtHardwareDevice has.",
            kept),
        method<Nothing, ApplicationList, list_applications>(
            "ListApplications",
            "Returns the applications that Select and Recommend support, with the backends for "
            "Select and the variants for Recommend.",
            {}, {{.member = "ListApplications", .out = "applications:aa{sv}"}}),
    };
}

/// The method that makes plans. The build profile "embed" leaves out this method.
Method plan_method() {
    using enum ErrorCode;
    return method<PlanParameters, PlanAnswer, plan_memory>(
        "Plan",
        "Reports whether a model, or a number of bytes, fits on each GPU and on several GPUs "
        "together. 'model' is the text of a gpuprobe.model/1 document.",
        {.waits = true}, {{.member = "Plan", .in = "request:a{sv} model:s", .out = "json:s"}},
        {InvalidRequest, TooLarge, UnknownDevice, UnknownApplication, NoMatch});
}

/// The methods that answer a query about the machine and change nothing.
std::vector<Method> questions() {
    using enum ErrorCode;
    const MethodTraits kept{.keeping = Keeping::UntilReport};
    const MethodTraits of_now{.keeping = Keeping::ASecond, .is_costly = true, .is_of_now = true};
    std::vector<Method> methods{
        method<SelectParameters, Decision, select_backend>(
            "Select",
            "Returns the backend and the GPU that an application should use, and the verdict on "
            "every other candidate. If 'application' is omitted, the application is 'default'.",
            kept,
            {{.member = "SelectBackend",
              .in = "application:s request:a{sv}",
              .out = "answer:a{sv}",
              .optional = "answers messages warnings assumed",
              .explained = "application candidates"}},
            {UnknownApplication, UnknownDevice, InvalidRequest, NoMatch}),
        method<RecommendParameters, Recommendation, recommend_variant>(
            "Recommend",
            "Returns the variant of an application that should be installed. 'manifest' is the "
            "text of a manifest to use instead of the installed manifest.",
            kept,
            {{.member = "RecommendVariant",
              .in = "application:s manifest:s request:a{sv}",
              .out = "answer:a{sv}",
              .optional = "assumed",
              .explained = "candidates"}},
            {UnknownApplication, NotFound, Malformed, TooLarge, InvalidRequest}),
        method<DiagnoseParameters, Diagnosis, diagnose>(
            "Diagnose",
            "Explains why a program does not use a GPU, and how to fix the problem. 'environment' "
            "contains the environment variables of that program.",
            of_now, {{.member = "Diagnose", .out = "json:s"}}),
        method<QueryParameters, TermAnswer, query_terms>(
            "Query",
            "Evaluates each term, such as 'driver>=550', for each GPU in 'gpus', or for all GPUs "
            "if 'gpus' is omitted.",
            kept, {}, {InvalidRequest, UnknownDevice}),
        method<MemoryParameters, engine::LiveMemory, get_memory>(
            "GetMemory",
            "Returns the current memory of one GPU or partition, in bytes. The method does not "
            "wake a suspended GPU. 'partition' is the name of a partition; omit 'partition' if "
            "'gpu' is the id of a partition.",
            {.waits = true},
            {{.member = "GetMemory",
              .in = "options:a{sv}",
              .out = "answer:a{sv}",
              .optional = "reasons",
              .is_of_gpu = true}},
            {UnknownDevice}),
    };
    if constexpr (!kIsEmbed)
        methods.insert(methods.begin() + 2, plan_method());
    return methods;
}

/// The methods that probe drivers, record an outcome, or keep a subscription open.
std::vector<Method> orders() {
    using enum ErrorCode;
    const MethodTraits slow{.is_costly = true,
                            .reports_progress = true,
                            .may_need = {Action::AllowWake, Action::MeasureInUse}};
    std::vector<Method> methods{
        method<ProbeParameters, ProbeProgress, probe_drivers>(
            "Probe",
            "Probes the drivers again. If the call sets 'more', the method sends the progress, "
            "from 0 to 1, before the result.",
            slow,
            {{.member = "Probe", .in = "gpus:ao apis:as options:a{sv}", .out = "answer:a{sv}"}},
            {InvalidRequest, UnknownDevice, WouldWake}),
        method<OutcomeParameters, OutcomeParameters, report_outcome>(
            "ReportOutcome",
            "Records whether a choice worked: 'outcome' is 'ok' or 'failed'. Returns the stored "
            "record.",
            {.is_costly = true}, {{.member = "ReportOutcome", .in = "report:a{sv}"}},
            {InvalidRequest, UnknownApplication, UnknownDevice, Io}),
        method<Nothing, ReportChange, subscribe>(
            "Subscribe",
            "Sends the generation and the state of the report immediately and after each change. "
            "The call must set 'more'.",
            {.subscribes = true}),
    };
    methods.front().needs = needs_of_probe;
    return methods;
}

/// The methods about overrides, the quarantine and identifiers. Most of these methods need a
/// permission.
std::vector<Method> administration() {
    using enum ErrorCode;
    const MethodTraits for_overrides{.is_costly = true, .needs = {Action::SetOverride}};
    std::vector<Method> methods{
        method<OverrideParameters, OverrideSet, set_override>(
            "SetOverride",
            "Overrides the choice for one application, for all users. Only administrators may call "
            "this method.",
            for_overrides, {{.member = "SetOverride", .in = "application:s rule:a{sv}"}},
            {UnknownApplication, UnknownDevice, InvalidRequest, TooLarge, Io}),
        method<ApplicationParameters, OverrideCleared, clear_override>(
            "ClearOverride",
            "Removes the override of one application. Only administrators may call this method.",
            for_overrides, {{.member = "ClearOverride", .in = "application:s", .out = "cleared:b"}},
            {Io}),
        method<Nothing, OverrideList, list_overrides>(
            "ListOverrides", "Returns the overrides that administrators have set.", {},
            {{.member = "ListOverrides", .out = "overrides:a{sa{sv}}"}}),
        method<Nothing, QuarantineList, list_quarantine>(
            "ListQuarantine",
            "Returns the drivers in quarantine, which crashed or hung during an earlier probe.", {},
            {{.member = "ListQuarantine", .out = "quarantine:aa{sv}"}}),
        method<QuarantineParameters, QuarantineCleared, clear_quarantine>(
            "ClearQuarantine",
            "Ends the quarantine of one driver, or of all drivers. Only administrators may call "
            "this method.",
            {.is_costly = true, .needs = {Action::ClearQuarantine}},
            {{.member = "ClearQuarantine", .in = "filter:a{sv}", .out = "cleared:u"}},
            {InvalidRequest, Io}),
        method<GpuParameters, IdentifierList, get_identifiers>(
            "GetIdentifiers",
            "Returns the identifiers that distinguish a GPU from other GPUs of the same model, in "
            "the form of each API. A caller without permission to open the GPU's device nodes "
            "needs an authorization.",
            {.may_need = {Action::GetIdentifiers}},
            {{.member = "GetIdentifiers",
              .in = "options:a{sv}",
              .out = "identifiers:a{ss}",
              .is_of_gpu = true}},
            {UnknownDevice}),
    };
    methods.back().needs = needs_of_identifiers;
    return methods;
}

/// The methods of org.varlink.service, which every Varlink service has.
std::vector<Method> service_methods() {
    std::vector<Method> methods{
        method<Nothing, ServiceInfo, get_info>(
            "GetInfo", "Returns the vendor, product, version and URL of this service."),
        method<InterfaceParameters, InterfaceDescription, get_description>(
            "GetInterfaceDescription", "Returns the description of an interface as text."),
    };
    for (auto& entry : methods)
        entry.interface = kServiceInterface;
    return methods;
}

/// All methods, in the order of the interface description.
const std::vector<Method>& methods() {
    static const auto table = [] {
        auto all = lists();
        for (auto& further : {questions(), orders(), administration(), service_methods()})
            all.insert(all.end(), further.begin(), further.end());
        return all;
    }();
    return table;
}

const Method* find_method(std::string_view name) {
    for (const auto& method : methods())
        if (name.size() == method.interface.size() + 1 + method.name.size() &&
            name.starts_with(method.interface) && name[method.interface.size()] == '.' &&
            name.ends_with(method.name))
            return &method;
    return nullptr;
}

/// The answer to a call of a method that does not exist. The Varlink service interface specifies
/// one error for an unknown method of a known interface, and another error for an unknown
/// interface.
MethodAnswer no_method(std::string_view name) {
    const auto interface = name.substr(0, name.rfind('.'));
    if (interface != kInterface && interface != kServiceInterface)
        return no_interface(interface);
    std::vector<std::string> known;
    for (const auto& method : methods())
        if (method.interface == interface)
            known.emplace_back(method.name);
    const auto method = name.substr(std::min(interface.size() + 1, name.size()));
    const auto question = did_you_mean(method, known);
    return service_error("MethodNotFound", "method", name,
                         "no method '" + scrubbed(method, kMaxEcho) + "'" +
                             (question.empty() ? "" : "; " + question));
}

/// The errors of org.varlink.service, each with a message for users. Source of the other members:
/// varlink.org, "Service".
constexpr std::string_view kServiceErrors =
    "error InterfaceNotFound (interface: string, message: string)\n\n"
    "error MethodNotFound (method: string, message: string)\n\n"
    "error MethodNotImplemented (method: string, message: string)\n\n"
    "error InvalidParameter (parameter: string, message: string)\n\n"
    "error PermissionDenied ()\n\n"
    "error ExpectedMore (message: string)\n";

/// The errors of org.gpuprobe, one for each ErrorCode. Only NoMatch has additional members.
std::string own_errors(TypeTable& types) {
    const auto failure = types.members<Failure>(), no_match = types.members<NoMatch>();
    std::string text;
    for (int code = 0; code <= static_cast<int>(ErrorCode::Internal); ++code) {
        const auto name = short_name(static_cast<ErrorCode>(code));
        text += "error " + name + " " +
                varlink_members(types, name == "NoMatch" ? no_match : failure) + "\n";
    }
    return text;
}

}  // namespace

std::optional<MethodTraits> traits_of(const MethodCall& call, const Report& seen) {
    const auto* method = find_method(call.method);
    if (!method)
        return std::nullopt;
    auto traits = method->traits;
    if (method->needs)
        for (const auto action : method->needs(call, seen))
            traits.needs.push_back(action);
    return traits;
}

void answer(const MethodCall& call, const MachineView& machine, const HearAnswer& heard) {
    const auto* method = find_method(call.method);
    if (!method)
        return heard(no_method(call.method));
    if (method->traits.subscribes && !call.wants_more)
        return heard(
            service_error("ExpectedMore", nullptr, "",
                          "this method sends several answers, so the call must set 'more'"));
    method->run({.call = call,
                 .machine = machine,
                 .sender = {.heard = heard, .wants_value = call.wants_value}});
}

std::string subscription_document(const Report& report) {
    return json_line(
        to_value(ReportChange{.generation = report.generation, .state = report.state}));
}

MethodAnswer refusal_of(const Error& error) {
    auto answer = Sender::named(error);
    answer.document = json_line(to_value(failure_of(error)));
    return answer;
}

std::vector<BusMethodRow> bus_methods() {
    std::vector<BusMethodRow> rows;
    for (const auto& method : methods())
        for (const auto& form : method.bus)
            rows.push_back(
                {.method = std::string{method.interface} + "." + std::string{method.name},
                 .form = form,
                 .parameters = method.parameters,
                 .result = method.result,
                 .keeping = method.traits.keeping,
                 .reports_progress = method.traits.reports_progress});
    return rows;
}

std::vector<MethodTypes> methods_of(std::string_view interface, TypeTable& types) {
    std::vector<MethodTypes> all;
    for (const auto& method : methods())
        if (method.interface == interface)
            all.push_back({.name = method.name,
                           .about = method.about,
                           .traits = method.traits,
                           .bus = method.bus,
                           .errors = method.errors,
                           .parameter_record = method.parameter_record,
                           .result_record = method.result_record,
                           .parameters = method.parameters(types),
                           .result = method.result(types)});
    return all;
}

std::optional<std::string> interface_description(std::string_view interface) {
    TypeTable types;
    std::string text;
    for (const auto& method : methods_of(interface, types))
        // The comment in front of a method is the method's summary.
        text += "# " + std::string{method.about} + "\nmethod " + std::string{method.name} +
                varlink_members(types, method.parameters) + " -> " +
                varlink_members(types, method.result) + "\n\n";
    if (text.empty())
        return std::nullopt;
    // The types are added last, because the lines above collect the types that methods and errors
    // use.
    text += interface == kInterface ? own_errors(types) : std::string{kServiceErrors};
    return "interface " + std::string{interface} + "\n\n" + varlink_definitions(types) + text;
}

}  // namespace gpuprobe::inline calls
