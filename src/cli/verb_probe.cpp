// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/record.h"
#include "cli/pick_gpu.h"
#include "cli/probe_words.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"

namespace gpuprobe {
namespace {

Result<ProbeOrder> order_of(Context& context) {
    ProbeOrder order{.apis = context.arguments.apis, .allow_wake = context.arguments.allow_wake};
    if (context.arguments.gpus.empty())
        return order;
    const auto report = TRY(context.oracle.report());
    for (const auto& selector : context.arguments.gpus)
        order.gpus.push_back(TRY(pick_gpu(report, selector))->id);
    return order;
}

/// The entries of the APIs that were asked.
std::vector<ProbeEntry> asked(const Report& report, const std::vector<std::string>& apis) {
    auto probes = report.probes;
    if (!apis.empty())
        std::erase_if(probes, [&apis](const ProbeEntry& probe) {
            return std::find(apis.begin(), apis.end(), probe.api) == apis.end();
        });
    return probes;
}

Result<ExitCode> run(Context& context) {
    const auto order = TRY(order_of(context));
    ProgressLine line{context.arguments};
    line.show("asking the drivers");
    const auto probed = context.oracle.probe(
        order, [&line](double share) { line.show("asking the drivers", share); });
    line.clear();
    if (!probed)
        return probed.error();
    const auto report = TRY(context.oracle.report());
    const auto probes = asked(report, order.apis);
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["generation"] = to_value(report.generation);
        document["probes"] = to_value(probes);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
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
Asks the drivers again and shows how each probe ended.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .options = {{.names = "--api",
                     .value = {.name = "LIST", .offers = kApiWords, .is_list = true},
                     .help = "only these APIs: vulkan,opencl,…",
                     .take = put<&Arguments::apis>},
                    {.names = "--allow-wake",
                     .help = "wake sleeping GPUs",
                     .take = put<&Arguments::allow_wake>}},
        .run = run};
}

}  // namespace gpuprobe
