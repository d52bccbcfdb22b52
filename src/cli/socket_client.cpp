// SPDX-License-Identifier: Apache-2.0
#include "cli/socket_client.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>

#include "base/value.h"
#include "calls/documents.h"
#include "cli/polkit_agent.h"
#include "engine/live_memory.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::chrono::milliseconds kCallPatience = std::chrono::seconds{25};
/// A probe takes much longer than other calls: several drivers, each with a timeout.
constexpr std::chrono::milliseconds kProbePatience = std::chrono::minutes{5};
/// Longer than the time that the daemon gives polkit to get a password.
constexpr std::chrono::milliseconds kPatienceWithPeople = std::chrono::minutes{3};
constexpr std::string_view kProbe = "org.gpuprobe.Probe";

using Text = CHandle<char, ::gpuprobe_free>;

/// The error for a negative errno of the client library, which has no answer then.
Error failure_of_code(int code) {
    if (code == -ECONNREFUSED || code == -ECONNRESET)
        return {ErrorCode::Unavailable, "the daemon does not answer on its socket"};
    if (code == -EPROTO)
        return {ErrorCode::Internal,
                "the answer on the daemon's socket is not valid: another program or another "
                "version of gpuprobe answers there"};
    if (code == -E2BIG)
        return {ErrorCode::TooLarge,
                "the answer on the daemon's socket is larger than 64 MiB, or has more than "
                "1,048,576 values: another program answers there"};
    if (code == -ETIMEDOUT)
        return {ErrorCode::Unavailable, "the daemon did not answer in time on its socket"};
    return {ErrorCode::Internal, std::string{"the daemon's socket: "} + std::strerror(-code)};
}

/// The error in an error reply. `details` is the member "error" of the reply.
Error error_from(const Value& details) {
    const auto* name = details.at("name").as_string();
    const auto* message = details.at("message").as_string();
    const auto code = name ? bus::error_code(*name) : std::nullopt;
    return {code.value_or(ErrorCode::Internal),
            message && !message->empty() ? *message : json_line(details)};
}

/// The result, with the context "the answer on the daemon's socket" added to an error.
template <class T>
Result<T> of_answer(Result<T> read) {
    if (!read)
        return std::move(read).error().in("the answer on the daemon's socket");
    return read;
}

/// Parses an answer. No answer may be larger than the largest report.
Result<Value> answer_from(std::string_view json) {
    return of_answer(parse_json(json, kMaxReport));
}

/// Reads a record from an answer. Errors: Malformed, naming the invalid member.
template <class T>
Result<T> record_in(const Value& document) {
    return of_answer(record_from<T>(document));
}

/// Whether the daemon may have to ask polkit before it does this. Not from traits_of(): the small
/// gpuprobectl does not link the methods.
bool may_need_permission(const MethodCall& call) {
    const auto has = [&call](const char* key) { return call.parameters.at(key).as_bool() == true; };
    if (call.method == kProbe)
        return has("allow_wake") || has("force");
    return call.method == "org.gpuprobe.SetOverride" ||
           call.method == "org.gpuprobe.ClearOverride" ||
           call.method == "org.gpuprobe.ClearQuarantine";
}

/// How long to wait for the answer. `may_be_asked`: polkit may ask the user for a password first.
std::chrono::milliseconds patience_for(const MethodCall& call, bool may_be_asked) {
    if (call.method == kProbe)
        return kProbePatience;
    return may_be_asked ? kPatienceWithPeople : kCallPatience;
}

/// Passes an answer on to the HearAnswer at `context`. Called by the client library, which is
/// written in C, so no exception may leave it: an answer that can't be shown is left out.
void pass_on(void* context, const char* json) noexcept try {
    (*static_cast<const HearAnswer*>(context))({.document = json, .continues = true});
} catch (const std::exception&) {
}

/// Parameters with a single member.
Value with(const char* key, Value value) {
    Value parameters{Value::Object{}};
    parameters[key] = std::move(value);
    return parameters;
}

}  // namespace

Result<std::unique_ptr<Client>> SocketClient::open(const std::optional<std::string>& path) {
    ::gpuprobe_client* opened = nullptr;
    const int code = ::gpuprobe_open(&opened, path ? path->c_str() : nullptr, GPUPROBE_DAEMON_ONLY);
    Handle client{opened};
    if (code < 0)
        return Error{ErrorCode::Unavailable,
                     fmt::format("no daemon can be reached at {}: {}",
                                 path.value_or(GPUPROBE_SOCKET), std::strerror(-code))};
    return std::unique_ptr<Client>{new SocketClient{std::move(client)}};
}

Result<MethodAnswer> SocketClient::call(const MethodCall& call, const HearAnswer& heard_before) {
    auto parameters = call.parameters;
    std::optional<PolkitAgent> agent;  // until the answer
    const bool may_be_asked = may_need_permission(call) && PolkitAgent::somebody_is_there();
    if (may_be_asked) {
        parameters[varlink::kInteractive] = true;
        agent.emplace();
    }
    const auto patience = patience_for(call, may_be_asked);
    ::gpuprobe_set_timeout(client_.get(), static_cast<int>(patience.count()));
    char* json = nullptr;
    auto heard = heard_before;
    const int code =
        ::gpuprobe_call_more(client_.get(), call.method.c_str(), json_line(parameters).c_str(),
                             heard ? pass_on : nullptr, &heard, &json);
    const Text text{json};
    if (!text)
        return failure_of_code(code);
    // The library returns error replies as {"error":{…}} with a code other than 0.
    if (code == 0)
        return MethodAnswer{.document = text.get()};
    const auto failure = TRY(answer_from(text.get()));
    const auto* name = failure.at("error").at("name").as_string();
    return MethodAnswer{.error = name ? *name : "", .document = json_line(failure.at("error"))};
}

