// SPDX-License-Identifier: Apache-2.0
#include "report/api_device.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "report/driver_table.h"
#include "report/fact_key.h"
#include "report/uuid.h"
#include "report/vendor.h"

namespace gpuprobe::inline report {
namespace {

/// The vendor by PCI id, else by API or driver.
std::optional<std::string> vendor_of(const ProbeResult& probe, const DeviceFacts& facts) {
    if (facts.vendor_id) {
        auto word = vendor_word(*facts.vendor_id);
        return word ? word : vendor_of_api(probe.api);
    }
    const auto vendor = known_driver(probe).vendor;
    // A paravirtual driver passes through the host's GPU, which may be from any vendor.
    const bool is_telling = !vendor.empty() && vendor != "virtio";
    return is_telling ? std::optional<std::string>{vendor} : std::nullopt;
}

/// The reported address, unless it is an implausible all-zero one: an API that does not know the
/// address often reports zeros. They count only if hardware of that vendor really is at
/// 0000:00:00.0.
std::optional<PciAddress> plausible_address(const Machine& machine, const ApiDevice& device) {
    const auto& address = device.facts->pci;
    if (!address || *address != PciAddress{})
        return address;
    for (const auto& hardware : machine.devices)
        if (hardware.pci == address && device.vendor && vendor_of(hardware) == device.vendor)
            return address;
    return std::nullopt;
}

/// The LUID as 16 lower-case digits; nullopt if it is malformed or all zero.
std::optional<std::string> luid_of(const DeviceFacts& facts) {
    const auto luid = fact(facts, facts::kLuid);
    if (!luid || luid->size() != 16)
        return std::nullopt;
    return uuid_digits(*luid);
}

ApiDevice described(const Machine& machine, const ProbeResult& probe, const DeviceFacts& facts) {
    ApiDevice device{.probe = &probe, .facts = &facts};
    device.vendor = vendor_of(probe, facts);
    device.address = plausible_address(machine, device);
    device.packed = packed_address(device);
    device.uuid = family_uuid(device);
    device.luid = luid_of(facts);
    return device;
}

/// Removes UUIDs that several devices of a probe share. Some drivers give every card of a model the
/// same UUID (NVK up to Mesa 24.1), so that it identifies no device and does not encode an address.
void drop_shared_uuids(std::vector<ApiDevice>& devices) {
    std::map<std::pair<const ProbeResult*, std::string>, int> uses;
    const auto key = [](const ApiDevice& device) {
        return std::pair{device.probe, uuid_digits(device.facts->uuid.value_or("")).value_or("")};
    };
    for (const auto& device : devices)
        ++uses[key(device)];
    for (auto& device : devices)
        if (uses[key(device)] > 1) {
            device.uuid.reset();
            device.packed.reset();
        }
}

/// Sorted by content, so that the worker's order does not change the report.
std::vector<const DeviceFacts*> sorted_devices(const ProbeResult& probe) {
    std::vector<const DeviceFacts*> sorted;
    for (const auto& facts : probe.devices)
        sorted.push_back(&facts);
    std::ranges::sort(sorted, {},
                      [](const DeviceFacts* facts) -> const DeviceFacts& { return *facts; });
    return sorted;
}

/// Whether the left answer is older. For two answers with the same time, the content decides, so
/// that their order in the list does not.
bool is_older(const ProbeResult& left, const ProbeResult& right) {
    return std::tie(left.at, left) < std::tie(right.at, right);
}

}  // namespace

std::vector<const ProbeResult*> sorted_probes(const std::vector<ProbeResult>& probes) {
    using Key = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
    std::map<Key, const ProbeResult*> newest;
    for (const auto& probe : probes) {
        auto& known = newest[{probe.api, probe.driver, probe.stage, probe.device}];
        // Keep the newest answer to each question.
        if (!known || is_older(*known, probe))
            known = &probe;
    }
    std::vector<const ProbeResult*> sorted;
    for (const auto& [key, probe] : newest)
        sorted.push_back(probe);
    return sorted;
}

std::vector<ApiDevice> listed_devices(const Machine& machine,
                                      const std::vector<const ProbeResult*>& probes) {
    std::vector<ApiDevice> devices;
    for (const auto* probe : probes) {
        if (probe->stage != "query")
            continue;
        for (const auto* facts : sorted_devices(*probe))
            devices.push_back(described(machine, *probe, *facts));
    }
    drop_shared_uuids(devices);
    return devices;
}

std::string driver_words(const ApiDevice& device) {
    std::string text{file_name(device.probe->driver)};
    for (const auto key :
         {facts::kDriverName, facts::kDriverId, facts::kDriverInfo, facts::kPlatformName})
        if (const auto words = fact(*device.facts, key))
            text += " " + *words;
    return lower_case(text);
}

}  // namespace gpuprobe::inline report
