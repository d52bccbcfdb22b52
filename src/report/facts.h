// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/outcome.h"
#include "report/pci_address.h"

namespace gpuprobe::inline report {

enum class DeviceType { Discrete, Integrated, Virtual, Cpu, Other };
constexpr std::array<EnumName<DeviceType>, 5> names_of(DeviceType) {
    return {{{DeviceType::Discrete, "discrete"},
             {DeviceType::Integrated, "integrated"},
             {DeviceType::Virtual, "virtual"},
             {DeviceType::Cpu, "cpu"},
             {DeviceType::Other, "other"}}};
}

/// DRM device numbers as "major:minor".
struct DrmNodes {
    std::optional<std::string> primary = {};
    std::optional<std::string> render = {};
    auto operator<=>(const DrmNodes&) const = default;
};
RECORD_MEMBERS(DrmNodes, primary, render)

struct FactMemory {
    std::optional<Bytes> total = {};
    std::optional<Bytes> free = {};
    auto operator<=>(const FactMemory&) const = default;
};
RECORD_MEMBERS(FactMemory, total, free)

/// What one API says about one device. nullopt means "this API cannot say".
///
/// The named members mean the same in every API; `extra` holds the API's own facts, under the keys
/// that report/fact_table.h declares. `fact()` reads them.
struct DeviceFacts {
    std::optional<std::uint32_t> index = {};  ///< position in this API's enumeration, in this probe
    std::optional<std::string> name = {};
    std::optional<std::string> vendor_id = {};  ///< four hexadecimal digits, lower case
    std::optional<std::string> device_id = {};  ///< four hexadecimal digits, lower case
    std::optional<PciAddress> pci = {};
    std::optional<std::string> uuid = {};  ///< as the API prints it
    std::optional<DrmNodes> drm = {};
    std::optional<DeviceType> type = {};
    std::optional<FactMemory> memory = {};
    Value extra = Value{Value::Object{}};  ///< an object; its keys are none of the above
    std::strong_ordering operator<=>(const DeviceFacts&) const = default;  ///< by index first
};

/// One flat object: the common keys, then those of `extra`.
Value value_of(const DeviceFacts& facts);
/// Reads what value_of writes, and is lenient where captures differ: ids may be numbers or
/// "0x10de", a PCI address of any known spelling, unknown words become null. Errors: Malformed when
/// it is no object.
Result<DeviceFacts> facts_from(const Value& value);

/// One probe's whole answer: what a worker sent and how it ended.
struct ProbeResult {
    std::string api = {};     ///< "vulkan"
    std::string driver = {};  ///< manifest path, or "" where the API has one driver
    std::string stage = "query";
    /// Of the stages that ask one device: which (report/trials.h); nullopt for "query".
    std::optional<std::string> device = {};
    Outcome outcome = Outcome::Absent;
    std::vector<DeviceFacts> devices = {};  ///< also those that arrived before a crash
    Value runtime = {};  ///< facts about the API as a whole (loader version …), or null
    std::optional<std::string> note = {};  ///< the phase or reason, in the driver's or our words
    /// What the worker was about to do when it ended without an answer: "dlopen", "instance",
    /// "enumerate", "query", "end" …
    std::optional<std::string> phase = {};
    std::optional<Duration> duration = {};
    std::optional<int> exit_code = {};
    std::optional<int> signal = {};
    std::vector<Reason> reasons = {};
    std::optional<WallTime> at = {};  ///< when it ended
    /// What held the driver; nullopt where the worker did not come to say.
    std::optional<std::vector<std::string>> confinement = {};
    std::strong_ordering operator<=>(const ProbeResult&) const = default;
};

/// The capture form of a probe (probes/<api>.json): outcome, devices, runtime, note and, where
/// known, the rest.
Value value_of(const ProbeResult& result);
/// Errors: Malformed with the member at fault.
Result<ProbeResult> probe_result_from(const Value& value);

}  // namespace gpuprobe::inline report
