// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "calls/documents.h"
#include "cli/pick_gpu.h"
#include "cli/shared_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "explain/report_text.h"

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

/// The text of the progress line for a stage.
const char* words_for(const std::string& stage) {
    if (stage == "verify")
        return "verifying";
    return stage == "measure" ? "measuring" : "asking the drivers";
}

Result<ExitCode> run_probe(Context& context) {
    const auto order = TRY(order_of(context));
    const auto* words = words_for(order.stage);
    ProgressLine line{context.arguments};
    line.show(words);
    const auto probed = context.client.probe(order, [&](double share) { line.show(words, share); });
    // Before anything is printed on the same terminal.
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
        .overview = {{"probe [GPU…]", "ask the drivers again"}},
        .usage = {"probe [GPU…] [OPTION…]"},
        .about = R"(
Asks the drivers again and shows how each probe ended. The stage 'query', the default, runs nothing
on a GPU; 'verify' runs a small test computation on each GPU through each API that lists it, and
checks every word of the result; 'measure' measures bandwidth and arithmetic rates.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .options = joined(
            {{.names = "--stage",
              .value = {.name = "STAGE", .offers = "query verify measure", .takes_others = false},
              .help = "query, verify or measure",
              .take = put<&Arguments::stage>}},
            trial_options()),
        .run = run_probe};
}

}  // namespace gpuprobe::inline cli
