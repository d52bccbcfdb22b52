// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "cli/recommendation.h"
#include "cli/shell_quote.h"
#include "cli/verbs.h"
#include "decide/select.h"
#include "recommend/exports.h"

namespace gpuprobe {
namespace {

/// One of the two is empty.
struct Exported {
    Variables variables = {};
    std::vector<std::string> arguments = {};
};

Result<std::optional<Recommendation>> answer_if_asked(Context& context) {
    const auto& wanted = context.arguments.recommend;
    if (wanted.product.empty() && !wanted.manifest)
        return std::optional<Recommendation>{};
    auto answer = TRY(recommended(context));
    if (!answer.variant)
        return Error{ErrorCode::NoMatch, "no variant of '" + scrubbed(answer.product) + "' fits"};
    return std::optional{std::move(answer)};
}

Result<Exported> exported(Context& context, const std::optional<Recommendation>& answer) {
    const auto& format = context.arguments.recommend.format;
    const auto report = TRY(context.oracle.report());
    const auto rules = TRY(Rules::builtin());
    if (format == "conda")
        return Exported{.variables = conda_variables(report, rules)};
    if (format == "uv")
        return Exported{.variables = uv_variables(report, rules, answer ? &*answer : nullptr)};
    if (format == "wheel")
        return Exported{.variables = wheel_variables(report, rules)};
    if (format == "container")
        return Exported{.arguments = container_arguments(
                            report, answer ? answer->gpus : std::vector<std::string>{})};
    if (format == "pip" && !answer)
        return Error{ErrorCode::InvalidRequest, "export pip: of which product?"};
    if (format == "pip")
        return Exported{.arguments = pip_arguments(*answer)};
    const auto decision = TRY(context.oracle.select("default", Value{Value::Object{}}));
    return Exported{.arguments =
                        ggml_options(report, decision.backend.value_or("cpu"), decision.gpus)};
}

}  // namespace

Result<ExitCode> run_export(Context& context) {
    const auto answer = TRY(answer_if_asked(context));
    const auto result = TRY(exported(context, answer));
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["format"] = context.arguments.recommend.format;
        document["variables"] = Value{Value::Object{}};
        for (const auto& [name, value] : result.variables)
            document["variables"][name] = value;
        document["arguments"] = to_value(result.arguments);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    for (const auto& [name, value] : result.variables)
        print(name + "=" + shell_quoted(value) + "\n");
    std::string line;
    for (const auto& argument : result.arguments)
        line += (line.empty() ? "" : " ") + shell_quoted(argument);
    if (!line.empty())
        print(line + "\n");
    return ExitCode::Answered;
}

}  // namespace gpuprobe
