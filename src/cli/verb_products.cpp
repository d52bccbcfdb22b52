// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "cli/known_products.h"
#include "cli/verbs.h"

namespace gpuprobe {
namespace {

Result<ExitCode> run(const Arguments& arguments) {
    const auto names = known_products().names();
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["products"] = to_value(names);
        print_json(arguments, document);
        return ExitCode::Answered;
    }
    for (const auto& name : names)
        print(name + "\n");
    return ExitCode::Answered;
}

}  // namespace

Verb products_verb() {
    return {.name = "products",
            .overview = {{"products", "the names that recommend knows"}},
            .usage = {"products [OPTION…]"},
            .about = R"(
The products that recommend knows without a manifest.
)",
            .run_alone = run};
}

}  // namespace gpuprobe
