// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "calls/surroundings.h"
#include "cli/choice.h"
#include "cli/verb.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/screen.h"
#include "policy/application_set.h"
#include "policy/exports.h"
#include "report/api_table.h"
#include "report/outcome.h"

namespace gpuprobe::inline cli {
namespace {

/// A report that contains only the GPUs, for looking up their names. The answer to ListGpus is much
/// smaller than the whole report.
Result<Report> report_of_gpus(Client& client) {
    auto list = TRY(client.ask_for<GpuList>("ListGpus"));
    return Report{.generation = list.generation, .gpus = std::move(list.gpus)};
}

Result<ExitCode> run_select(Context& context) {
    // JSON always contains the candidates.
    const auto decision =
        TRY(choose(context, context.wants_json() || context.arguments.select.explains()));
    if (!decision.backend)
        return report_no_match(context, decision);
    if (context.wants_json()) {
        print_json(context.arguments, to_value(context.worded(decision)));
        return ExitCode::Answered;
    }
    const bool explains = context.arguments.select.explains();
    if (context.arguments.is_quiet && !explains) {
        print(scrubbed(*decision.backend) + "\n");
        return ExitCode::Answered;
    }
    const bool is_short = !explains && decision.warnings.empty();
    // The report is needed only for the names of GPUs and for fixes that fit this machine. Without
    // a report, ids and general fixes are printed.
    const auto report = is_short ? report_of_gpus(context.client) : context.client.report();
    print(decision_text(decision, report ? &*report : nullptr, context.screen));
    if (is_short)
        return ExitCode::Answered;
    const auto findings = report ? own_findings(*report) : std::vector<Finding>{};
    const auto place = report ? own_place(*report, findings) : ReasonPlace{};
    if (explains)
        print(application_text(decision, context.screen) +
              candidates_text(decision, place, context.screen));
    else
        print(fixes_text(explained(decision.warnings, place).fixes, context.screen));
    return ExitCode::Answered;
}

}  // namespace

Verb select_verb() {
    return {
        .name = "select",
        .overview = {{"select [APPLICATION]", "choose the backend that an application should use"}},
        .usage = {"select [APPLICATION] [OPTION…]"},
        .about = R"(
Chooses the backend that APPLICATION should use on this machine, with its GPU and environment. Without
a name, select chooses for any inference runtime. The exit status is 3 if no candidate satisfies the
request; the reasons of the candidates then explain why.
)",
        .operands = {{.word = {.name = "APPLICATION", .names = kApplications},
                      .take = take_application}},
        .options = choice_options(),
        .run = run_select};
}

namespace {

/// Whether the command line has options of a choice, such as --built and --build.
bool has_options(const Arguments& arguments) {
    return arguments.select.for_build || !arguments.select.request.as_object()->empty();
}

/// Explains the choice on standard error, because a shell runs what env prints on standard output.
void explain_choice(const Context& context, Decision decision) {
    const auto screen = screen_of(STDERR_FILENO, context.arguments.colour);
    OwnPlace own{context.client};
    const auto place = own.get();
    decision.environment.clear();  // already printed on standard output
    print_error(decision_text(decision, place.machine, screen) +
                application_text(decision, screen) + candidates_text(decision, place, screen));
}

/// Replaces the environment variables with the flags to build ggml for that choice.
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
    const bool explains = context.arguments.select.explains();
    auto decision = TRY(choose(context, explains));
    if (!decision.backend && !wants_no_gpu(context.arguments))
        return report_no_match(context, decision);
    if (context.arguments.select.for_build && decision.backend)
        TRY(describe_build(context, decision));
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["application"] = decision.application;
        document["backend"] = to_value(decision.backend);
        document["environment"] = to_value(decision.environment);
        document["assumes"] = to_value(decision.assumes);
        const auto worded = context.worded(decision);
        document["warnings"] = to_value(worded.warnings);
        if (explains)
            document["candidates"] = to_value(worded.candidates);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    // Don't warn about variables of this shell that the printed variables replace.
    std::erase_if(decision.warnings, [](const Reason& warning) {
        return warning.detail.at("replaced") == Value{true};
    });
    if (!explains)
        warn(context.arguments, decision.warnings);
    for (const auto& [name, value] : decision.environment) {
        // The output is run by a shell, so an invalid name must not get into it.
        if (is_settable(name, value))
            print(name + "=" + shell_quoted(value) + "\n");
        else
            remark(context.arguments,
                   "omitted a variable that no shell can set: " + scrubbed(name));
    }
    if (explains)
        explain_choice(context, std::move(decision));
    return ExitCode::Answered;
}

