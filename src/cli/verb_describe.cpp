// SPDX-License-Identifier: Apache-2.0
#include "cli/pick_gpu.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

/// The GPU with that id in the document; null if there is none. Not from the Report, which lacks
/// members that this program does not know.
const Value* gpu_in(const Value& document, const std::string& id) {
    if (const auto* gpus = document.at("gpus").as_array())
        for (const auto& gpu : *gpus)
            if (const auto* text = gpu.at("id").as_string(); text && *text == id)
                return &gpu;
    return nullptr;
}

Result<ExitCode> run_describe(Context& context) {
    const auto document = TRY(context.client.document());
    if (context.arguments.gpus.empty()) {
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    const auto report = TRY(record_from<Report>(document));
    const ComputeView view{report};
    const auto* gpu = TRY(pick_gpu(view, context.arguments.gpus.front()));
    // Partitions are not in the document in the form of a GPU.
    if (unit_of(*gpu))
        print_json(context.arguments, to_value(*gpu));
    else if (const auto* found = gpu_in(document, gpu->id))
        print_json(context.arguments, *found);
    return ExitCode::Answered;
}

}  // namespace

Verb describe_verb() {
    return {.name = "describe",
            .overview = {{"describe [GPU]", "the report as JSON"}},
            .usage = {"describe [GPU] [OPTION…]"},
            .about = R"(
The report as JSON, or the part of it about one GPU.
)",
            .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu}},
            .run = run_describe};
}

}  // namespace gpuprobe::inline cli
