// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "report/hardware.h"
#include "unit/properties/dice.h"
#include "unit/properties/places.h"

/// Changes to a recorded card. Real drivers and machines differ in the same ways.
namespace gpuprobe::testing_properties {

/// Removes the records of APIs that need the vendor's kernel driver.
inline void forget_drivers(Part& part) {
    std::erase_if(part.records, [](const ApiRecord& record) { return record.probe.api != "pci"; });
    part.hardware->driver_version.reset();
    part.hardware->driver_flavour.reset();
    part.hardware->partitions.clear();
}

/// Replaces the vendor's kernel driver with another driver, or removes it.
inline void take_driver(Part& part, Dice& dice) {
    auto& hardware = *part.hardware;
    forget_drivers(part);
    if (hardware.vendor_id == "10de" && dice.once_in(2)) {
        hardware.driver = "nouveau";
    } else if (dice.once_in(2)) {
        hardware.driver = "vfio-pci";
        hardware.findings.push_back(because("passthrough", {{"driver", "vfio-pci"}}));
    } else {
        hardware.driver.reset();
        hardware.findings.push_back(because("no-driver"));
    }
    part.story += " by " + hardware.driver.value_or("no driver");
}

inline ApiRecord* nvml_record(Part& part) {
    const auto record = std::ranges::find(
        part.records, "nvml", [](const ApiRecord& one) -> const auto& { return one.probe.api; });
    return record == part.records.end() ? nullptr : &*record;
}

inline std::string instance_uuid(std::uint64_t number) {
    auto digits = std::to_string(number);
    return "MIG-0badcafe-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

/// One of seven MIG instances, as NVML reports it. Source of the keys: docs/internals/facts.md.
inline Value instance(const DeviceFacts& gpu, unsigned number, std::uint64_t uuid) {
    const auto size = gpu.memory->total->count / 8;
    Value entry;
    entry["index"] = number;
    entry["name"] = gpu.name.value_or("NVIDIA GPU") + " MIG 1g.10gb";
    entry["uuid"] = instance_uuid(uuid);
    entry["gpu_instance"] = 7 + number;
    entry["compute_instance"] = 0;
    entry["gpu_slices"] = 1;
    entry["compute_slices"] = 1;
    entry["multiprocessors"] = 14;
    entry["memory_size"] = size;
    entry["memory"] = to_value(FactMemory{.total = Bytes{size}, .free = Bytes{size / 2}});
    return entry;
}

/// Divides a GPU that NVML reports into MIG instances. CUDA lists only the first instance.
/// Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
inline void divide(Part& part, Dice& dice) {
    auto* nvml = nvml_record(part);
    if (!nvml || !nvml->facts.memory || !nvml->facts.memory->total)
        return;
    auto& facts = nvml->facts;
    const auto count = dice.below(8);
    const auto first = 1 + dice.below(1'000'000) * 10;
    facts.extra["mig_mode"] = true;
    Value instances{Value::Array{}};
    for (unsigned i = 0; i < count; ++i)
        instances.push_back(instance(facts, i, first + i));
    if (count > 0)
        facts.extra["mig_devices"] = std::move(instances);
    std::erase_if(part.records, [count](const ApiRecord& record) {
        return record.probe.api == "vulkan" || (record.probe.api == "cuda" && count == 0);
    });
    for (auto& record : part.records)
        if (record.probe.api == "cuda") {
            record.facts.uuid = instance_uuid(first);
            record.facts.memory = FactMemory{.total = Bytes{facts.memory->total->count / 8}};
            record.trials.clear();
        }
    part.story += " in " + std::to_string(count) + " MIG instances";
}

/// Lists the device several times at its address, like a driver that lists tiles or partitions.
inline void list_again(Part& part, Dice& dice) {
    if (part.records.empty())
        return;
    const auto record = dice.any_of(part.records);
    if (record.probe.api == "pci" || record.probe.api == "nvml" || !record.facts.pci)
        return;
    for (auto count = 1 + dice.below(3); count > 0; --count) {
        auto other = record;
        other.trials.clear();
        if (other.facts.uuid && other.facts.uuid->size() > 4)
            other.facts.uuid->replace(other.facts.uuid->size() - 1, 1, std::to_string(count));
        part.records.push_back(std::move(other));
    }
    part.story += ", listed several times by " + record.probe.api;
}

/// Removes the address of the device from the answer of an API.
inline void lose_address(Part& part, Dice& dice) {
    if (part.records.empty())
        return;
    auto& record = part.records[dice.below(part.records.size())];
    record.facts.pci.reset();
    record.facts.drm.reset();
    if (dice.once_in(2))
        record.facts.uuid.reset();
    record.trials.clear();
    part.story += ", " + record.probe.api + " without its address";
}

inline void lose_nodes(Part& part, Dice& dice) {
    for (auto& node : part.hardware->nodes)
        if (dice.once_in(2))
            node = {.path = node.path, .accessible = false, .reason = "missing"};
    part.story += ", nodes missing";
}

/// Another card of the same model. The card gets new UUIDs, except UUIDs that contain its address.
inline Part twin(Part part, unsigned number) {
    const auto renumber = [number](std::optional<std::string>& uuid) {
        constexpr std::size_t kDigits = 4;
        char digits[kDigits + 1];
        std::snprintf(digits, sizeof digits, "%04x", 0xa000U + number);
        if (uuid && uuid->size() >= 16)
            uuid->replace(uuid->size() - kDigits, kDigits, digits);
    };
    if (part.hardware) {
        renumber(part.hardware->uuid);
        for (auto& partition : part.hardware->partitions)
            renumber(partition.uuid);
    }
    for (auto& record : part.records) {
        const bool is_of_the_card =
            record.facts.uuid && (record.facts.uuid->starts_with("GPU-") ||
                                  (part.hardware && record.facts.uuid == part.hardware->uuid));
        if (is_of_the_card)
            renumber(record.facts.uuid);
        else
            record.facts.uuid.reset();
        // NVIDIA's OpenCL driver reports the card's UUID in this fact
        if (record.facts.extra.find("driver_uuid"))
            record.facts.extra["driver_uuid"] = Value{};
        record.trials.clear();
    }
    part.story += ", a twin";
    return part;
}

/// Sometimes changes a part of the machine.
inline void alter(Part& part, Dice& dice) {
    if (!part.hardware)
        return;
    if (dice.once_in(10))
        return take_driver(part, dice);
    if (part.hardware->vendor_id == "10de" && dice.once_in(6))
        divide(part, dice);
    if (dice.once_in(16))
        list_again(part, dice);
    if (dice.once_in(16))
        lose_address(part, dice);
    if (dice.once_in(20))
        lose_nodes(part, dice);
}

}  // namespace gpuprobe::testing_properties
