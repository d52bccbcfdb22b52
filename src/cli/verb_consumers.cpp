// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "cli/known_consumers.h"
#include "cli/verbs.h"

namespace gpuprobe {
namespace {

Result<ExitCode> run(const Arguments& arguments) {
    const auto names = known_consumers(arguments.profile_folders);
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["consumers"] = to_value(names);
        print_json(arguments, document);
        return ExitCode::Answered;
    }
    for (const auto& name : names)
        print(name + "\n");
    return ExitCode::Answered;
}

}  // namespace

Verb consumers_verb() {
    return {.name = "consumers",
            .overview = {{"consumers", "the names that select and env know"}},
            .usage = {"consumers [OPTION…]"},
            .about = R"(
The consumer profiles that select and env know.
)",
            .run_alone = run};
}

}  // namespace gpuprobe
