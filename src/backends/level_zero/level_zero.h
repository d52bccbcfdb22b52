// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/level_zero/api.h"
#include "report/facts.h"

namespace gpuprobe::backends {

/// Visits Intel's GPUs, and then Intel's NPUs. A GPU with several tiles is one device. The free
/// memory is reported by query_level_zero_sysman().
Answer visit_level_zero(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Reports the total and free memory according to Level Zero's system management (Sysman). Sysman
/// is probed as a separate API, because a process crashes if it initializes both Sysman and the old
/// form of Sysman in the core API.
Answer query_level_zero_sysman(const ProbeTarget& target, Sink& sink);

/// The free memory of the GPU at `address`, according to Sysman; nullopt if unknown, for example
/// without CAP_PERFMON.
std::optional<Bytes> sysman_free_memory(const PciAddress& address);

constexpr const char* kLevelZeroLoader = "libze_loader.so.1";

/// Facts that all devices of one driver have in common.
struct LevelZeroDriver {
    std::optional<std::string> api_version = {};
    std::optional<std::string> driver_version = {};
    bool knows_ip_version = false;
};

/// All facts about one device. If its properties cannot be read, the member `error` of `extra`
/// contains the reason.
DeviceFacts level_zero_facts(const ze::Symbols& api,
                             ze_device_handle_t device,
                             const LevelZeroDriver& driver,
                             std::uint32_t index);

/// Adds the facts from the properties that Sysman and the core API have in common.
void add_level_zero_identity(const ze_device_properties_t& properties, DeviceFacts& facts);

/// The word for a kind of device: "gpu", "cpu", "fpga", "mca", "npu"; the number as text for newer
/// kinds; nullopt for 0, which means that the driver did not set the kind.
std::optional<std::string> level_zero_kind_word(ze_device_type_t kind);

/// The device type in the form that the facts of all APIs use. The type of an NPU or FPGA is
/// `other`. nullopt if `kind` is 0.
std::optional<DeviceType> level_zero_type(ze_device_type_t kind, std::uint32_t flags);

/// A version as text: "1.6" for major << 16 | minor; nullopt for 0. Source: ze_api.h,
/// ZE_MAKE_VERSION.
std::optional<std::string> level_zero_version(std::uint32_t version);

/// A driver version as text ("1.6.33578"), from a number that contains the parts in 8, 8 and 16
/// bits; nullopt for 0. The specification does not define the format; this function reads the
/// format that Intel's driver uses. Source: unified-runtime, adapters/level_zero/platform.cpp.
std::optional<std::string> level_zero_driver_version(std::uint32_t version);

/// The name of a result code, with its number: "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)".
std::string level_zero_code_text(ze::Code code);

/// The answer for a failed call: Absent if there is no driver or no device, otherwise Failed.
Answer level_zero_refusal(std::string_view api, std::string_view call, ze::Code code);

/// Opens a device with a context and a queue. `facts` contains the capabilities of the device.
/// `library` must outlive the opened device.
/// Refusals: `no-compute-queue`, `compiler-missing`, `build-failed`, `out-of-memory`,
/// `device-lost`, `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_level_zero(const DynamicLibrary& library,
                                                        ze_driver_handle_t driver,
                                                        ze_device_handle_t device,
                                                        const DeviceFacts& facts);

/// The modules in kernels.spvasm, which spirv-as assembles at build time.
std::span<const unsigned char> level_zero_module_check();   ///< only Check
std::span<const unsigned char> level_zero_module_memory();  ///< Fill, Read, Copy
std::span<const unsigned char> level_zero_module_fp32();
std::span<const unsigned char> level_zero_module_fp16();
std::span<const unsigned char> level_zero_module_int8();

}  // namespace gpuprobe::backends
