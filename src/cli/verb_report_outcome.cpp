// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/parse.h"
#include "cli/choice.h"
#include "cli/verbs.h"

namespace gpuprobe {
namespace {

void add(Value& outcome, const char* key, const std::optional<std::string>& text) {
    if (text)
        outcome[key] = *text;
}

}  // namespace

Result<ExitCode> run_report_outcome(Context& context) {
    const auto& arguments = context.arguments;
    Value outcome;
    outcome["consumer"] = arguments.select.consumer;
    outcome["outcome"] = arguments.outcome.result;
    add(outcome, "backend", arguments.select.backend);
    add(outcome, "variant", arguments.outcome.variant);
    add(outcome, "family", arguments.outcome.family);
    add(outcome, "detail", arguments.outcome.detail);
    for (const auto& id : TRY(gpu_ids(context, arguments.select.gpus)))
        outcome["gpu"] = id;
    TRY(context.oracle.report_outcome(outcome));
    if (context.wants_json())
        print_json(arguments, outcome);
    else if (!arguments.is_quiet)
        print(fmt::format("noted: {} {}\n", scrubbed(arguments.select.consumer, 64),
                          arguments.outcome.result == "ok" ? "works" : "failed"));
    return ExitCode::Answered;
}

}  // namespace gpuprobe
