// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/context.h"
#include "policy/decision.h"

namespace gpuprobe::inline cli {

/// The exit code for an error. Unavailable is NoDaemon only if the user named a bus, because no
/// daemon is needed otherwise.
ExitCode exit_code_of(ErrorCode code, bool bus_was_named);

/// {"error":{"name","message","candidates"}}. The name is the error's D-Bus name, even if no daemon
/// was asked.
Value failure_document(const Error& error, const std::vector<Candidate>& candidates);

/// Reports an error to the user: as a JSON document on standard output, or as a line on standard
/// error. Returns the exit code.
ExitCode report_failure(const Arguments& arguments,
                        const Error& error,
                        const std::vector<Candidate>& candidates = {});

}  // namespace gpuprobe::inline cli
