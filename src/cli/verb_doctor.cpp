// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/record.h"
#include "base/value_json.h"
#include "calls/documents.h"
#include "calls/here.h"
#include "cli/doctor_text.h"
#include "cli/verbs.h"
#include "engine/capture.h"
#include "explain/doctor.h"

namespace gpuprobe::inline cli {
namespace {

/// Nothing surrounds a captured machine.
Surroundings surroundings_of(const Report& report) {
    if (report.source == ReportSource::Replay)
        return {};
    return own_surroundings(RootedFiles{});
}

ExitCode exit_code_of(Severity severity, bool is_strict) {
    const auto limit = is_strict ? Severity::Warning : Severity::Error;
    return severity >= limit ? ExitCode::Found : ExitCode::Answered;
}

/// Findings and report, with stand-ins for what identifies a card, as one document in a file.
Status write_report(const std::string& file,
                    const Report& report,
                    const std::vector<Finding>& findings) {
    auto bundle = to_value(diagnosis_of(findings));
    bundle["report"] = to_value(report);
    engine::Redaction mask;
    return write_atomically(file, json_pretty(mask.masked_document(std::move(bundle))));
}

Result<ExitCode> run_doctor(Context& context) {
    const auto report = TRY(context.client.report());
    const auto findings = examine(report, surroundings_of(report));
    if (context.arguments.bundle)
        TRY(write_report(*context.arguments.bundle, report, findings));
    if (context.arguments.wants_script)
        print(fix_script(findings));
    else if (context.wants_json())
        print_json(context.arguments, to_value(diagnosis_of(findings)));
    else
        print(doctor_text(report, findings, context.screen));
    return exit_code_of(gravest(findings), context.arguments.warnings_count);
}

}  // namespace

Verb doctor_verb() {
    return {.name = "doctor",
            .overview = {{"doctor", "why a GPU is not used, and what helps"}},
            .usage = {"doctor [--strict] [--fix-script] [--report FILE] [OPTION…]"},
            .about = R"(
Every known reason why a GPU is not used: permissions, missing loaders and drivers, versions that
do not fit, containers, variables of this environment. For each what was found and what helps here:
on this distribution, in this container.
Exit status 6 when an error was found; warnings and things to know do not count.
)",
            .options = {{.names = "--strict",
                         .help = "warnings count too",
                         .take = put<&Arguments::warnings_count>},
                        {.names = "--fix-script",
                         .help = "print a shell script of the safe fixes; nothing is run",
                         .take = put<&Arguments::wants_script>},
                        {.names = "--report",
                         .value = {.name = "FILE", .names = kFiles},
                         .help = "write findings and report, without identities, for a bug report",
                         .take = put<&Arguments::bundle>}},
            .run = run_doctor};
}

}  // namespace gpuprobe::inline cli
