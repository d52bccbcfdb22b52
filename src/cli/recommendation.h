// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.h"
#include "recommend/recommendation.h"

namespace gpuprobe {

/// The answer to what the command line asks about a product. Errors: NotFound, with a suggestion;
/// Malformed, with the file; those of Oracle::recommend().
Result<Recommendation> recommended(Context& context);

}  // namespace gpuprobe
