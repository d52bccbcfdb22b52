// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <algorithm>

#include <unistd.h>

#include "base/record.h"
#include "base/value.h"
#include "calls/documents.h"
#include "engine/live_memory.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

/// A call by this user. The name of a method without an interface belongs to org.gpuprobe.
MethodCall call_of(std::string_view method, Value parameters) {
    const bool has_interface = method.find('.') != std::string_view::npos;
    return {.method = (has_interface ? "" : std::string{kInterface} + ".") + std::string{method},
            .parameters = std::move(parameters),
            .wants_words = false,  // the verbs find words themselves
            .uid = ::getuid()};
}

/// The error in an error reply.
Error error_from(const Value& details) {
    const auto* name = details.at("name").as_string();
    const auto* message = details.at("message").as_string();
    const auto code = name ? bus::error_code(*name) : std::nullopt;
    return {code.value_or(ErrorCode::Internal),
            message && !message->empty() ? *message : json_line(details)};
}

/// The result. Context is added to an error: only a daemon can send an answer that can't be read.
template <class T>
Result<T> of_answer(Result<T> read) {
    if (!read)
        return std::move(read).error().in("the answer on the daemon's socket");
    return read;
}

/// Parses the document of an answer. The transport has already limited its size.
Result<Value> document_in(const MethodAnswer& answer) {
    return of_answer(parse_json(answer.document, Bytes{answer.document.size()}));
}

/// Reads a record from a document, if there is one. Errors: Malformed, naming the invalid member.
template <class T>
Result<T> record_in(const Result<Value>& document) {
    return document ? of_answer(record_from<T>(*document)) : Result<T>{document.error()};
}

}  // namespace

Result<Value> Client::ask(std::string_view method,
                          Value parameters,
                          const HearAnswer& heard_before) {
    const auto answer = TRY(call(call_of(method, std::move(parameters)), heard_before));
    auto document = TRY(document_in(answer));
    if (!answer.error.empty())
        return error_from(document);
    return document;
}

Result<Value> Client::document() {
    return ask("Describe");
}

Result<Report> Client::report() {
    return record_in<Report>(document());
}

/// The reply NoMatch has all required members of a decision except the generation, so it is
/// returned as a decision without a backend.
Result<Decision> Client::select(const std::string& application, const Value& request) {
    const auto answer = TRY(
        call(call_of("Select", Value::Object{{"application", application}, {"request", request}})));
    auto document = TRY(document_in(answer));
    if (answer.error.empty())
        return record_in<Decision>(std::move(document));
    auto error = error_from(document);
    if (error.code != ErrorCode::NoMatch)
        return error;
    document["generation"] = 0;
    return record_in<Decision>(std::move(document));
}

/// The daemon refreshes its facts for this method. If the daemon refuses, its report stays the
/// same.
Status Client::renew() {
    (void)ask("Diagnose");
    return Done{};
}

/// If the daemon does not answer, the value from its report stays.
Status Client::refresh_memory(Gpu& gpu) {
    const auto document = ask("GetMemory", Value::Object{{"gpu", gpu.id}});
    if (!document && document.error().code == ErrorCode::Cancelled)
        return document.error();
    if (document)
        engine::take_free(TRY(record_in<engine::LiveMemory>(document)), gpu.memory);
    return Done{};
}

namespace {

/// Whether the figure of free memory is so old that it must be shown with its age.
bool has_old_memory(const Gpu& gpu) {
    constexpr Duration kIsOfNow = std::chrono::seconds{2};
    return gpu.memory.free_at && SystemClock{}.wall() - *gpu.memory.free_at > kIsOfNow;
}

}  // namespace

Result<Report> Client::current_report() {
    auto found = TRY(report());
    if (found.source == ReportSource::Replay || std::ranges::none_of(found.gpus, has_old_memory))
        return found;
    // One query updates all GPUs that NVIDIA's driver serves. The other old figures are updated by
    // one query for each GPU.
    TRY(renew());
    found = TRY(report());
    for (auto& gpu : found.gpus)
        if (has_old_memory(gpu))
            TRY(refresh_memory(gpu));
    return found;
}

/// Calls ListGpus, because its answer is much smaller than the whole report.
Result<Report> Client::gpus() {
    auto list = TRY(record_in<GpuList>(ask("ListGpus")));
    return Report{.generation = list.generation, .gpus = std::move(list.gpus)};
}

Result<Recommendation> Client::recommend(const std::string& application,
                                         const std::string& manifest,
                                         const Value& request) {
    Value parameters{Value::Object{{"application", application}}};
    if (!manifest.empty())
        parameters["manifest"] = manifest;
    parameters["request"] = request;
    return record_in<Recommendation>(ask("Recommend", std::move(parameters)));
}

Result<std::vector<ApplicationSummary>> Client::applications() {
    return TRY(record_in<ApplicationList>(ask("ListApplications"))).applications;
}

Status Client::probe(const ProbeRequest& order, const Progress& progress) {
    const auto hear = [&progress](const MethodAnswer& answer) {
        const auto document = document_in(answer);
        const auto share = document ? document->at("progress").as_double() : std::nullopt;
        if (share)
            progress(*share);
    };
    TRY(ask("Probe",
            Value::Object{{"gpus", to_value(order.gpus)},
                          {"apis", to_value(order.apis)},
                          {"stage", order.stage},
                          {"allow_wake", order.allow_wake},
                          {"force", order.force}},
            hear));
    return Done{};
}

Status Client::set_override(const std::string& application, const Value& rule) {
    TRY(ask("SetOverride", Value::Object{{"application", application}, {"rule", rule}}));
    return Done{};
}

Result<bool> Client::clear_override(const std::string& application) {
    const auto document = TRY(ask("ClearOverride", Value::Object{{"application", application}}));
    return document.at("cleared").as_bool() == true;
}

Result<Value> Client::overrides() {
    return TRY(ask("ListOverrides")).at("overrides");
}

Status Client::report_outcome(const Value& outcome) {
    TRY(ask("ReportOutcome", outcome));
    return Done{};
}

Result<std::uint32_t> Client::clear_quarantine(const Value& filter) {
    const auto cleared = TRY(ask("ClearQuarantine", filter)).at("cleared").as_unsigned();
    return static_cast<std::uint32_t>(cleared.value_or(0));
}

}  // namespace gpuprobe::inline cli
