// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <unistd.h>

#include "engine/live_memory.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

/// Makes a call by this user. A name without an interface is a method of org.gpuprobe.
MethodCall call_of(std::string_view method, Value parameters) {
    const bool has_interface = method.find('.') != std::string_view::npos;
    return {.method = (has_interface ? "" : std::string{kInterface} + ".") + std::string{method},
            .parameters = std::move(parameters),
            .wants_words = false,  // the verbs add the messages to the reasons
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

Result<Value> document_in(const MethodAnswer& answer) {
    return of_answer(parse_json(answer.document, kMaxReport));
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

Result<Report> Client::report() {
    return ask_for<Report>("Describe");
}

/// The reply NoMatch has all required members of a decision except the generation, so it is
/// returned as a decision without a backend.
Result<Decision> Client::select(const std::string& application, const Value& request) {
    auto asked =
        call_of("Select", Value::Object{{"application", application}, {"request", request}});
    asked.wants_words = request.at("explain").as_bool() == true;
    const auto answer = TRY(call(asked));
    auto document = TRY(document_in(answer));
    if (!answer.error.empty()) {
        auto error = error_from(document);
        if (error.code != ErrorCode::NoMatch)
            return error;
        document["generation"] = 0;
    }
    auto decision = TRY(of_answer(record_from<Decision>(document)));
    for (const auto& candidate : decision.candidates)
        for (const auto& [name, values] : candidate.also_environment)
            if (values.size() != candidate.also.size())
                return of_answer(Result<Decision>{
                    Error{ErrorCode::Malformed, "also_environment: not one value for each GPU"}});
    return decision;
}

/// The daemon refreshes its facts before it answers Diagnose. If the daemon refuses the call, the
/// report stays the same.
Status Client::renew() {
    (void)ask("Diagnose");
    return Done{};
}

/// If the daemon does not answer, `gpu` keeps the value from the daemon's report.
Status Client::refresh_memory(Gpu& gpu) {
    constexpr Duration kIsOfNow = std::chrono::seconds{1};
    if (gpu.memory.free_at && SystemClock{}.wall() - *gpu.memory.free_at < kIsOfNow)
        return Done{};
    const auto memory = ask_for<engine::LiveMemory>("GetMemory", Value::Object{{"gpu", gpu.id}});
    if (memory)
        engine::take_free(*memory, gpu.memory);
    else if (memory.error().code == ErrorCode::Cancelled ||
             memory.error().code == ErrorCode::Malformed)
        return memory.error();
    return Done{};
}

}  // namespace gpuprobe::inline cli
