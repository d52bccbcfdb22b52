// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "cli/context.h"

/// One function per verb, each in verb_<name>.cpp. An Error is reported by the caller.
namespace gpuprobe {

Result<ExitCode> run_status(Context& context);
Result<ExitCode> run_list(Context& context);
Result<ExitCode> run_show(Context& context);
Result<ExitCode> run_describe(Context& context);
Result<ExitCode> run_select(Context& context);
Result<ExitCode> run_env(Context& context);
Result<ExitCode> run_plan(Context& context);
Result<ExitCode> run_probe(Context& context);
Result<ExitCode> run_monitor(Context& context);
Result<ExitCode> run_doctor(Context& context);
Result<ExitCode> run_capture(Context& context);
Result<ExitCode> run_override(Context& context);
Result<ExitCode> run_report_outcome(Context& context);
Result<ExitCode> run_recommend(Context& context);
Result<ExitCode> run_export(Context& context);
Result<ExitCode> run_quarantine(Context& context);

// These ask nobody, or need nobody to answer.
Result<ExitCode> run_consumers(const Arguments& arguments);
Result<ExitCode> run_products(const Arguments& arguments);
Result<ExitCode> run_verify(const Arguments& arguments);
Result<ExitCode> run_import_manifest(const Arguments& arguments);
Result<ExitCode> run_version(const Arguments& arguments);

}  // namespace gpuprobe
