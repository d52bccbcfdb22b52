// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "base/value.h"
#include "report/fact_table.h"
#include "report/facts.h"
#include "report/machine.h"

/// Typed keys for reading facts. The compiler checks the keys against the fact table.
namespace gpuprobe::inline report {

/// Whether a C++ type can hold facts of the given type. `Value` can hold a fact of any type.
template <class T>
constexpr bool holds(FactType type) {
    using enum FactType;
    if constexpr (std::same_as<T, Value>)
        return true;
    else if constexpr (std::same_as<T, std::string>)
        return type == Text || type == Version;
    else if constexpr (std::same_as<T, bool>)
        return type == Flag;
    else if constexpr (std::same_as<T, std::uint64_t>)
        return type == Number || type == Hertz;
    else if constexpr (std::same_as<T, std::int64_t>)
        return type == Number;
    else if constexpr (std::same_as<T, gpuprobe::Bytes>)
        return type == FactType::Bytes;
    else if constexpr (std::same_as<T, Value::Array>)
        return type == Texts || type == List;
    else
        return std::same_as<T, Value::Object> && type == FactType::Object;
}

/// FactKey calls this function if no row matches. The function is never defined, so a key without a
/// row does not compile.
void no_row_declares_this_fact_with_this_type();

/// A declared key and the C++ type of its facts. The key compiles only if the fact table has the
/// key, with a matching type in all rows for the key.
template <class T, FactOf kOf = FactOf::Device>
struct FactKey {
    std::string_view name = {};

