// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/level_zero/api.h"

namespace gpuprobe::backends {

/// Facts that all devices of one driver have in common.
struct LevelZeroDriver {
    std::optional<std::string> api_version = {};
    std::optional<std::string> driver_version = {};
    bool knows_ip_version = false;
};

/// All facts about one device. If its properties cannot be read, `error` in `extra` has the reason.
DeviceFacts level_zero_facts(const ze::Symbols& api,
                             ze::Device device,
                             const LevelZeroDriver& driver,
                             std::uint32_t index);

/// Adds the facts from the properties that Sysman and the core API have in common.
void add_level_zero_identity(const ze::DeviceProperties& properties, DeviceFacts& facts);

/// The word for a kind of device: "gpu", "cpu", "fpga", "mca", "npu"; the number as text for newer
/// kinds; nullopt for 0, which means that the driver left it empty.
std::optional<std::string> level_zero_kind_word(ze::DeviceKind kind);

/// The device type as used in the facts of every API. NPUs and FPGAs are `other`; 0 is nullopt.
std::optional<DeviceType> level_zero_type(ze::DeviceKind kind, std::uint32_t flags);

/// A version as text: "1.6" for major << 16 | minor; nullopt for 0. Source: ze_api.h,
/// ZE_MAKE_VERSION.
std::optional<std::string> level_zero_version(std::uint32_t version);

/// A driver version as text: "1.6.33578", packed into 8, 8 and 16 bits; nullopt for 0. The
/// specification does not define the format; this is the one that Intel's driver uses. Source:
/// unified-runtime, adapters/level_zero/platform.cpp.
std::optional<std::string> level_zero_driver_version(std::uint32_t version);

/// The name of a code, with its number: "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)".
std::string level_zero_code_text(ze::Code code);

/// The answer for a failed call: Absent if there is no driver or no device, else Failed.
Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Code code);

}  // namespace gpuprobe::backends
