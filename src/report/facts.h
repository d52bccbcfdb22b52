// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
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
constexpr auto forms_of(std::type_identity<DrmNodes>) {
    return std::to_array<MemberForm>({{.key = "primary", .pattern = kDeviceNumber},
                                      {.key = "render", .pattern = kDeviceNumber}});
}

struct FactMemory {
    std::optional<Bytes> total = {};
    std::optional<Bytes> free = {};
    auto operator<=>(const FactMemory&) const = default;
};
RECORD_MEMBERS(FactMemory, total, free)

/// Facts about one device from one API. nullopt means that the API does not provide the value.
///
/// The named members have the same meaning in every API. `extra` holds the facts specific to an
/// API, under the keys that report/fact_table.h declares; read them with `fact()`.
struct DeviceFacts {
    /// Position of the device in the list that the API reported in this probe.
    std::optional<std::uint32_t> index = {};
    std::optional<std::string> name = {};
    /// PCI vendor id: four lower-case hexadecimal digits
    std::optional<std::string> vendor_id = {};
    /// PCI device id: four lower-case hexadecimal digits
    std::optional<std::string> device_id = {};
    std::optional<PciAddress> pci = {};
    std::optional<std::string> uuid = {};  ///< UUID as the API prints it
    std::optional<DrmNodes> drm = {};
    std::optional<DeviceType> type = {};
    std::optional<FactMemory> memory = {};
    Value extra = Value{Value::Object{}};  ///< an object without the keys of the named members
    /// Compares by index first.
    std::strong_ordering operator<=>(const DeviceFacts&) const = default;
};

/// One flat object: the named members, then the members of `extra`.
Value value_of(const DeviceFacts& facts);
/// Reads the output of value_of(). Accepts variants found in captures: ids may be numbers or
/// strings such as "0x10de", a PCI address may have any known spelling, and unknown words become
/// null. Errors: Malformed if the value isn't an object.
Result<DeviceFacts> facts_from(const Value& value);

/// The complete result of one probe: the worker's answer and how the worker ended.
struct ProbeResult {
    std::string api = {};     ///< name of the API, such as "vulkan"
    std::string driver = {};  ///< path of the manifest, or "" if the API has one driver
    std::string stage = "query";
    /// The probed device, for stages that probe a single device (report/trials.h); nullopt for
    /// "query".
    std::optional<std::string> device = {};
    Outcome outcome = Outcome::Absent;
    /// all listed devices, even if the worker crashed later
    std::vector<DeviceFacts> devices = {};
    Value runtime = {};  ///< facts about the API as a whole (loader version …), or null
    std::optional<std::string> note = {};  ///< explanation from the driver or from gpuprobe
    /// The step in which the worker ended without an answer: "dlopen", "instance", "enumerate",
    /// "query", "end" …
    std::optional<std::string> phase = {};
    std::optional<Duration> duration = {};
    std::optional<int> exit_code = {};
    std::optional<int> signal = {};
    std::vector<Reason> reasons = {};
    std::optional<WallTime> at = {};  ///< time at which the probe ended
    /// The mechanisms that confined the driver (report/outcome.h); nullopt if the worker ended
    /// before it reported them.
    std::optional<std::vector<std::string>> confinement = {};
    std::strong_ordering operator<=>(const ProbeResult&) const = default;
};

/// Converts a probe to the form of a capture (probes/<api>.json): the members outcome, devices,
/// runtime and note, and all other members that are known.
Value value_of(const ProbeResult& result);
/// Reads a probe that has the format of captures. Errors: Malformed, with the invalid member.
Result<ProbeResult> probe_result_from(const Value& value);

}  // namespace gpuprobe::inline report
