// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "cli/choice.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

/// Adds a member if it was given.
void add(Value& outcome, const char* key, const std::optional<std::string>& text) {
    if (text)
        outcome[key] = *text;
}

Result<ExitCode> run_report_outcome(Context& context) {
    const auto& arguments = context.arguments;
    Value outcome;
    outcome["consumer"] = arguments.select.consumer;
    outcome["outcome"] = arguments.outcome.result;
    add(outcome, "backend", arguments.outcome.backend);
    add(outcome, "variant", arguments.outcome.variant);
    add(outcome, "family", arguments.outcome.family);
    add(outcome, "detail", arguments.outcome.detail);
    // At most one: take_gpu_used() refuses more.
    for (const auto& id : TRY(gpu_ids(context, arguments.outcome.gpus)))
        outcome["gpu"] = id;
    TRY(context.client.report_outcome(outcome));
    if (context.wants_json())
        print_json(arguments, outcome);
    else if (!arguments.is_quiet)
        print(fmt::format("noted: {} {}\n", scrubbed(arguments.select.consumer, 64),
                          arguments.outcome.result == "ok" ? "works" : "failed"));
    return ExitCode::Answered;
}

Status check_report_outcome(Arguments& arguments) {
    if (arguments.outcome.result.empty())
        return refusal("report-outcome: CONSUMER and RESULT are needed");
    return Done{};
}

Status take_gpu_used(Arguments& arguments, const std::string& word) {
    arguments.outcome.gpus = comma_list(word);
    if (arguments.outcome.gpus.size() != 1)
        return refusal("name one GPU; leave it out if it was any");
    return Done{};
}

}  // namespace

Verb report_outcome_verb() {
    return {.name = "report-outcome",
            .overview = {{"report-outcome", "say that a choice worked, or failed"}},
            .usage = {"report-outcome CONSUMER ok|failed OPTION…"},
            .about = R"(
Reports how a choice went. What failed is not offered to you again for a week, unless its driver
changes or you report that it works. What root reports counts for everybody.
)",
            .operands = {{.word = {.name = "CONSUMER", .names = kConsumers}, .take = take_consumer},
                         {.word = {.name = "RESULT", .offers = "ok failed", .takes_others = false},
                          .take = put<&Arguments::outcome, &OutcomeArguments::result>}},
            .options = {{.names = "--backend",
                         .value = {.name = "NAME", .offers = kBackendWords},
                         .help = "the backend that was chosen",
                         .take = put<&Arguments::outcome, &OutcomeArguments::backend>},
                        {.names = "--variant",
                         .value = {.name = "NAME"},
                         .help = "or the variant that was installed",
                         .take = put<&Arguments::outcome, &OutcomeArguments::variant>},
                        {.names = "--family",
                         .value = {.name = "NAME", .offers = "cuda rocm vulkan xpu cpu"},
                         .help = "or everything of that family: cuda, rocm, vulkan …",
                         .take = put<&Arguments::outcome, &OutcomeArguments::family>},
                        {.names = "--gpu",
                         .value = {.name = "GPU", .names = kGpus},
                         .help = "the GPU it ran on; without it, any",
                         .take = take_gpu_used},
                        {.names = "--detail",
                         .value = {.name = "TEXT"},
                         .help = "what went wrong, for people",
                         .take = put<&Arguments::outcome, &OutcomeArguments::detail>}},
            .check = check_report_outcome,
            .run = run_report_outcome};
}

}  // namespace gpuprobe::inline cli
