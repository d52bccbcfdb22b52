// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "probe/launcher.h"

namespace gpuprobe::inline cli {

/// The launcher of the workers that load vendor drivers for this process. It runs the worker
/// program `given`, or the one next to this program, in ../libexec/gpuprobe or in ../lib/gpuprobe.
/// The portable program contains the worker and checks at the first target whether this machine can
/// run it. Errors: NotFound, naming the paths.
Result<std::unique_ptr<Launcher>> own_workers(const std::optional<std::string>& given);

}  // namespace gpuprobe::inline cli
