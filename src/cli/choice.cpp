// SPDX-License-Identifier: Apache-2.0
#include "cli/choice.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/record.h"
#include "base/suggestion.h"
#include "cli/decision_text.h"
#include "cli/failure.h"
#include "cli/pick_gpu.h"
#include "cli/terminal.h"
#include "policy/environment.h"

namespace gpuprobe {
namespace {

Error unknown_consumer(const Arguments& arguments, const std::vector<std::string>& known) {
    const auto& consumer = arguments.select.consumer;
    auto text = fmt::format("no consumer {}'{}'", arguments.verb == "env" ? "and no GPU " : "",
                            scrubbed(consumer, 64));
    const auto near = closest(consumer, known);
    text += near ? fmt::format("; did you mean '{}'?", *near)
                 : std::string{"; 'gpuprobectl consumers' lists them"};
    return {ErrorCode::UnknownConsumer, text};
}

/// Those that may hide a GPU from what is started from this shell.
std::map<std::string, std::string> callers_variables() {
    std::map<std::string, std::string> found;
    for (const auto name : hiding_variables()) {
        const std::string variable{name};
        if (const char* value = std::getenv(variable.c_str()))
            found.emplace(variable, scrubbed(value, 1024));
    }
    return found;
}

Value no_match_document(const Error& error, const Decision& decision) {
    auto document = failure_document(error, decision.candidates);
    auto& details = document["error"];
    details["consumer"] = decision.consumer;
    details["decision"] = decision.summary;
    details["environment"] = to_value(decision.environment);
    details["answers"] = to_value(decision.answers);
    details["messages"] = to_value(decision.messages);
    return document;
}

}  // namespace

Result<std::vector<std::string>> gpu_ids(Context& context,
                                         const std::vector<std::string>& selectors) {
    std::vector<std::string> ids;
    if (selectors.empty())
        return ids;
    const auto report = TRY(context.client.report());
    const ComputeView view{report};
    for (const auto& selector : selectors)
        ids.push_back(TRY(pick_gpu(view, selector))->id);
    return ids;
}

Status name_gpus_by_id(Context& context, Value& request) {
    std::vector<std::string> selectors;
    auto* const gpus = request.find("gpus");
    if (gpus && read_value(*gpus, selectors).empty())
        *gpus = to_value(TRY(gpu_ids(context, selectors)));
    return Done{};
}

Result<Decision> choose(Context& context, bool explains) {
    auto request = context.arguments.select.request;
    TRY(name_gpus_by_id(context, request));
    const auto callers = callers_variables();
    if (!callers.empty())
        request["environment"] = to_value(callers);
    if (explains || !callers.empty())
        request["explain"] = true;
    auto decision = context.client.select(context.arguments.select.consumer, request);
    if (!decision && decision.error().code == ErrorCode::UnknownConsumer)
        return unknown_consumer(context.arguments, TRY(context.client.consumers()));
    return decision;
}

ExitCode report_no_match(const Context& context, const Decision& decision) {
    const Error error{ErrorCode::NoMatch,
                      fmt::format("nothing on this machine satisfies '{}'",
                                  scrubbed(context.arguments.select.consumer, 64))};
    if (context.wants_json()) {
        print_json(context.arguments, no_match_document(error, decision));
        return ExitCode::NoMatch;
    }
    const auto code = report_failure(context.arguments, error);
    if (context.arguments.is_quiet)
        return code;
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    const auto text = consumer_text(decision, screen) + candidates_text(decision, screen);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return code;
}

}  // namespace gpuprobe
