// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "cli/list_text.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

Result<ExitCode> run_list(Context& context) {
    if (context.wants_json()) {
        const auto document = TRY(context.client.document());
        Value list{Value::Object{}};
        list["generation"] = document.at("generation");
        list["gpus"] = document.at("gpus");
        list["accelerators"] = document.at("accelerators");
        print_json(context.arguments, list);
        return ExitCode::Answered;
    }
    const auto report = TRY(context.client.report());
    print(list_text(report, context.screen));
    if (report.gpus.empty() && report.accelerators.empty())
        remark(context.arguments, "this machine has no GPU");
    return ExitCode::Answered;
}

}  // namespace

Verb list_verb() {
    return {.name = "list",
            .overview = {{"list", "one line per GPU"}},
            .usage = {"list [OPTION…]"},
            .about = R"(
One line per GPU, best first; below them the accelerators that are no GPUs.
)",
            .run = run_list};
}

}  // namespace gpuprobe::inline cli
