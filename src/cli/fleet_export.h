// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.h"
#include "export/formats.h"

namespace gpuprobe::inline cli {

/// Prints an export, puts it into a file, or compares it with one, as the arguments say. Answered:
/// whole, or equal; Failed: --check found a difference; NoMatch: refused, or something had to be
/// left out. Errors: those of the client and of place_export().
Result<ExitCode> export_to_fleet(Context& context, const ExportFormat& format);

}  // namespace gpuprobe::inline cli
