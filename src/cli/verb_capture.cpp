// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

Result<ExitCode> run_capture(Context& context) {
    const auto& arguments = context.arguments;
    const auto& folder = *arguments.capture_folder;
    TRY(context.client.capture(folder, arguments.redacts));
    if (arguments.json == JsonMode::Off) {
        remark(
            arguments,
            phrase(
                "the capture is written; 'gpuprobectl --replay {folder}' answers as this machine",
                {{"folder", folder}}));
        return ExitCode::Answered;
    }
    Value document;
    document["capture"] = folder;
    document["redacted"] = arguments.redacts;
    print_json(arguments, document);
    return ExitCode::Answered;
}

Status check_capture(Arguments& arguments) {
    if (!arguments.capture_folder)
        return refusal("capture: into which folder?");
    if (arguments.bus)
        return refusal("capture reads this machine itself: leave --bus out");
    return Done{};
}

}  // namespace

Verb capture_verb() {
    return {
        .name = "capture",
        .overview = {{"capture DIR", "record this machine for --replay, a test or a bug report"}},
        .usage = {"capture DIR [--redact] [OPTION…]"},
        .about = R"(
Writes what the kernel and the drivers say about this machine into DIR, which must be empty or must
not exist. 'gpuprobectl --replay DIR' then answers as this machine would.
)",
        .operands = {{.word = {.name = "DIR", .names = kFolders},
                      .take = put<&Arguments::capture_folder>}},
        .options = {{.names = "--redact",
                     .help = "replace UUIDs and serial numbers by numbers",
                     .take = put<&Arguments::redacts>}},
        .check = check_capture,
        .run = run_capture};
}

}  // namespace gpuprobe::inline cli
