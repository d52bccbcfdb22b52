// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "calls/documents.h"
#include "cli/bench.h"
#include "cli/choice.h"
#include "cli/context.h"
#include "cli/verb.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "report/trials.h"

namespace gpuprobe::inline cli {
namespace {

/// The request, with the ids of the named GPUs.
Result<ProbeRequest> order_of(Context& context) {
    ProbeRequest order{.apis = context.arguments.apis,
                       .allow_wake = context.arguments.allow_wake,
                       .stage = context.arguments.stage,
                       .force = context.arguments.measures_in_use};
    if (context.arguments.gpus.empty())
        return order;
    const auto report = TRY(context.client.report());
    for (const auto& selector : context.arguments.gpus)
        order.gpus.push_back(TRY(pick_gpu(report, selector))->id);
    return order;
}

/// Probes the drivers again, and returns when the report contains the results.
Status probe(Context& context, const ProbeRequest& order, ProgressLine& line, const char* words) {
    const auto hear = [&](const MethodAnswer& answer) {
        const auto document = parse_json(answer.document, Bytes{answer.document.size()});
        if (const auto share = document ? document->at("progress").as_double() : std::nullopt)
            line.show(words, *share);
    };
    TRY(context.client.ask("Probe",
                           Value::Object{{"gpus", to_value(order.gpus)},
                                         {"apis", to_value(order.apis)},
                                         {"stage", order.stage},
                                         {"allow_wake", order.allow_wake},
                                         {"force", order.force}},
                           hear));
    return Done{};
}

/// The text of the progress line for a stage.
const char* words_for(const std::string& stage) {
    if (stage == "verify")
        return "verifying";
    return stage == "measure" ? "measuring" : "probing the drivers";
}

Result<ExitCode> run_probe(Context& context) {
    const auto order = TRY(order_of(context));
    const auto* words = words_for(order.stage);
    ProgressLine line{context.arguments};
    line.show(words);
    const auto probed = probe(context, order, line, words);
    // Erase the progress line before anything else is printed on the same terminal.
    line.clear();
    if (!probed)
        return probed.error();
    const auto report = TRY(context.client.report());
    const auto answer = probe_answer_of(report, order.stage, order.apis);
    if (context.wants_json()) {
        print_json(context.arguments, to_value(answer));
        return ExitCode::Answered;
    }
    const auto& probes = answer.probes;
    print(probe_table(probes, context.screen));
    if (context.screen.has_legend)
        print((probes.empty() ? "" : "\n") +
              toned(context.screen, Tone::Faint, probe_summary(probes)) + "\n");
    return ExitCode::Answered;
}

}  // namespace

Verb probe_verb() {
    return {
        .name = "probe",
        .group = VerbGroup::Record,
        .overview = {{"probe [GPU…]", "probe the drivers again"}},
        .usage = {"probe [GPU…] [OPTION…]"},
        .about = R"(
Probes the drivers again and shows how each probe ended. The stage 'query', the default, runs nothing
on a GPU; 'verify' runs a test computation on each GPU through each API that lists it, and checks
every word of the result; 'measure' also measures bandwidth and arithmetic rates.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .options = joined(
            {{.names = "--stage",
              .value = {.name = "STAGE", .offers = "query verify measure", .takes_others = false},
              .help = "query, verify or measure",
              .take = put<&Arguments::stage>}},
            joined({gpus_option("probe only the given GPUs")}, trial_options())),
        .run = run_probe};
}

namespace {

/// Runs one stage for all requested devices, with a progress line.
Status run_stage(Context& context, ProbeRequest order, std::string_view stage, const char* words) {
    order.stage = stage;
    ProgressLine line{context.arguments};
    line.show(words, 0);
    return probe(context, order, line, words);
}

void show(const Context& context, const Report& report, const std::vector<BenchRow>& rows) {
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["generation"] = to_value(report.generation);
        document["results"] = to_value(rows);
        return print_json(context.arguments, document);
    }
    print(bench_text(rows, context.screen));
    if (context.screen.has_legend)
        print("\n" +
              toned(context.screen, Tone::Faint,
                    "Units: FLOPS are floating-point operations per second, OPS are integer "
                    "operations per second; k, M, G, T are powers of 1000") +
              "\n");
}

/// Whether a GPU was not measured because it sleeps. Such a GPU cannot be verified either.
bool is_asleep(const Report& report, const std::optional<std::string>& device) {
    const auto* gpu = find_gpu(report, device.value_or(""));
    return gpu && std::ranges::any_of(gpu->backends, [](const auto& entry) {
               const auto& measurement = entry.second.measurement;
               return measurement && has_reason(measurement->reasons, "asleep");
           });
}

/// Verifies through the APIs through which a device could not be measured, for instance because it
/// was busy. The stage "measure" has verified all other devices.
void verify_unmeasured(Context& context, const Report& report, ProbeRequest order) {
    std::set<std::string> apis;
    for (const auto& probe : report.probes)
        if (probe.stage == kMeasureStage && probe.outcome != Outcome::Answered &&
            probe.outcome != Outcome::Absent && !is_asleep(report, probe.device) &&
            (order.apis.empty() || std::ranges::find(order.apis, probe.api) != order.apis.end()))
            apis.insert(probe.api);
    if (apis.empty())
        return;
    order.apis.assign(apis.begin(), apis.end());
    // A GPU may have disappeared or fallen asleep since it was measured. The measurements of the
    // other devices are shown in any case.
    (void)run_stage(context, order, kVerifyStage, "verifying");
}

/// Verifies and measures, then prints everything that has a result.
Result<ExitCode> run_bench(Context& context) {
    const auto order = TRY(order_of(context));
    TRY(run_stage(context, order, kMeasureStage, "measuring"));
    verify_unmeasured(context, TRY(context.client.report()), order);
    const auto report = TRY(context.client.report());
    const auto rows = bench_rows(report, order.gpus);
    if (rows.empty())
        return Error{ErrorCode::NoMatch,
                     report.source == ReportSource::Replay
                         ? "this capture contains no measurements"
                         : "no device of this machine could be verified or measured"};
    show(context, report, rows);
    return ExitCode::Answered;
}

}  // namespace