/// The warning that programs can open other GPUs too.
std::string visible_text(const VisibleGpus& visible, const Gpu& gpu) {
    return phrase(
        "warning: programs can still use {gpus} through {api}, because no environment variable "
        "can restrict {api} to {gpu}",
        {{"gpus", joined_with_and(visible.gpus)},
         {"api", std::string{find_api(visible.api)->label}},
         {"gpu", gpu.id}});
}

/// Prints the variables that restrict any program to one GPU.
Result<ExitCode> print_gpu(const Context& context, const Report& report, const Gpu& gpu) {
    const auto& arguments = context.arguments;
    if (has_options(arguments))
        return Error{ErrorCode::InvalidRequest,
                     "env: the options of 'select' cannot be used when a GPU is named; use 'env "
                     "APPLICATION --gpu=GPU'"};
    const auto selectors = gpu_selectors(report, gpu);
    const auto lines = environment_lines(selectors, environment_for(report, gpu));
    const auto stale = stale_among(report.notes);
    const auto visible = not_hidden(report, gpu);
    // If no variable restricts Vulkan at all, `visible` already contains these GPUs.
    const auto beside = std::ranges::find(visible, "vulkan", &VisibleGpus::api) != visible.end()
                            ? std::vector<std::string>{}
                            : seen_beside(report, gpu);
    if (context.wants_json()) {
        auto warnings = stale;
        for (const auto& each : visible)
            warnings.push_back(because(
                "not-hidden", {{"api", std::string{each.api}}, {"gpus", to_value(each.gpus)}}));
        if (!beside.empty())
            warnings.push_back(
                because("not-told-apart", {{"gpu", gpu.id}, {"gpus", to_value(beside)}}));
        auto document = identity_card(gpu, selectors);
        document["warnings"] = to_value(warnings);
        print_json(arguments, document);
        return lines.settings.empty() ? ExitCode::NoMatch : ExitCode::Answered;
    }
    warn(arguments, stale);
    if (!beside.empty() && !lines.settings.empty())
        remark(arguments,
               phrase("warning: programs that read only the Vulkan loader's variables see "
                      "{gpus} too",
                      {{"gpus", joined_with_and(beside)}}));
    if (!lines.settings.empty())
        for (const auto& each : visible)
            remark(arguments, visible_text(each, gpu));
    // On a terminal, comments also show the other ways to select the GPU; in a pipe, eval needs
    // only the assignments.
    if (arguments.shows_all || context.screen.is_terminal)
        print(lines.settings + lines.comments);
    else
        print(lines.settings);
    if (!lines.settings.empty())
        return ExitCode::Answered;
    const bool is_listed = std::ranges::any_of(
        gpu.apis, [](const auto& entry) { return entry.second.device.is_object(); });
    return Error{ErrorCode::NoMatch,
                 is_listed ? fmt::format("no environment variable selects {}", gpu.id)
                           : fmt::format("no API has listed {}, so no variable can select this GPU",
                                         gpu.id)};
}

/// The error for a word that is the name of neither an application nor a GPU. A number, an id and a
/// path can only refer to a GPU.
Error nothing_named(const ComputeView& view,
                    const std::string& word,
                    const std::vector<std::string>& applications) {
    if (parse_number<std::size_t>(word) || word.find_first_of(":/") != std::string::npos)
        return pick_gpu(view, word).error();
    const auto question = did_you_mean(word, applications);
    return {ErrorCode::UnknownApplication,
            phrase("no application or GPU '{word}'; {hint}",
                   {{"word", scrubbed(word, 64)},
                    {"hint", question.empty() ? "'gpuprobectl apps' lists the applications, and "
                                                "'gpuprobectl list' lists the GPUs"
                                              : question}})};
}

