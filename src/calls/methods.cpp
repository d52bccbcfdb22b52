// SPDX-License-Identifier: Apache-2.0
#include "calls/methods.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "calls/interface.h"
#include "calls/requests.h"
#include "calls/surroundings.h"
#include "policy/decision.h"
#include "report/trials.h"
#include "wire/varlink.h"

namespace gpuprobe::inline calls {
namespace {

constexpr std::string_view kServiceInterface = "org.varlink.service";
constexpr std::size_t kMaxEcho = 256;  // characters of the question that are repeated in an error

/// A call that is being answered.
struct Asking {
    const MethodCall& call;
    const MachineView& machine;
    const HearAnswer& heard;

    void send(const Value& document) const { heard({.document = json_line(document)}); }
    template <Described T>
    void send(const T& document) const {
        send(to_value(document));
    }
    void refuse(const Error& error) const { heard(refusal_of(error)); }
    template <class T>
    void send(const Result<T>& result) const {
        result ? send(*result) : refuse(result.error());
    }
};

/// An error's name without its interface, such as "NoMatch". It is the same on D-Bus.
std::string short_name(ErrorCode code) {
    const auto name = bus::error_name(code);
    return name.substr(name.rfind('.') + 1);
}

/// The error's name in Varlink: "org.gpuprobe.NoMatch".
std::string error_name(ErrorCode code) {
    return std::string{kInterface} + "." + short_name(code);
}

/// A JSON object with a single text member.
std::string document_of(const char* key, std::string_view text) {
    Value document{Value::Object{}};
    document[key] = scrubbed(text, kMaxEcho);
    return json_line(document);
}

/// An error of org.varlink.service.
MethodAnswer service_error(const char* name, const char* key, std::string_view text) {
    return {.error = std::string{kServiceInterface} + "." + name,
            .document = document_of(key, text)};
}

// Implementations of the methods ---------------------------------------------------------------

void describe_machine(const Nothing&, const Asking& ask) {
    // The server has the report as JSON already, so it is not converted again.
    ask.heard({.document = ask.machine.seen_json()});
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

void list_manifests(const Nothing&, const Asking& ask) {
    ask.send(ManifestList{ask.machine.engine.manifests()});
}

/// The request with "explain" set, because the documents always contain every candidate. A value of
/// the wrong type is kept, so that reading the request reports it.
Value with_candidates(Value request) {
    const auto& explain = request.at("explain");
    if (explain.is_null() || explain.as_bool())
        request["explain"] = true;
    return request;
}

void select_backend(const SelectParameters& in, const Asking& ask) {
    const auto application = in.application.value_or("default");
    const auto decision = ask.machine.engine.select(application, with_candidates(in.request.value),
                                                    ask.call.uid, ask.machine.seen);
    if (!decision || decision->backend)
        return ask.send(decision);
    // A selection without a result is an error in Varlink, but it still carries the candidates.
    ask.heard({.error = error_name(ErrorCode::NoMatch),
               .document = json_line(to_value(no_match_of(*decision)))});
}

void recommend_variant(const RecommendParameters& in, const Asking& ask) {
    ask.send(ask.machine.engine.recommend(in.application.value_or(""), in.manifest.value_or(""),
                                          with_candidates(in.request.value), ask.call.uid,
                                          ask.machine.seen));
}

/// The request of a plan, from its keys and from the parameters next to it, which are in bytes.
Result<PlanRequest> request_of(const PlanParameters& in) {
    auto request = in.request.value;
    // A parameter and a key that mean the same must not contradict each other.
    for (const auto& [key, is_given] :
         {std::pair{"need-mib", in.need.has_value()},
          std::pair{"margin-mib", in.margin.has_value()}, std::pair{"gpus", in.gpus.has_value()}})
        if (is_given && request.find(key))
            return Error{ErrorCode::InvalidRequest,
                         std::string{"request: "} + key + ": given twice"};
    if (in.need)
        request["need-mib"] = 1;  // a placeholder: `need` is in bytes and need not be whole MiB
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
    // `ask` refers to objects that may be gone when the memory has been read, so `heard` is copied.
    const auto started =
        answer_plan(std::move(*request), ask.call.uid, ask.machine.seen, ask.machine.engine,
                    [heard = ask.heard](const PlanAnswer& answer) {
                        heard({.document = json_line(to_value(answer))});
                    });
    if (!started)
        ask.refuse(started.error());
}

void diagnose(const DiagnoseParameters& in, const Asking& ask) {
    const auto environment = in.environment.value_or(std::map<std::string, std::string>{});
    const Caller caller{.uid = ask.call.uid, .groups = ask.call.groups};
    ask.send(diagnosis_of(findings_for(caller, environment, ask.machine.seen, ask.machine.files)));
}

void query_terms(const QueryParameters& in, const Asking& ask) {
    ask.send(tested(in.terms, in.gpus, ask.machine.seen));
}

void get_memory(const GpuParameters& in, const Asking& ask) {
    const auto asked = ask.machine.engine.read_memory(
        in.gpu, false, [heard = ask.heard](const engine::LiveMemory& memory) {
            heard({.document = json_line(to_value(memory))});
        });
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

/// The privileged actions of a Probe call. Invalid parameters need none: the call is refused later
/// for everybody.
std::vector<Action> needs_of_probe(const Value& parameters) {
    const auto in = strict_record_from<ProbeParameters>(parameters);
    return in ? needs_of(probe_request_of(*in)) : std::vector<Action>{};
}

void probe_drivers(const ProbeParameters& in, const Asking& ask) {
    const auto meant =
        checked(probe_request_of(in), ask.machine.engine.report(), ask.machine.files);
    if (!meant)
        return ask.refuse(meant.error());
    const auto& request = *meant;
    // Callers that did not ask for more get only the last answer.
    const auto progress = [heard = ask.heard, wants_more = ask.call.wants_more](double share) {
        if (wants_more)
            heard({.document = json_line(to_value(ProbeProgress{.progress = share})),
                   .continues = true});
    };
    const auto done = [heard = ask.heard, request, &engine = ask.machine.engine] {
        heard({.document = json_line(
                   to_value(probe_answer_of(engine.report(), request.stage, request.apis)))});
    };
    if (const auto started = ask.machine.engine.probe(request, progress, done); !started)
        ask.refuse(started.error());
}

/// The parameters without null members.
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
    if (cleared)
        ask.machine.engine.catch_up();
    cleared ? ask.send(QuarantineCleared{*cleared}) : ask.refuse(cleared.error());
}

void subscribe(const Nothing&, const Asking& ask) {
    ask.heard({.document = subscription_document(ask.machine.engine.report()), .continues = true});
}

void get_info(const Nothing&, const Asking& ask) {
    ask.send(ServiceInfo{.interfaces = {std::string{kServiceInterface}, std::string{kInterface}}});
}

void get_description(const InterfaceParameters& in, const Asking& ask) {
    if (auto text = interface_description(in.interface))
        return ask.send(InterfaceDescription{std::move(*text)});
    ask.heard(service_error("InterfaceNotFound", "interface", in.interface));
}

// The table --------------------------------------------------------------------------------------

/// A row of the table of methods: how it is described, authorized and run.
struct Method {
    std::string_view interface = kInterface;
    std::string_view name = {};
    std::string_view about = {};
    MethodTraits traits = {};
    std::vector<Action> (*needs)(const Value& parameters) = nullptr;
    std::vector<TypedMember> (*parameters)(TypeTable& types) = nullptr;
    std::vector<TypedMember> (*result)(TypeTable& types) = nullptr;
    void (*run)(const Asking& ask) = nullptr;
};

/// The parameter that a reading error is about: "request: expected object, found string" →
/// "request".
std::string_view parameter_in(std::string_view problem) {
    return problem.substr(0, problem.find_first_of(":.["));
}

/// Reads the parameters strictly, then runs the method with them.
template <class In, void (*Run)(const In&, const Asking&)>
void read_and_run(const Asking& ask) {
    const auto in = strict_record_from<In>(ask.call.parameters);
    if (in)
        Run(*in, ask);
    else
        ask.heard(service_error("InvalidParameter", "parameter", parameter_in(in.error().text)));
}

/// Makes a row of the table: `In` and `Out` give the types in the interface description.
template <class In, class Out, void (*Run)(const In&, const Asking&)>
Method method(std::string_view name, std::string_view about, MethodTraits traits = {}) {
    return {.name = name,
            .about = about,
            .traits = std::move(traits),
            .parameters = [](TypeTable& types) { return types.members<In>(); },
            .result = [](TypeTable& types) { return types.members<Out>(); },
            .run = read_and_run<In, Run>};
}

/// The methods that answer from the report and change nothing.
std::vector<Method> questions() {
    const MethodTraits kept{.is_kept = true};
    const MethodTraits of_now{.is_costly = true, .is_of_now = true};
    return {
        method<Nothing, Report, describe_machine>(
            "Describe", "The capability report, without what the caller may not see.", kept),
        method<Nothing, GpuList, list_gpus>(
            "ListGpus", "All GPUs, the default one first, and all other accelerators.", kept),
        method<Nothing, HardwareDeviceList, list_hardware_devices>(
            "ListHardwareDevices",
            "The CPU, GPUs and NPUs, described as ONNX Runtime's OrtHardwareDevice does.", kept),
        method<Nothing, ApplicationList, list_applications>(
            "ListApplications", "The names of the applications that Select knows."),
        method<Nothing, ManifestList, list_manifests>(
            "ListManifests", "The names of the applications that Recommend knows."),
        method<SelectParameters, Decision, select_backend>(
            "Select",
            "The backend and the GPU that an application should use, and the verdict on every "
            "other candidate. The default application is 'default'.",
            kept),
        method<RecommendParameters, Recommendation, recommend_variant>(
            "Recommend",
            "Which variant of an application to install. 'manifest' is the text of a manifest to "
            "use instead of the installed one.",
            kept),
        method<PlanParameters, PlanAnswer, plan_memory>(
            "Plan",
            "Whether a model, or a number of bytes, fits on each GPU and on several GPUs together. "
            "'model' is the text of a gpuprobe.model/1 document.",
            {.waits = true}),
        method<DiagnoseParameters, Diagnosis, diagnose>(
            "Diagnose",
            "Why a GPU is not used, and how to fix that. 'environment' has the variables of the "
            "program that does not use it.",
            of_now),
        method<QueryParameters, TermAnswer, query_terms>(
            "Query",
            "Whether each term, such as 'driver>=550', is true for each of the GPUs; for all GPUs "
            "if 'gpus' is left out.",
            kept),
        method<GpuParameters, engine::LiveMemory, get_memory>(
            "GetMemory",
            "The memory of one GPU or partition, read now, in bytes. Does not wake a GPU that "
            "sleeps.",
            {.waits = true}),
    };
}

/// The methods that probe drivers, change state for other callers, or keep a subscription open.
std::vector<Method> orders() {
    const MethodTraits costly{.is_costly = true};
    const MethodTraits for_overrides{.is_costly = true, .needs = {Action::SetOverride}};
    std::vector<Method> methods{
        method<ProbeParameters, ProbeProgress, probe_drivers>(
            "Probe",
            "Probes the drivers again. If the call sets 'more', replies with the progress, from 0 "
            "to 1, come before the result.",
            costly),
        method<OutcomeParameters, OutcomeParameters, report_outcome>(
            "ReportOutcome",
            "Reports how a choice worked out: 'outcome' is 'ok' or 'failed'. Returns what was "
            "recorded.",
            costly),
        method<Nothing, ReportChange, subscribe>(
            "Subscribe",
            "The generation and the state of the report, now and after each change. The call has "
            "to set 'more'.",
            {.subscribes = true}),
        method<OverrideParameters, OverrideSet, set_override>(
            "SetOverride",
            "Fixes the choice for one application, for all users. Administrators only.",
            for_overrides),
        method<ApplicationParameters, OverrideCleared, clear_override>(
            "ClearOverride", "Removes the override of one application. Administrators only.",
            for_overrides),
        method<Nothing, OverrideList, list_overrides>(
            "ListOverrides", "The overrides that administrators have set."),
        method<Nothing, QuarantineList, list_quarantine>(
            "ListQuarantine",
            "The drivers in quarantine: an earlier probe of them crashed or hung."),
        method<QuarantineParameters, QuarantineCleared, clear_quarantine>(
            "ClearQuarantine",
            "Lets one quarantined driver, or all, be probed again. Administrators only.",
            {.is_costly = true, .needs = {Action::ClearQuarantine}}),
    };
    methods.front().needs = needs_of_probe;
    return methods;
}

/// The methods of org.varlink.service, which every Varlink service has.
std::vector<Method> service_methods() {
    std::vector<Method> methods{
        method<Nothing, ServiceInfo, get_info>(
            "GetInfo", "The vendor, product, version and URL of this service."),
        method<InterfaceParameters, InterfaceDescription, get_description>(
            "GetInterfaceDescription", "The description of an interface, as text."),
    };
    for (auto& entry : methods)
        entry.interface = kServiceInterface;
    return methods;
}

/// All methods, in the order of the interface description.
const std::vector<Method>& methods() {
    static const auto table = [] {
        auto all = questions();
        for (auto& further : {orders(), service_methods()})
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

/// The errors of org.varlink.service. Source: varlink.org, "Service".
constexpr std::string_view kServiceErrors =
    "error InterfaceNotFound (interface: string)\n\n"
    "error MethodNotFound (method: string)\n\n"
    "error MethodNotImplemented (method: string)\n\n"
    "error InvalidParameter (parameter: string)\n\n"
    "error PermissionDenied ()\n\n"
    "error ExpectedMore ()\n";

/// The errors of org.gpuprobe, one for each ErrorCode. NoMatch has more members than the others.
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

std::optional<MethodTraits> traits_of(const MethodCall& call) {
    const auto* method = find_method(call.method);
    if (!method)
        return std::nullopt;
    auto traits = method->traits;
    if (method->needs)
        traits.needs = method->needs(call.parameters);
    return traits;
}

std::optional<std::vector<Action>> needs_of(std::string_view method) {
    const auto* entry = find_method(std::string{kInterface} + "." + std::string{method});
    return entry && !entry->needs ? std::optional{entry->traits.needs} : std::nullopt;
}

void answer(const MethodCall& call, const MachineView& machine, const HearAnswer& heard) {
    const auto* method = find_method(call.method);
    // As the Varlink service interface specifies: an unknown method of a served interface, or an
    // unknown interface.
    if (!method) {
        const auto interface = call.method.substr(0, call.method.rfind('.'));
        const bool is_ours = interface == kInterface || interface == kServiceInterface;
        return heard(is_ours ? service_error("MethodNotFound", "method", call.method)
                             : service_error("InterfaceNotFound", "interface", interface));
    }
    if (method->traits.subscribes && !call.wants_more)
        return heard({.error = std::string{kServiceInterface} + ".ExpectedMore"});
    method->run({.call = call, .machine = machine, .heard = heard});
}

std::string subscription_document(const Report& report) {
    return json_line(
        to_value(ReportChange{.generation = report.generation, .state = report.state}));
}

MethodAnswer refusal_of(const Error& error) {
    return {.error = error_name(error.code), .document = json_line(to_value(failure_of(error)))};
}

std::vector<MethodTypes> methods_of(std::string_view interface, TypeTable& types) {
    std::vector<MethodTypes> all;
    for (const auto& method : methods())
        if (method.interface == interface)
            all.push_back({.name = method.name,
                           .about = method.about,
                           .parameters = method.parameters(types),
                           .result = method.result(types)});
    return all;
}

std::optional<std::string> interface_description(std::string_view interface) {
    TypeTable types;
    std::string text;
    for (const auto& method : methods_of(interface, types))
        // A method's summary is the comment in front of it.
        text += "# " + std::string{method.about} + "\nmethod " + std::string{method.name} +
                varlink_members(types, method.parameters) + " -> " +
                varlink_members(types, method.result) + "\n\n";
    if (text.empty())
        return std::nullopt;
    // The types are written last, because the methods and errors above have defined them.
    text += interface == kInterface ? own_errors(types) : std::string{kServiceErrors};
    return "interface " + std::string{interface} + "\n\n" + varlink_definitions(types) + text;
}

}  // namespace gpuprobe::inline calls
