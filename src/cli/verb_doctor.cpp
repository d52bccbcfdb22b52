// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "base/files.h"
#include "cli/doctor_text.h"
#include "cli/here.h"
#include "cli/verbs.h"
#include "doctor/doctor.h"

namespace gpuprobe {
namespace {

/// Nothing surrounds a captured machine.
Surroundings surroundings_of(const Report& report) {
    if (report.source == ReportSource::Replay)
        return {};
    return surroundings_here(RootedFiles{},
                             [](const char* name) -> const char* { return std::getenv(name); });
}

ExitCode exit_code_of(Severity severity, bool is_strict) {
    const auto limit = is_strict ? Severity::Warning : Severity::Error;
    return severity >= limit ? ExitCode::Found : ExitCode::Answered;
}

}  // namespace

Result<ExitCode> run_doctor(Context& context) {
    const auto report = TRY(context.oracle.report());
    const auto findings = examine(report, surroundings_of(report));
    if (context.wants_json())
        print_json(context.arguments, doctor_document(findings));
    else
        print(doctor_text(report, findings, context.screen));
    return exit_code_of(gravest(findings), context.arguments.warnings_count);
}

}  // namespace gpuprobe