/// The operand is an application or a GPU. A name that could be both is an error, unless the
/// command line has an option that only a choice accepts.
Result<ExitCode> run_env(Context& context) {
    const auto& word = context.arguments.select.application;
    if (!context.arguments.select.names_application)
        return print_choice(context);
    std::vector<std::string> applications;
    const auto known = TRY(context.client.ask_for<ApplicationList>("ListApplications"));
    for (const auto& application : known.applications)
        applications.push_back(application.name);
    const bool is_application = contains(applications, word);
    if (is_application && has_options(context.arguments))
        return print_choice(context);
    const auto report = TRY(context.client.report());
    const ComputeView view{report};
    const auto meant = gpus_meant(view, word);
    if (meant.empty() && is_application && context.arguments.shows_all)
        return Error{ErrorCode::InvalidRequest,
                     "env: --all requires a GPU instead of an application"};
    if (meant.empty() && is_application)
        return print_choice(context);
    if (meant.empty())
        return nothing_named(view, word, applications);
    if (is_application)
        return Error{
            ErrorCode::InvalidRequest,
            fmt::format("env: '{}' is the name of an application and also matches {}: write the "
                        "GPU's id, or add an option such as --gpu for the application",
                        word, gpu_listing(meant))};
    const auto& gpu = *TRY(pick_gpu(view, word));
    // The selectors of a partition come from the view in which the partition is a GPU.
    return print_gpu(context, partition_of(gpu) ? view.report() : report, gpu);
}

Status check_env(Arguments& arguments) {
    if (arguments.shows_all && !arguments.select.names_application)
        return refusal("env: --all requires a GPU");
    return Done{};
}

}  // namespace

Verb env_verb() {
    return {
        .name = "env",
        .group = VerbGroup::Start,
        .overview = {{"env [APPLICATION]",
                      "print the variables for the chosen backend, for eval or EnvironmentFile="},
                     {"env GPU", "print variables that restrict any program to this GPU"}},
        .usage = {"env [APPLICATION] [OPTION…]", "env GPU [--all] [OPTION…]"},
        .about = R"page(
Prints the environment for the chosen backend and GPU as KEY=VALUE lines:

  eval "$(gpuprobectl env APPLICATION | sed 's/^/export /')"
  gpuprobectl env APPLICATION > /run/APPLICATION.env     # EnvironmentFile=

The variables select the chosen GPU and hide every other GPU from the application. If the CPU was
chosen, or --backend=none was given, the variables hide all GPUs. --explain prints the explanation on
standard error, so that eval gets only the variables.

If you name a GPU instead of an application, env prints variables that restrict any program to this
GPU. For each API, the variables select the GPU by an identifier that stays the same after a restart,
or otherwise by its position in the list, together with variables that fix the order of the list. On a
terminal, env shows other ways to select the GPU as comments; -j prints all ways with the GPU's UUIDs.
The exit status is 3 if no variable can select the GPU.
)page",
        .operands = {{.word = {.name = "APPLICATION", .names = kApplications | kGpus},
                      .take = take_application}},
        .options = joined(
            {{.names = "--build",
              .help =
                  "print variables for building ggml for this choice, not for running a program",
              .take = put<&Arguments::select, &SelectArguments::for_build>},
             all_option("with a GPU: also print the other ways to select the GPU, as comments")},
            choice_options()),
        .check = check_env,
        .run = run_env};
}

