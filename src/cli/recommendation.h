// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.h"
#include "policy/manifest.h"
#include "policy/recommendation.h"

namespace gpuprobe::inline cli {

/// The answer to what the command line asks about a product. Errors: NotFound, with a suggestion;
/// Malformed, with the file; those of Client::recommend().
Result<Recommendation> recommended(Context& context);
/// The same about another product that is installed.
Result<Recommendation> recommended(Context& context, const std::string& product);

/// The manifest that the command line names, or the installed one of its product. Errors:
/// NotFound, with a suggestion; those of parse_product() and of reading the file, with its path.
Result<Manifest> wanted_manifest(const RecommendArguments& arguments);

}  // namespace gpuprobe::inline cli
