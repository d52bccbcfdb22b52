// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// Names of this project's errors, on the bus and on the socket.
namespace gpuprobe::bus {

struct NamedError {
    ErrorCode code;
    std::string_view name;
};

/// The full name of an error: "org.gpuprobe.GpuProbe1.Error.NoMatch".
std::string error_name(ErrorCode code);
/// The code of an error name; nullopt for names of other projects.
std::optional<ErrorCode> error_code(std::string_view name);

}  // namespace gpuprobe::bus
