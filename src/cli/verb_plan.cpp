// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/record.h"
#include "base/value_json.h"
#include "calls/documents.h"
#include "calls/plan_call.h"
#include "cli/model_file.h"
#include "cli/pick_gpu.h"
#include "cli/plan_formats.h"
#include "cli/plan_text.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "plan/cache_types.h"
#include "plan/model_document.h"
#include "plan/plan_request.h"

namespace gpuprobe::inline cli {
namespace {

Result<PlanRequest> request_of(const PlanArguments& arguments) {
    auto request = TRY(plan_request_from(arguments.request));
    if (!arguments.model_file)
        return request;
    const auto& path = *arguments.model_file;
    const auto gguf = TRY(read_model_file(path, arguments.is_beginning));
    auto model = model_of(gguf);
    if (!model)
        return std::move(model).error().in(path);
    TRY(check_cache_types(*model, request.run, request.flash_attention));
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

/// The parts of several GPUs are in an order, and one of several has to be named: what the program
/// sees otherwise, and in which order, is its own choice.
Status print_arguments(Context& context, const PlanRequest& request, const Plan& answer) {
    const auto& program = context.arguments.plan.format;
    const auto arguments = TRY(plan_arguments_for(program, request, answer));
    print(arguments.text);
    if (!arguments.gpus.empty() && answer.gpus.size() > 1)
        remark(context.arguments,
               fmt::format("with the variables of: gpuprobectl env {} --gpu={}{}", program,
                           fmt::join(arguments.gpus, ","),
                           arguments.gpus.size() > 1 ? " (the parts are in that order)" : ""));
    return Done{};
}

Result<ExitCode> run_plan(Context& context) {
    const auto& arguments = context.arguments.plan;
    if (arguments.prints_model) {
        const auto gguf = TRY(read_model_file(*arguments.model_file, arguments.is_beginning));
        print(json_line(model_document_of(gguf)) + "\n");
        return ExitCode::Answered;
    }
    auto request = TRY(request_of(arguments));
    auto report = TRY(context.client.report());
    for (auto& gpu : request.gpus)
        gpu = TRY(pick_gpu(ComputeView{report}, gpu))->id;
    if (request.consumer) {
        const auto decision = TRY(context.client.select(*request.consumer, question_for_gpus()));
        TRY(keep_accepted(decision, report, request));
    }
    TRY(refresh(context, request.gpus, report));
    const auto answer = planned(request, report);
    if (!arguments.format.empty())
        TRY(print_arguments(context, request, answer));
    else if (context.wants_json())
        print_json(context.arguments, to_value(plan_answer(request, report, answer)));
    else
        print(plan_text(request, answer, context.screen));
    return answer.is_possible() ? ExitCode::Answered : ExitCode::NoMatch;
}

Status check_plan(Arguments& arguments) {
    auto& plan = arguments.plan;
    const auto request = plan_request_from(plan.request);
    if (!request)
        return request.error();
    if (plan.model_file.has_value() == request->need.has_value())
        return refusal("what for? Give --gguf FILE or --need-mib N").in("plan");
    if (request->need && (plan.is_beginning || plan.prints_model || !plan.format.empty()))
        return refusal("--beginning, --print-model and --format need a model").in("plan");
    return Done{};
}

Value& request_value(Arguments& arguments) {
    return arguments.plan.request;
}

std::vector<Option> plan_options() {
    std::vector<Option> options{
        {.names = "--gguf",
         .value = {.name = "FILE", .names = kFiles},
         .help = "a model in GGUF; of a split one, any part; - is standard input",
         .take = put<&Arguments::plan, &PlanArguments::model_file>},
        {.names = "--beginning",
         .help = "FILE is only the beginning of a model: plan before the rest is there",
         .take = put<&Arguments::plan, &PlanArguments::is_beginning>},
        {.names = "--format",
         .value = {.name = "PROGRAM", .offers = "llama.cpp ollama vllm", .takes_others = false},
         .help = "print the arguments for that program instead",
         .take = put<&Arguments::plan, &PlanArguments::format>},
        {.names = "--print-model",
         .help = "print the model as the method Plan takes it, without planning",
         .take = put<&Arguments::plan, &PlanArguments::prints_model>},
    };
    for (const auto& key : plan_keys())
        options.push_back(option_of(key, request_value));
    return options;
}

}  // namespace

Verb plan_verb() {
    return {.name = "plan",
            .overview = {{"plan", "does a model fit on these GPUs, and how much of it"}},
            .usage = {"plan --gguf=FILE [OPTION…]", "plan --need-mib=N [OPTION…]"},
            .about = R"(
Whether a model fits on each GPU, and on several together: "fits" with a tenth to spare, "tight"
without, "no", or "unknown" when it is not known how much memory there is. With it the layers that
can go to the GPU (llama.cpp's --n-gpu-layers) and the longest context at which all of them do. It
is an estimate; only the header of FILE is read, and the other parts of a split model are found.
Exit status 3 when no GPU and no set of them is known to hold it.
)",
            .options = plan_options(),
            .check = check_plan,
            .run = run_plan};
}

}  // namespace gpuprobe::inline cli
