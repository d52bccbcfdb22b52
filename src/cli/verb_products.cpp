// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "cli/known_products.h"
#include "cli/verbs.h"

namespace gpuprobe {

Result<ExitCode> run_products(const Arguments& arguments) {
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

}  // namespace gpuprobe
