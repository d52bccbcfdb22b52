// SPDX-License-Identifier: Apache-2.0
#include "base/record.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

/// Prints names, one per line or as a JSON object with one member.
ExitCode list(const Context& context, const char* what, const std::vector<std::string>& names) {
    if (context.wants_json()) {
        Value document{Value::Object{}};
        document[what] = to_value(names);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    for (const auto& name : names)
        print(name + "\n");
    return ExitCode::Answered;
}

Result<ExitCode> list_consumers(Context& context) {
    return list(context, "consumers", TRY(context.client.consumers()));
}

Result<ExitCode> list_products(Context& context) {
    return list(context, "products", TRY(context.client.products()));
}

}  // namespace

/// Lists the applications of select and env.
Verb consumers_verb() {
    return {.name = "consumers",
            .overview = {{"consumers", "the names that select and env know"}},
            .usage = {"consumers [OPTION…]"},
            .about = R"(
The consumer profiles that select and env know.
)",
            .run = list_consumers};
}

/// Lists the applications of recommend.
Verb products_verb() {
    return {.name = "products",
            .overview = {{"products", "the names that recommend knows"}},
            .usage = {"products [OPTION…]"},
            .about = R"(
The products that recommend knows without a manifest.
)",
            .run = list_products};
}

}  // namespace gpuprobe::inline cli
