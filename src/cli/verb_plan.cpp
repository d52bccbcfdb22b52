// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/record.h"
#include "cli/model_file.h"
#include "cli/pick_gpu.h"
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
            TRY(context.oracle.refresh_memory(gpu));
    return Done{};
}

Value model_value(const Model& model) {
    Value value{Value::Object{}};
    value["name"] = to_value(model.name);
    value["architecture"] = model.architecture;
    value["layers"] = to_value(model.layers.size());
    value["trained_context"] = to_value(model.trained_context);
    return value;
}

Value run_value(const PlanArguments& arguments) {
    Value run{Value::Object{}};
    run["context"] = to_value(arguments.context);
    run["batch"] = to_value(arguments.batch);
    run["streams"] = to_value(arguments.streams);
    run["key_type"] = arguments.key_type;
    run["value_type"] = arguments.value_type;
    return run;
}

Value document_of(const PlanArguments& arguments,
                  const PlanRequest& request,
                  const Report& report,
                  const Plan& plan) {
    Value document{Value::Object{}};
    document["is_estimate"] = true;
    document["generation"] = to_value(report.generation);
    document["model"] = request.model ? model_value(*request.model) : Value{};
    document["asked"] = to_value(request.need);
    document["margin"] = to_value(request.margin);
    document["run"] = request.model ? run_value(arguments) : Value{};
    const auto answer = to_value(plan);
    for (const auto& member : *answer.as_object())
        document[member.key] = member.value;
    return document;
}

}  // namespace

Result<ExitCode> run_plan(Context& context) {
    const auto& arguments = context.arguments.plan;
    auto request = TRY(request_from(arguments));
    auto report = TRY(context.oracle.report());
    for (const auto& selector : arguments.gpus)
        request.gpus.push_back(TRY(pick_gpu(report, selector))->id);
    TRY(refresh(context, request.gpus, report));
    const auto answer = plan(request, report);
    if (context.wants_json())
        print_json(context.arguments, document_of(arguments, request, report, answer));
    else
        print(plan_text(request, arguments, answer, context.screen));
    return answer.is_possible() ? ExitCode::Answered : ExitCode::NoMatch;
}

}  // namespace gpuprobe
