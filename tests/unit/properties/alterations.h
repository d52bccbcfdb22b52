// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "report/hardware.h"
#include "unit/properties/dice.h"
#include "unit/properties/places.h"

/// What can be different about a recorded card: each as drivers and machines really differ.
namespace gpuprobe::testing_properties {

/// What is told by what needs the vendor's kernel driver is gone.
inline void forget_drivers(Part& part) {
    std::erase_if(part.told, [](const Told& told) { return told.probe.api != "pci"; });
    part.hardware->driver_version.reset();
    part.hardware->driver_flavour.reset();
    part.hardware->partitions.clear();
}

/// Another kernel driver than the vendor's, or none.
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

inline Told* told_by_nvml(Part& part) {
    const auto told = std::ranges::find(
        part.told, "nvml", [](const Told& one) -> const auto& { return one.probe.api; });
    return told == part.told.end() ? nullptr : &*told;
}

inline std::string instance_uuid(std::uint64_t number) {
    auto digits = std::to_string(number);
    return "MIG-0badcafe-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

/// One of seven MIG instances, as NVML tells it. Source of the keys: docs/facts.md.
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

/// Divides a GPU that NVML tells of; CUDA lists the first instance alone.
/// Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
inline void divide(Part& part, Dice& dice) {
    auto* nvml = told_by_nvml(part);
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
    std::erase_if(part.told, [count](const Told& told) {
        return told.probe.api == "vulkan" || (told.probe.api == "cuda" && count == 0);
    });
    for (auto& told : part.told)
        if (told.probe.api == "cuda") {
            told.facts.uuid = instance_uuid(first);
            told.facts.memory = FactMemory{.total = Bytes{facts.memory->total->count / 8}};
            told.trials.clear();
        }
    part.story += " in " + std::to_string(count) + " MIG instances";
}

/// One driver lists it several times at its address: its tiles or partitions.
inline void list_again(Part& part, Dice& dice) {
    if (part.told.empty())
        return;
    const auto told = dice.any_of(part.told);
    if (told.probe.api == "pci" || told.probe.api == "nvml" || !told.facts.pci)
        return;
    for (auto count = 1 + dice.below(3); count > 0; --count) {
        auto other = told;
        other.trials.clear();
        if (other.facts.uuid && other.facts.uuid->size() > 4)
            other.facts.uuid->replace(other.facts.uuid->size() - 1, 1, std::to_string(count));
        part.told.push_back(std::move(other));
    }
    part.story += ", listed several times by " + told.probe.api;
}

/// An API that does not say where its device is.
inline void lose_address(Part& part, Dice& dice) {
    if (part.told.empty())
        return;
    auto& told = part.told[dice.below(part.told.size())];
    told.facts.pci.reset();
    told.facts.drm.reset();
    if (dice.once_in(2))
        told.facts.uuid.reset();
    told.trials.clear();
    part.story += ", " + told.probe.api + " without its address";
}

inline void lose_nodes(Part& part, Dice& dice) {
    for (auto& node : part.hardware->nodes)
        if (dice.once_in(2))
            node = {.path = node.path, .accessible = false, .reason = "missing"};
    part.story += ", nodes missing";
}

/// Another card of the same model: UUIDs of its own, where they do not hold its place.
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
    for (auto& told : part.told) {
        const bool is_of_the_card =
            told.facts.uuid && (told.facts.uuid->starts_with("GPU-") ||
                                (part.hardware && told.facts.uuid == part.hardware->uuid));
        if (is_of_the_card)
            renumber(told.facts.uuid);
        else
            told.facts.uuid.reset();
        if (told.facts.extra.find("driver_uuid"))  // NVIDIA's OpenCL has the card's there
            told.facts.extra["driver_uuid"] = Value{};
        told.trials.clear();
    }
    part.story += ", a twin";
    return part;
}

/// Changes a part of the machine now and then.
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