namespace {

/// A value of a rule as text.
std::string rule_word(const Value& value) {
    const auto* text = value.as_string();
    return text ? *text : json_line(value);
}

/// A value or list of values as text.
std::string words_of(const Value& value) {
    const auto* names = value.as_array();
    if (!names)
        return rule_word(value);
    std::string words;
    for (const auto& name : *names)
        words += (words.empty() ? "" : ", ") + rule_word(name);
    return words;
}

/// A rule as text, such as "prefer vulkan, cuda; strict; variants: only cpu".
std::string rule_words(const Value& rule) {
    std::string words;
    for (const auto& member : *rule.as_object()) {
        words += words.empty() ? member.key : "; " + member.key;
        // A flag that is true is shown by its name.
        if (member.value.is_object())
            words += ": " + rule_words(member.value);
        else if (member.value.as_bool() != true)
            words += ' ' + words_of(member.value);
    }
    return scrubbed(words, 512);
}

Result<ExitCode> list_overrides(Context& context) {
    const auto answer = TRY(context.client.ask("ListOverrides"));
    const auto& overrides = answer.at("overrides");
    if (context.wants_json()) {
        Value document;
        document["overrides"] = overrides;
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    Table table{
        {{.title = "APPLICATION"}, {.title = "RULE", .may_shrink = true}, {.title = "UID"}}};
    for (const auto& member : *overrides.as_object())
        table.add({{.text = member.key, .tone = Tone::Strong},
                   {.text = rule_words(member.value.at("rule"))},
                   {.text = json_line(member.value.at("set_by_uid"))}});
    print(table.empty() ? "no overrides\n" : table.text(context.screen));
    return ExitCode::Answered;
}

/// Reports that an override was set or cleared, or that there was no override to clear.
Result<ExitCode> done(Context& context, const char* what, bool happened) {
    const auto& application = *context.arguments.overriding.application;
    if (context.wants_json()) {
        Value document;
        document["application"] = application;
        document[what] = happened;
        print_json(context.arguments, document);
    } else if (!context.arguments.is_quiet) {
        print(phrase(happened ? "{application}: override {what}"
                              : "{application}: no override was set",
                     {{"application", scrubbed(application, 64)}, {"what", what}}) +
              "\n");
    }
    return ExitCode::Answered;
}

Result<ExitCode> run_override(Context& context) {
    const auto& arguments = context.arguments;
    if (arguments.overriding.action == "list")
        return list_overrides(context);
    const auto& application = *arguments.overriding.application;
    if (arguments.overriding.action == "clear") {
        const auto answer =
            TRY(context.client.ask("ClearOverride", Value::Object{{"application", application}}));
        return done(context, "cleared", answer.at("cleared").as_bool() == true);
    }
    // Rules are stored with the ids of GPUs, which stay valid when the order of GPUs changes.
    auto wanted = arguments;
    TRY(name_gpus_by_id(context, wanted.select.request));
    TRY(context.client.ask("SetOverride", Value::Object{{"application", application},
                                                        {"rule", override_rule_of(wanted)}}));
    return done(context, "set", true);
}

Status check_override(Arguments& arguments) {
    if (arguments.overriding.action != "list" && !arguments.overriding.application)
        return refusal("override: missing APPLICATION; 'gpuprobectl apps' lists the applications");
    return Done{};
}

}  // namespace

Verb override_verb() {
    return {
        .name = "override",
        .group = VerbGroup::Administer,
        .overview = {{"override", "set, clear or list overrides of the choice for an application"}},
        .usage = {"override set APPLICATION OPTION…", "override clear APPLICATION",
                  "override [list]"},
        .about = R"(
Changes the answers of select and recommend for APPLICATION until the override is cleared. An override
reorders or narrows the choice, but never makes an unusable backend usable. A --backend in the override
applies only if the application itself does not request a backend. With the daemon, only administrators
may set overrides; with --direct, overrides apply only to you.
)",
        .operands = {{.word = {.name = "ACTION", .offers = "set clear list", .takes_others = false},
                      .take = put<&Arguments::overriding, &OverrideArguments::action>},
                     {.word = {.name = "APPLICATION", .names = kApplications},
                      .take = put<&Arguments::overriding, &OverrideArguments::application>}},
        .options = rule_options(),
        .check = check_override,
        .run = run_override};
}