Result<Value> SocketClient::ask(const char* method,
                                const Value& parameters,
                                const HearAnswer& heard_before) {
    const bool has_interface = std::string_view{method}.find('.') != std::string_view::npos;
    const MethodCall asked{.method = (has_interface ? "" : std::string{kInterface} + ".") + method,
                           .parameters = parameters};
    const auto answer = TRY(call(asked, heard_before));
    auto document = TRY(answer_from(answer.document));
    if (!answer.error.empty())
        return error_from(document);
    return document;
}

Result<Value> SocketClient::document() {
    return ask("Describe", Value{Value::Object{}});
}

Result<Report> SocketClient::report() {
    return record_in<Report>(TRY(document()));
}

/// ListGpus is a fraction of the whole report.
Result<Report> SocketClient::gpus() {
    const auto document = TRY(ask("ListGpus", Value{Value::Object{}}));
    auto list = TRY(record_in<GpuList>(document));
    return Report{.generation = list.generation, .gpus = std::move(list.gpus)};
}

/// The reply NoMatch has all required members of a decision except the generation, so it is
/// returned as a decision without a backend.
Result<Decision> SocketClient::select(const std::string& application, const Value& request) {
    auto parameters = with("application", application);
    parameters["request"] = request;
    const auto answer = TRY(call({.method = "org.gpuprobe.Select", .parameters = parameters}, {}));
    auto document = TRY(answer_from(answer.document));
    if (answer.error.empty())
        return record_in<Decision>(document);
    auto error = error_from(document);
    if (error.code != ErrorCode::NoMatch)
        return error;
    document["generation"] = 0;
    return record_in<Decision>(document);
}

Result<Recommendation> SocketClient::recommend(const std::string& application,
                                               const std::string& manifest,
                                               const Value& request) {
    auto parameters = with("application", application);
    if (!manifest.empty())
        parameters["manifest"] = manifest;
    parameters["request"] = request;
    return record_in<Recommendation>(TRY(ask("Recommend", parameters)));
}

Result<std::vector<std::string>> SocketClient::applications() {
    const auto document = TRY(ask("ListApplications", {Value::Object{}}));
    return TRY(record_in<ApplicationList>(document)).applications;
}

Result<std::vector<std::string>> SocketClient::manifests() {
    const auto document = TRY(ask("ListManifests", {Value::Object{}}));
    return TRY(record_in<ManifestList>(document)).manifests;
}

Status SocketClient::probe(const ProbeRequest& order, const std::function<void(double)>& progress) {
    Value parameters{Value::Object{}};
    parameters["gpus"] = to_value(order.gpus);
    parameters["apis"] = to_value(order.apis);
    parameters["stage"] = order.stage;
    parameters["allow_wake"] = order.allow_wake;
    parameters["force"] = order.force;
    TRY(ask("Probe", parameters, [&progress](const MethodAnswer& answer) {
        const auto document = parse_json(answer.document, kMaxReport);
        const auto share = document ? document->at("progress").as_double() : std::nullopt;
        if (share)
            progress(*share);
    }));
    return Done{};
}

/// If the daemon refuses or does not refresh its facts, its report stays the same.
Status SocketClient::renew() {
    (void)ask("Diagnose", {Value::Object{}});
    return Done{};
}

/// If the daemon does not answer, the value from its report stays.
Status SocketClient::refresh_memory(Gpu& gpu) {
    const auto document = ask("GetMemory", with("gpu", gpu.id));
    if (!document)
        return Done{};
    engine::take_free(TRY(record_in<engine::LiveMemory>(*document)), gpu.memory);
    return Done{};
}

Status SocketClient::set_override(const std::string& application, const Value& rule) {
    auto parameters = with("application", application);
    parameters["rule"] = rule;
    TRY(ask("SetOverride", parameters));
    return Done{};
}

Result<bool> SocketClient::clear_override(const std::string& application) {
    return TRY(ask("ClearOverride", with("application", application))).at("cleared").as_bool() ==
           true;
}

Result<Value> SocketClient::overrides() {
    return TRY(ask("ListOverrides", {Value::Object{}})).at("overrides");
}

Status SocketClient::report_outcome(const Value& outcome) {
    TRY(ask("ReportOutcome", outcome));
    return Done{};
}

Result<std::uint32_t> SocketClient::clear_quarantine(const Value& filter) {
    const auto cleared = TRY(ask("ClearQuarantine", filter)).at("cleared").as_unsigned();
    return static_cast<std::uint32_t>(cleared.value_or(0));
}

/// The first event only reports the current state, so it is not a change.
Status SocketClient::watch(const std::function<void()>& changed) {
    pollfd events{.fd = ::gpuprobe_watch(client_.get()), .events = POLLIN, .revents = 0};
    int code = events.fd;
    for (bool is_first = true; code >= 0;) {
        char* json = nullptr;
        code = ::gpuprobe_watch_next(client_.get(), &json);
        const Text text{json};
        if (code > 0 && !std::exchange(is_first, false))
            changed();
        // 0: no event is queued, so wait for the descriptor.
        if (code == 0)
            (void)::poll(&events, 1, -1);
    }
    return Error{ErrorCode::Unavailable, "the daemon left its socket"};
}

Status SocketClient::capture(const std::string&, engine::Redaction*) {
    return Error{ErrorCode::InvalidRequest, "capture: only --direct can write one"};
}

ClientInfo SocketClient::info() {
    ClientInfo info{.kind = "daemon"};
    const auto answer = ask("org.varlink.service.GetInfo", {Value::Object{}});
    const auto* version = answer ? answer->at("version").as_string() : nullptr;
    if (version)
        info.version = *version;
    return info;
}

}  // namespace gpuprobe::inline cli
