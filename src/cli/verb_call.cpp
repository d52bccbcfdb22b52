// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/value.h"
#include "cli/failure.h"
#include "cli/verbs.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

/// Reads standard input until its end. Errors: TooLarge, Io.
Result<std::string> standard_input() {
    std::string text;
    std::string block(65536, '\0');
    for (;;) {
        const auto got = ::read(STDIN_FILENO, block.data(), block.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno_error("standard input", errno);
        if (got == 0)
            return text;
        text.append(block, 0, static_cast<std::size_t>(got));
        if (text.size() > varlink::kMaxMessage.count)
            return Error{ErrorCode::TooLarge, "standard input: over 2 MiB"};
    }
}

/// The parameters as a JSON object. Errors: InvalidRequest; for standard input, also TooLarge and
/// Io.
Result<Value> parameters_of(const CallArguments& arguments) {
    auto text = arguments.parameters;
    if (text == "-")
        text = TRY(standard_input());
    auto parameters = parse_json(text, varlink::kMaxMessage);
    if (!parameters)
        return Error{ErrorCode::InvalidRequest, "parameters: " + parameters.error().text};
    if (!parameters->is_object())
        return Error{ErrorCode::InvalidRequest, "parameters: " + wrong_type(*parameters, "object")};
    return parameters;
}

/// The error document. Errors of org.varlink.service have no name in their parameters, so it is
/// added.
Value failure_with_name(const MethodAnswer& answer, const Value& details) {
    Value failure{Value::Object{}};
    if (details.find("name") == nullptr)
        failure["name"] = answer.error;
    for (const auto& member : *details.as_object())
        failure[member.key] = member.value;
    Value document{Value::Object{}};
    document["error"] = std::move(failure);
    return document;
}

Result<ExitCode> run_call(Context& context) {
    const auto& arguments = context.arguments.call;
    // "Select" is short for "org.gpuprobe.Select".
    const bool has_interface = arguments.method.find('.') != std::string::npos;
    const MethodCall call{
        .method = (has_interface ? "" : std::string{kInterface} + ".") + arguments.method,
        .parameters = TRY(parameters_of(arguments)),
        .uid = ::getuid()};
    const auto answer = TRY(context.client.call(call));
    const auto document = TRY(parse_json(answer.document, kMaxReport));
    if (answer.error.empty()) {
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    print_json(context.arguments, failure_with_name(answer, document));
    // An unknown name is an error of org.varlink.service: the call was wrong.
    const auto* name = document.at("name").as_string();
    const auto code = name ? bus::error_code(*name) : std::nullopt;
    return exit_code_of(code.value_or(ErrorCode::InvalidRequest), false);
}

Status check_call(Arguments& arguments) {
    if (arguments.call.method.empty())
        return refusal("call: which method? 'call org.varlink.service.GetInfo' is one");
    return Done{};
}

}  // namespace

Verb call_verb() {
    return {.name = "call",
            .overview = {{"call METHOD", "call a method of the daemon's socket"}},
            .usage = {"call METHOD [PARAMETERS] [OPTION…]"},
            .about = R"(
Calls a method of org.gpuprobe and prints its answer as JSON, or {"error":…}. PARAMETERS is a JSON
object, or - to read one from standard input. With --direct or --replay the answer is made here.
)",
            .operands = {{.word = {.name = "METHOD"},
                          .take = put<&Arguments::call, &CallArguments::method>},
                         {.word = {.name = "PARAMETERS"},
                          .take = put<&Arguments::call, &CallArguments::parameters>}},
            .check = check_call,
            .run = run_call};
}

}  // namespace gpuprobe::inline cli
