// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/record.h"
#include "cli/pick_gpu.h"
#include "cli/shared_options.h"
#include "cli/show_text.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

void print_documents(const Context& context, const std::vector<const Gpu*>& gpus) {
    if (gpus.size() == 1)
        return print_json(context.arguments, to_value(*gpus.front()));
    Value list{Value::Array{}};
    for (const auto* gpu : gpus)
        list.push_back(to_value(*gpu));
    Value document{Value::Object{}};
    document["gpus"] = list;
    print_json(context.arguments, document);
}

/// A captured machine is shown as of its capture.
WallTime time_of(const Report& report) {
    return report.source == ReportSource::Replay && report.created ? *report.created
                                                                   : SystemClock{}.wall();
}

Result<ExitCode> run(Context& context) {
    const auto report = TRY(context.client.report());
    const ComputeView view{report};
    std::vector<const Gpu*> gpus;
    for (const auto& selector : context.arguments.gpus)
        gpus.push_back(TRY(pick_gpu(view, selector)));
    if (context.wants_json()) {
        print_documents(context, gpus);
        return ExitCode::Answered;
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        auto gpu = *gpus[i];
        if (!unit_of(gpu))
            TRY(context.client.refresh_memory(gpu));
        print((i == 0 ? "" : "\n") + show_text(gpu, report, time_of(report), context.screen));
    }
    return ExitCode::Answered;
}

Status check(Arguments& arguments) {
    if (arguments.gpus.empty())
        return refusal("show: which GPU? 'gpuprobectl list' shows them");
    return Done{};
}

}  // namespace

Verb show_verb() {
    return {
        .name = "show",
        .overview = {{"show GPU…", "everything known about a GPU"}},
        .usage = {"show GPU… [OPTION…]"},
        .about = R"(
Everything known about one GPU or several: hardware, driver, nodes, memory and where its size was
read, and what each API says.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .check = check,
        .run = run};
}

}  // namespace gpuprobe::inline cli