namespace {

/// Adds a member if the user gave a value.
void add(Value& outcome, const char* key, const std::optional<std::string>& text) {
    if (text)
        outcome[key] = *text;
}

Result<ExitCode> run_report_outcome(Context& context) {
    const auto& arguments = context.arguments;
    Value outcome;
    outcome["application"] = arguments.select.application;
    outcome["outcome"] = arguments.outcome.result;
    add(outcome, "backend", arguments.outcome.backend);
    add(outcome, "variant", arguments.outcome.variant);
    add(outcome, "family", arguments.outcome.family);
    add(outcome, "detail", arguments.outcome.detail);
    // There is at most one GPU, because take_gpu_used() refuses more.
    for (const auto& id : TRY(gpu_ids(context, arguments.outcome.gpus)))
        outcome["gpu"] = id;
    TRY(context.client.ask("ReportOutcome", outcome));
    if (context.wants_json())
        print_json(arguments, outcome);
    else if (!arguments.is_quiet)
        print(fmt::format("recorded: {} {}\n", scrubbed(arguments.select.application, 64),
                          arguments.outcome.result == "ok" ? "works" : "failed"));
    return ExitCode::Answered;
}

Status check_report_outcome(Arguments& arguments) {
    if (arguments.outcome.result.empty())
        return refusal("report-outcome: missing APPLICATION or RESULT");
    return Done{};
}

Status take_gpu_used(Arguments& arguments, const std::string& word) {
    arguments.outcome.gpus = comma_list(word);
    if (arguments.outcome.gpus.size() != 1)
        return refusal("name exactly one GPU, or omit --gpu if the result applies to any GPU");
    return Done{};
}

}  // namespace

Verb report_outcome_verb() {
    return {.name = "report-outcome",
            .group = VerbGroup::Record,
            .overview = {{"report-outcome", "record that a choice worked or failed"}},
            .usage = {"report-outcome APPLICATION ok|failed OPTION…"},
            .about = R"(
Records whether a choice worked. A backend or variant that failed is not chosen for you again for a
week, unless its driver changes or you report that it works. Reports from root apply to all users.
)",
            .operands = {{.word = {.name = "APPLICATION", .names = kApplications},
                          .take = take_application},
                         {.word = {.name = "RESULT", .offers = "ok failed", .takes_others = false},
                          .take = put<&Arguments::outcome, &OutcomeArguments::result>}},
            .options = {{.names = "--backend",
                         .value = {.name = "NAME", .offers = kBackendWords},
                         .help = "the backend that was chosen",
                         .take = put<&Arguments::outcome, &OutcomeArguments::backend>},
                        {.names = "--variant",
                         .value = {.name = "NAME"},
                         .help = "the variant that was installed",
                         .take = put<&Arguments::outcome, &OutcomeArguments::variant>},
                        {.names = "--family",
                         .value = {.name = "NAME", .offers = "cuda rocm vulkan xpu cpu"},
                         .help = "all variants of this family: cuda, rocm, vulkan …",
                         .take = put<&Arguments::outcome, &OutcomeArguments::family>},
                        {.names = "--gpu",
                         .value = {.name = "GPU", .names = kGpus},
                         .help = "the GPU that was used (default: any)",
                         .take = take_gpu_used},
                        {.names = "--detail",
                         .value = {.name = "TEXT"},
                         .help = "a description of the problem",
                         .take = put<&Arguments::outcome, &OutcomeArguments::detail>}},
            .check = check_report_outcome,
            .run = run_report_outcome};
}

namespace {

Result<ExitCode> list_applications(Context& context) {
    const auto list = TRY(context.client.ask_for<ApplicationList>("ListApplications"));
    const auto& applications = list.applications;
    if (context.wants_json()) {
        print_json(context.arguments, to_value(list));
        return ExitCode::Answered;
    }
    Table table{{{.title = "APPLICATION"},
                 {.title = "BACKENDS", .may_shrink = true},
                 {.title = "VARIANTS", .may_shrink = true}}};
    const std::string dash{context.screen.dash()};
    const auto cell = [&dash](const std::vector<std::string>& words) {
        return Cell{.text = words.empty() ? dash : scrubbed(base::joined(words, " "), 1024)};
    };
    for (const auto& application : applications) {
        if (context.arguments.is_quiet)
            print(scrubbed(application.name) + "\n");
        table.add({{.text = scrubbed(application.name), .tone = Tone::Strong},
                   cell(application.backends),
                   cell(application.variants)});
    }
    if (!context.arguments.is_quiet && !table.empty())
        print(table.text(context.screen));
    return ExitCode::Answered;
}

}  // namespace

Verb applications_verb() {
    return {.name = "apps",
            .overview = {{"apps", "list applications with their backends and variants"}},
            .usage = {"apps [OPTION…]"},
            .about = R"(
Lists the known applications, with the backends for select and env and the variants for recommend.
--quiet prints only the names.
)",
            .run = list_applications};
}

}  // namespace gpuprobe::inline cli
