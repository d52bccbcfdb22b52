// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"
#include "base/record.h"
#include "cli/choice.h"
#include "cli/shell_quote.h"
#include "cli/verbs.h"

namespace gpuprobe {

Result<ExitCode> run_env(Context& context) {
    const auto decision = TRY(choose(context));
    if (!decision.backend)
        return report_no_match(context, decision);
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document["consumer"] = decision.consumer;
        document["backend"] = to_value(decision.backend);
        document["environment"] = to_value(decision.environment);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    for (const auto& [name, value] : decision.environment) {
        // Whatever is printed here is run by a shell.
        if (is_variable_name(name) && value.find('\0') == std::string::npos)
            print(name + "=" + shell_quoted(value) + "\n");
        else
            remark(context.arguments,
                   "left out a variable that no shell can set: " + scrubbed(name));
    }
    return ExitCode::Answered;
}

}  // namespace gpuprobe
