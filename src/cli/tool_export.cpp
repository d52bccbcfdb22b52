// SPDX-License-Identifier: Apache-2.0
#include "cli/tool_export.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "cli/recommendation.h"
#include "explain/explain.h"
#include "explain/shell_quote.h"
#include "policy/exports.h"
#include "policy/select.h"
#include "report/compute_view.h"
#include "report/staleness.h"

namespace gpuprobe::inline cli {
namespace {

constexpr ToolForm kForms[] = {
    {"conda", "CONDA_OVERRIDE_CUDA, _CUDA_ARCH, _AMDGPU, _GLIBC …, for mamba and pixi too"},
    {"uv", "UV_CUDA_DRIVER_VERSION or UV_AMD_GPU_ARCHITECTURE; of a PRODUCT UV_TORCH_BACKEND"},
    {"wheel", "what the providers of wheel variants take"},
    {"pip", "--index-url of the recommended variant of PRODUCT"},
    {"ggml", "CMake options for llama.cpp and its like"},
    {"container", "--device arguments for docker and podman, of a PRODUCT for its GPUs alone"},
};

/// One of the two is empty.
struct ToolAnswer {
    Settings variables = {};
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

Result<ToolAnswer> exported(Context& context, const std::optional<Recommendation>& answer) {
    const auto& format = context.arguments.recommend.format;
    const auto whole = TRY(context.client.report());
    const ComputeView view{whole};
    const auto& report = view.report();
    const auto& rules = Rules::current();
    if (format == "conda")
        return ToolAnswer{.variables = conda_variables(report, rules)};
    if (format == "uv")
        return ToolAnswer{.variables = uv_variables(report, rules, answer ? &*answer : nullptr)};
    if (format == "wheel")
        return ToolAnswer{.variables = wheel_variables(report, rules)};
    if (format == "container")
        return ToolAnswer{.arguments = container_arguments(
                              report, answer ? answer->gpus : std::vector<std::string>{})};
    if (format == "pip" && !answer)
        return Error{ErrorCode::InvalidRequest, "export pip: of which product?"};
    if (format == "pip")
        return ToolAnswer{.arguments = pip_arguments(*answer)};
    const auto decision = TRY(context.client.select("default", Value{Value::Object{}}));
    return ToolAnswer{.arguments =
                          ggml_options(report, decision.backend.value_or("cpu"), decision.gpus)};
}

}  // namespace

std::span<const ToolForm> tool_forms() {
    return kForms;
}

Result<ExitCode> export_to_tool(Context& context) {
    const auto answer = TRY(answer_if_asked(context));
    const auto result = TRY(exported(context, answer));
    const auto stale = stale_among(answer ? answer->warnings : TRY(context.client.report()).notes);
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["format"] = context.arguments.recommend.format;
        document["variables"] = Value{Value::Object{}};
        for (const auto& [name, value] : result.variables)
            document["variables"][name] = value;
        document["arguments"] = to_value(result.arguments);
        document["warnings"] = to_value(stale);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    for (const auto& warning : stale)
        remark(context.arguments, "warning: " + explained(warning).text);
    for (const auto& [name, value] : result.variables)
        print(name + "=" + shell_quoted(value) + "\n");
    std::string line;
    for (const auto& argument : result.arguments)
        line += (line.empty() ? "" : " ") + shell_quoted(argument);
    if (!line.empty())
        print(line + "\n");
    return ExitCode::Answered;
}

}  // namespace gpuprobe::inline cli
