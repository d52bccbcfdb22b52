// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "cli/choice.h"
#include "cli/gpu_environment.h"
#include "cli/pick_gpu.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "policy/application_set.h"
#include "policy/exports.h"
#include "report/outcome.h"

namespace gpuprobe::inline cli {
namespace {

/// Whether the command line has options of a choice, such as --built and --build.
bool has_options(const Arguments& arguments) {
    const auto& members = *arguments.select.request.as_object();
    return arguments.select.for_build ||
           std::ranges::any_of(members, [](const auto& member) { return member.key != "explain"; });
}

/// Replaces the variables to run with by the flags to build ggml for that choice.
Status describe_build(Context& context, Decision& decision) {
    const auto report = TRY(context.client.report());
    decision.environment.clear();
    for (auto& [name, value] :
         ggml_variables(ComputeView{report}.report(), *decision.backend, decision.gpus))
        decision.environment.insert_or_assign(name, std::move(value));
    return Done{};
}

/// Prints the environment for the choice.
Result<ExitCode> print_choice(Context& context) {
    auto decision = TRY(choose(context));
    if (!decision.backend && !wants_no_gpu(context.arguments))
        return report_no_match(context, decision);
    if (context.arguments.select.for_build && decision.backend)
        TRY(describe_build(context, decision));
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["consumer"] = decision.consumer;
        document["backend"] = to_value(decision.backend);
        document["environment"] = to_value(decision.environment);
        document["warnings"] = to_value(decision.warnings);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    // Don't warn about variables of this shell that the printed ones replace.
    std::erase_if(decision.warnings, [](const Reason& warning) {
        return warning.detail.at("replaced") == Value{true};
    });
    warn(context.arguments, decision.warnings);
    for (const auto& [name, value] : decision.environment) {
        // The output is run by a shell, so an invalid name must not get into it.
        if (is_settable(name, value))
            print(name + "=" + shell_quoted(value) + "\n");
        else
            remark(context.arguments,
                   "left out a variable that no shell can set: " + scrubbed(name));
    }
    return ExitCode::Answered;
}

/// Prints the variables that restrict any program to one GPU.
Result<ExitCode> print_gpu(const Context& context, const Report& report, const Gpu& gpu) {
    const auto& arguments = context.arguments;
    if (has_options(arguments))
        return Error{ErrorCode::InvalidRequest,
                     "env: a GPU takes no options of a choice; 'env CONSUMER --gpu=GPU' does"};
    const auto selectors = gpu_selectors(report, gpu);
    const auto lines = environment_lines(selectors, environment_for(report, gpu));
    const auto stale = stale_among(report.notes);
    if (context.wants_json()) {
        auto document = identity_card(gpu, selectors);
        document["warnings"] = to_value(stale);
        print_json(arguments, document);
        return lines.settings.empty() ? ExitCode::NoMatch : ExitCode::Answered;
    }
    warn(arguments, stale);
    // On a terminal, comments show the other ways too; eval of a pipe needs only the assignments.
    if (arguments.shows_all || context.screen.is_terminal)
        print(lines.settings + lines.comments);
    else
        print(lines.settings);
    if (!lines.settings.empty())
        return ExitCode::Answered;
    return Error{ErrorCode::NoMatch, fmt::format("nothing names {}", gpu.id)};
}

/// The operand is an application or a GPU. A name that could be both is an error, unless options
/// that only a choice takes decide it.
Result<ExitCode> run_env(Context& context) {
    const auto& word = context.arguments.select.consumer;
    if (!context.arguments.select.names_consumer)
        return print_choice(context);
    const auto consumers = TRY(context.client.consumers());
    const bool is_consumer = std::ranges::find(consumers, word) != consumers.end();
    if (is_consumer && has_options(context.arguments))
        return print_choice(context);
    const auto report = TRY(context.client.report());
    const ComputeView view{report};
    const auto meant = gpus_meant(view, word);
    if (meant.empty() && is_consumer && context.arguments.shows_all)
        return Error{ErrorCode::InvalidRequest, "env: --all goes with a GPU, not with a consumer"};
    if (meant.empty() && is_consumer)
        return print_choice(context);
    if (meant.empty())
        return unknown_name(ErrorCode::UnknownConsumer, "no consumer and no GPU", word, consumers);
    if (is_consumer)
        return Error{ErrorCode::InvalidRequest,
                     fmt::format("env: '{}' is a consumer and could mean {}: write the GPU's id, "
                                 "or give the consumer an option such as --gpu",
                                 word, gpu_listing(meant))};
    const auto& gpu = *TRY(pick_gpu(view, word));
    // Selectors of a partition are based on the view in which it is a GPU.
    return print_gpu(context, unit_of(gpu) ? view.report() : report, gpu);
}

Status check_env(Arguments& arguments) {
    if (arguments.shows_all && !arguments.select.names_consumer)
        return refusal("env: --all shows every way to name a GPU: which one?");
    return Done{};
}

}  // namespace

Verb env_verb() {
    return {.name = "env",
            .overview = {{"env [CONSUMER]",
                          "the same as KEY=VALUE lines, for eval or EnvironmentFile="},
                         {"env GPU", "the variables that make any program use this GPU"}},
            .usage = {"env [CONSUMER] [OPTION…]", "env GPU [--all] [OPTION…]"},
            .about = R"page(
The environment of the choice as KEY=VALUE lines:

  eval "$(gpuprobectl env CONSUMER | sed 's/^/export /')"
  gpuprobectl env CONSUMER > /run/CONSUMER.env     # EnvironmentFile=

It selects what was chosen and hides every other GPU, in all variables that the consumer reads; if
the CPU was chosen, or --backend=none was given, it hides all GPUs.

With a GPU, it is what makes programs use only that one: for each API the best name that stays the
same after a restart, or else its position, with the variables that fix the order. A terminal also
shows the other ways, as comments; -j prints all of them with the GPU's UUIDs. Exit status 3 when
the GPU cannot be named.
)page",
            .operands = {{.word = {.name = "CONSUMER", .names = kConsumers | kGpus},
                          .take = take_consumer}},
            .options =
                joined({{.names = "--build",
                         .help = "variables for building ggml for that choice, not for running it",
                         .take = put<&Arguments::select, &SelectArguments::for_build>},
                        {.names = "--all",
                         .help = "with a GPU: also the other ways to name it, as comments",
                         .take = put<&Arguments::shows_all>}},
                       choice_options()),
            .check = check_env,
            .run = run_env};
}

}  // namespace gpuprobe::inline cli
