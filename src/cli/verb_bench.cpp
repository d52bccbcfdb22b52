// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/record.h"
#include "cli/bench_text.h"
#include "cli/pick_gpu.h"
#include "cli/shared_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/trials.h"

namespace gpuprobe::inline cli {
namespace {

/// Runs one stage for all wanted devices, with a progress line.
Status run_stage(Context& context, ProbeRequest order, std::string_view stage, const char* words) {
    order.stage = stage;
    ProgressLine line{context.arguments};
    line.show(words, 0);
    return context.client.probe(order, [&](double share) { line.show(words, share); });
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
                    "Bytes and operations a second; k, M, G, T are powers of 1000. More: "
                    "docs/measuring.md") +
              "\n");
}

/// Verifies and measures, then prints everything that has a result.
Result<ExitCode> run_bench(Context& context) {
    const auto& arguments = context.arguments;
    ProbeRequest order{.apis = arguments.apis,
                       .allow_wake = arguments.allow_wake,
                       .force = arguments.measures_in_use};
    if (!arguments.gpus.empty()) {
        const auto report = TRY(context.client.report());
        for (const auto& selector : arguments.gpus)
            order.gpus.push_back(TRY(pick_gpu(report, selector))->id);
    }
    TRY(run_stage(context, order, kVerifyStage, "verifying"));
    TRY(run_stage(context, order, kMeasureStage, "measuring"));
    const auto report = TRY(context.client.report());
    const auto rows = bench_rows(report, order.gpus);
    if (rows.empty())
        return Error{ErrorCode::NoMatch, report.source == ReportSource::Replay
                                             ? "this capture holds no measurements of it"
                                             : "nothing here could be verified or measured"};
    show(context, report, rows);
    return ExitCode::Answered;
}

}  // namespace

Verb bench_verb() {
    return {
        .name = "bench",
        .overview = {{"bench [GPU…]", "does each backend compute, and how fast"}},
        .usage = {"bench [GPU…] [OPTION…]"},
        .about = R"(
Verifies and measures each GPU through each API that lists it; without a GPU also the software
implementations and the CPU. Then the table: bandwidth of the memory (read, copy) and to and
from it (up, down), operations a second, the time to launch a kernel, and by how much the samples
differ. It takes about a second for each line.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .options = trial_options(),
        .run = run_bench};
}

}  // namespace gpuprobe::inline cli
