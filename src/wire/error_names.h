// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// The names of our errors, on the bus and on the socket.
namespace gpuprobe::bus {

struct NamedError {
    ErrorCode code;
    std::string_view name;
};

/// "org.gpuprobe.GpuProbe1.Error.NoMatch"
std::string error_name(ErrorCode code);
/// The code behind one of our names; nullopt for any other name.
std::optional<ErrorCode> error_code(std::string_view name);

}  // namespace gpuprobe::bus