Verb bench_verb() {
    return {
        .name = "bench",
        .group = VerbGroup::Record,
        .overview = {{"bench [GPU…]", "verify and measure each backend"}},
        .usage = {"bench [GPU…] [OPTION…]"},
        .about = R"(
Verifies and measures each GPU through each API that lists it. If no GPU is given, bench also measures
software implementations and the CPU. The table shows memory bandwidth (read, copy), transfers to and
from the device (up, down), operations per second, kernel launch time, and the spread of the samples.
Measuring one line takes about a second.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .options = joined({gpus_option("measure only the given GPUs")}, trial_options()),
        .run = run_bench};
}

namespace {

/// The reason why a driver is in quarantine, with the note from its last probe.
std::string reason_of(const QuarantinedProbe& probe) {
    return phrase("{why}[: {note}]",
                  {{"why", harm_words(probe.why, probe.times)}, {"note", probe.note}});
}

Result<ExitCode> list_quarantines(Context& context) {
    const auto report = TRY(context.client.report());
    if (context.wants_json()) {
        Value document;
        document["quarantine"] = to_value(report.quarantine);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    Table table{{{.title = "API"},
                 {.title = "DRIVER", .may_shrink = true},
                 {.title = "UNTIL"},
                 {.title = "WHY", .may_shrink = true}}};
    for (const auto& probe : report.quarantine)
        table.add({{.text = probe.api, .tone = Tone::Strong},
                   {.text = probe.driver.empty() ? std::string{context.screen.dash()}
                                                 : scrubbed(probe.driver)},
                   {.text = time_text(probe.until)},
                   {.text = scrubbed(reason_of(probe))}});
    print(table.empty() ? "no driver is in quarantine\n" : table.text(context.screen));
    return ExitCode::Answered;
}

/// The filter for the method ClearQuarantine.
Value filter_of(const QuarantineArguments& arguments) {
    Value filter{Value::Object{}};
    if (arguments.api)
        filter["api"] = *arguments.api;
    if (arguments.driver)
        filter["driver"] = *arguments.driver;
    if (arguments.is_all)
        filter["all"] = true;
    return filter;
}

Result<ExitCode> run_quarantine(Context& context) {
    const auto& arguments = context.arguments;
    if (arguments.quarantine.action == "list")
        return list_quarantines(context);
    const auto answer = TRY(context.client.ask("ClearQuarantine", filter_of(arguments.quarantine)));
    const std::uint64_t cleared = answer.at("cleared").as_unsigned().value_or(0);
    if (context.wants_json()) {
        Value document;
        document["cleared"] = to_value(cleared);
        print_json(arguments, document);
    } else if (!arguments.is_quiet) {
        print(cleared == 0 ? "no driver was in quarantine\n"
                           : fmt::format("cleared: {}\n", cleared));
    }
    return ExitCode::Answered;
}

/// Requires an API, a driver or --all for "clear", so that an incomplete command does not clear
/// everything.
Status check_quarantine(Arguments& arguments) {
    const auto& quarantine = arguments.quarantine;
    const bool names_one = quarantine.api || quarantine.driver;
    if (quarantine.action == "clear" && quarantine.is_all == names_one)
        return refusal("quarantine clear: name an API or --driver=PATH, or give only --all");
    return Done{};
}

}  // namespace

Verb quarantine_verb() {
    return {.name = "quarantine",
            .group = VerbGroup::Administer,
            .overview = {{"quarantine", "list drivers in quarantine, or end their quarantine"}},
            .usage = {"quarantine [list]", "quarantine clear [API] [--driver=PATH] [--all]"},
            .about = R"(
Lists the drivers that are not probed because they crashed or hung twice, or because the machine went
down during their probe. A quarantine ends when the driver is updated, or after a time: 10 minutes at
first, then longer. 'clear' ends the quarantine immediately; with the daemon, only administrators may
do this.
)",
            .operands = {{.word = {.name = "ACTION", .offers = "list clear", .takes_others = false},
                          .take = put<&Arguments::quarantine, &QuarantineArguments::action>},
                         {.word = {.name = "API", .offers = api_words(), .takes_others = false},
                          .take = put<&Arguments::quarantine, &QuarantineArguments::api>}},
            .options = {{.names = "--driver",
                         .value = {.name = "PATH", .names = kFiles},
                         .help = "end only the quarantine of the driver with this manifest",
                         .take = put<&Arguments::quarantine, &QuarantineArguments::driver>},
                        {.names = "--all",
                         .help = "end the quarantine of all drivers",
                         .take = put<&Arguments::quarantine, &QuarantineArguments::is_all>}},
            .check = check_quarantine,
            .run = run_quarantine};
}

}  // namespace gpuprobe::inline cli
