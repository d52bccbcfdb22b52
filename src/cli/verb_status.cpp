// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "calls/surroundings.h"
#include "cli/status_text.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

Result<ExitCode> run_status(Context& context) {
    if (context.wants_json()) {
        print_json(context.arguments, TRY(context.client.document()));
        return ExitCode::Answered;
    }
    const auto report = TRY(context.client.report());
    // If there is no decision, the screen shows only which backends work.
    const auto choice = context.client.select("default", Value{Value::Object{}});
    print(status_text(report, own_findings(report), choice ? &*choice : nullptr, context.screen));
    return ExitCode::Answered;
}

}  // namespace

Verb status_verb() {
    return {.name = "status",
            .overview = {{"status", "one screen about this machine (default)"}},
            .usage = {"[status] [OPTION…]"},
            .about = R"(
One screen: the GPUs, the backends that work on them, why others do not, what crashed, and what to
do about it.
)",
            .run = run_status};
}

}  // namespace gpuprobe::inline cli
