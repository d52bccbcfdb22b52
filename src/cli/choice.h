// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/context.h"

namespace gpuprobe::inline cli {

/// The decision for select, env and run. It contains the candidates if `explains` is true or if
/// nothing matches. Errors: as Client::select(); for an unknown application, with the closest known
/// name.
Result<Decision> choose(Context& context, bool explains = false);

/// The variables of this process that make the application use more GPUs than it does by default
/// (for instance integrated ones).
std::map<std::string, std::string> switches_here(const std::string& consumer);

/// Whether the user asked for no GPU. If the application has no other backend, its environment then
/// hides all GPUs.
bool wants_no_gpu(const Arguments& arguments);

/// The ids of the GPUs that the user named, in that order; empty without names. Errors: as
/// pick_gpu().
Result<std::vector<std::string>> gpu_ids(Context& context,
                                         const std::vector<std::string>& selectors);

/// Replaces the selectors in the request's `gpus` with ids. Errors: as gpu_ids().
Status name_gpus_by_id(Context& context, Value& request);

/// Reports that nothing matches: with each candidate's reason on standard error, or as a JSON
/// document. Returns the exit code.
ExitCode report_no_match(const Context& context, const Decision& decision);

}  // namespace gpuprobe::inline cli
