// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "cli/recommendation.h"
#include "cli/shared_options.h"
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

Result<ExitCode> run(Context& context) {
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

constexpr std::string_view kFormats = "conda uv wheel pip ggml container";

Status check(Arguments& arguments) {
    if (arguments.recommend.format.empty())
        return refusal("export: in which form? conda, uv, wheel, pip, ggml or container");
    return Done{};
}

}  // namespace

Verb export_verb() {
    return {.name = "export",
            .overview = {{"export FORMAT",
                          "the same, or this machine, in the words of conda, uv, pip, docker …"}},
            .usage = {"export FORMAT [PRODUCT] [OPTION…]"},
            .about = R"(
Prints variables (KEY=VALUE) or arguments for another tool:

  conda      CONDA_OVERRIDE_CUDA, _CUDA_ARCH, _GLIBC and _ARCHSPEC, for conda, mamba and pixi
  uv         UV_CUDA_DRIVER_VERSION or UV_AMD_GPU_ARCHITECTURE; with a PRODUCT, UV_TORCH_BACKEND
  wheel      what the providers of wheel variants take
  pip        --index-url of the recommended variant of PRODUCT
  ggml       CMake options for llama.cpp and its like
  container  --device arguments for docker and podman; with a PRODUCT, for its GPUs alone
)",
            .operands = {{.word = {.name = "FORMAT", .offers = kFormats, .takes_others = false},
                          .take = put<&Arguments::recommend, &RecommendArguments::format>},
                         {.word = {.name = "PRODUCT", .names = kProducts},
                          .take = put<&Arguments::recommend, &RecommendArguments::product>}},
            .options = variant_options(),
            .check = check,
            .run = run};
}

}  // namespace gpuprobe
