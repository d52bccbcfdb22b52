// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/record.h"
#include "calls/documents.h"
#include "cli/model_file.h"
#include "cli/pick_gpu.h"
#include "cli/plan_arguments.h"
#include "cli/plan_text.h"
#include "cli/verbs.h"
#include "plan/plan.h"

namespace gpuprobe {
namespace {

Result<PlanRequest> request_from(const PlanArguments& arguments) {
    PlanRequest request{.need = arguments.need,
                        .run = {.context = arguments.context,
                                .batch = arguments.batch,
                                .streams = arguments.streams,
                                .keys = *cache_type(arguments.key_type),
                                .values = *cache_type(arguments.value_type)},
                        .margin = arguments.margin.value_or(kDefaultMargin)};
    if (!arguments.model_file)
        return request;
    const auto& path = *arguments.model_file;
    const auto gguf = TRY(read_model_file(path, arguments.is_beginning));
    auto model = model_of(gguf);
    if (!model)
        return std::move(model).error().in(path);
    request.model = std::move(*model);
    return request;
}

/// Reads again what is free on the GPUs that take part.
Status refresh(Context& context, const std::vector<std::string>& ids, Report& report) {
    for (auto& gpu : report.gpus)
        if (ids.empty() || std::ranges::find(ids, gpu.id) != ids.end())
            TRY(context.client.refresh_memory(gpu));
    return Done{};
}

Result<ExitCode> run(Context& context) {
    const auto& arguments = context.arguments.plan;
    auto request = TRY(request_from(arguments));
    auto report = TRY(context.client.report());
    for (const auto& selector : arguments.gpus)
        request.gpus.push_back(TRY(pick_gpu(ComputeView{report}, selector))->id);
    TRY(refresh(context, request.gpus, report));
    const auto answer = plan(request, report);
    if (context.wants_json())
        print_json(context.arguments, to_value(plan_answer(request, report, answer)));
    else
        print(plan_text(request, arguments, answer, context.screen));
    return answer.is_possible() ? ExitCode::Answered : ExitCode::NoMatch;
}

template <auto Member>
Status put_word(Arguments& arguments, const std::string& word) {
    return put<&Arguments::plan, &PlanArguments::words, Member>(arguments, word);
}

Status check(Arguments& arguments) {
    if (auto read = read_plan_words(arguments.plan); !read)
        return std::move(read).error().in("plan");
    return Done{};
}

std::vector<Option> options() {
    return {
        {.names = "--gguf",
         .value = {.name = "FILE", .names = kFiles},
         .help = "a model in GGUF; of a split one, any part; - is standard input",
         .take = put<&Arguments::plan, &PlanArguments::model_file>},
        {.names = "--beginning",
         .help = "FILE is the beginning of a model: plan before the rest is there",
         .take = put<&Arguments::plan, &PlanArguments::is_beginning>},
        {.names = "--need-mib",
         .value = {.name = "N"},
         .help = "no model, but so many MiB of whatever",
         .take = put_word<&PlanWords::need_mib>},
        {.names = "--ctx",
         .value = {.name = "N", .offers = "4k 8k 16k 32k 64k 128k"},
         .help = "tokens of context of one stream: 4096, 32k",
         .take = put_word<&PlanWords::context>},
        {.names = "--kv",
         .value = {.name = "TYPE",
                   .offers = "f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl f32",
                   .is_list = true},
         .help = "of the cache: f16, q8_0, q4_0 …; KEYS,VALUES where they differ",
         .take = put_word<&PlanWords::cache_types>},
        {.names = "--batch",
         .value = {.name = "N"},
         .help = "tokens computed at once, 512 by default",
         .take = put_word<&PlanWords::batch>},
        {.names = "--streams",
         .value = {.name = "N"},
         .help = "sequences at the same time, each with its own context",
         .take = put_word<&PlanWords::streams>},
        {.names = "--gpus",
         .value = {.name = "LIST", .names = kGpus, .is_list = true},
         .help = "these GPUs only",
         .take = put<&Arguments::plan, &PlanArguments::gpus>},
        {.names = "--margin-mib",
         .value = {.name = "N"},
         .help = "left free on each GPU, 1024 by default",
         .take = put_word<&PlanWords::margin_mib>},
    };
}

}  // namespace

Verb plan_verb() {
    return {.name = "plan",
            .overview = {{"plan", "does a model fit on these GPUs, and how much of it"}},
            .usage = {"plan --gguf=FILE [OPTION…]", "plan --need-mib=N [OPTION…]"},
            .about = R"(
Whether a model fits on each GPU, and on several together: "fits" with a tenth to spare, "tight"
without, "no", or "unknown" where nobody tells how much memory there is. With it the layers that
can go to the GPU (llama.cpp's --n-gpu-layers) and the longest context at which all of them do. It
is an estimate; only the header of FILE is read, and the other parts of a split model are found.
Exit status 3 when no GPU and no set of them is known to hold it.
)",
            .options = options(),
            .check = check,
            .run = run};
}

}  // namespace gpuprobe
