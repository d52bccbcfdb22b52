// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/level_zero/api.h"

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

/// "gpu", "cpu", "fpga", "mca", "npu"; a number as text when newer; nullopt for 0, which is not
/// filled in.
std::optional<std::string> level_zero_kind_word(ze::DeviceKind kind);

/// The type that every API's facts have. NPUs and FPGAs are `other`; 0 is nullopt.
std::optional<DeviceType> level_zero_type(ze::DeviceKind kind, std::uint32_t flags);

/// "1.6" of major << 16 | minor; nullopt for 0. Source: ze_api.h, ZE_MAKE_VERSION.
std::optional<std::string> level_zero_version(std::uint32_t version);

/// "1.6.33578" of 8 bits, 8 bits and 16 bits, as Intel's driver packs a number that the
/// specification leaves open; nullopt for 0. Source: unified-runtime,
/// adapters/level_zero/platform.cpp.
std::optional<std::string> level_zero_driver_version(std::uint32_t version);

/// "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)".
std::string level_zero_code_text(ze::Code code);

/// An answer for a call that said no: `absent` where there is nothing to ask, else `failed`.
Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Code code);

}  // namespace gpuprobe::backends
