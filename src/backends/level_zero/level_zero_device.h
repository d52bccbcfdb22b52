// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"
#include "backends/level_zero/level_zero_abi.h"

namespace gpuprobe::backends {

/// What all devices of one driver have in common.
struct LevelZeroDriver {
    std::optional<std::string> api_version = {};
    std::optional<std::string> driver_version = {};
    bool knows_ip_version = false;
};

/// Everything one device says about itself; `error` in `extra` when it does not say what it is.
DeviceFacts level_zero_facts(const ze::Symbols& api,
                             ze::Device device,
                             const LevelZeroDriver& driver,
                             std::uint32_t index);

/// The members that Sysman's description of a device shares with the core API's.
void add_level_zero_identity(const ze::DeviceProperties& properties, DeviceFacts& facts);

}  // namespace gpuprobe::backends
