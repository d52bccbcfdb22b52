// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "probe/launcher.h"

namespace gpuprobe::inline cli {

/// Starts what asks the drivers for this process: the worker program `given`, else the one that
/// lies beside this program, in ../libexec/gpuprobe or in ../lib/gpuprobe. The portable program has
/// one inside, and finds out with the first target whether this machine can run it.
/// Errors: NotFound, naming the places.
Result<std::unique_ptr<Launcher>> own_workers(const std::optional<std::string>& given);

}  // namespace gpuprobe::inline cli
