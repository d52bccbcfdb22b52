// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/context.h"

namespace gpuprobe::inline cli {

/// The decision that select and env are about; its candidates are there with `explains`, and where
/// nothing matches. Errors: as Client::select; an unknown consumer names the nearest known one.
Result<Decision> choose(Context& context, bool explains = false);

/// Those of this process's variables by which the consumer uses more GPUs than by itself.
std::map<std::string, std::string> switches_here(const std::string& consumer);

/// No GPU was asked for: where the consumer has nothing else, its environment hides them all.
bool wants_no_gpu(const Arguments& arguments);

/// The ids of the GPUs that the user named. Errors: as pick_gpu; none for no names.
Result<std::vector<std::string>> gpu_ids(Context& context,
                                         const std::vector<std::string>& selectors);

/// Turns the selectors under `gpus` into ids. Errors: as gpu_ids().
Status name_gpus_by_id(Context& context, Value& request);

/// Tells the user that nothing matches, with every candidate's reason on standard error or in the
/// JSON document.
ExitCode report_no_match(const Context& context, const Decision& decision);

}  // namespace gpuprobe::inline cli