    consteval FactKey(const char* key) : name{key} {
        bool is_declared = false;
        for (const auto& row : kFactTable)
            if (row.key == name && row.of == kOf) {
                is_declared = true;
                if (!holds<T>(row.type))
                    no_row_declares_this_fact_with_this_type();
            }
        if (!is_declared)
            no_row_declares_this_fact_with_this_type();
    }
};

/// The member with that key, as a value of type T. A string, flag, number or size is returned as an
/// optional, which is empty if the member is missing, has another type or is an empty string. A
/// list is returned as a pointer, which is null if the member is missing or has another type. An
/// object or a `Value` is returned as a reference to the unchanged member, or to a null value.
/// Reads a fact of a device as an API reported it.
template <class T>
decltype(auto) fact_in(const Value& holder, std::string_view key) {
    const Value& value = holder.at(key);
    if constexpr (std::same_as<T, std::string>) {
        const auto* text = value.as_string();
        return text && !text->empty() ? std::optional{*text} : std::nullopt;
    } else if constexpr (std::same_as<T, bool>) {
        return value.as_bool();
    } else if constexpr (std::same_as<T, std::uint64_t>) {
        return value.as_unsigned();
    } else if constexpr (std::same_as<T, std::int64_t>) {
        return value.as_int();
    } else if constexpr (std::same_as<T, Bytes>) {
        const auto count = value.as_unsigned();
        return count ? std::optional{Bytes{*count}} : std::nullopt;
    } else if constexpr (std::same_as<T, Value::Array>) {
        return value.as_array();
    } else {
        return static_cast<const Value&>(value);
    }
}

template <class T>
decltype(auto) fact(const DeviceFacts& device, FactKey<T> key) {
    return fact_in<T>(device.extra, key.name);
}
/// Reads a fact from the object of all facts of a device, as in ApiView::device.
template <class T, FactOf kOf>
requires(kOf == FactOf::EveryDevice || kOf == FactOf::Device || kOf == FactOf::View) decltype(auto)
    fact(const Value& device, FactKey<T, kOf> key) {
    return fact_in<T>(device, key.name);
}
/// Reads a fact about an API as a whole.
template <class T>
decltype(auto) fact(const ProbeResult& probe, FactKey<T, FactOf::Runtime> key) {
    return fact_in<T>(probe.runtime, key.name);
}
/// Reads a fact that the kernel provides about a device.
template <class T>
decltype(auto) fact(const HardwareDevice& hardware, FactKey<T, FactOf::Hardware> key) {
    return fact_in<T>(hardware.extra, key.name);
}

/// Reads `memory.free` from the object of all facts of a device.
inline std::optional<Bytes> free_memory(const Value& device) {
    return fact_in<Bytes>(device.at("memory"), "free");
}

/// Facts of a device that are read in more than one place, or by other components.
namespace facts {
inline constexpr FactKey<Value::Array, FactOf::View> kAlternatives{"alternatives"};
inline constexpr FactKey<std::string> kApiVersion{"api_version"};
inline constexpr FactKey<bool> kAvailable{"available"};
inline constexpr FactKey<Value::Object> kCheck{"check"};
inline constexpr FactKey<std::uint64_t> kClock{"clock_hz"};
inline constexpr FactKey<std::string> kComputeCapability{"compute_capability"};
inline constexpr FactKey<std::uint64_t> kComputeMode{"compute_mode"};
inline constexpr FactKey<std::string> kDecodeError{"decode_error"};
inline constexpr FactKey<std::string> kDeviceType{"device_type"};
inline constexpr FactKey<std::string> kDriverId{"driver_id"};
inline constexpr FactKey<std::string> kDriverInfo{"driver_info"};
inline constexpr FactKey<std::string> kDriverName{"driver_name"};
inline constexpr FactKey<std::string> kDriverVersion{"driver_version"};
inline constexpr FactKey<std::string> kEncodeError{"encode_error"};
inline constexpr FactKey<std::string> kError{"error"};
inline constexpr FactKey<std::uint64_t> kErrorCode{"error_code"};
inline constexpr FactKey<std::uint64_t> kExecutionUnits{"execution_units"};
inline constexpr FactKey<Value::Object> kFeatures{"features"};
inline constexpr FactKey<std::string> kGfxTarget{"gfx_target"};
inline constexpr FactKey<std::uint64_t> kGpuUtilization{"gpu_utilization"};
inline constexpr FactKey<std::string> kIntelIp{"intel_ip"};
inline constexpr FactKey<std::uint64_t> kKfdNode{"kfd_node"};
inline constexpr FactKey<std::string> kLuid{"luid"};
inline constexpr FactKey<Value::Object> kMeasured{"measured"};
inline constexpr FactKey<std::uint64_t> kMemoryBusBits{"memory_bus_bits"};
inline constexpr FactKey<std::uint64_t> kMemoryClock{"memory_clock_hz"};
inline constexpr FactKey<Bytes> kMemoryReserved{"memory_reserved"};
inline constexpr FactKey<Value::Array> kMigDevices{"mig_devices"};
inline constexpr FactKey<bool> kMigMode{"mig_mode"};
inline constexpr FactKey<std::uint64_t> kMinorNumber{"minor_number"};
inline constexpr FactKey<std::uint64_t> kMultiprocessors{"multiprocessors"};
inline constexpr FactKey<std::string> kPlatformName{"platform_name"};
inline constexpr FactKey<Value::Array> kQueues{"queues"};
inline constexpr FactKey<Value> kSlowdowns{"slowdowns"};
inline constexpr FactKey<std::string> kSubsystemDeviceId{"subsystem_device_id"};
inline constexpr FactKey<std::string> kSubsystemVendorId{"subsystem_vendor_id"};
inline constexpr FactKey<std::string> kVendorName{"vendor_name"};
inline constexpr FactKey<std::string> kVersion{"version"};
inline constexpr FactKey<Value::Array> kVideo{"video"};
inline constexpr FactKey<std::string> kWebgpu{"webgpu"};
inline constexpr FactKey<Value> kWebgpuMissing{"webgpu_missing"};
}  // namespace facts

/// Facts about an API as a whole.
namespace runtime_facts {
inline constexpr FactKey<std::string, FactOf::Runtime> kDriverVersion{"driver_version"};
inline constexpr FactKey<std::string, FactOf::Runtime> kLoader{"loader"};
inline constexpr FactKey<std::string, FactOf::Runtime> kLoaderName{"loader_name"};
inline constexpr FactKey<std::string, FactOf::Runtime> kLoaderVersion{"loader_version"};
inline constexpr FactKey<std::string, FactOf::Runtime> kRocmVersion{"rocm_version"};
inline constexpr FactKey<std::string, FactOf::Runtime> kVersion{"version"};
}  // namespace runtime_facts

/// Facts from the kernel.
namespace kernel_facts {
inline constexpr FactKey<std::string, FactOf::Hardware> kComputePartition{"compute_partition"};
inline constexpr FactKey<bool, FactOf::Hardware> kConnected{"connected"};
inline constexpr FactKey<std::string, FactOf::Hardware> kFirmware{"firmware"};
inline constexpr FactKey<std::string, FactOf::Hardware> kGfxTarget{"gfx_target"};
inline constexpr FactKey<bool, FactOf::Hardware> kHasBoardInfo{"has_board_info"};
inline constexpr FactKey<bool, FactOf::Hardware> kHasVddnb{"has_vddnb"};
inline constexpr FactKey<std::string, FactOf::Hardware> kIommu{"iommu"};
inline constexpr FactKey<std::uint64_t, FactOf::Hardware> kKfdCpuCores{"kfd_cpu_cores"};
inline constexpr FactKey<std::uint64_t, FactOf::Hardware> kKfdNode{"kfd_node"};
inline constexpr FactKey<std::string, FactOf::Hardware> kMemoryPartition{"memory_partition"};
inline constexpr FactKey<std::uint64_t, FactOf::Hardware> kPowerDraw{"power_draw"};
inline constexpr FactKey<std::uint64_t, FactOf::Hardware> kPowerLimit{"power_limit"};
inline constexpr FactKey<std::uint64_t, FactOf::Hardware> kSimdCount{"simd_count"};
inline constexpr FactKey<Value, FactOf::Hardware> kSlowdowns{"slowdowns"};
inline constexpr FactKey<std::int64_t, FactOf::Hardware> kTemperature{"temperature"};
inline constexpr FactKey<std::string, FactOf::Hardware> kVramVendor{"vram_vendor"};
}  // namespace kernel_facts

}  // namespace gpuprobe::inline report
