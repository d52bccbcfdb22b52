// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/context.h"
#include "policy/decision.h"

namespace gpuprobe::inline cli {

/// Code 4 only when the user named a bus: without --bus no daemon is needed.
ExitCode exit_code_of(ErrorCode code, bool bus_was_named);

/// {"error":{"name","message","candidates"}}: the name is the one on the bus, also without a
/// daemon.
Value failure_document(const Error& error, const std::vector<Candidate>& candidates);

/// Tells the user: a JSON document on standard output, or a line on standard error.
ExitCode report_failure(const Arguments& arguments,
                        const Error& error,
                        const std::vector<Candidate>& candidates = {});

}  // namespace gpuprobe::inline cli
