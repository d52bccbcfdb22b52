// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "cli/verbs.h"
#include "engine/redaction.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

Result<ExitCode> run_capture(Context& context) {
    const auto& arguments = context.arguments;
    const auto& folder = *arguments.capture_folder;
    // Redaction looks for the identifiers of this machine.
    std::optional<engine::Redaction> mask;
    if (arguments.redacts)
        mask.emplace(engine::identifiers_of(RootedFiles{}), arguments.keeps_driver_output);
    TRY(context.client.capture(folder, mask ? &*mask : nullptr));
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
    if (arguments.keeps_driver_output && !arguments.redacts)
        return refusal("--with-driver-output needs --redact: without it, all output is kept");
    if (arguments.bus)
        return refusal("capture reads this machine itself: leave --bus out");
    return Done{};
}

}  // namespace

Verb capture_verb() {
    return {
        .name = "capture",
        .overview = {{"capture DIR", "record this machine for --replay, a test or a bug report"}},
        .usage = {"capture DIR [--redact [--with-driver-output]] [OPTION…]"},
        .about = R"(
Writes what the kernel and the drivers say about this machine into DIR, which must be empty or must
not exist. 'gpuprobectl --replay DIR' then answers as this machine would.
)",
        .operands = {{.word = {.name = "DIR", .names = kFolders},
                      .take = put<&Arguments::capture_folder>}},
        .options = {{.names = "--redact",
                     .help = "replace what identifies cards, machines and people",
                     .take = put<&Arguments::redacts>},
                    {.names = "--with-driver-output",
                     .help = "with --redact: keep what drivers printed, redacted too",
                     .take = put<&Arguments::keeps_driver_output>}},
        .check = check_capture,
        .run = run_capture};
}

}  // namespace gpuprobe::inline cli
