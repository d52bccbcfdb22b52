// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/text.h"
#include "calls/surroundings.h"
#include "cli/choice.h"
#include "cli/decision_text.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "explain/explain.h"

namespace gpuprobe::inline cli {
namespace {

Result<ExitCode> run_select(Context& context) {
    // JSON always contains the candidates.
    const auto decision =
        TRY(choose(context, context.wants_json() || context.arguments.select.explains()));
    if (!decision.backend)
        return report_no_match(context, decision);
    if (context.wants_json()) {
        print_json(context.arguments, to_value(decision));
        return ExitCode::Answered;
    }
    if (context.arguments.is_quiet) {
        print(scrubbed(*decision.backend) + "\n");
        return ExitCode::Answered;
    }
    const bool explains = context.arguments.select.explains();
    const bool is_short = !explains && decision.warnings.empty();
    // The report is only for the names of GPUs and for fixes that fit this machine. Without it, ids
    // and general fixes are printed.
    const auto report = is_short ? context.client.gpus() : context.client.report();
    print(decision_text(decision, report ? &*report : nullptr, context.screen));
    if (is_short)
        return ExitCode::Answered;
    const auto findings = report ? own_findings(*report) : std::vector<Finding>{};
    const auto place = report ? own_place(*report, findings) : ReasonPlace{};
    if (explains)
        print(consumer_text(decision, context.screen) +
              candidates_text(decision, place, context.screen));
    else
        print(fixes_text(explained(decision.warnings, place).fixes, context.screen));
    return ExitCode::Answered;
}

}  // namespace

Verb select_verb() {
    return {
        .name = "select",
        .overview = {{"select [CONSUMER]",
                      "the backend a consumer should use, and why not the others"}},
        .usage = {"select [CONSUMER] [OPTION…]"},
        .about = R"(
The backend that CONSUMER should use on this machine, on which GPU, with which environment. Without
a name, what any inference runtime should use.
Exit status 3 when nothing satisfies the request; the candidates then say why.
)",
        .operands = {{.word = {.name = "CONSUMER", .names = kConsumers}, .take = take_consumer}},
        .options = choice_options(),
        .run = run_select};
}

}  // namespace gpuprobe::inline cli
